"""The family of recommender cells as the backend knows it. Nothing that trains is imported before a cell runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from isoplan.trainers.behavior.cell import BehaviorCell, check, short, sizes
from isoplan.trainers.behavior.memory import needs
from isoplan.trainers.behavior.presets import PRESETS
from isoplan.trainers.behavior.rates import VERSION
from isoplan.trainers.behavior.scores.metric_names import METRICS
from isoplan.trainers.cell import Family, RunContext
from isoplan.trainers.pytorch import check_torch


def families(root: Path) -> tuple[Family[Any], ...]:
    """Two-part behavioural models on the event logs of the workspace ``root``."""
    return (
        Family(
            name="behavior",
            title="Recommender: an event embedder and a causal Transformer on event logs",
            cell=BehaviorCell,
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


def train(root: Path, cell: BehaviorCell, stream: RunContext) -> Mapping[str, float]:
    """Train a cell. Raises CellError as ``check_torch`` and as ``cell_training.train``."""
    check_torch("Recommender cells", stream.device)
    from isoplan.trainers.behavior.training import cell_training

    return cell_training.train(root, cell, stream)
