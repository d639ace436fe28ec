"""Training runs (cells) of the behavior family: fields, and values that are computed from them before training."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from isoplan.trainers.behavior.logs.log import Cut, Facts, read_facts
from isoplan.trainers.behavior.logs.synthetic import World
from isoplan.trainers.behavior.model.shape import (
    VERSION,
    learning_rate,
    stage1_flops,
    stage2_flops,
)
from isoplan.trainers.behavior.sizing import Asked, Sized, given, size, stage2_steps
from isoplan.trainers.cell import AUTOMATIC, NAME, ZERO, Cell, Device, Sizes

SYNTHETIC = "synthetic"
SHORT_USERS, SHORT_ITEMS, SHORT_STEPS = 200, 5_000, 20
"""Users, items and steps of a calibration cell.

A calibration cell is a training run of about one second that measures the speed.
"""
UNREAD = Facts(
    items=100_000, vocabulary=10_000, categories=(), numbers=0, buckets=0, targets=1_000_000, windows=100_000, t=8
)
"""Assumed properties of a log that no training run has read yet."""


class BehaviorCell(Cell):
    """One training run of a two-part recommender on an event log.

    If a field is 0, its value follows from the budget or from a default.
    """

    data: Annotated[
        str,
        Field(
            pattern=NAME,
            title="Data",
            description="Name of the event log. synthetic: Isoplan generates the log. Any other name: a folder in "
            "behavior/ of the workspace with a file of events and optionally a file of items, as CSV or Parquet. The "
            "events can also be a text file with a user and an item in each line.",
        ),
    ] = SYNTHETIC
    items: Annotated[
        int,
        Field(
            ge=40, le=10**8, title="Items", description="Number of items of a synthetic log; not used for other logs."
        ),
    ] = 2_000
    users: Annotated[
        int,
        Field(
            ge=20, le=10**8, title="Users", description="Number of users of a synthetic log; not used for other logs."
        ),
    ] = 2_000
    user_events: Annotated[
        float,
        Field(ge=3, le=200, title="Events a user", description="Mean number of events per user of a synthetic log."),
    ] = 20.0
    split: Annotated[
        Cut,
        Field(
            title="Split",
            description="Held-out events. last: the last event of each user is for the test, and the event before it "
            "for the validation; last-one: only the last event is held out, for the test; time: the last 10 % of all "
            "events are for the test, and the preceding 10 % for the validation.",
        ),
    ] = "last"
    judge: Annotated[
        Literal["validation", "test"],
        Field(title="Judged on", description="Set of held-out events on which the model is scored."),
    ] = "validation"
    stage: Annotated[
        int,
        Field(
            ge=1, le=2, title="Stage",
            description="1 trains the whole model. 2 then freezes the embedder and continues to train the "
            "contextualiser.",
        ),
    ] = 1  # fmt: skip
    negatives: Annotated[
        int,
        Field(
            ge=0, le=10**9, json_schema_extra={ZERO: "none"}, title="Negatives K",
            description="Number of items drawn uniformly in each step as negatives, in addition to the targets of "
            "the batch. The paper draws them only in stage 2.",
        ),
    ] = 0  # fmt: skip
    softmax: Annotated[
        Literal["mean", "joint"],
        Field(
            title="Softmax",
            description="Used if K > 0. mean: the mean of two losses, one with the targets of the batch as candidates "
            "and one with the drawn items; joint: one loss with all these candidates.",
        ),
    ] = "mean"
    log_q: Annotated[
        bool,
        Field(
            title="log q",
            description="Subtract from each score the log of the probability that the item is a candidate.",
        ),
    ] = False
    budget: Annotated[
        float,
        Field(
            ge=0, le=1e24, json_schema_extra={ZERO: "none"}, title="Budget",
            description="Compute of a stage in FLOPs, by eq. 1 of the paper. It sets the number of steps. None: the "
            "field Steps sets this number.",
        ),
    ] = 0.0  # fmt: skip
    ratio: Annotated[
        float,
        Field(
            gt=0, le=1e6, title="D / N",
            description="Training events per parameter. Used if there is a budget and the width d is 0.",
        ),
    ] = 15.0  # fmt: skip
    share: Annotated[
        float,
        Field(
            gt=0, lt=1, title="Share s",
            description="Share of the embedder in the parameters N. Used if the width h is 0.",
        ),
    ] = 0.02  # fmt: skip
    h: Annotated[
        int,
        Field(
            ge=0,
            le=4096,
            json_schema_extra=AUTOMATIC,
            title="Width h",
            description="Width of the embedder. Automatic: set by the share s.",
        ),
    ] = 0
    width: Annotated[
        int,
        Field(
            ge=0, le=16_384, json_schema_extra=AUTOMATIC, title="Width d",
            description="Width of the contextualiser. Automatic: set by the budget and D / N.",
        ),
    ] = 64  # fmt: skip
    layers: Annotated[
        int,
        Field(
            ge=0, le=256, json_schema_extra=AUTOMATIC, title="Layers",
            description="Number of layers of the contextualiser. Automatic: about d / 32.",
        ),
    ] = 2  # fmt: skip
    text_layers: Annotated[
        int, Field(ge=1, le=64, title="Text layers", description="Number of layers of the text encoder.")
    ] = 1
    length: Annotated[int, Field(ge=2, le=4096, title="Length", description="Number of events in a sequence.")] = 64
    batch: Annotated[
        int, Field(ge=1, le=65_536, title="Batch B", description="Number of sequences per training step.")
    ] = 64
    steps: Annotated[
        int, Field(ge=1, le=10**8, title="Steps", description="Training steps of a stage (used if the budget is 0).")
    ] = 300
    rate: Annotated[
        float,
        Field(
            ge=0, le=1, json_schema_extra=AUTOMATIC, title="Learning rate",
            description="Peak learning rate of AdamW. Automatic: 0.002 sqrt(B / 512), at most 0.01.",
        ),
    ] = 0.0  # fmt: skip
    rates: Annotated[
        int,
        Field(
            ge=1, le=9, title="Rates tried",
            description="Number of learning rates to try. They differ by factors of 2 and are centred on the field "
            "Learning rate. The run with the smallest training loss is kept.",
        ),
    ] = 1  # fmt: skip
    schedule: Annotated[
        Literal["cosine", "constant"],
        Field(
            title="Schedule",
            description="Schedule of the learning rate: warm-up and cosine to 0, or constant, as in the preset "
            "batch-sweep.",
        ),
    ] = "cosine"
    weight_decay: Annotated[
        float, Field(ge=0, le=1, title="Weight decay", description="Weight decay of AdamW, for matrices.")
    ] = 0.1
    dropout: Annotated[
        float,
        Field(
            ge=0, lt=1, title="Dropout", description="Dropout rate in the contextualiser and of the item embeddings."
        ),
    ] = 0.0
    buckets: Annotated[
        int,
        Field(
            ge=0, le=10**8, json_schema_extra={ZERO: "none"}, title="Buckets",
            description="Number of rows of the table for item ids. None: ids are used only if items have no other "
            "features.",
        ),
    ] = 0  # fmt: skip
    pool: Annotated[
        int,
        Field(
            ge=2, le=65_536, title="Pool",
            description="Number of sequences whose targets are the candidates in a batch-local evaluation.",
        ),
    ] = 256  # fmt: skip
    looks: Annotated[
        int,
        Field(
            ge=0,
            le=1000,
            json_schema_extra={ZERO: "none"},
            title="Looks",
            description="Number of evaluations during the last stage of training, on a part of the held-out events.",
        ),
    ] = 10
    rivals: Annotated[
        int,
        Field(
            ge=0,
            le=10_000,
            json_schema_extra={ZERO: "none"},
            title="Rivals",
            description="Number of random unseen items per user. Each true item is ranked among these items for "
            "hit@10/rivals and NDCG@10/rivals. None: these metrics are not computed.",
        ),
    ] = 0
    device: Device = "auto"

    @property
    def world(self) -> World:
        """Parameters of the synthetic log.

        Training runs with equal ``items``, ``users`` and ``user_events`` share one log.
        """
        return World(users=self.users, items=self.items, mean_length=self.user_events)

    @property
    def peak_rate(self) -> float:
        """Learning rate at the peak of the schedule.

        This is the field ``rate``, or the default for the batch if ``rate`` is 0.
        """
        return self.rate or learning_rate(self.batch)

    @property
    def tried_rates(self) -> tuple[float, ...]:
        """Learning rates that are tried in each stage, in rising order.

        Neighbouring rates differ by a factor of 2. The geometric mean of all rates is ``peak_rate``.
        """
        return tuple(self.peak_rate * 2.0 ** (k - (self.rates - 1) / 2) for k in range(self.rates))

    @property
    def backbone(self) -> BehaviorCell:
        """The stage 1 cell (training run) that trains the frozen embedder of this stage 2 cell.

        Fields without effect on stage 1 have fixed values. Stage 2 cells that differ only in such fields share one
        result of stage 1.
        """
        alone = {"stage": 1, "negatives": 0, "softmax": "mean", "judge": "validation", "looks": 0, "rivals": 0}
        return self.model_copy(update={**alone, "pool": 2})

    def asked(self, facts: Facts) -> Asked:
        """Return the inputs of ``sizing``: fields of the cell, and properties of its log that determine the cost."""
        return Asked(
            budget=self.budget, fields=facts.fields, batch=self.batch, t=facts.t, ratio=self.ratio,
            share=0.0 if self.h else self.share, h=self.h, width=self.width, layers=self.layers,
            text_layers=self.text_layers, length=self.length, events=facts.events,
        )  # fmt: skip

    def sized(self, facts: Facts) -> Sized:
        """Return the size of the model and the number of steps of stage 1.

        Raises PlannerError if the budget is too small.
        """
        asked = self.asked(facts)
        found = size(asked) if self.budget else Sized(given(asked), self.batch, self.steps, facts.t, asked.reads)
        return replace(found, shape=replace(found.shape, dropout=self.dropout))

    def more_steps(self, facts: Facts) -> int:
        """Return the number of steps of stage 2.

        If ``budget`` (in FLOPs) is positive, the steps together cost this budget. If ``budget`` is 0, the number of
        steps is the field ``steps``.
        """
        if not self.budget:
            return self.steps
        sized = self.sized(facts)
        return stage2_steps(sized.shape, self.budget, self.batch, sized.events, self.negatives)


def name_of(cell: BehaviorCell, data: int) -> str:
    """Return the file name for the stored result of a stage 1 cell (training run): a hash of 20 hexadecimal digits.

    The hash depends on the fields of the cell and on ``data``, the checksum of its log.
    """
    whole = [VERSION, cell.model_dump(mode="json", exclude={"threads", "device"}), data]
    return sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:20]


def sizes(root: Path, cell: BehaviorCell) -> Sizes:
    """Return estimates of N, D, U and C for batches of mean size. The result of a finished cell has exact values.

    N is the number of parameters, D the number of training events, U the number of unique training events, and C the
    FLOPs. If no training run has read the log, C is the budget (None without a budget) and the other sizes are None.
    """
    facts = facts_of(root, cell)
    if facts is None:
        return Sizes(C=cell.budget or None)
    sized = cell.sized(facts)
    steps = sized.steps if cell.stage == 1 else cell.more_steps(facts)
    D = steps * cell.batch * facts.events
    return Sizes(float(sized.N), D, float(facts.targets), steps * step_flops(cell, sized, facts))


def step_flops(cell: BehaviorCell, found: Sized, facts: Facts) -> float:
    """Return the FLOPs of a training step with sequences and texts of mean length.

    The number of distinct targets is assumed to be as large as possible.
    """
    lengths = np.full(cell.batch, facts.events)
    unique = min(lengths.sum(), facts.items)
    if cell.stage == 2:
        return stage2_flops(found.shape, lengths, unique, cell.negatives)
    embedded = round(lengths.sum()) + cell.batch + cell.negatives
    return stage1_flops(found.shape, lengths, np.full(embedded, facts.t), unique + cell.negatives)


def facts_of(root: Path, cell: BehaviorCell) -> Facts | None:
    """Return the properties of the log of a cell, or None if no training run has read the log.

    For a synthetic log, the properties are approximate.
    """
    if cell.data == SYNTHETIC:
        world = cell.world
        # For each user, 2 events are held out, and the first event cannot be predicted from earlier events.
        targets = round(cell.users * max(cell.user_events - 3, 1))
        windows = max(cell.users, -(-targets // cell.length))
        return Facts(
            items=cell.items, vocabulary=world.vocabulary, categories=(world.categories + 1,), numbers=1,
            buckets=min(cell.buckets, cell.items), targets=targets, windows=windows, t=round(world.words),
        )  # fmt: skip
    try:
        return read_facts(root, cell.data, cell.split, cell.length, cell.buckets)
    except OSError:
        return None


def calibration_cell(root: Path, cell: BehaviorCell) -> BehaviorCell:
    """Return a short training run that measures the speed of this machine.

    The run trains the model of ``cell`` for a few steps on a small synthetic log. Its evaluation is short.
    """
    shape = cell.sized(facts_of(root, cell) or UNREAD).shape
    items = min(cell.items, SHORT_ITEMS)
    few = {
        "data": SYNTHETIC, "users": max(SHORT_USERS, 2 * cell.batch), "items": items, "split": "last", "budget": 0.0,
        "steps": SHORT_STEPS, "h": shape.h, "width": shape.width, "layers": shape.layers,
        "negatives": min(cell.negatives, items), "looks": 0, "rivals": 0, "rate": cell.peak_rate,
    }  # fmt: skip
    return cell.model_copy(update=few)
