"""Declaration of the planner question "Smaller for longer"."""

from __future__ import annotations

from dataclasses import replace

from isoplan.engine.planning.questions.declaration import FitInput, PlannerQuestion
from isoplan.engine.planning.scenario.fields import LIMITS, LOSS, QUERIES, pick

BUDGET, TARGET = LOSS
QUESTION = PlannerQuestion(
    name="smaller",
    title="Smaller for longer",
    icon="compress",
    summary="Find the model size with the least total cost at a given loss.",
    lead="Models that reach the loss of",
    fits=(FitInput("A fit of a surface over N and D."),),
    fields=(
        replace(
            BUDGET,
            help="Budget, such as 1e20, 3 ZFLOP or '500 EUR'. The target is the lowest loss that the budget reaches.",
            after="in FLOPs, device hours or money",
        ),
        replace(TARGET, help="Target loss, instead of a budget."),
        *QUERIES,
        *pick("device", "devices", "hour_price", "utilisation", "precision", "currency"),
        *pick("sample_price", "sample_seconds", "cpu_price"),
        *LIMITS,
    ),
    module=f"{__package__}.reply",
    key="lifetime",
)
