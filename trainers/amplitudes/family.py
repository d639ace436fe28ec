"""The family of amplitude surrogates as the backend knows it. Nothing that trains is imported before a cell runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from isoplan.trainers.amplitudes.cell import AmplitudeCell, check, needs, short, sizes
from isoplan.trainers.amplitudes.presets import PRESETS
from isoplan.trainers.amplitudes.surrogate.evaluate import METRICS
from isoplan.trainers.amplitudes.surrogate.rates import VERSION
from isoplan.trainers.cell import Family, RunContext
from isoplan.trainers.pytorch import check_torch


def families(root: Path) -> tuple[Family[Any], ...]:
    """Surrogates of squared amplitudes on the events of the workspace ``root``."""
    return (
        Family(
            name="amplitudes",
            title="Amplitude surrogates: MLPs and LLoCa-Transformers that learn squared matrix elements",
            cell=AmplitudeCell,
            train=partial(train, root),
            sizes=partial(sizes, root),
            needs=partial(needs, root),
            short=partial(short, root),
            check=partial(check, root),
            metrics=METRICS,
            version=f"1.{VERSION}",
            presets=PRESETS,
        ),
    )


def train(root: Path, cell: AmplitudeCell, stream: RunContext) -> Mapping[str, float]:
    """Train a cell. Raises CellError as ``check_torch`` and as the surrogate's ``training.train``."""
    check_torch("Amplitude surrogates", stream.device)
    from isoplan.trainers.amplitudes.surrogate import training

    return training.train(root, cell, stream)
