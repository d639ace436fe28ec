"""What comes along of the cells of the grids of recommenders."""

from __future__ import annotations

from isoplan.trainers.behavior.scores.baselines import COLUMNS as BASELINES
from isoplan.trainers.behavior.scores.metrics import HISTORIES, directions
from isoplan.trainers.bundle import Columns

KEPT = tuple(directions(histories=()))
"""Of the candidates that a stage is judged by."""
OTHER = ("loss", "entropy", "recall@10", "NDCG@10", "NDCG@100", "MRR@10", "coverage@10")
"""Of the other kind of candidates: what the rank correlations of the paper (Tables 15 to 17) are between."""
BY_HISTORY = ("loss", "recall@10", "NDCG@10", "MRR@10")
"""Also of the events with so many before them: whether short histories prefer the same cells (Sec. 7 (e))."""

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
