"""The family of recommenders: fields, presets and trainer. Importing this module loads no training library.

The budgets of the presets suit two CPU cores and a synthetic log of a million events. To use another budget or an
uploaded log, change the fields ``budget`` and ``data`` of a preset.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from isoplan.trainers.behavior.cell import BehaviorCell, calibration_cell, sizes
from isoplan.trainers.behavior.checks import check
from isoplan.trainers.behavior.memory import needs
from isoplan.trainers.behavior.model.shape import VERSION
from isoplan.trainers.behavior.scores.metrics import BASELINES, HISTORIES, METRICS, SHORT, directions
from isoplan.trainers.cell import Family, Preset, TableColumns
from isoplan.trainers.pytorch import train_with_torch

LOG = {"users": "50000", "items": "5000", "user_events": "20", "length": "32"}
"""Fields of a synthetic log. The log is large enough that small models train on each event at most once."""
BUDGETS = "1e11, 3e11, 1e12"
TRIED = {"rates": "3"}
"""Number of learning rates, as a field of a preset. Each training run of the preset tries three learning rates.

The run reports the result for the learning rate with the smallest loss (behavioural paper, Secs. 3.1 and 5).
"""

PRESETS = {
    "example": Preset(
        {"width": "16, 32, 64", "share": "0.02, 0.1", "steps": "150", "items": "500", "users": "500"},
        "Six cells. They take one or two minutes.",
    ),
    "share-sweep": Preset(
        {**LOG, **TRIED, "budget": BUDGETS, "width": "0", "share": "0.02, 0.04, 0.08, 0.15, 0.3, 0.5"},
        "The best share of the embedder in the parameters, at each budget (behavioural, Sec. 3.1).",
    ),
    "batch-sweep": Preset(
        {**LOG, "budget": "3e12", "width": "64", "batch": "16..512 x 6", "schedule": "constant", "looks": "120"},
        "How many training steps each batch needs to reach the same metric: the critical batch (behavioural, Sec. 4).",
    ),
    "allocation-sweep": Preset(
        {**LOG, **TRIED, "budget": BUDGETS, "width": "24, 32, 48, 64, 96, 128", "layers": "0"},
        "The best model size and number of training events at each budget (behavioural, Sec. 5).",
    ),
    "negatives-sweep": Preset(
        {**LOG, **TRIED, "stage": "2", "budget": BUDGETS, "width": "64", "negatives": "0, 16, 64, 256, 1024, 4096"},
        "The best number of negatives of stage 2, at each budget (behavioural, Sec. 6).",
    ),
}


OWN = tuple(directions(histories=()))
"""Metrics of a stage over its default candidates.

The default candidates are the items of the batch in stage 1 and the full catalogue in stage 2.
"""
OTHER = ("loss", "entropy", "recall@10", "NDCG@10", "NDCG@100", "MRR@10", "coverage@10")
"""Metrics that are reported for both kinds of candidates: batch-local candidates and the full catalogue.

These metrics are needed for the rank correlations of Tables 15 to 17 of the behavioural paper.
"""
COLUMNS = TableColumns(
    fields=("data", "stage", "budget", "share", "batch", "negatives", "softmax", "schedule", "seed"),
    measured=(
        *("N", "p_e", "p", "s", "D", "U", "C", "C_step", "h_used", "width_used", "layers_used", "updates"),
        *("rate_used", "train_loss", "train_in_batch", *OWN),
        *(f"{name}/ctx_{length}" for name in SHORT for length in HISTORIES),
        *(f"{regime}_{name}" for regime in ("local", "full") for name in OTHER),
        *("D_stage1", "C_stage1", *BASELINES),
    ),
    curve=("loss", "entropy", "recall@10", "NDCG@10", "MRR@10"),
)


def families(root: Path) -> tuple[Family[Any], ...]:
    """Return the families of this package.

    They train two-part models on the event logs of the workspace ``root``.
    """
    return (
        Family(
            name="behavior",
            title="Recommender",
            summary="An event embedder and a causal Transformer on event logs.",
            main=("width", "steps"),
            cell=BehaviorCell,
            train=partial(train_with_torch, "Recommender cells", "behavior.training.cell_training", root),
            sizes=partial(sizes, root),
            needs=partial(needs, root),
            calibration_cell=partial(calibration_cell, root),
            check=partial(check, root),
            metrics=METRICS,
            version=f"1.{VERSION}",
            presets=PRESETS,
            bundled=COLUMNS,
        ),
    )
