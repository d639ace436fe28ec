"""The family of jet cells: fields, presets and trainer.

Code for training and simulation is imported when a cell runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from isoplan.trainers.cell import Family, Preset, TableColumns
from isoplan.trainers.jets.cell import VERSION, JetCell, calibration_cell, check, needs, sizes
from isoplan.trainers.jets.evaluate import METRICS
from isoplan.trainers.jets.features import KINDS
from isoplan.trainers.pytorch import train_with_torch

PRESETS = {
    "example": Preset(
        {"width": "4, 8, 16", "jets": "125, 250, 500", "epochs": "20", "batch": "32", "rate": "0.004",
         "validation": "500"},
        "Nine cells. They take one or two minutes, including the simulation of jets.",
    ),
    "one-pass": Preset(
        {"jets": "10000, 20000, 30000, 50000", "width": "4, 8, 16, 32, 64", "schedule": "cosine"},
        "Every jet once: the loss surface L(N, D) (jets, Sec. 3.1).",
    ),
    "repeated": Preset(
        {"jets": "1000, 2000, 5000, 10000", "width": "4, 8, 16, 32, 64", "epochs": "400"},
        "The same jets until the validation loss increases: the value of repeated data (jets, Sec. 3.2).",
    ),
    "inputs": Preset(
        {"inputs": "3x40, 21x10, 21x40, 21x128", "jets": "1000, 3000, 10000", "width": "32", "epochs": "400"},
        "Four inputs at several numbers of training jets: features compared with particles (jets, Sec. 3.3).",
    ),
}  # fmt: skip

JETS_A_SECOND = 35.0
"""Number of jets that one core simulates per second, averaged over the classes (docs/jets.md)."""


COLUMNS = TableColumns(
    fields=("inputs", "width", "epochs", "schedule", "seed", "tests"),
    measured=(
        *("N", "D", "U", "C", "loss", "accuracy", "batch_used", "rate_used", "n_p", "untrained"),
        *("best_epoch", "rise", "overfits", "censored"),
        *(f"{kind.metric}{end}" for kind in KINDS if kind.metric for end in ("", "_error", "_above")),
    ),
    curve=("loss",),
)


def families(root: Path) -> tuple[Family[Any], ...]:
    """Return the families of this package, which train jet taggers on the jets of the workspace ``root``."""
    return (
        Family(
            name="jets",
            title="Jet tagger",
            summary="A set Transformer on ten classes of jets.",
            main=("width", "jets"),
            cell=JetCell,
            train=partial(train_with_torch, "Jets", "jets.training", root),
            sizes=sizes,
            needs=needs,
            calibration_cell=calibration_cell,
            simulation=partial(simulation, root),
            check=partial(check, root),
            metrics=METRICS,
            version=f"1.{VERSION}",
            presets=PRESETS,
            bundled=COLUMNS,
        ),
    )


def simulation(root: Path, cells: Sequence[JetCell]) -> float:
    """Return the core time in seconds to simulate all missing jets of the workspace that ``cells`` need."""
    from isoplan.trainers.jets.data import missing

    return missing(root, cells) / JETS_A_SECOND
