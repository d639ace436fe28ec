"""Cells to train first: spread over N and D, if the runs do not determine the law yet."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.design.candidates import Candidates, check_pays, grid_candidates
from isoplan.engine.design.cost_unit import FLOPS, CostUnit
from isoplan.engine.design.spread import first_cells
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.single import runtime_of
from isoplan.engine.fitting.types.unfitted import UnfittedRuns
from isoplan.engine.planning.next_cells.answer import AXES, WITH_RANGES
from isoplan.engine.planning.next_cells.times import in_unit
from isoplan.engine.planning.next_cells.typed import TypedSpend
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.planning.scenario.prices import Prices

SPAN = 10.0
"""Smallest ratio of the largest to the smallest N of the default candidates, and of the largest to the smallest D."""


@dataclass(frozen=True, eq=False)
class FirstCells:
    """The ``cells`` of ``candidates`` to train first, as indices in the order of training, for the ``unfitted`` runs.

    There are at most ``most`` cells, and their total cost is at most ``spend``, in ``unit``.
    ``whole`` is the compute of the target run in FLOPs; None for a target loss, whose compute is unknown without a law.
    """

    unfitted: UnfittedRuns
    question: Question
    rule: ComputeRule
    candidates: Candidates
    cells: tuple[int, ...]
    most: int
    spend: float
    whole: float | None
    unit: CostUnit = FLOPS

    @property
    def free(self) -> int:
        """Number of free parameters of the law."""
        return len(self.unfitted.spec.find_law().names) - len(self.unfitted.spec.fixed)

    @property
    def trained(self) -> dict[str, Floats]:
        """The values (n,) of N and of D of the runs."""
        return {axis: self.unfitted.runs[axis] for axis in AXES}

    @property
    def cost(self) -> float:
        """Cost of all cells in ``unit``."""
        return float(np.sum(self.candidates.cost[list(self.cells)]))

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the cells in the table that lists them, in the order of training; () without a list."""
        row = self.candidates.row
        return () if row is None else tuple(int(row[cell]) for cell in self.cells)


def choose_first(
    unfitted: UnfittedRuns,
    question: Question,
    spend: TypedSpend,
    rule: ComputeRule | None = None,
    prices: Prices | None = None,
    *,
    cells: int = 12,
    sizes: tuple[float, float] | None = None,
    samples: tuple[float, float] | None = None,
    charge: float = 0.0,
    candidates: Candidates | None = None,
) -> FirstCells:
    """Return cheap cells that are spread over N and D, so that they determine the law together with the runs.

    The candidates are the listed ``candidates``, or a grid over ``sizes`` (N) and ``samples`` (D). By default, the grid
    extends from the smallest to the largest run, and over at least a factor ``SPAN``. The other arguments are those of
    ``next_cells``. A spend that is a share of the target run does not limit the cells if the question has a target
    loss, because the compute of this run is then unknown. Raises PlannerError if the spend pays for no cell. Also
    raises PlannerError, with the reason why the fit failed, if the axes of the law are not N and D.
    """
    law, rule = unfitted.spec.find_law(), rule or unfitted.compute
    if not law.is_surface or set(law.axes) != set(AXES):
        raise PlannerError(unfitted.reason)
    if candidates is not None and (sizes is not None or samples is not None):
        raise PlannerError(WITH_RANGES)
    whole = question.value if question.kind == "budget" else None
    unit = spend.unit
    amount = math.inf if whole is None and spend.share is not None else spend.amount(whole or 0.0)
    trained = {axis: unfitted.runs[axis] for axis in AXES}
    if candidates is None:
        N, D = (_range(trained[axis], given) for axis, given in zip(AXES, (sizes, samples), strict=True))
        candidates = grid_candidates(N, D, rule, amount if unit == FLOPS else math.inf)
    offered = in_unit(candidates, unit, runtime_of(unfitted.runs), prices).with_charge(charge)
    check_pays(offered, amount, unit)
    free = len(law.names) - len(unfitted.spec.fixed)
    chosen = first_cells(offered, trained, free, cells, amount)
    return FirstCells(unfitted, question, rule, offered, tuple(chosen), cells, amount, whole, unit)


def _range(trained: Floats, given: tuple[float, float] | None) -> tuple[float, float]:
    """Return the range of candidates along an axis: the given range, or that of the runs.

    The range of the runs is extended upwards if its ends differ by less than the factor ``SPAN``.
    """
    if given is not None:
        return given
    low, high = float(trained.min()), float(trained.max())
    return low, max(high, SPAN * low)
