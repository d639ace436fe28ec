"""Grids to begin with: an example, and the four sweeps of the behavioural paper at a small scale.

Their budgets are for two cores and a synthetic log of a million events; another list of budgets, and a log of one's
own, are two fields.
"""

from __future__ import annotations

from isoplan.trainers.cell import Preset

LOG = {"users": "50000", "items": "5000", "user_events": "20", "length": "32"}
"""A synthetic log on which small models do not see events twice."""
BUDGETS = "1e11, 3e11, 1e12"
TRIED = {"rates": "3"}
"""Each cell by the best of three learning rates on the training loss, as in the paper (Secs. 3.1 and 5)."""

PRESETS = {
    "example": Preset(
        {"width": "16, 32, 64", "share": "0.02, 0.1", "steps": "150", "items": "500", "users": "500"},
        "Six cells, a minute or two.",
    ),
    "share-sweep": Preset(
        {**LOG, **TRIED, "budget": BUDGETS, "width": "0", "share": "0.02, 0.04, 0.08, 0.15, 0.3, 0.5"},
        "Which share of the parameters the embedder should have, at each budget (behavioural, Sec. 3.1).",
    ),
    "batch-sweep": Preset(
        {**LOG, "budget": "3e12", "width": "64", "batch": "16..512 x 6", "schedule": "constant", "looks": "120"},
        "How many updates each batch needs to the same metric: the critical batch (behavioural, Sec. 4).",
    ),
    "allocation-sweep": Preset(
        {**LOG, **TRIED, "budget": BUDGETS, "width": "24, 32, 48, 64, 96, 128", "layers": "0"},
        "Which model, trained on how many events, is best at each budget (behavioural, Sec. 5).",
    ),
    "negatives-sweep": Preset(
        {**LOG, **TRIED, "stage": "2", "budget": BUDGETS, "width": "64", "negatives": "0, 16, 64, 256, 1024, 4096"},
        "How many negatives stage 2 should draw, at each budget (behavioural, Sec. 6).",
    ),
}
