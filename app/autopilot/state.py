"""The state of an autopilot before a decision: what is finished, what is left, and what it may cost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isoplan.app.autopilot.decisions import Decision
from isoplan.app.autopilot.specification import Seen, Task
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.planning.next_cells.answer import AXES


@dataclass(frozen=True, eq=False)
class State:
    """The state before a decision: the task, the seen cells, and the earlier decisions without a final stop."""

    task: Task
    seen: Seen
    earlier: tuple[Decision, ...]

    @property
    def last(self) -> Decision | None:
        """The last decision about cells to train; None if there is none."""
        return next((one for one in reversed(self.earlier) if one.kind not in ("stop", "allowed")), None)

    @cached_property
    def known(self) -> list[int]:
        """Rows of the finished cells."""
        return self.task.cells.rows(self.seen.losses)

    @cached_property
    def spent(self) -> tuple[float, float]:
        """Device hours and FLOPs of the cells of earlier decisions."""
        names = [name for one in self.earlier for name in one.cells]
        cost = self.task.cells.candidates.cost[self.task.cells.rows(set(names) & set(self.seen.losses))]
        return sum(self.seen.hours.get(name, 0.0) for name in names), float(cost.sum())

    @cached_property
    def left(self) -> float:
        """The FLOPs that the cap still allows; 0 if the cap is reached, infinite without a cap.

        The device hours that are left are converted to FLOPs with the measured speed of the finished cells. The result
        is also infinite if no finished cell has a measured time.
        """
        if self.task.cap is None:
            return math.inf
        hours = self.task.cap - self.spent[0]
        timed = [row for row in self.known if self.seen.hours.get(self.task.cells.names[row], 0.0) > 0]
        used = sum(self.seen.hours[self.task.cells.names[row]] for row in timed)
        if hours <= 0 or not used:
            return 0.0 if hours <= 0 else math.inf
        return hours / used * float(self.task.cells.candidates.cost[timed].sum())

    @cached_property
    def free(self) -> list[int]:
        """Rows of the cells that can be trained: not finished, not failed, and affordable."""
        cost, names = self.task.cells.candidates.cost, self.task.cells.names
        ended = self.seen.losses.keys() | self.seen.failed
        return [row for row, name in enumerate(names) if name not in ended and cost[row] <= self.left]

    @property
    def offered(self) -> Candidates:
        """The cells that can be trained, as candidates."""
        return self.task.cells.candidates.take(self.free)

    @property
    def spend(self) -> float:
        """The FLOPs that the next cells may cost. They are finite even without a cap."""
        return min(self.left, float(self.task.cells.candidates.cost[self.free].sum()))

    @cached_property
    def missing(self) -> int:
        """Number of cells that are missing for a fit of the law."""
        lacking = max(self.task.spec.fewest - len(self.known), 0)
        at = self.task.cells.candidates.columns
        constant = any(len(np.unique(at[axis][self.known])) < 2 for axis in AXES)
        return max(lacking, 2) if constant else lacking

    @property
    def paused(self) -> bool:
        """Whether the cap has paused cells of the last decision."""
        return self.last is not None and is_open(self.last, self.seen)

    @property
    def failed(self) -> bool:
        """Whether all cells of the last decision ended without a loss."""
        return self.last is not None and self.seen.failed.issuperset(self.last.cells)

    def decision(self, **values: Any) -> Decision:
        """Return a decision of this state with ``values``."""
        names, last = self.task.cells.names, self.last
        return Decision(
            number=len(self.earlier) + 1,
            table={names[row]: self.seen.losses[names[row]] for row in self.known},
            promised=None if last is None else last.promise,
            hours=self.spent[0],
            spent=self.spent[1],
            **values,
        )

    def training(self, rows: Iterable[int], **values: Any) -> Decision:
        """Return a decision to train the cells at ``rows``, the cheapest cells first."""
        cost = self.task.cells.candidates.cost
        order = sorted(rows, key=lambda row: (float(cost[row]), row))
        names = tuple(self.task.cells.names[row] for row in order)
        return self.decision(cells=names, flops=float(cost[order].sum()), **values)


def is_open(decision: Decision, seen: Seen) -> bool:
    """Return whether a cell of ``decision`` has not ended."""
    return any(name not in seen.losses and name not in seen.failed for name in decision.cells)
