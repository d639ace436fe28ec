"""Declaration of the planner question "Next values"."""

from __future__ import annotations

from isoplan.engine.planning.next_values.typed import parse_values
from isoplan.engine.planning.questions.declaration import FitInput, PlannerQuestion
from isoplan.engine.planning.scenario.fields import Field
from isoplan.engine.quantities import parse_number

MAX_CELLS = Field(
    "max_cells", "Maximum number of cells. All cells cost the same.", "Maximum number of cells", start="3", hint="3",
    before="with at most", after="more cells", read=parse_number,
)  # fmt: skip
ROUNDS = Field(
    "rounds", "Number of rounds of training. The fit is repeated after each round.", "Rounds", start="3", hint="3",
    before="in", after="rounds", read=parse_number,
)  # fmt: skip
VALUES = Field(
    "values", "Values to choose from, such as 0.01..0.5 or 0.02,0.05,0.1. Default: the range of the runs, "
    "extended beyond an end if the optimum may lie beyond this end.", "Values to choose from", hint="the sweep",
    before="from the values", read=parse_values,
)  # fmt: skip

QUESTION = PlannerQuestion(
    name="next_values",
    command="next-values",
    title="Next values",
    icon="linear_scale",
    summary="Find the values of a setting to train next, for its optimum.",
    lead="Locate the best setting",
    fits=(
        FitInput(
            "A fit with an optimum over one column (starvation, log-parabola).",
            laws=("starvation", "log-parabola"),
        ),
    ),
    fields=(MAX_CELLS, ROUNDS, VALUES),
    module=f"{__package__}.reply",
    key="next_values",
)
