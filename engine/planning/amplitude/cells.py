"""Trained cells as anchors: D limits a cell whose loss changes by less than 10 % when its compute is doubled."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.anchors import LIMITED, ONSET, Anchor

NEEDED = ("N", "D", "C", "d", "loss", "seen")
"""Columns without which a table holds no cells of amplitudes."""
HELD = {
    "network": "mlp", "objective": "mse", "target": "log", "parametrization": "mup", "sqrt_s": "0",
    "activation": "silu", "l2": "0", "width_used": "", "layers_used": "", "rate_used": "",
}  # fmt: skip
"""Columns that cells have in common where only points, compute and seed differ, and what they are by default."""
MADE = ("simulated", "")
TOY = "toy"
ERRORS = {"median": "relative_median", "99": "relative_99"}
"""Columns of |A_NN / A - 1| on test points, by the kind of error that a target asks for besides the RMS."""
State = Literal["converged", "falls", "rises", "not doubled"]
TWICE = 0.05
"""Relative error of the factor of 2 between two computes: iterations are whole."""


@dataclass(frozen=True)
class TrainedCell:
    """A cell: ``process`` (or file) with ``d`` dimensions, the ``setting`` it shares with others, and what it reached.

    d is 3 n_f - 4 where sqrt(s) varies and 3 n_f - 5 where it is fixed (amplitudes, Sec. 2), so it says both.
    ``loss`` is the MSE of the standardised ``target`` (log or raw), ``spread`` the standard deviation of the target
    before that (NaN where it is not known), ``seen`` the points seen in training, ``C`` in FLOPs, ``batch`` the points
    of an update (0 where it is not known). ``median`` and ``most`` are the relative errors |A_NN / A - 1| that half and
    99 % of the test points stay below (NaN where the table does not say).
    """

    process: str
    d: int
    target: str
    setting: tuple[str, ...]
    N: float
    D: float
    C: float
    seen: float
    loss: float
    seed: int = 0
    spread: float = math.nan
    batch: float = 0.0
    median: float = math.nan
    most: float = math.nan

    @property
    def fixed_energy(self) -> bool:
        """Whether all events have one sqrt(s)."""
        return self.d % 3 == 1

    @property
    def n_f(self) -> int:
        """Final-state particles."""
        return (self.d + 4 + self.fixed_energy) // 3


@dataclass(frozen=True)
class Point:
    """A cell of some points and seed, and by which part twice its compute lowers the loss there.

    That is the geometric mean over the ``seeds`` that have both, since those of one scatter; None where none has both.
    """

    cell: TrainedCell
    fell: float | None
    seeds: int = 0

    @property
    def limited(self) -> bool:
        """Whether D limits the cell: twice the compute changed its loss by less than 10 %, up or down."""
        return self.state == "converged"

    @property
    def state(self) -> State:
        """What twice the compute does to the loss: it falls or rises by 10 % or more, or the cell is converged."""
        if self.fell is None:
            return "not doubled"
        return "converged" if abs(self.fell) < LIMITED else "falls" if self.fell > 0 else "rises"


def read_cells(rows: Iterable[Mapping[Any, Any]], source: str) -> tuple[TrainedCell, ...]:
    """The cells trained on the MSE in a table, one a row; rows without a loss and toys are left out.

    Raises PlannerError, which names ``source``, where a column is missing and for a number that no cell has.
    """
    found = []
    for i, row in enumerate(rows, 1):
        if lacks := [name for name in NEEDED if name not in row]:
            raise PlannerError(
                f"{source} has no column {lacks[0]}: give a table of amplitude cells, which has {', '.join(NEEDED)}."
            )
        if _text(row, "objective", "mse") != "mse" or _text(row, "data") == TOY or not _text(row, "loss"):
            continue
        try:
            found.append(_read(row))
        except (TypeError, ValueError):
            raise PlannerError(
                f"Row {i} of {source} is no cell: give positive numbers in {', '.join(NEEDED)}, with d = 3 n_f - 4 or, "
                "at a fixed sqrt(s), 3 n_f - 5, and leave out what has none."
            ) from None
    return tuple(found)


def _read(row: Mapping[Any, Any]) -> TrainedCell:
    data, numbers = _text(row, "data"), {name: float(row[name]) for name in NEEDED}
    if not all(math.isfinite(x) and x > 0 for x in numbers.values()):
        raise ValueError
    d = round(numbers.pop("d"))
    if d < 1 or d % 3 == 0:
        raise ValueError
    return TrainedCell(
        process=_text(row, "process") if data in MADE else data,
        d=d,
        target=_text(row, "target", "log"),
        setting=tuple(f"{name} {_text(row, name)}" for name, usual in HELD.items() if _text(row, name, usual) != usual),
        seed=int(float(_text(row, "seed", "0"))),
        spread=float(_text(row, "spread", "nan")),
        batch=float(_text(row, "batch_used", "0")),
        median=_error(row, "median"),
        most=_error(row, "99"),
        **numbers,
    )


def _error(row: Mapping[Any, Any], kind: str) -> float:
    """The relative error of a kind; NaN where the row has none or it is no positive number."""
    try:
        found = float(_text(row, ERRORS[kind], "nan"))
    except ValueError:
        return math.nan
    return found if math.isfinite(found) and found > 0 else math.nan


def by_error(cells: Iterable[TrainedCell], kind: str) -> tuple[TrainedCell, ...]:
    """The cells with the square of their relative error of ``kind`` ("median", "99") in place of the loss.

    The square falls with D as the MSE does, by the bound 4/d or faster, so that one law serves all kinds. "rms" leaves
    the MSE. Raises PlannerError where no cell has such an error.
    """
    every = tuple(cells)
    if kind == "rms":
        return every
    errors = [(cell, cell.median if kind == "median" else cell.most) for cell in every]
    found = tuple(replace(cell, loss=error**2, spread=1.0) for cell, error in errors if math.isfinite(error))
    if every and not found:
        raise PlannerError(
            f"{ERRORS[kind]}: the trained cells do not have this column. Ask for an RMS error, or train cells with "
            "Isoplan, which measure it."
        )
    return found


def _text(row: Mapping[Any, Any], name: str, default: str = "") -> str:
    """What a row says in a column; numbers in the same words wherever they come from."""
    value = row.get(name, "")
    if value is None or value == "" or value != value:
        return default
    try:
        return f"{float(value):g}" if name in HELD else str(value)
    except ValueError:
        return str(value)


def points(cells: Iterable[TrainedCell]) -> tuple[Point, ...]:
    """The longest cell that was doubled of each process, setting, N, D, batch and seed; by process, N, D and seed.

    What was trained for longer than is needed says less: with few points its loss rises again. A batch is at most D, so
    that a scan of D has several; but a cell of another batch has not the same updates twice.
    """
    alike: dict[tuple[Any, ...], list[TrainedCell]] = defaultdict(list)
    for cell in dict.fromkeys(cells):
        alike[cell.process, cell.target, cell.setting, cell.d, cell.N, cell.D, cell.batch].append(cell)
    return tuple(point for _, some in sorted(alike.items()) for point in _doubled(some))


def _doubled(alike: Sequence[TrainedCell]) -> Iterator[Point]:
    """A point of each seed, of cells that differ in compute and seed alone.

    Where no cell of a seed was doubled it is the longest, beside half of its compute if that is known.
    """
    for seed in sorted({cell.seed for cell in alike}):
        own = sorted((cell for cell in alike if cell.seed == seed), key=lambda cell: -cell.C)
        tried = (point for cell in own if (point := _point(cell, alike, cell.C)).seeds)
        yield next(tried, _point(own[0], alike, own[0].C / 2))


def _point(cell: TrainedCell, alike: Sequence[TrainedCell], C: float) -> Point:
    """``cell`` with what twice the compute ``C`` does to the loss, over the seeds of ``alike`` that have both."""
    half, whole = ({one.seed: one.loss for one in alike if abs(one.C / at - 1) < TWICE} for at in (C, 2 * C))
    rises = [math.log(whole[seed] / half[seed]) for seed in half.keys() & whole.keys()]
    fell = 1 - math.exp(math.fsum(rises) / len(rises)) if rises else None
    return Point(cell, fell, len(rises))


def series(found: Iterable[Point]) -> dict[tuple[object, ...], tuple[Point, ...]]:
    """Points that differ in D and seed alone, by process, target, d, N and setting."""
    grouped: dict[tuple[object, ...], list[Point]] = defaultdict(list)
    for point in found:
        cell = point.cell
        grouped[cell.process, cell.target, cell.d, cell.N, *cell.setting].append(point)
    return {key: tuple(some) for key, some in grouped.items()}


def anchors_of(found: Iterable[Point]) -> tuple[Anchor, ...]:
    """The points that D limits, from the onset of the power law on, as anchors of a plan."""
    return tuple(
        Anchor("D", one.cell.D, one.cell.loss, N=one.cell.N, epochs=one.cell.seen / one.cell.D,
               flops_per_sample=one.cell.C / one.cell.seen, doubled=one.fell)
        for one in sorted(found, key=lambda one: one.cell.D)
        if one.limited and one.cell.D >= ONSET["D"]
    )  # fmt: skip


def most_anchors(cells: Iterable[TrainedCell], process: str, target: str = "log") -> tuple[Point, ...]:
    """The points of ``process`` in the setting with the most that D limits, the largest D among equals.

    Raises PlannerError where there are no such cells, with the processes that have some.
    """
    every = [cell for cell in cells if cell.target == target]
    own = series(points(cell for cell in every if cell.process == process))
    if not own:
        known = ", ".join(sorted({cell.process for cell in every})) or "none yet"
        raise PlannerError(f"There are no trained cells of {process!r}: choose one of {known}, or train some.")
    return max(own.values(), key=lambda some: (sum(one.limited for one in some), max(one.cell.D for one in some)))


def by_points(found: Iterable[Point]) -> dict[float, tuple[Point, ...]]:
    """Points of a series by D, which rises."""
    grouped: dict[float, list[Point]] = defaultdict(list)
    for one in sorted(found, key=lambda one: one.cell.D):
        grouped[one.cell.D].append(one)
    return {D: tuple(own) for D, own in grouped.items()}


def mean_loss(found: Sequence[Point]) -> float:
    """The geometric mean of the losses."""
    return math.exp(math.fsum(math.log(one.cell.loss) for one in found) / len(found))


def spread_of(found: Iterable[Point]) -> float | None:
    """The standard deviation of log A of a series, as its largest cell has it; None where none says."""
    known = [one.cell for one in found if math.isfinite(one.cell.spread)]
    return max(known, key=lambda cell: cell.D).spread if known else None
