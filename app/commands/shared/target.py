"""The options --budget and --target-loss of a command, of which a user gives one."""

from __future__ import annotations

from isoplan.app.autopilot.typed import positive, read_target
from isoplan.app.commands.shared.output import note
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import parse_flops


def read_question(budget: str, target_loss: str) -> tuple[float | None, float | None]:
    """Return the budget in FLOPs and the target loss; one of them is None."""
    if bool(budget) == bool(target_loss):
        raise PlannerError("Give exactly one of --budget and --target-loss.")
    if budget:
        reading = parse_flops(budget, "option --budget")
        note(reading.notes(budget))
        return positive(reading.value, "Option --budget"), None
    return None, read_target(target_loss, "Option --target-loss")
