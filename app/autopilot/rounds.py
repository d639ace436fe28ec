"""The loop of an autopilot: decide, keep the decision, train its cells (training runs), and decide again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from isoplan.app.autopilot.deciding import decide, stopped
from isoplan.app.autopilot.decisions import Decision, allow, without_stop
from isoplan.app.autopilot.orders import Orders
from isoplan.app.autopilot.specification import Seen, Task
from isoplan.app.autopilot.state import State, is_open


def run_rounds(
    task: Task,
    decisions: Sequence[Decision],
    look: Callable[[], Seen],
    train: Callable[[Decision], None],
    keep: Callable[[tuple[Decision, ...]], None],
    read_orders: Callable[[], Orders] | None = None,
) -> tuple[Decision, ...]:
    """Continue from the stored ``decisions`` until a decision stops or a user pauses, and return all decisions.

    ``look`` returns the cells of the grid as they are now. ``train`` trains the cells of a decision and returns when
    they have ended or when they wait for a user or for a larger cap. ``keep`` stores all decisions; it is called before
    the cells of a new decision are trained. If cells of the last stored decision have not ended, they are trained
    before the next decision. ``read_orders`` returns the present orders, which replace the limits of ``task``.
    """
    made, orders = _resumed(task, decisions), read_orders or (lambda: Orders())
    if len(made) > len(decisions):
        keep(made)
    now = task if read_orders is None else with_limits(task, orders())
    seen = look()
    if made and orders().wanted == "run" and is_open(made[-1], seen) and State(now, seen, made).left > 0:
        train(made[-1])
        seen = look()
    while (asked := orders()).wanted != "pause":
        now = task if read_orders is None else with_limits(task, asked)
        decision = (stopped if asked.wanted == "stop" else decide)(now, seen, made)
        made = (*made, decision)
        keep(made)
        if decision.kind == "stop":
            break
        train(decision)
        seen = look()
    return made


def _resumed(task: Task, decisions: Sequence[Decision]) -> tuple[Decision, ...]:
    """Return the decisions from which the autopilot continues, without a final stop.

    If the last decision asks for larger cells and the grid contains them now, a user has allowed them. In this
    case, the decision that asks is kept, and a decision of the kind ``allowed`` follows it.
    """
    ranges, beyond = decisions[-1].ranges if decisions else {}, task.beyond
    if not ranges:
        return without_stop(decisions)
    missing = beyond is not None and np.all([beyond.columns[axis] <= end for axis, (_, end) in ranges.items()], axis=0)
    return without_stop(decisions) if np.any(missing) else (*decisions, allow(decisions[-1]))


def with_limits(task: Task, orders: Orders) -> Task:
    """Return the task with the limits of ``orders``."""
    return replace(task, max_cells=orders.max_cells, cap=orders.cap.hours)
