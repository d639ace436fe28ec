"""Declaration of the example question: what is the loss at a multiple of the budget?"""

from __future__ import annotations

from isoplan.engine.planning.questions.declaration import FitInput, PlannerQuestion
from isoplan.engine.planning.scenario.fields import MACHINE, Field, pick
from isoplan.engine.quantities import parse_number

FACTOR = Field("factor", "How many times the budget.", "times over", start="2", hint="2", read=parse_number)
QUESTION = PlannerQuestion(
    name="doubled",
    title="A larger budget",
    icon="add",
    summary="Compare a budget with a multiple of it.",
    lead="I have a budget of",
    fits=(FitInput("Any fit with a frontier; - reads a pipe."),),
    fields=(*pick("budget"), FACTOR, *MACHINE),
    module=f"{__package__}.reply",
)
