"""Bundled cells of the amplitude grids."""

from __future__ import annotations

from isoplan.trainers.bundle import Columns

COLUMNS = Columns(
    fields=("process", "sqrt_s", "network", "parameters", "layers", "objective", "target", "parametrization", "seed"),
    measured=(
        *("N", "D", "C", "d", "loss", "spread", "relative_median", "relative_mean", "relative_99", "epsilon"),
        *("pull_mean", "pull_width", "bulk_mean", "bulk_width", "within_1", "within_2", "sigma_mean"),
        *("dimension", "dimension_spread", "dimension_inputs", "dimension_inputs_spread"),
        *("width_used", "layers_used", "rate_used", "batch_used", "updates", "seen", "epochs", "best_iteration"),
        *("validation", "train"),
    ),
    curve=("loss",),
)
