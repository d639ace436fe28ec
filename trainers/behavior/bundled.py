"""Metrics that are bundled with the cells of the recommender grids."""

from __future__ import annotations

from isoplan.trainers.behavior.scores.baselines import COLUMNS as BASELINES
from isoplan.trainers.behavior.scores.metrics import HISTORIES, directions
from isoplan.trainers.bundle import Columns

KEPT = tuple(directions(histories=()))
"""Metrics of the candidates by which a stage is judged."""
OTHER = ("loss", "entropy", "recall@10", "NDCG@10", "NDCG@100", "MRR@10", "coverage@10")
"""Metrics of the other kind of candidates, for the rank correlations of the paper (Tables 15 to 17)."""
BY_HISTORY = ("loss", "recall@10", "NDCG@10", "MRR@10")
"""Metrics by length of the history, to test whether short histories prefer the same cells (Sec. 7 (e))."""

COLUMNS = Columns(
    fields=("data", "stage", "budget", "share", "batch", "negatives", "softmax", "schedule", "seed"),
    measured=(
        *("N", "p_e", "p", "s", "D", "U", "C", "C_step", "h_used", "width_used", "layers_used", "updates"),
        *("rate_used", "train_loss", "train_in_batch", *KEPT),
        *(f"{name}/ctx_{length}" for name in BY_HISTORY for length in HISTORIES),
        *(f"{regime}_{name}" for regime in ("local", "full") for name in OTHER),
        *("D_stage1", "C_stage1", *BASELINES),
    ),
    curve=("loss", "entropy", "recall@10", "NDCG@10", "MRR@10"),
)
