"""Memory that a training run of a recommender needs, and a check that the embeddings of the catalogue fit."""

from __future__ import annotations

from math import ceil
from pathlib import Path

from isoplan.trainers.behavior.cell import UNREAD, BehaviorCell, facts_of
from isoplan.trainers.behavior.logs.log import Facts
from isoplan.trainers.behavior.model.shape import TEXT, parameters, vocabulary_parameters
from isoplan.trainers.behavior.scores.metrics import TOP
from isoplan.trainers.behavior.scores.ranks import AT_ONCE, QUERIES, ranking_bytes
from isoplan.trainers.cell import PROCESS, CellError, Resources

ADAM = 16
"""Bytes per trainable parameter: the parameter, its gradient and the two moments of Adam, 4 bytes each."""
FLOAT, PLACE = 4, 8
"""Bytes of a number in single precision, and bytes of the index of an item."""
A_LAYER = 22 * FLOAT
"""Measured memory of the activations in bytes per token, per layer, and per unit of the layer width."""
EMBEDDED = 14 * FLOAT * 2048
"""Memory in bytes while a catalogue is embedded, per word of a text and per unit of the width h.

The factor 2048 is the number of items in a block.
"""
SCORES = {"cpu": 4 * FLOAT * 2**20, "gpu": 3 * FLOAT * 2**27}
"""Memory in bytes of one block of scores and the arrays computed from the scores, by type of device."""
JUDGED = 4 * PLACE * 2**22
"""Minimum memory of an evaluation in bytes. It was measured with few sequences per batch."""


def memory(cell: BehaviorCell, facts: Facts, device: str = "cpu") -> float:
    """Return the memory of a training run in bytes, without the memory of a process that has only imported torch.

    The result is a sum of these terms: parameters with their gradients and moments, activations of a batch, a block of
    scores, the evaluation, and the embeddings of all items.
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
    """Return the memory of an evaluation in bytes.

    The result is the sum of two terms: the queries of one pool with their best items, and a block of scores.
    """
    queries = cell.pool * (ceil(facts.events) if cell.split == "time" else 1)
    at_once = min(queries, QUERIES)
    kept = queries * (FLOAT * h + 3 * PLACE * TOP)
    return max(JUDGED, ranking_bytes(at_once, AT_ONCE // at_once, TOP) + kept)


def catalogue_bytes(items: int, h: int) -> float:
    """Return the memory in bytes of the embeddings of all items. Stage 2 and full-catalogue metrics need them."""
    return float(FLOAT * items * h)


def needs(root: Path, cell: BehaviorCell) -> Resources:
    """Return the number of cores and the memory that a training run needs.

    If no training run has read the log, the properties ``UNREAD`` of a log are assumed.
    """
    facts = facts_of(root, cell) or UNREAD
    took = [PROCESS + memory(cell, facts, device) for device in ("cpu", "cuda")]
    return Resources(cell.threads, took[0], 0.0 if cell.device == "cpu" else took[1])


def check_catalogue(cell: BehaviorCell, facts: Facts, there: float) -> None:
    """Check that the embeddings of the catalogue fit into ``there`` bytes of memory. Raises CellError otherwise."""
    h = cell.sized(facts).shape.h
    takes = catalogue_bytes(facts.items, h)
    if takes > there:
        raise CellError(
            f"The embeddings of {facts.items:,} items at h = {h} take {takes / 1e9:,.0f} GB of memory, but there are "
            f"only {there / 1e9:,.0f} GB: make h smaller, or leave rare items out of the log."
        )
