"""The loop of an autopilot: decide, keep the decision, train its cells (training runs), and decide again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isoplan.app.autopilot.deciding import State, decide, is_open
from isoplan.app.autopilot.decisions import Decision, without_stop
from isoplan.app.autopilot.specification import Seen, Task


def run_rounds(
    task: Task,
    decisions: Sequence[Decision],
    look: Callable[[], Seen],
    train: Callable[[Decision], None],
    keep: Callable[[tuple[Decision, ...]], None],
) -> tuple[Decision, ...]:
    """Continue from the stored ``decisions`` until a decision stops, and return all decisions.

    ``look`` returns the cells of the grid as they are now. ``train`` trains the cells of a decision and returns when
    they have ended or when the cap has paused them. ``keep`` stores all decisions; it is called before the cells of a
    new decision are trained. A stored decision whose cells have not ended is trained again and not decided again.
    """
    made = without_stop(decisions)
    seen = look()
    if made and is_open(made[-1], seen) and State(task, seen, made).left > 0:
        train(made[-1])
        seen = look()
    while True:
        decision = decide(task, seen, made)
        made = (*made, decision)
        keep(made)
        if decision.kind == "stop":
            return made
        train(decision)
        seen = look()
