"""Declaration of the planner question "Next cells"."""

from __future__ import annotations

from dataclasses import replace

from isoplan.engine.planning.next_cells.typed import (
    parse_cost,
    parse_factor,
    parse_quantities,
    parse_range,
    parse_spend,
)
from isoplan.engine.planning.questions.declaration import CellsInput, FitInput, PlannerQuestion
from isoplan.engine.planning.scenario.fields import LIMITS, LOSS, Field, pick
from isoplan.engine.quantities import parse_number

BUDGET, TARGET = LOSS
SPEND = Field(
    "spend", "Largest total cost of cells: share of the target run (5%), FLOPs (1e18), time ('2 h'), money ('20 EUR').",
    "Spend on cells", start="5 %", hint="5 %, 1e18, 2 h, 20 EUR", before="and may spend", after="on", read=parse_spend,
)  # fmt: skip
MAX_CELLS = Field(
    "max_cells", "Maximum number of cells.", "Maximum number of cells", start="12", hint="12", before="at most",
    after="cells", read=parse_number,
)  # fmt: skip
ROUNDS = Field(
    "rounds", "Number of rounds of training. The fit is repeated after each round.", "Rounds", start="4", hint="4",
    before="in", after="rounds", read=parse_number,
)  # fmt: skip
NARROW = Field(
    "narrow", "What to narrow: loss or compute (the answer), N, D, or several with weights: loss:2,N:1.",
    start="answer", read=parse_quantities,
)  # fmt: skip
SIZES = Field("sizes", "Range of N of the cells, such as 1e6..1e8. Default: from the runs to N* of the answer.",
              read=parse_range)  # fmt: skip
SAMPLES = Field("samples", "Range of D of the cells, such as 1e8..1e10. Default: from the runs to D* of the answer.",
                read=parse_range)  # fmt: skip
CHARGE = Field("run_charge", "Cost of each cell in addition to its training, in the unit of --spend: 1e15 or '5 min'.",
               read=parse_cost)  # fmt: skip
NEAR = Field(
    "near_optimum", "Only cells whose N differs at most by this factor from N* for their compute, such as 3.",
    "Largest factor between N and N* of a cell", hint="any", read=parse_factor, folded=True,
)  # fmt: skip
PARALLEL = Field(
    "parallel", "Number of cells that train side by side. The answer states the time of each round.",
    "Cells side by side", start="1", hint="1", read=parse_number, folded=True,
)  # fmt: skip

QUESTION = PlannerQuestion(
    name="next_cells",
    command="next",
    title="Next cells",
    icon="add_chart",
    summary="Find the cells that narrow an answer most for their cost.",
    lead="I plan for",
    fits=(FitInput("A fit of a surface over N and D, or a table of runs.",
                   file="TABLE|FIT.json", law="chinchilla"),),
    fields=(
        replace(BUDGET, help="Budget, such as 1e20, 3 ZFLOP or '500 EUR'. The loss at this budget is narrowed.",
                after="in FLOPs, device hours or money"),
        replace(TARGET, help="Target loss, instead of a budget. The compute for this loss is narrowed."),
        SPEND, MAX_CELLS, ROUNDS, NARROW, SIZES, SAMPLES, CHARGE, NEAR, PARALLEL,
        *pick("device", "devices", "hour_price", "utilisation", "precision", "currency"),
        *pick("sample_price", "sample_seconds", "cpu_price"),
        *LIMITS,
    ),
    cells=CellsInput(
        help="Table of the cells to choose from, instead of a grid: columns N and D, perhaps C, cost. A row is a cell.",
        label="Choose the cells from", link="candidates",
    ),
    module=f"{__package__}.reply",
    key="next_cells",
)  # fmt: skip
