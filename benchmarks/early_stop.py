"""Early stopping of the bundled cells: the compute that it saves, and the change of the answer.

The cells of a grid are replayed one after the other, the cheapest first. At a quarter, half, and three quarters of its
schedule, a cell is stopped if the rule of ``isoplan train --stop-early`` allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from benchmarks.curves import GRIDS, POSITIONS, SOURCES, Source, read_cells
from benchmarks.report import Report
from isoplan.engine.arrays import Floats
from isoplan.engine.curves.curve import TrainingCurve
from isoplan.engine.curves.forecast import End, predict_end
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.design.early_stop import cells_to_stop
from isoplan.engine.design.estimand import Estimand, present_widths
from isoplan.engine.design.spread import FREEDOM
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, FitSpec, fit
from isoplan.engine.fitting.solver import kernels
from isoplan.engine.laws import get_law
from isoplan.engine.planning.next_cells.answer import present
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.schema import Roles, Runs

SHARES = (0.05, 0.2, 0.5)
BEYOND = 10.0
"""The answer is the loss at this multiple of the largest budget, D or C of the cells."""
REFITS = 500


@dataclass(frozen=True, eq=False)
class Grid:
    """n cells in the order of their compute, the cheapest first, and the law that is fitted to them.

    ``columns`` contains N, D, C and the final loss, each (n,).
    """

    title: str
    columns: dict[str, Floats]
    curves: tuple[TrainingCurve, ...]
    law: str
    axis: str | None = None

    def fit(self, rows: Sequence[int], losses: Floats) -> Fit:
        """Return the fit to the cells ``rows`` with ``losses`` (n,)."""
        at = np.array(rows, int)
        values = {**{name: x[at] for name, x in self.columns.items()}, "loss": losses[at]}
        runs = Runs(np.arange(len(at)), values, Roles(N="N", D="D", C="C", loss="loss"), {}, self.title)
        return fit(FitSpec(law=self.law, axis=self.axis, bootstrap=REFITS), runs, suggested=True)

    def estimand(self, fitted: Fit) -> Estimand:
        """Return the loss far beyond the cells: at a budget, or at a value of the axis."""
        if self.axis is None:
            budget = 6 * BEYOND * float(np.max(self.columns["N"] * self.columns["D"]))
            return present(fitted, Question("budget", budget)).estimands[0]
        at, law = BEYOND * float(np.max(self.columns[self.axis])), fitted.law
        value = {self.axis: np.array([at])}
        return Estimand(
            "loss",
            "loss",
            lambda v: law.predict(np.stack([v[name] for name in law.names], axis=-1), value)[..., 0],
            {str(self.axis): at},
        )


@dataclass(frozen=True)
class Stopped:
    """A stopped cell: its row, the fraction of its schedule, and its predicted final loss."""

    row: int
    position: float
    end: End


def run() -> Report:
    """Replay each grid for each share."""
    kernels.load()
    return Report(
        "Early stopping of cells",
        "The cells of a grid are trained one after the other in the order of their compute. The answer is the loss at "
        f"{BEYOND:g} times the largest budget (jets), C (recommender) or D (amplitudes) of the cells. Move: change of "
        "the answer compared with a fit to all cells, divided by the half width of the 68 % interval of that fit. "
        "Width: width of the interval, divided by its width with all cells. Both are computed without the stopped "
        "cells and, in the last two columns, with their predicted final losses.",
        ("cells", "--stop-early", "stopped", "FLOPs saved", "move", "width", "predicted: move", "predicted: width"),
        tuple(row for grid in _grids() for row in _rows(grid)),
    )


def _grids() -> Iterator[Grid]:
    yield _grid("jets", SOURCES[0], "chinchilla")
    yield _grid("recommender", SOURCES[2], "power", "C")
    yield _grid("recommender (games)", SOURCES[3], "power", "C")
    for process in ("Zg", "Zgg", "Zggg", "ttH", "WZ"):
        yield _grid(f"amplitudes, {process}", SOURCES[5], "power", "D", process)


def _grid(title: str, source: Source, law: str, axis: str | None = None, process: str = "") -> Grid:
    """Return the cells of ``source``; if ``process`` is given, only those of this process."""
    table, trained = pd.read_csv(GRIDS / f"{source.table}.csv"), read_cells(source)
    kept = table["process"] == process if process else table["C"] > 0
    order = [i for i in np.argsort(table["C"].to_numpy(), kind="stable") if kept[i]]
    columns = {name: table[name].to_numpy(float)[order] for name in ("N", "D", "C")}
    columns["loss"] = table[source.end].to_numpy(float)[order]
    return Grid(title, columns, tuple(trained[i].curve for i in order), law, axis)


def _rows(grid: Grid) -> Iterator[tuple[str, ...]]:
    losses, many = grid.columns["loss"], len(grid.curves)
    answers = cache(lambda rows: _answer(grid, rows, losses))
    fits = cache(lambda rows: _fit(grid, rows))
    whole = answers(tuple(range(many)))
    for share in SHARES:
        stopped = _replay(grid, share, fits)
        rows = [one.row for one in stopped]
        without = answers(tuple(row for row in range(many) if row not in rows))
        filled = losses.copy()
        filled[rows] = [one.end.loss for one in stopped]
        measures = [_measures(whole, without), _measures(whole, _answer(grid, range(many), filled) if rows else whole)]
        saved = sum(grid.columns["C"][one.row] * (1 - one.position) for one in stopped) / grid.columns["C"].sum()
        yield (grid.title, f"{share:.0%}", f"{len(rows)} of {many}", f"{saved:.1%}", *measures[0], *measures[1])


def _answer(grid: Grid, rows: Sequence[int], losses: Floats) -> tuple[float, float]:
    """Return ln(answer) and half the width of its 68 % interval in logarithms."""
    fitted = grid.fit(rows, losses)
    estimand = grid.estimand(fitted)
    return float(estimand.logs(fitted.values)), present_widths(fitted, [estimand])[0]


def _measures(whole: tuple[float, float], other: tuple[float, float]) -> tuple[str, str]:
    return f"{(other[0] - whole[0]) / whole[1]:+.2f}", f"{other[1] / whole[1]:.2f}"


def _fit(grid: Grid, rows: tuple[int, ...]) -> tuple[Fit, Estimand] | None:
    """Return the fit to the finished cells ``rows`` and the answer; None if they do not determine it yet."""
    if len(rows) < len(get_law(grid.law, grid.axis).names) + FREEDOM:
        return None
    try:
        fitted = grid.fit(rows, grid.columns["loss"])
        return fitted, grid.estimand(fitted)
    except PlannerError:
        return None


def _replay(
    grid: Grid, share: float, fits: Callable[[tuple[int, ...]], tuple[Fit, Estimand] | None]
) -> tuple[Stopped, ...]:
    """Return the cells that are stopped if the cells are trained one after the other."""
    stopped, finished = list[Stopped](), tuple[int, ...]()
    for row, curve in enumerate(grid.curves):
        found = fits(finished)
        first = None if found is None else _first_stop(grid, row, curve, finished, found, share)
        if first is None:
            finished = (*finished, row)
        else:
            stopped.append(first)
    return tuple(stopped)


def _first_stop(
    grid: Grid, row: int, curve: TrainingCurve, finished: tuple[int, ...], found: tuple[Fit, Estimand], share: float
) -> Stopped | None:
    """Return the first position at which the cell ``row`` can be stopped, with its predicted final loss."""
    others, cost = [grid.curves[other] for other in finished], grid.columns["C"]
    cells = Candidates({name: grid.columns[name] for name in ("N", "D", "C")}, cost, cost)
    for position in POSITIONS:
        end = predict_end(curve.until(position), others)
        if end is None:
            continue
        low, high = np.array([end.low]), np.array([end.high])
        try:
            if cells_to_stop(*found, cells, [row], low, high, share):
                return Stopped(row, position, end)
        except PlannerError:
            return None
    return None
