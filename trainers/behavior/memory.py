"""The memory of a cell in bytes, estimated before training."""

from __future__ import annotations

from math import ceil
from pathlib import Path

from isoplan.trainers.behavior.cell import UNREAD, BehaviorCell, facts_of
from isoplan.trainers.behavior.logs.log_stats import Facts
from isoplan.trainers.behavior.model.shape import TEXT, parameters, vocabulary_parameters
from isoplan.trainers.behavior.scores.metrics import TOP
from isoplan.trainers.behavior.scores.ranks import AT_ONCE, QUERIES, ranking_bytes
from isoplan.trainers.cell import CellError, Resources

PROCESS = 0.6e9
"""Memory in bytes of a process that has imported torch and trains nothing."""
ADAM = 16
"""Bytes of a parameter with its gradient and both moments."""
FLOAT, PLACE = 4, 8
"""Bytes of a number, and of an index of an item."""
A_LAYER = 22 * FLOAT
"""Bytes per token, layer and width during training, as measured."""
EMBEDDED = 14 * FLOAT * 2048
"""Bytes per word and width while a catalogue is embedded, for one block of items."""
SCORES = {"cpu": 4 * FLOAT * 2**20, "gpu": 3 * FLOAT * 2**27}
"""Bytes of the scores that are in memory at once, with the arrays derived from them."""
JUDGED = 4 * PLACE * 2**22
"""Minimum bytes of an evaluation of a few sequences at a time, as measured."""


def memory(cell: BehaviorCell, facts: Facts, device: str = "cpu") -> float:
    """Return the bytes in addition to those of the process.

    They are weights with their moments, activations of a batch, scores, and embeddings of all items.
    """
    shape = cell.sized(facts).shape
    rows = cell.batch * facts.events
    context = (
        shape.layers * rows * (A_LAYER * shape.width + 3 * FLOAT * min(2 * facts.events, cell.length) * shape.heads)
    )
    scores = SCORES["gpu" if device.startswith("cuda") else "cpu"]
    whole = ADAM * (sum(parameters(shape)) + vocabulary_parameters(shape)) + context + scores
    whole += judged_bytes(cell, facts, shape.h)
    whole += catalogue_bytes(facts.items, shape.h) + EMBEDDED * facts.t * shape.h
    distinct = min(rows + cell.negatives, facts.items)
    if cell.stage == 1:
        words = distinct * facts.t * bool(shape.fields.vocabulary)
        text = shape.text_layers * words * (A_LAYER * shape.h + 3 * FLOAT * TEXT * shape.text_heads)
        return whole + text + distinct * A_LAYER * shape.h
    return whole + cell.negatives * (FLOAT * shape.h + PLACE) + 2 * PLACE * facts.items


def judged_bytes(cell: BehaviorCell, facts: Facts, h: int) -> float:
    """Return the bytes of the evaluation of a pool: its queries with their best items, and a block of scores."""
    queries = cell.pool * (ceil(facts.events) if cell.split == "time" else 1)
    at_once = min(queries, QUERIES)
    kept = queries * (FLOAT * h + 3 * PLACE * TOP)
    return max(JUDGED, ranking_bytes(at_once, AT_ONCE // at_once, TOP) + kept)


def catalogue_bytes(items: int, h: int) -> float:
    """Return the bytes of the embeddings of all items, for stage 2 and metrics over the full catalogue."""
    return float(FLOAT * items * h)


def needs(root: Path, cell: BehaviorCell) -> Resources:
    """Return the cores and the memory of a cell. A log that no cell has read has the facts ``UNREAD``."""
    facts = facts_of(root, cell) or UNREAD
    took = [PROCESS + memory(cell, facts, device) for device in ("cpu", "cuda")]
    return Resources(cell.threads, took[0], 0.0 if cell.device == "cpu" else took[1])


def check_catalogue(cell: BehaviorCell, facts: Facts, there: float) -> None:
    """Check the catalogue. Raises CellError if its embeddings need more than ``there`` bytes of memory."""
    h = cell.sized(facts).shape.h
    takes = catalogue_bytes(facts.items, h)
    if takes > there:
        raise CellError(
            f"The embeddings of {facts.items:,} items at h = {h} take {takes / 1e9:,.0f} GB of memory and there are "
            f"{there / 1e9:,.0f} GB: make h smaller, or leave rare items out of the log."
        )
