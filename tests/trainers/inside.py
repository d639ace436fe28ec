"""A test family that trains in the process of the worker: it computes a sum and saves checkpoints."""

from __future__ import annotations

import json
import time
from pathlib import Path

from isoplan.trainers.cell import Cell, Family, RunContext, Sizes


class Sum(Cell):
    """A sum with a number of terms, a duration in seconds per term, and a failure ``how``."""

    terms: int = 10
    wait: float = 0.0
    how: str = ""


def train(cell: Sum, stream: RunContext) -> dict[str, float]:
    """Add the terms, starting from the checkpoint if one exists."""
    first, total = 0, 0.0
    if stream.resume is not None:
        first, total = json.loads(stream.resume.read_text())
    for k in range(first, cell.terms):
        total += 1 / (k + 1) ** 2
        if cell.how == "full":
            raise OSError(28, "No space left on device")
        if cell.how == "breaks":
            raise ValueError("nothing works")
        while cell.how == "deaf":
            time.sleep(0.1)
        time.sleep(cell.wait)
        at = k + 1
        stream.save(lambda place, state=(at, total): place.write_text(json.dumps(state)) and None)  # type: ignore[misc]
        stream.step(at, cell.terms, loss=total)
    return {"loss": total, "ran": float(cell.terms - first)}


def families(root: Path) -> tuple[Family[Sum], ...]:
    """Return the family of this module."""
    return (Family("sum", "Sum", Sum, train, lambda cell: Sizes(D=float(cell.terms))),)
