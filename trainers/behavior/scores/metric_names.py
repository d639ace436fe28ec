"""The metrics of a cell by name, and the direction in which each is better."""

from __future__ import annotations

from typing import Literal

from isoplan.trainers.behavior.scores.metrics import directions

RIVALS_AT = 10
"""The cutoff of hit rates beside rivals, as they are published."""
HIT, NDCG = f"hit@{RIVALS_AT}/rivals", f"NDCG@{RIVALS_AT}/rivals"
METRICS: dict[str, Literal["min", "max"]] = {
    **{name: way for name, way in directions().items() if name != "loss"},
    **{f"{regime}_{name}": way for regime in ("local", "full") for name, way in directions(histories=()).items()},
    HIT: "max",
    NDCG: "max",
}
"""Beside its loss. Without a prefix they are batch-local in stage 1 and over the full catalogue in stage 2, as in the
behavioural paper; ``full_`` and ``local_`` are those of the other candidates."""
