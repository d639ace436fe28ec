"""Trainer of a recommender: its model, optimiser and batches, the training steps of both stages, and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from isoplan.engine.arrays import Ints
from isoplan.trainers import training_loop
from isoplan.trainers.behavior.cell import BehaviorCell
from isoplan.trainers.behavior.logs.split import pack
from isoplan.trainers.behavior.model.losses import (
    CHUNK,
    CHUNK_OF_GPU,
    Drawn,
    Losses,
    Softmax,
    draw,
    log_chances,
    sampled,
)
from isoplan.trainers.behavior.model.shape import Shape, stage1_flops, stage2_flops
from isoplan.trainers.behavior.model.two_part import TwoPartModel
from isoplan.trainers.behavior.scores.metrics import Regime
from isoplan.trainers.behavior.training.cell_data import Data
from isoplan.trainers.cell import CellError


@dataclass(frozen=True, eq=False)
class Batch:
    """The sequences of one training step, concatenated, with P positions in total.

    Each position reads one event and predicts the item of the next event.

    - ``lengths`` (S,): number of positions of each sequence.
    - ``items`` (I,): distinct items of the batch in rising order.
    - ``inputs`` (P,): item that each position reads, as an index into ``items``.
    - ``candidates`` (M,): items that are the target of any position, as indices into ``items``.
    - ``targets`` (P,): target of each position, as an index into ``candidates``.
    - ``events`` (P,): event that each position reads, as an index into the log.
    """

    items: Ints
    inputs: Ints
    candidates: Ints
    targets: Ints
    lengths: Ints
    events: Ints

    @property
    def positions(self) -> int:
        """Number of positions. It equals the number of events that the step trains on."""
        return len(self.inputs)


def batch_of(
    inputs: NDArray[np.integer], targets: NDArray[np.integer], lengths: Ints, events: NDArray[np.integer]
) -> Batch:
    """Return the batch in which position p reads the event ``events[p]`` with the item ``inputs[p]``.

    Position p predicts the item ``targets[p]``. The three arrays are (P,).
    """
    if not len(inputs) == len(targets) == len(events) == lengths.sum():
        raise ValueError(f"{len(inputs)} inputs, {len(targets)} targets, {lengths.sum()} positions")
    items, places = np.unique(np.concatenate([inputs, targets]), return_inverse=True)
    read, wanted = np.split(places, 2)
    candidates, own = np.unique(wanted, return_inverse=True)
    return Batch(items.astype(np.int64), read, candidates, own, lengths, events.astype(np.int64))


@dataclass(frozen=True)
class State:
    """Progress of a training run.

    ``stage`` is the current stage. ``updates``, ``events`` and ``flops`` (C) are the steps, events and FLOPs of this
    stage so far. During stage 2, ``before`` contains these three numbers for stage 1. ``tried`` contains the training
    loss of each learning rate that is completed in this stage, in order. ``rate`` is the selected learning rate, or 0
    before the first rate is completed.
    """

    stage: int = 1
    updates: int = 0
    events: int = 0
    flops: float = 0.0
    before: tuple[int, int, float] = (0, 0, 0.0)
    tried: tuple[float, ...] = ()
    rate: float = 0.0


class Trainer:
    """The complete state on which the next training step depends.

    ``kept`` contains earlier states by name, which can be restored.
    """

    def __init__(self, cell: BehaviorCell, shape: Shape, data: Data, device: str) -> None:
        torch.manual_seed(cell.seed)
        self.cell, self.shape, self.data, self.device = cell, shape, data, torch.device(device)
        self.model = TwoPartModel(shape).to(self.device)
        self.chunk = CHUNK_OF_GPU if self.on_gpu else CHUNK
        self.optimiser = self._optimiser()
        self.state = State()
        self.tail: list[float] = []
        self.tail_in_batch: list[float] = []
        self.cache: Tensor | None = None
        self.kept: dict[str, dict[str, Any]] = {}
        self.shares = torch.from_numpy(data.shares).to(self.device)

    @property
    def on_gpu(self) -> bool:
        """Whether the device is a GPU."""
        return self.device.type == "cuda"

    @property
    def regime(self) -> Regime:
        """Candidates of the evaluation: items of a batch (``local``) in stage 1, all items (``full``) in stage 2."""
        return "local" if self.cell.stage == 1 else "full"

    @property
    def negatives(self) -> int:
        """Number of extra negatives K that are drawn at each step.

        The number is 0 while a stage 2 cell (training run) trains its stage 1. All cells of a sweep over K can thus
        share one stage 1.
        """
        return self.cell.negatives if self.state.stage == self.cell.stage else 0

    def freeze(self) -> None:
        """Begin stage 2: cache the embeddings of all items, and train only the contextualiser from then on."""
        if self.state.stage == 1:
            before = (self.state.updates, self.state.events, self.state.flops)
            self.state, self.tail, self.tail_in_batch = State(2, before=before), [], []
        self.model.embedder.requires_grad_(False)
        self.cache = self.embeddings()
        self.optimiser = self._optimiser()

    def embeddings(self) -> Tensor:
        """Return the embeddings (items, h) of all items, from the cache of stage 2 or from the current embedder."""
        if self.cache is not None:
            return self.cache
        self.model.eval()
        with self.autocast():
            vectors = self.model.embedder.all(self.data.known)
        self.model.train()
        return vectors

    def autocast(self) -> torch.autocast:
        """Return the autocast context: bf16 on a GPU, none on a CPU."""
        return torch.autocast("cuda", torch.bfloat16, enabled=self.on_gpu)

    def update(self, chosen: Ints, rate: float) -> dict[str, Tensor]:
        """Take one step of AdamW on the windows ``chosen`` with the learning rate ``rate``.

        Returns the loss before the step, named ``train``, and the components of the loss by name.
        """
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        batch = self.batch(chosen)
        with self.autocast():
            losses, drawn = self._losses(batch)
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(losses.total)
        self.optimiser.step()
        state, flops = self.state, self._C(batch, drawn)
        self.state = replace(
            state, updates=state.updates + 1, events=state.events + batch.positions, flops=state.flops + flops
        )
        return {"train": losses.total.detach(), **{name: part.detach() for name, part in losses.parts.items()}}

    def batch(self, chosen: Ints) -> Batch:
        """Return the batch of the training windows with the indices ``chosen``."""
        packed = pack(self.data.train, chosen)
        items = self.data.log.items
        return batch_of(items[packed.inputs], items[packed.targets], np.diff(packed.starts), packed.inputs)

    def queries(self, items: Tensor, events: Ints, lengths: Ints) -> Tensor:
        """Return the query (P, h) at each position of several sequences.

        ``items`` (P, h) contains the embedding of the item that each position reads. ``events`` (P,) contains the event
        that each position reads, as an index into the log. ``lengths`` (S,) contains the number of positions of each
        sequence.
        """
        read = self.model.embedder.beside(items, *self.data.beside.take(events))
        vectors: Tensor = self.model.context(read, lengths)
        return vectors

    def keep(self, name: str) -> None:
        """Save the current state under ``name``. ``go_back`` can restore it.

        Checkpoints include the saved states.
        """
        self.kept[name] = deepcopy({**self._whole(), "rng": training_loop.random_state(self.device)})

    def go_back(self, name: str) -> None:
        """Restore the state that ``keep`` saved under ``name``."""
        self._take(deepcopy(self.kept[name]))
        training_loop.set_random_state(self.kept[name]["rng"], self.device)

    def save(self, place: Path) -> None:
        """Write a checkpoint to ``place``: the current state, and the states that ``keep`` saved."""
        training_loop.save_checkpoint(place, self.device, **self._whole(), kept=self.kept, data=self.data.fingerprint)

    def load(self, place: Path) -> None:
        """Load a checkpoint. Raises CellError if the checkpoint cannot be read or belongs to another log."""
        with training_loop.read_checkpoint(place, self.device) as found:
            if found["data"] != self.data.fingerprint:
                raise CellError("the log has changed since it was saved")
            self._take(found)
            self.kept = found["kept"]

    def _whole(self) -> dict[str, Any]:
        parts = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict()}
        tails = {"tail": list(self.tail), "tail_in_batch": list(self.tail_in_batch)}
        return {**parts, "state": asdict(self.state), **tails}

    def _take(self, found: dict[str, Any]) -> None:
        self.model.load_state_dict(found["model"])
        pairs = {name: tuple(found["state"][name]) for name in ("before", "tried")}
        self.state = State(**{**found["state"], **pairs})
        self.tail, self.tail_in_batch = list(found["tail"]), list(found.get("tail_in_batch", ()))
        if self.state.stage == 2:
            self.freeze()
        self.optimiser.load_state_dict(found["optimiser"])

    def _losses(self, batch: Batch) -> tuple[Losses, Drawn]:
        """Return the losses of a batch and the drawn items.

        Stage 1 embeds the distinct items of the batch and the drawn items. Stage 2 reads all embeddings from the cache.
        """
        wanted, own = self._there(batch.items[batch.candidates]), self._there(batch.targets)
        drawn = draw(self.data.facts.items, self.negatives, wanted, own, self._random())
        table, places = self._table(batch, drawn)
        read = places(self._there(batch.items[batch.inputs]))
        queries = self.queries(table.index_select(0, read), batch.events, batch.lengths)
        joint = self.cell.softmax == "joint" and self.negatives > 0
        log_q = None
        if self.cell.log_q:
            chance = self.negatives / self.data.facts.items if joint else 0.0
            log_q = (
                log_chances(self.shares[wanted], batch.positions, chance),
                log_chances(self.shares[drawn.items], batch.positions, chance),
            )
        placed = replace(drawn, items=places(drawn.items))
        how: Softmax = "joint" if joint else "mean"
        return sampled(queries, table, places(wanted), own, placed, how, log_q, self.chunk), drawn

    def _table(self, batch: Batch, drawn: Drawn) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """Return the embeddings of all items of a step, and a function that maps items to rows of these embeddings."""
        if self.cache is not None:
            return self.cache, lambda items: items
        rows = np.union1d(batch.items, drawn.items.cpu().numpy())
        return self.model.embedder(self.data.known.take(rows)), partial(torch.bucketize, boundaries=self._there(rows))

    def _random(self) -> torch.Generator:
        """Return the random generator of the next step.

        It depends only on the seed, the stage, and the number of the step.
        """
        seed = np.random.SeedSequence([self.cell.seed, self.state.stage, self.state.updates]).generate_state(
            1, np.uint64
        )
        return torch.Generator(self.device).manual_seed(int(seed[0] >> np.uint64(1)))

    def _C(self, batch: Batch, drawn: Drawn) -> float:
        """Return the compute C of a step in FLOPs. In stage 1, each event and each drawn item counts as embedded."""
        unique = len(batch.candidates)
        if self.cache is not None:
            return stage2_flops(self.shape, batch.lengths, unique, self.negatives)
        last = np.cumsum(batch.lengths) - 1
        events = np.concatenate([batch.inputs, batch.candidates[batch.targets[last]]])
        items = np.concatenate([batch.items[events], drawn.items.cpu().numpy()])
        return stage1_flops(self.shape, batch.lengths, self.data.known.lengths[items], unique + self.negatives)

    def _there(self, places: Ints) -> Tensor:
        return torch.from_numpy(places.astype(np.int64)).to(self.device)

    def _optimiser(self) -> torch.optim.AdamW:
        groups: Any = self.model.groups(self.cell.weight_decay)
        return torch.optim.AdamW(groups, self.cell.peak_rate, fused=True)
