"""Columns that are bundled with the cells of the jet grids."""

from __future__ import annotations

from isoplan.trainers.bundle import Columns
from isoplan.trainers.jets.features import KINDS

COLUMNS = Columns(
    fields=("inputs", "width", "epochs", "schedule", "seed", "tests"),
    measured=(
        *("N", "D", "U", "C", "loss", "accuracy", "batch_used", "rate_used", "n_p", "untrained"),
        *("best_epoch", "rise", "overfits", "censored"),
        *(f"{kind.metric}{end}" for kind in KINDS if kind.metric for end in ("", "_error", "_above")),
    ),
    curve=("loss",),
)
