"""Trained cells (training runs) as anchors of a plan. D limits a cell if doubling C changes its loss by under 10 %."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.evidence import LIMITED, ONSET, Anchor

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("N", "D", "C", "d", "loss", "seen")
"""Columns that a table of amplitude cells must have."""
MOST_ROWS = 20_000
"""Maximum number of rows that are read from a table of cells."""
HELD = {
    "network": "mlp", "objective": "mse", "target": "log", "parametrization": "mup", "sqrt_s": "0",
    "activation": "silu", "l2": "0", "width_used": "", "layers_used": "", "rate_used": "",
}  # fmt: skip
"""Columns that define the setting of a cell (training run), with default values. Cells that differ only in number of
points, compute and seed have equal values in these columns.
"""
MADE = ("simulated", "")
TOY = "toy"
ERRORS = {"median": "relative_median", "99": "relative_99"}
"""Columns by kind of error. Each column contains a quantile of ``abs(A_NN / A - 1)`` over the test points. The RMS
error needs no column, because it follows from the loss.
"""
State = Literal["converged", "falls", "rises", "not doubled"]
TWICE = 0.05
"""Relative tolerance for the factor of 2 between the compute of two cells. The factor cannot be exact, because the
number of iterations is an integer.
"""


@dataclass(frozen=True)
class TrainedCell:
    """Results of a trained cell (one training run).

    ``process`` is the process or the file of the training data. ``d`` is the dimension of the phase space, computed
    from the number n_f of final-state particles: ``3 * n_f - 4`` if sqrt(s) varies, ``3 * n_f - 5`` if sqrt(s) is fixed
    (amplitudes, Sec. 2). Conversely, d determines n_f and whether sqrt(s) varies. ``setting`` contains the values of
    the columns ``HELD``. ``loss`` is the MSE of the standardised ``target`` ("log" or "raw"). ``spread`` is the
    standard deviation of the target before standardisation; NaN if unknown.

    ``seen`` is the number of points seen in training, ``C`` the compute in FLOPs, and ``batch`` the number of points
    per training step (0 if unknown). The relative error ``abs(A_NN / A - 1)`` is below ``median`` for 50 % of the test
    points, and below ``most`` for 99 % of them; both are NaN if unknown.
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
        """Whether all events have the same sqrt(s)."""
        return self.d % 3 == 1

    @property
    def n_f(self) -> int:
        """Number of final-state particles."""
        return (self.d + 4 + self.fixed_energy) // 3


@dataclass(frozen=True)
class Point:
    """A trained cell, and the change of its loss if the compute is doubled.

    ``fell`` is the fraction by which the loss decreases. It is computed from the geometric mean over several seeds,
    because single seeds scatter. ``seeds`` is the number of these seeds. Each of them has a cell at the original
    compute and a cell at the doubled compute. ``fell`` is None if no seed has both cells.
    """

    cell: TrainedCell
    fell: float | None
    seeds: int = 0

    @property
    def limited(self) -> bool:
        """Whether D limits the cell. If so, doubling the compute changes its loss by less than 10 %, up or down."""
        return self.state == "converged"

    @property
    def state(self) -> State:
        """Effect of doubling the compute on the loss: "falls", "rises", "converged" or "not doubled".

        The state is "falls" or "rises" if the loss changes by 10 % or more, and "converged" if the loss changes by
        less.
        """
        if self.fell is None:
            return "not doubled"
        return "converged" if abs(self.fell) < LIMITED else "falls" if self.fell > 0 else "rises"


def read_cells(rows: Iterable[Mapping[Any, Any]], source: str) -> tuple[TrainedCell, ...]:
    """Read the cells from the rows of a table. Only cells trained with the MSE loss are read.

    Rows without a loss and rows of toy data are skipped. Raises PlannerError, which names ``source``, if a column is
    missing or a number is not valid for a cell.
    """
    found = []
    for i, row in enumerate(rows, 1):
        if lacks := [name for name in NEEDED if name not in row]:
            raise PlannerError(
                f"{source} has no column {lacks[0]}: give a table of amplitude cells with {', '.join(NEEDED)}."
            )
        if _text(row, "objective", "mse") != "mse" or _text(row, "data") == TOY or not _text(row, "loss"):
            continue
        try:
            found.append(_read(row))
        except (TypeError, ValueError):
            raise PlannerError(
                f"Row {i} of {source} is not a valid cell. Give positive numbers in {', '.join(NEEDED)}. d must be "
                "3 n_f - 4 or, at a fixed sqrt(s), 3 n_f - 5. Leave out rows without these numbers."
            ) from None
    return tuple(found)


def read_frame(table: pd.DataFrame, source: str) -> tuple[TrainedCell, ...]:
    """Read the cells from a data frame; withdrawn rows are skipped. Raises PlannerError like ``read_cells``."""
    if "withdrawn" in table:
        table = table[table["withdrawn"] == ""]
    return read_cells(table.astype(object).where(table.notna(), None).to_dict("records"), source)


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
    """Return the relative error of the given kind from a row; NaN if the row contains no positive number."""
    try:
        found = float(_text(row, ERRORS[kind], "nan"))
    except ValueError:
        return math.nan
    return found if math.isfinite(found) and found > 0 else math.nan


def by_error(cells: Iterable[TrainedCell], kind: str) -> tuple[TrainedCell, ...]:
    """Return the cells with the loss replaced by the square of the relative error of ``kind`` ("median" or "99").

    Like the MSE, this square decreases as a power of D, with an exponent of at least 4/d. Therefore the same law
    describes all kinds of error. For the kind "rms", the cells are returned unchanged. Raises PlannerError if no cell
    has an error of this kind.
    """
    every = tuple(cells)
    if kind == "rms":
        return every
    errors = [(cell, cell.median if kind == "median" else cell.most) for cell in every]
    found = tuple(replace(cell, loss=error**2, spread=1.0) for cell, error in errors if math.isfinite(error))
    if every and not found:
        raise PlannerError(
            f"{ERRORS[kind]}: the trained cells do not have this column. Ask for an RMS error, or use cells trained "
            "by Isoplan, which have this column."
        )
    return found


def _text(row: Mapping[Any, Any], name: str, default: str = "") -> str:
    """Return the value of the column ``name`` in a row as text.

    Numbers in ``HELD`` columns have the same format for every source of the table.
    """
    value = row.get(name, "")
    if value is None or value == "" or value != value:
        return default
    try:
        return f"{float(value):g}" if name in HELD else str(value)
    except ValueError:
        return str(value)


def points(cells: Iterable[TrainedCell]) -> tuple[Point, ...]:
    """Return one point per process, setting, N, D, batch size and seed, sorted in this order.

    The point is the longest-trained cell for which a cell of twice the compute exists; without such a cell, it is the
    longest-trained cell. A cell that is trained longer than needed is less informative, because its loss rises again if
    D is small. Cells with different batch sizes give different points, because their training steps differ. A scan of D
    contains several batch sizes, because a batch cannot have more than D samples.
    """
    alike: dict[tuple[Any, ...], list[TrainedCell]] = defaultdict(list)
    for cell in dict.fromkeys(cells):
        alike[cell.process, cell.target, cell.setting, cell.d, cell.N, cell.D, cell.batch].append(cell)
    return tuple(point for _, some in sorted(alike.items()) for point in _doubled(some))


def _doubled(alike: Sequence[TrainedCell]) -> Iterator[Point]:
    """Yield one point per seed, from cells ``alike`` that differ only in compute and seed.

    The point is the longest-trained cell for which a cell of twice the compute exists. Without such a cell, it is the
    longest-trained cell, and is compared with a cell of half its compute if one exists.
    """
    for seed in sorted({cell.seed for cell in alike}):
        own = sorted((cell for cell in alike if cell.seed == seed), key=lambda cell: -cell.C)
        tried = (point for cell in own if (point := _point(cell, alike, cell.C)).seeds)
        yield next(tried, _point(own[0], alike, own[0].C / 2))


def _point(cell: TrainedCell, alike: Sequence[TrainedCell], C: float) -> Point:
    """Return ``cell`` with the effect of doubling the compute from ``C`` to ``2 * C``.

    The effect is averaged over the seeds in ``alike`` that have cells of compute ``C`` and of compute ``2 * C``.
    """
    half, whole = ({one.seed: one.loss for one in alike if abs(one.C / at - 1) < TWICE} for at in (C, 2 * C))
    rises = [math.log(whole[seed] / half[seed]) for seed in half.keys() & whole.keys()]
    fell = 1 - math.exp(math.fsum(rises) / len(rises)) if rises else None
    return Point(cell, fell, len(rises))


def series(found: Iterable[Point]) -> dict[tuple[object, ...], tuple[Point, ...]]:
    """Group points that differ only in D and seed: the keys are process, target, d, N and setting."""
    grouped: dict[tuple[object, ...], list[Point]] = defaultdict(list)
    for point in found:
        cell = point.cell
        grouped[cell.process, cell.target, cell.d, cell.N, *cell.setting].append(point)
    return {key: tuple(some) for key, some in grouped.items()}


def anchors_of(found: Iterable[Point]) -> tuple[Anchor, ...]:
    """Return the D-limited points as anchors of a plan. Points below the onset of the power law are skipped."""
    return tuple(
        Anchor("D", one.cell.D, one.cell.loss, N=one.cell.N, epochs=one.cell.seen / one.cell.D,
               flops_per_sample=one.cell.C / one.cell.seen, doubled=one.fell)
        for one in sorted(found, key=lambda one: one.cell.D)
        if one.limited and one.cell.D >= ONSET["D"]
    )  # fmt: skip


def most_anchors(cells: Iterable[TrainedCell], process: str, target: str = "log") -> tuple[Point, ...]:
    """Return the points of ``process`` in the setting that has the most D-limited points.

    If several settings have the same number of such points, the setting with the largest D is used. Raises PlannerError
    if ``process`` has no cells; the message lists the processes that have cells.
    """
    every = [cell for cell in cells if cell.target == target]
    own = series(points(cell for cell in every if cell.process == process))
    if not own:
        known = ", ".join(sorted({cell.process for cell in every})) or "none yet"
        raise PlannerError(
            f"There are no trained cells of {process!r}. Processes with cells: {known}. Choose another process, or "
            "train cells."
        )
    return max(own.values(), key=lambda some: (sum(one.limited for one in some), max(one.cell.D for one in some)))


def by_points(found: Iterable[Point]) -> dict[float, tuple[Point, ...]]:
    """Group the points of a series by D, in increasing order of D."""
    grouped: dict[float, list[Point]] = defaultdict(list)
    for one in sorted(found, key=lambda one: one.cell.D):
        grouped[one.cell.D].append(one)
    return {D: tuple(own) for D, own in grouped.items()}


def mean_loss(found: Sequence[Point]) -> float:
    """Return the geometric mean of the losses of points."""
    return math.exp(math.fsum(math.log(one.cell.loss) for one in found) / len(found))


def spread_of_process(cells: Iterable[TrainedCell], process: str) -> float | None:
    """Return the standard deviation of log A of ``process``, from its cell with the largest D; None if unknown."""
    known = [one for one in cells if one.process == process and one.target == "log" and math.isfinite(one.spread)]
    return max(known, key=lambda cell: cell.D).spread if known else None


def spread_of(found: Iterable[Point]) -> float | None:
    """Return the standard deviation of log A; None if no cell states it.

    Of the cells that state this number, the cell with the largest D is used.
    """
    known = [one.cell for one in found if math.isfinite(one.cell.spread)]
    return max(known, key=lambda cell: cell.D).spread if known else None
