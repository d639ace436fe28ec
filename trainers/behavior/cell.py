"""Cells of the behavior family: their fields, and the values that follow from them before training."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.log import FOLDER, Cut, Facts, read_facts
from isoplan.trainers.behavior.logs.synthetic import World
from isoplan.trainers.behavior.model.shape import (
    TEXT,
    VERSION,
    learning_rate,
    parameters,
    stage1_flops,
    stage2_flops,
    vocabulary_parameters,
)
from isoplan.trainers.behavior.scores.metrics import TOP
from isoplan.trainers.behavior.scores.ranks import AT_ONCE, QUERIES, ranking_bytes
from isoplan.trainers.behavior.sizing import Asked, Sized, given, size, stage2_steps
from isoplan.trainers.cell import NAME, PROCESS, Cell, CellError, Device, Resources, Sizes

SYNTHETIC = "synthetic"
SHORT_USERS, SHORT_ITEMS, SHORT_STEPS = 200, 5_000, 20
"""Size of a cell that takes about one second."""
UNREAD = Facts(
    items=100_000, vocabulary=10_000, categories=(), numbers=0, buckets=0, targets=1_000_000, windows=100_000, t=8
)
"""Assumed facts of a log that no cell has read yet."""


class BehaviorCell(Cell):
    """A two-part model trained on an event log. A zero means that the budget or a rule sets the value."""

    data: Annotated[
        str,
        Field(
            pattern=NAME,
            title="Data",
            description="synthetic makes a log up; any other name is a folder in behavior/ of the workspace, with "
            "events and perhaps items as CSV, Parquet or lines of user and item.",
        ),
    ] = SYNTHETIC
    items: Annotated[
        int, Field(ge=40, le=10**8, title="Items", description="Of a synthetic log; others hold what they hold.")
    ] = 2_000
    users: Annotated[int, Field(ge=20, le=10**8, title="Users", description="Of a synthetic log.")] = 2_000
    user_events: Annotated[
        float, Field(ge=3, le=200, title="Events a user", description="Of a synthetic log, in the mean.")
    ] = 20.0
    split: Annotated[
        Cut,
        Field(
            title="Split",
            description="The last two events of each user are held out, or the last one and nothing to validate on, or "
            "the last tenths of all time.",
        ),
    ] = "last"
    judge: Annotated[
        Literal["validation", "test"], Field(title="Judged on", description="Which held-out events are scored.")
    ] = "validation"
    stage: Annotated[
        int,
        Field(ge=1, le=2, title="Stage", description="2 freezes the embedder of the same cell of stage 1 and goes on."),
    ] = 1
    negatives: Annotated[
        int,
        Field(
            ge=0, le=10**9, title="Negatives K",
            description="Items drawn uniformly beside the batch's targets; the paper does so in stage 2 alone.",
        ),
    ] = 0  # fmt: skip
    softmax: Annotated[
        Literal["mean", "joint"],
        Field(title="Softmax", description="With negatives: the mean of in-batch and extra losses, or one over both."),
    ] = "mean"
    log_q: Annotated[bool, Field(title="log q", description="Correct scores for how often an item is a candidate.")] = (
        False
    )
    budget: Annotated[
        float,
        Field(ge=0, le=1e24, title="Budget", description="FLOPs of a stage by the step formula; 0 takes the steps."),
    ] = 0.0
    ratio: Annotated[
        float, Field(gt=0, le=1e6, title="D / N", description="With a budget and width 0: events per parameter.")
    ] = 15.0
    share: Annotated[
        float, Field(gt=0, lt=1, title="Share s", description="Of the embedder in the parameters, where h is 0.")
    ] = 0.02
    h: Annotated[int, Field(ge=0, le=4096, title="Width h", description="Of embeddings; 0 takes it by the share.")] = 0
    width: Annotated[
        int, Field(ge=0, le=16_384, title="Width d", description="Of the contextualiser; 0 takes it by the budget.")
    ] = 64
    layers: Annotated[
        int, Field(ge=0, le=256, title="Layers", description="Of the contextualiser; 0 takes d / 32.")
    ] = 2
    text_layers: Annotated[int, Field(ge=1, le=64, title="Text layers", description="Of the text encoder.")] = 1
    length: Annotated[int, Field(ge=2, le=4096, title="Length", description="Events that a sequence reads.")] = 64
    batch: Annotated[int, Field(ge=1, le=65_536, title="Batch B", description="Sequences of an update.")] = 64
    steps: Annotated[
        int, Field(ge=1, le=10**8, title="Steps", description="Training steps of a stage (used if the budget is 0).")
    ] = 300
    rate: Annotated[
        float, Field(ge=0, le=1, title="Learning rate", description="Of AdamW; 0 takes 0.002 sqrt(B / 512).")
    ] = 0.0
    rates: Annotated[
        int,
        Field(
            ge=1, le=9, title="Rates tried",
            description="Learning rates around that one, a factor of 2 apart; the least training loss is kept.",
        ),
    ] = 1  # fmt: skip
    schedule: Annotated[
        Literal["cosine", "constant"], Field(title="Schedule", description="Of the rate; the batch sweep is constant.")
    ] = "cosine"
    weight_decay: Annotated[float, Field(ge=0, le=1, title="Weight decay", description="Of AdamW, on matrices.")] = 0.1
    dropout: Annotated[
        float, Field(ge=0, lt=1, title="Dropout", description="In the contextualiser, and of the vectors of items.")
    ] = 0.0
    buckets: Annotated[
        int,
        Field(ge=0, le=10**8, title="Buckets", description="For ids; 0 reads ids only where nothing else is known."),
    ] = 0
    pool: Annotated[
        int,
        Field(ge=2, le=65_536, title="Pool", description="Sequences whose targets are the candidates when judged."),
    ] = 256
    looks: Annotated[
        int, Field(ge=0, le=1000, title="Looks", description="Times that some of what is judged is scored on the way.")
    ] = 10
    rivals: Annotated[
        int,
        Field(ge=0, le=10_000, title="Rivals", description="Unseen items drawn for each user: hit rates beside them."),
    ] = 0
    device: Device = "auto"

    @property
    def world(self) -> World:
        """The synthetic log. It is the same for all cells of a grid with equal items, users and events per user."""
        return World(users=self.users, items=self.items, mean_length=self.user_events)

    @property
    def peak_rate(self) -> float:
        """The learning rate of the cell, or the default for its batch if it is 0."""
        return self.rate or learning_rate(self.batch)

    @property
    def tried_rates(self) -> tuple[float, ...]:
        """The learning rates that each stage tries, in rising order."""
        return tuple(self.peak_rate * 2.0 ** (k - (self.rates - 1) / 2) for k in range(self.rates))

    @property
    def backbone(self) -> BehaviorCell:
        """The cell of stage 1 whose embedder is frozen in this one. Fields that only stage 2 uses are reset."""
        alone = {"stage": 1, "negatives": 0, "softmax": "mean", "judge": "validation", "looks": 0, "rivals": 0}
        return self.model_copy(update={**alone, "pool": 2})

    def asked(self, facts: Facts) -> Asked:
        """Return the inputs of the sizing."""
        return Asked(
            budget=self.budget, fields=facts.fields, batch=self.batch, t=facts.t, ratio=self.ratio,
            share=0.0 if self.h else self.share, h=self.h, width=self.width, layers=self.layers,
            text_layers=self.text_layers, length=self.length, events=facts.events,
        )  # fmt: skip

    def sized(self, facts: Facts) -> Sized:
        """Return the model and the steps of stage 1. Raises PlannerError if the budget is too small."""
        asked = self.asked(facts)
        found = size(asked) if self.budget else Sized(given(asked), self.batch, self.steps, facts.t, asked.reads)
        return replace(found, shape=replace(found.shape, dropout=self.dropout))

    def more_steps(self, facts: Facts) -> int:
        """Return the steps of stage 2: those of its budget, or the field ``steps`` without a budget."""
        if not self.budget:
            return self.steps
        sized = self.sized(facts)
        return stage2_steps(sized.shape, self.budget, self.batch, sized.events, self.negatives)


def name_of(cell: BehaviorCell, data: int) -> str:
    """Return the name of the result of a stage 1 cell on data with the fingerprint ``data``."""
    whole = [VERSION, cell.model_dump(mode="json", exclude={"threads", "device"}), data]
    return sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:20]


def sizes(root: Path, cell: BehaviorCell) -> Sizes:
    """Return N, D, U and C for typical batches if the data are known. A finished cell reports exact values."""
    facts = facts_of(root, cell)
    if facts is None:
        return Sizes(C=cell.budget or None)
    sized = cell.sized(facts)
    steps = sized.steps if cell.stage == 1 else cell.more_steps(facts)
    D = steps * cell.batch * facts.events
    return Sizes(float(sized.N), D, float(facts.targets), steps * step_flops(cell, sized, facts))


def step_flops(cell: BehaviorCell, found: Sized, facts: Facts) -> float:
    """Return C of a typical step: sequences and texts of mean length, and distinct targets."""
    lengths = np.full(cell.batch, facts.events)
    unique = min(lengths.sum(), facts.items)
    if cell.stage == 2:
        return stage2_flops(found.shape, lengths, unique, cell.negatives)
    embedded = round(lengths.sum()) + cell.batch + cell.negatives
    return stage1_flops(found.shape, lengths, np.full(embedded, facts.t), unique + cell.negatives)


def facts_of(root: Path, cell: BehaviorCell) -> Facts | None:
    """Return the known facts of a cell's data, or None if the folder has not been read. Approximate for a synthetic
    log.
    """
    if cell.data == SYNTHETIC:
        world = cell.world
        targets = round(cell.users * max(cell.user_events - 3, 1))  # two are held out, and the first is not predicted
        windows = max(cell.users, -(-targets // cell.length))
        return Facts(
            items=cell.items, vocabulary=world.vocabulary, categories=(world.categories + 1,), numbers=1,
            buckets=min(cell.buckets, cell.items), targets=targets, windows=windows, t=round(world.words),
        )  # fmt: skip
    try:
        return read_facts(root, cell.data, cell.split, cell.length, cell.buckets)
    except OSError:
        return None


def check(root: Path, cell: BehaviorCell) -> None:
    """Check the fields of a cell. Raises PlannerError if they are incompatible or the log does not exist."""
    if not cell.budget and not cell.width:
        raise PlannerError("Width 0 is taken by the budget: give a budget, or a width.")
    if cell.split == "last-one" and cell.judge == "validation":
        raise PlannerError("The split last-one leaves nothing to validate on: judge on test, or split by last or time.")
    if cell.negatives and cell.stage == 1 and cell.budget:
        raise PlannerError(
            f"The step formula of stage 1 has no K = {cell.negatives:,} extra negatives: give steps and no budget, or "
            "use stage 2."
        )
    if cell.data != SYNTHETIC and not (root / FOLDER / cell.data).is_dir():
        raise PlannerError(
            f"There is no log {cell.data!r}: put its events into {FOLDER}/{cell.data} of the workspace, or use "
            f"{SYNTHETIC}."
        )
    facts = facts_of(root, cell)
    if facts is not None:
        check_negatives(cell, facts)
        check_batch(cell, facts.windows)
        _ = cell.sized(facts) if cell.stage == 1 else cell.more_steps(facts)


def check_batch(cell: BehaviorCell, windows: int) -> None:
    """Check the number of training sequences. Raises PlannerError if it is 0 or less than the batch."""
    if not windows:
        raise PlannerError(
            f"{cell.data} leaves nothing to train on: no user has two events beside those that the split {cell.split} "
            "holds out. Bring users with more events, or take another split."
        )
    if windows < cell.batch:
        raise PlannerError(
            f"{cell.data} has {windows:,} sequences to train on, fewer than the batch of {cell.batch:,}: make the "
            "batch smaller, or bring users with more events."
        )


def check_negatives(cell: BehaviorCell, facts: Facts) -> None:
    """Check the number of negatives. Raises PlannerError if it is larger than the number of items."""
    if cell.negatives > facts.items:
        raise PlannerError(
            f"K = {cell.negatives:,} extra negatives are more than the {facts.items:,} items of the catalogue: ask for "
            "fewer."
        )


def calibration_cell(root: Path, cell: BehaviorCell) -> BehaviorCell:
    """Return a short cell: the same model on a small synthetic log, with few steps and a short evaluation."""
    shape = cell.sized(facts_of(root, cell) or UNREAD).shape
    items = min(cell.items, SHORT_ITEMS)
    few = {
        "data": SYNTHETIC, "users": max(SHORT_USERS, 2 * cell.batch), "items": items, "split": "last", "budget": 0.0,
        "steps": SHORT_STEPS, "h": shape.h, "width": shape.width, "layers": shape.layers,
        "negatives": min(cell.negatives, items), "looks": 0, "rivals": 0, "rate": cell.peak_rate,
    }  # fmt: skip
    return cell.model_copy(update=few)


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
