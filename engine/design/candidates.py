"""Cells that can be trained next, and their costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.costs import ComputeRule
from isoplan.engine.design.cost_unit import CostUnit
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.quantities import count
from isoplan.engine.schema import COST, Runs

MOST = 5_000
"""Maximum number of candidates."""
SAME = 1e-6
"""Step to which the logarithms of two sizes are rounded before they are compared."""
REPEATED = 100
"""Maximum number of sizes of runs that are added to a grid."""
PER_DECADE = 6
"""Number of candidates per decade of an axis in a default grid."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """m cells: ``columns`` contains an array (m,) for each axis of a law.

    ``compute`` (m,) is the training compute in FLOPs. ``cost`` (m,) is the cost that the spend pays for, in the unit of
    the spend: by default the compute. If the cells are listed, ``row`` (m,) is the row of each cell in its table, from
    0, and ``settings`` (m,) are the settings of each cell as text, if they are known. ``listed_cost`` (m,) is the
    column of costs of this table, if it has one.
    """

    columns: Mapping[str, Floats]
    compute: Floats
    cost: Floats
    row: Ints | None = None
    settings: NDArray[np.str_] | None = None
    listed_cost: Floats | None = None

    def __len__(self) -> int:
        return len(self.cost)

    def take(self, index: Sequence[int] | Ints) -> Candidates:
        """Return the cells at ``index``, in the order of ``index``."""
        at = np.asarray(index, np.int64)
        return Candidates(
            {axis: x[at] for axis, x in self.columns.items()},
            self.compute[at],
            self.cost[at],
            None if self.row is None else self.row[at],
            None if self.settings is None else self.settings[at],
            None if self.listed_cost is None else self.listed_cost[at],
        )

    def with_charge(self, charge: float) -> Candidates:
        """Return the cells with ``charge`` added to the cost of each cell. Raises PlannerError if it is negative."""
        if not (np.isfinite(charge) and charge >= 0):
            raise PlannerError(f"Charge per run: {charge:g} is not a cost. Give zero or a positive number.")
        return replace(self, cost=self.cost + charge)


def check_candidates(fit: Fit, cells: Candidates) -> None:
    """Raise PlannerError if ``fit`` cannot predict the loss of one of ``cells``, or if a cost is not positive.

    The message names the first wrong row, counted from 0.
    """
    if not len(cells):
        raise PlannerError("Candidates: there is no cell. Give at least one.")
    if len(cells) > MOST:
        raise PlannerError(f"Candidates: {len(cells):,} cells are too many. Give at most {MOST:,}.")
    for axis in fit.law.axes:
        if axis not in cells.columns:
            raise PlannerError(f"Candidates: the column {axis} of the law is missing. Add it.")
        x = cells.columns[axis]
        _refuse(~np.isfinite(x) | (x <= 0), f"{axis} is not a positive number. Correct it.", cells.row)
    _refuse(~(np.isfinite(cells.cost) & (cells.cost > 0)), "the cost is not a positive number. Give a cost.", cells.row)
    with np.errstate(all="ignore"):
        predicted = fit.predict(cells.columns)
    wrong = ~np.isfinite(predicted) | ((predicted <= 0) & fit.spec.log_residuals)
    _refuse(wrong, f"the law predicts no positive {fit.spec.y} there. Remove the cell.", cells.row)


def check_pays(cells: Candidates, spend: float, unit: CostUnit) -> None:
    """Raise PlannerError if ``spend``, in the ``unit`` of the costs, does not pay for the cheapest of ``cells``."""
    if np.min(cells.cost) > spend:
        raise PlannerError(
            f"Spend: {unit.text(spend)} cannot pay for the cheapest candidate, which costs "
            f"{unit.write(float(np.min(cells.cost)))}. Raise the spend, or add cheaper candidates."
        )


def listed_candidates(
    N: Floats,
    D: Floats,
    compute: Floats,
    row: Ints | None = None,
    settings: NDArray[np.str_] | None = None,
    cost: Floats | None = None,
) -> Candidates:
    """Return the listed cells of ``N`` (m,) parameters and ``D`` (m,) samples with ``compute`` (m,) in FLOPs.

    ``row`` (m,) are the rows of the cells in their table, by default 0 to m - 1, and ``settings`` (m,) are their
    settings as text. ``cost`` (m,) are their listed costs in the unit of the spend; None if they follow from N, D and
    the compute. A size that is listed twice gives two candidates, such as cells with two seeds. Raises PlannerError,
    with the first wrong row, if a number is not positive.
    """
    sizes, C = {"N": np.asarray(N, float), "D": np.asarray(D, float)}, np.asarray(compute, float)
    row = np.arange(len(C)) if row is None else row
    if not len(row):
        raise PlannerError("Candidates: there is no cell. Give at least one.")
    for name, x in {**sizes, "C": C, **({} if cost is None else {COST: cost})}.items():
        _refuse(~(np.isfinite(x) & (x > 0)), f"{name} is not a positive number. Correct it.", row)
    return Candidates(sizes, C, C if cost is None else cost, row, settings, cost)


def equal_cost_candidates(axis: str, values: Floats) -> Candidates:
    """Return one cell for each of ``values`` (m,) of ``axis``. All cells cost the same: their costs count cells."""
    x = np.asarray(values, float)
    return Candidates({axis: x}, np.ones(len(x)), np.ones(len(x)))


def possible(fit: Fit, cells: Candidates) -> Candidates:
    """Return the cells for which the law predicts a positive loss."""
    with np.errstate(all="ignore"):
        predicted = fit.predict(cells.columns)
    kept = np.isfinite(predicted) & ((predicted > 0) | (not fit.spec.log_residuals))
    return cells.take(np.flatnonzero(kept))


def candidates_of(cells: Runs) -> Candidates:
    """Return the sizes of ``cells``, the rows of a table, as candidates. A column ``cost`` contains their costs.

    Raises PlannerError if N, D or C is missing, or if a column that seems to contain it is not read.
    """
    for role in ("N", "D", "C"):
        if role in cells.withheld:
            raise PlannerError(
                f"Candidates: the column of {role} is not read, because its unit is unknown or some cells are not "
                f"numbers. Write {role} as plain numbers{', in FLOPs' if role == 'C' else ''}."
            )
        if role not in cells:
            raise PlannerError(f"Candidates: no column contains {role}. Name a column {role}, or map it.")
    if not len(cells):
        raise PlannerError("Candidates: no row has positive numbers in N, D and C. Correct the table.")
    return listed_candidates(cells["N"], cells["D"], cells["C"], cells.ids, cost=cells.values.get(COST))


def left_out(cells: Runs) -> tuple[str, ...]:
    """Return a note on the rows of a table of candidates that are not used, with the reasons; () if all are used."""
    if not (counts := cells.left_out.counts):
        return ()
    reasons = "; ".join(f"{count:,} {why}" for why, count in counts.items())
    return (f"Rows of the table that are not used as candidates: {reasons}.",)


def repeats(cells: Candidates, runs: Mapping[str, Floats]) -> Bools:
    """Return which of the m ``cells`` have the sizes of one of the n ``runs``: shape (m,).

    ``runs`` contains an array (n,) for each axis of the cells. Sizes are equal if their logarithms, rounded to steps of
    ``SAME``, are equal.
    """
    trained = {*_rounded(runs, tuple(cells.columns))}
    return np.array([sizes in trained for sizes in _rounded(cells.columns, tuple(cells.columns))], bool)


def _rounded(columns: Mapping[str, Floats], axes: Sequence[str]) -> list[tuple[float, ...]]:
    logs = np.column_stack([np.log(columns[axis]) for axis in axes])
    return list(map(tuple, np.round(logs / SAME).tolist()))


def with_repeats(cells: Candidates, runs: Mapping[str, Floats], rule: ComputeRule, most: float) -> Candidates:
    """Return a grid with a repeat of each size of ``runs`` that costs at most ``most`` FLOPs by ``rule``.

    ``runs`` contains N and D, each (n,). A size of the grid is not added again. If there are more than ``REPEATED``
    sizes, the added sizes are spread evenly over the costs.
    """
    at = np.unique(np.column_stack([runs["N"], runs["D"]]), axis=0)
    cost = np.asarray(rule.flops(at[:, 0], at[:, 1]), float)
    own = Candidates({"N": at[:, 0], "D": at[:, 1]}, cost, cost)
    new = np.flatnonzero((cost <= most) & ~repeats(own, cells.columns))
    new = new[np.argsort(cost[new], kind="stable")]
    new = new[np.unique(np.linspace(0, len(new) - 1, min(len(new), REPEATED)).astype(int))] if len(new) else new
    added = own.take(new)
    columns = {axis: np.concatenate([x, added.columns[axis]]) for axis, x in cells.columns.items()}
    both = np.concatenate([cells.cost, added.cost])
    return Candidates(columns, both, both)


def _refuse(wrong: Bools, why: str, row: Ints | None = None) -> None:
    if np.any(wrong):
        first = int(np.flatnonzero(wrong)[0])
        raise PlannerError(f"Candidates: in row {first if row is None else row[first]:,}, {why}")


def grid_candidates(
    N: tuple[float, float], D: tuple[float, float], rule: ComputeRule, most: float, per_decade: int = PER_DECADE
) -> Candidates:
    """Return a grid of cells over the ranges ``N`` and ``D`` that cost at most ``most`` FLOPs each by ``rule``.

    Raises PlannerError if every cell of the ranges costs more.
    """
    sizes, samples = (_steps(*ends, per_decade) for ends in (N, D))
    at = np.array(np.meshgrid(sizes, samples, indexing="ij")).reshape(2, -1)
    cost = np.asarray(rule.flops(at[0], at[1]), float)
    kept = cost <= most
    if not kept.any():
        raise PlannerError(
            f"Spend: the cheapest cell of the grid costs {count(float(cost.min()), 3)} FLOPs, but a cell may cost at "
            f"most {count(most, 3)} FLOPs. Raise the spend, or widen the grid to smaller cells."
        )
    return Candidates({"N": at[0][kept], "D": at[1][kept]}, cost[kept], cost[kept])


def _steps(low: float, high: float, per_decade: int) -> Floats:
    n = max(round(per_decade * np.log10(high / low)), 1) + 1 if high > low else 1
    return np.geomspace(low, high, n)
