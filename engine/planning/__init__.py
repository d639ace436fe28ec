"""Plans from fits: the best model for a budget, and the cost of a target.

The names in ``HOMES`` are imported from their modules on first access. Importing this package alone is therefore fast,
because numpy is not imported. The list of commands imports this package to find the planner questions, and exported
scripts import the names in ``HOMES`` from this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {
    **{"Row": "answer.format", "Quantity": "answer.quantity", "beyond": "answer.quantity"},
    **{"Flat": "plan.parts", "Plan": "plan.answer", "Question": "scenario.limits", "floor_of": "plan.feasibility"},
    **{"plan_budget": "plan.budget", "plan_target": "plan.target"},
    **dict.fromkeys(("as_text", "flatness", "read_plan", "rows", "to_json"), "plan.document"),
}
"""Names that this package provides, with the modules that define them."""


def __getattr__(name: str) -> Any:
    """Import the name in ``HOMES`` from the module that defines it."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
