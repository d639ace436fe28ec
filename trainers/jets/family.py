"""The family of jets as the backend knows it. Nothing that trains or simulates is imported before a cell runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trainers.cell import CellError, Family, Stream
from trainers.jets.cell import JetCell, check, needs, short, sizes
from trainers.jets.evaluate import METRICS
from trainers.jets.rates import VERSION


def families(root: Path) -> tuple[Family[Any], ...]:
    """Jet tagging on the jets of the workspace ``root``."""
    return (
        Family(
            name="jets",
            title="Jet tagging: a set Transformer on ten classes of jets",
            cell=JetCell,
            train=partial(train, root),
            sizes=sizes,
            needs=needs,
            short=short,
            check=partial(check, root),
            metrics=METRICS,
            version=f"1.{VERSION}",
            example={
                "width": "4, 8, 16",
                "jets": "125, 250, 500",
                "epochs": "20",
                "batch": "32",
                "rate": "0.004",
                "validation": "500",
            },
        ),
    )


def train(root: Path, cell: JetCell, stream: Stream) -> Mapping[str, float]:
    """Train a cell. Raises CellError where PyTorch is not installed, and as ``trainers.jets.training.train``."""
    if find_spec("torch") is None:
        raise CellError("Jets need PyTorch: install it with pip install 'isoplan[train]'.")
    from trainers.jets import training

    return training.train(root, cell, stream)
