"""From a fit to a plan: what a budget buys, what a target costs."""

from isoplan.engine.planning.answer.format import Row
from isoplan.engine.planning.answer.quantity import Quantity, beyond
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import read_plan, to_json
from isoplan.engine.planning.plan.feasibility import floor_of
from isoplan.engine.planning.plan.parts import Flat
from isoplan.engine.planning.plan.solve import Question
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.plan.text import as_text, flatness, rows

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
