"""The family of amplitude surrogates: fields, presets and trainer.

Importing this module loads no training library such as PyTorch.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from isoplan.trainers.amplitudes.cell import AmplitudeCell, calibration_cell, check, needs, sizes
from isoplan.trainers.amplitudes.surrogate.accuracy import METRICS
from isoplan.trainers.amplitudes.surrogate.shape import VERSION
from isoplan.trainers.cell import Family, Preset, TableColumns
from isoplan.trainers.pytorch import train_with_torch

PRESETS = {
    "example": Preset(
        {"points": "100, 1000, 10000", "parameters": "1000, 10000", "iterations": "2000", "rate": "0.01",
         "tests": "10000"},
        "Six cells of Z + gluon. They take one or two minutes, including the simulation of events.",
    ),
    "data-scan": Preset(
        {"process": "Zg, ttH, Zgg", "points": "100..100000 x 7", "parameters": "10000", "iterations": "20000"},
        "Loss as a function of the training points: alpha_D compared with 4 / d (amplitudes, Fig. 2 left).",
    ),
    "size-scan": Preset(
        {"process": "ttH", "points": "1000, 10000, 100000", "parameters": "100..100000 x 7", "layers": "0",
         "iterations": "20000"},
        "Loss as a function of the parameters at fixed width / layers (amplitudes, Fig. 2 right).",
    ),
    "compute-scan": Preset(
        {"process": "ttH", "points": "1000, 10000, 100000", "parameters": "10000", "budget": "1e9..3e11 x 8",
         "rate": "0.01"},
        "Loss as a function of compute. Each cell has a cosine schedule of its own length (amplitudes, Fig. 1 right).",
    ),
    "rate-transfer": Preset(
        {"process": "ttH", "points": "10000", "parametrization": "mup, standard", "width": "16, 64, 256",
         "iterations": "3000", "rate": "0.0003..0.03 x 5", "dimension_points": "0"},
        "The best learning rate at each width: constant with muP, decreasing without (amplitudes, Fig. 1 left).",
    ),
    "uncertainty": Preset(
        {"process": "ttH", "points": "1000, 10000, 100000", "objective": "mse, heteroscedastic", "iterations": "20000"},
        "Surrogates with and without a learned uncertainty, and the pulls of this uncertainty (amplitudes, Sec. 4.2).",
    ),
}  # fmt: skip


COLUMNS = TableColumns(
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


def families(root: Path) -> tuple[Family[Any], ...]:
    """Return the family of amplitude surrogates that uses the events of the workspace ``root``."""
    return (
        Family(
            name="amplitudes",
            title="Amplitude surrogate",
            summary="An MLP or LLoCa-Transformer that learns squared matrix elements.",
            main=("parameters", "points"),
            cell=AmplitudeCell,
            train=partial(train_with_torch, "Amplitude surrogates", "amplitudes.surrogate.training", root),
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
