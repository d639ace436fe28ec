"""From a fit to a plan: what a budget buys, what a target costs."""

from engine.planning.as_json import read_plan, to_json
from engine.planning.budget import plan_budget
from engine.planning.format import Row
from engine.planning.plan import Flat, Plan, Question
from engine.planning.quantity import Quantity, beyond
from engine.planning.reach import floor_of
from engine.planning.target import plan_target
from engine.planning.text import as_text, flatness, rows

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
