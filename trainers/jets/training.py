"""Training of a cell: batches of random jets, AdamW, the best pass of several, checkpoints that go on to the digit."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from isoplan.engine.arrays import Ints
from isoplan.trainers import training_loop
from isoplan.trainers.cell import CellError, RunContext, Stopped
from isoplan.trainers.jets.cell import JetCell, memory
from isoplan.trainers.jets.data import Jets, open_jets
from isoplan.trainers.jets.evaluate import evaluate, write_roc
from isoplan.trainers.jets.model import SetTransformer, loss_of
from isoplan.trainers.jets.shape import parameters, training_flops
from isoplan.trainers.training_loop import check_memory, set_determinism, warm_cosine

UNTRAINED = 0.1
"""A cell whose loss lies less than this below ln 10 has learned nothing that a law could describe."""
POINTS = 200
"""Times that a cell of one pass says how it goes."""
SILENCE = 30.0
"""Seconds after which one of several says so between two passes; more often, and passes would have to make room."""
STRIDE = 0.25
"""Validation waits until so many jets, as a share of its own, have been trained on."""
STALL = 1000
"""Updates without a better loss before a cell is over: a plateau of its first passes is not its end."""
AT_ONCE = 512
"""Jets of one batch of an evaluation."""
ROC = "roc.csv"
TURNED = 0.01
"""A loss that ends so much of itself above its least has turned up."""
SMOOTH, PART = 5, 3
"""Validation losses whose median is a loss without luck; of few losses no more than one part in so many."""


@dataclass(frozen=True)
class State:
    """How far a cell is: updates made; the pass that was ``looked`` at last, and the last one that was ``checked``.

    ``losses`` are the validation losses so far, ``best`` is the pass with the least of them (0: none yet).
    """

    updates: int = 0
    looked: int = 0
    checked: int = 0
    losses: tuple[float, ...] = ()
    best: int = 0
    best_loss: float = math.inf


class Trainer:
    """The model of a cell with its optimiser, on a device, and where it stands; ``jets`` tells its jets from others."""

    def __init__(self, cell: JetCell, device: str, jets: int = 0) -> None:
        torch.manual_seed(cell.seed)
        self.cell, self.device, self.jets = cell, torch.device(device), jets
        self.model = SetTransformer(cell.shape).to(self.device)
        self.run: Any = torch.compile(self.model, dynamic=True) if cell.compile and self.on_gpu else self.model
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), cell.peak_rate, weight_decay=cell.weight_decay, fused=True
        )
        self.state = State()
        self.kept: dict[str, Tensor] = {}

    @property
    def on_gpu(self) -> bool:
        """Whether the device is one."""
        return self.device.type == "cuda"

    def logits(self, jets: Jets, chosen: Ints) -> Tensor:
        """Logits (B, classes) of the ``chosen`` jets, in bf16 on a GPU."""
        particles, lengths, _ = jets.gather(chosen)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.on_gpu):
            found: Tensor = self.run(torch.from_numpy(particles).to(self.device), torch.from_numpy(lengths))
        return found.float()

    def update(self, jets: Jets, chosen: Ints, rate: float) -> Tensor:
        """One step of AdamW on the ``chosen`` jets; the loss before it."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        particles, lengths, labels = map(torch.from_numpy, jets.gather(chosen))
        loss = loss_of(self.run, particles.to(self.device), lengths, labels.to(self.device))
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self.optimiser.step()
        return loss.detach()

    @torch.no_grad()
    def evaluate(self, jets: Jets, stream: RunContext) -> NDArray[np.float32]:
        """Logits (jets, classes) of all jets, without dropout. Raises Stopped where the cell was asked to."""
        self.model.eval()
        found = []
        for first in range(0, len(jets.labels), AT_ONCE):
            if stream.stopping:
                raise Stopped
            chosen = np.arange(first, min(first + AT_ONCE, len(jets.labels)))
            found.append(self.logits(jets, chosen).cpu().numpy())
        self.model.train()
        return np.concatenate(found)

    def keep(self) -> None:
        """Remember the weights as they are: they are the best so far."""
        self.kept = {name: value.clone() for name, value in self.model.state_dict().items()}

    def save(self, place: Path) -> None:
        """Everything that the next update depends on."""
        whole = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(), "kept": self.kept}
        training_loop.save_checkpoint(place, self.device, **whole, state=asdict(self.state), jets=self.jets)

    def load(self, place: Path) -> None:
        """Go on from a checkpoint. Raises CellError for one that cannot be read, or that saw other jets."""
        with training_loop.read_checkpoint(place, self.device) as found:
            if found["jets"] != self.jets:
                raise CellError("the jets have changed since")
            self.model.load_state_dict(found["model"])
            self.optimiser.load_state_dict(found["optimiser"])
            self.kept, self.state = found["kept"], State(**found["state"])


def train(root: Path, cell: JetCell, stream: RunContext) -> Mapping[str, float]:
    """Train a cell of the workspace ``root`` and evaluate it: loss, accuracy, rejections, and N, D, U, C as they were.

    Raises CellError for a cell that is larger than the memory there is, and for jets that cannot be had.
    """
    check_memory(memory(cell), stream.device, "make its width, its batch or the particles of its inputs smaller")
    data = open_jets(root, cell, stream)
    set_determinism(cell)
    trainer = training_loop.make_or_resume(lambda: Trainer(cell, stream.device, data.train.fingerprint), stream)
    try:
        _passes(trainer, data.train, data.validation, stream)
        return _measured(trainer, data.train, data.validation, data.test, stream)
    except torch.OutOfMemoryError:
        raise CellError("The GPU has too little memory for this cell: make its batch or its width smaller.") from None


def _passes(trainer: Trainer, train: Jets, validation: Jets, stream: RunContext) -> None:
    """Pass over the jets until they have been seen as often as asked, or the loss has turned up."""
    cell, per = trainer.cell, trainer.cell.updates_a_pass
    total = per * cell.epochs
    every, talked = max(total // POINTS, 1), time.monotonic()
    said: list[Tensor] = []
    while True:
        done = trainer.state.updates
        if cell.epochs > 1 and done == per * (trainer.state.looked + 1):
            _look(trainer, validation, stream)
        if done == total or _over(trainer):
            return
        for chosen in _batches(cell, done // per, done % per):
            said.append(trainer.update(train, chosen, _rate(cell, done, total)))
            done += 1
            trainer.state = replace(trainer.state, updates=done)
            if stream.checkpoint_due:
                stream.save(trainer.save)
            if (done % every == 0 or done == total) if cell.epochs == 1 else time.monotonic() - talked > SILENCE:
                _say(trainer, said, stream)
                said, talked = [], time.monotonic()
            else:
                stream.step(done, _end(trainer))


def _batches(cell: JetCell, epoch: int, first: int) -> Iterator[Ints]:
    """The batches of a pass from number ``first`` on: all jets once, in an order of their own."""
    order = np.random.default_rng([cell.seed, epoch]).permutation(cell.jets)
    for k in range(first, cell.updates_a_pass):
        yield order[k * cell.jets_a_batch : (k + 1) * cell.jets_a_batch]


def _rate(cell: JetCell, update: int, total: int) -> float:
    if cell.schedule == "constant":
        return cell.peak_rate
    return warm_cosine(cell.peak_rate, update, total)


def _say(trainer: Trainer, said: list[Tensor], stream: RunContext) -> None:
    """The mean loss of the last batches; where every jet is new, that is a fair estimate of the loss."""
    cell, done = trainer.cell, trainer.state.updates
    mean = float(torch.stack(said).mean())
    if not math.isfinite(mean):
        raise CellError(f"The training diverged after {done:,} updates: use a smaller learning rate.")
    name = "loss" if cell.epochs == 1 else "train"
    stream.step(done, _end(trainer), **{name: mean}, samples=float(_seen(cell, done)))


def _look(trainer: Trainer, validation: Jets, stream: RunContext) -> None:
    """The validation loss after a pass, unless the last one is too near; the weights are kept where it is the best."""
    cell, epoch = trainer.cell, trainer.state.looked + 1
    trainer.state = state = replace(trainer.state, looked=epoch)
    if 0 < (epoch - state.checked) * cell.jets < STRIDE * cell.validation and epoch < cell.epochs and state.checked:
        return
    logits = trainer.evaluate(validation, stream)
    loss = float(F.cross_entropy(torch.from_numpy(logits), torch.from_numpy(np.asarray(validation.labels))))
    if not math.isfinite(loss):
        raise CellError(f"The training diverged after {epoch:,} passes: use a smaller learning rate.")
    trainer.state = replace(state, losses=(*state.losses, loss), checked=epoch)
    if loss < state.best_loss:
        trainer.state = replace(trainer.state, best=epoch, best_loss=loss)
        trainer.keep()
    stream.step(state.updates, _end(trainer), loss=loss, samples=float(_seen(cell, state.updates)))


def _over(trainer: Trainer) -> bool:
    """Whether the best pass is so long ago that the loss has turned up or stays where it is."""
    state = trainer.state
    return bool(state.best) and state.checked - state.best >= _waits(trainer)


def _waits(trainer: Trainer) -> float:
    """Passes without a better loss before the cell is over."""
    cell = trainer.cell
    stride = max(math.ceil(STRIDE * cell.validation / cell.jets), 1)
    return max(cell.patience * trainer.state.best, 3 * stride, STALL / cell.updates_a_pass)


def _end(trainer: Trainer) -> int:
    """Updates after which the cell ends if no pass is better than the best so far: what its time left is said by."""
    cell, state = trainer.cell, trainer.state
    passes = min(cell.epochs, math.ceil(state.best + _waits(trainer)))
    return max(passes * cell.updates_a_pass, state.updates)


def rise(losses: Sequence[float]) -> float:
    """By what share the validation loss ended above its least, both as medians of some looks."""
    some = min(SMOOTH, -(-len(losses) // PART))
    shown = np.lib.stride_tricks.sliding_window_view(np.asarray(losses), some)
    smooth = np.median(shown, axis=1)
    return float(smooth[-1] / smooth.min() - 1)


def _seen(cell: JetCell, updates: int) -> int:
    passes, rest = divmod(updates, cell.updates_a_pass)
    return passes * cell.jets + min(rest * cell.jets_a_batch, cell.jets)


def _measured(
    trainer: Trainer, train: Jets, validation: Jets, test: Jets | None, stream: RunContext
) -> dict[str, float]:
    """What a finished cell is worth: of the weights of its best pass where there were several."""
    cell, state = trainer.cell, trainer.state
    if trainer.kept:
        trainer.model.load_state_dict(trainer.kept)
    passes = state.best or 1
    logits = trainer.evaluate(validation, stream)
    judged = evaluate(logits, validation.labels)
    found = dict(judged.metrics)
    if test is not None:
        judged = evaluate(trainer.evaluate(test, stream), test.labels)
        found = {name: value for name, value in found.items() if not name.startswith("R_")}
        found |= {name: value for name, value in judged.metrics.items() if name.startswith("R_")}
    write_roc(stream.folder / ROC, judged.curves)
    lengths = train.lengths
    found |= {
        "N": float(parameters(cell.shape)),
        "U": float(cell.jets),
        "D": float(cell.jets * passes),
        "C": float(training_flops(cell.shape, lengths).sum() * passes),
        "n_p": float(lengths.mean()),
        "rate_used": cell.peak_rate,
        "batch_used": float(cell.jets_a_batch),
        "untrained": float(found["loss"] > math.log(10) - UNTRAINED),
    }
    if cell.epochs > 1:
        found |= {
            "best_epoch": float(passes),
            "rise": rise(state.losses),
            "overfits": float(rise(state.losses) > TURNED),
            "censored": float(not _over(trainer)),
        }
    return found
