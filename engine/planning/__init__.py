"""Plans from fits: the best model for a budget, and the cost of a target.

The names below are imported on first access. The list of commands reads the questions of this folder, and must not wait
for the import of numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoplan.engine.planning.answer.format import Row
    from isoplan.engine.planning.answer.quantity import Quantity, beyond
    from isoplan.engine.planning.plan.answer import Plan
    from isoplan.engine.planning.plan.budget import plan_budget
    from isoplan.engine.planning.plan.document import as_text, flatness, read_plan, rows, to_json
    from isoplan.engine.planning.plan.feasibility import floor_of
    from isoplan.engine.planning.plan.parts import Flat
    from isoplan.engine.planning.plan.target import plan_target
    from isoplan.engine.planning.scenario.limits import Question

__all__ = [
    "Flat",
    "Plan",
    "Quantity",
    "Question",
    "Row",
    "as_text",
    "beyond",
    "flatness",
    "floor_of",
    "plan_budget",
    "plan_target",
    "read_plan",
    "rows",
    "to_json",
]
HOMES = {
    **{"Row": "answer.format", "Quantity": "answer.quantity", "beyond": "answer.quantity"},
    **{"Flat": "plan.parts", "Plan": "plan.answer", "Question": "scenario.limits"},
    **{"read_plan": "plan.document", "to_json": "plan.document", "plan_budget": "plan.budget"},
    **{"floor_of": "plan.feasibility", "plan_target": "plan.target"},
    **{"as_text": "plan.document", "flatness": "plan.document", "rows": "plan.document"},
}
"""Modules by the names that they define."""


def __getattr__(name: str) -> Any:
    """Import a name from its module, relative to this package."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
