"""The memory that a cell takes, in bytes, before it is trained."""

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
"""Bytes that a process takes with torch and nothing to train."""
ADAM = 16
"""Of a parameter with its gradient and both moments."""
FLOAT, PLACE = 4, 8
"""Of a number, and of the place of an item."""
A_LAYER = 22 * FLOAT
"""That a token takes in each layer while it trains, for each number of its embedding, as measured."""
EMBEDDED = 14 * FLOAT * 2048
"""That each number of a word takes while a catalogue is embedded, so many items at a time."""
SCORES = {"cpu": 4 * FLOAT * 2**20, "gpu": 3 * FLOAT * 2**27}
"""Of the scores that are there at once, and of what is made of them."""
JUDGED = 4 * PLACE * 2**22
"""Of judging a few sequences at a time, at least, as measured."""


def memory(cell: BehaviorCell, facts: Facts, device: str = "cpu") -> float:
    """Bytes beside the process: weights with their moments, activations of a batch, scores, embeddings of all items."""
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
    """Of judging a pool: its queries with their best items, and the scores of some of them among all items."""
    queries = cell.pool * (ceil(facts.events) if cell.split == "time" else 1)
    at_once = min(queries, QUERIES)
    kept = queries * (FLOAT * h + 3 * PLACE * TOP)
    return max(JUDGED, ranking_bytes(at_once, AT_ONCE // at_once, TOP) + kept)


def catalogue_bytes(items: int, h: int) -> float:
    """Of the embeddings of all items, which stage 2 reads and full-catalogue metrics score."""
    return float(FLOAT * items * h)


def needs(root: Path, cell: BehaviorCell) -> Resources:
    """Cores, and memory; for a log that no cell has read yet as if it were ``UNREAD``."""
    facts = facts_of(root, cell) or UNREAD
    took = [PROCESS + memory(cell, facts, device) for device in ("cpu", "cuda")]
    return Resources(cell.threads, took[0], 0.0 if cell.device == "cpu" else took[1])


def check_catalogue(cell: BehaviorCell, facts: Facts, there: float) -> None:
    """Raises CellError for a catalogue whose embeddings take more than the ``there`` bytes of memory."""
    h = cell.sized(facts).shape.h
    takes = catalogue_bytes(facts.items, h)
    if takes > there:
        raise CellError(
            f"The embeddings of {facts.items:,} items at h = {h} take {takes / 1e9:,.0f} GB of memory and there are "
            f"{there / 1e9:,.0f} GB: make h smaller, or leave rare items out of the log."
        )
