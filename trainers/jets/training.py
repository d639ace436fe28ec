"""One training run: random batches, AdamW, selection of the best pass, and checkpoints for an exact resume."""

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
from isoplan.trainers.jets.cell import JetCell, memory, parameters, training_flops
from isoplan.trainers.jets.data import Jets, open_jets
from isoplan.trainers.jets.evaluate import evaluate, write_roc
from isoplan.trainers.jets.model import SetTransformer, loss_of
from isoplan.trainers.training_loop import check_memory, set_determinism, warm_cosine

UNTRAINED = 0.1
"""A model counts as untrained if its loss exceeds ln 10 - ``UNTRAINED`` nats. Random guessing has the loss ln 10."""
POINTS = 200
"""Number of progress reports of a training run with one pass over the jets."""
SILENCE = 30.0
"""Minimum time in seconds between two progress reports within a pass, if there are several passes.

The stored curve has a limited number of points. More reports within a pass would displace the points at the ends of
passes.
"""
STRIDE = 0.25
"""Minimum number of training jets between two validations, divided by the number of validation jets."""
STALL = 1000
"""Minimum number of steps without a better loss before early stopping. Early plateaus must not end training."""
AT_ONCE = 512
"""Number of jets per batch of an evaluation."""
ROC = "roc.csv"
TURNED = 0.01
"""The loss counts as rising if the final loss exceeds the lowest loss by more than this fraction of the lowest loss."""
SMOOTH, PART = 5, 3
"""The running median of n validation losses has a window of min(``SMOOTH``, ceil(n / ``PART``)) losses."""


@dataclass(frozen=True)
class State:
    """Progress of a training run.

    ``updates`` is the number of training steps, ``looked`` the number of completed passes, and ``checked`` the last
    pass with a validation. ``losses`` contains the validation losses so far. ``best_loss`` is the smallest of these
    losses. ``best`` is the pass with this loss, or 0 before the first validation.
    """

    updates: int = 0
    looked: int = 0
    checked: int = 0
    losses: tuple[float, ...] = ()
    best: int = 0
    best_loss: float = math.inf


class Trainer:
    """The model of a cell with its optimiser and state, on a device. ``jets`` is the checksum of the training jets."""

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
        """Whether the device is a GPU."""
        return self.device.type == "cuda"

    def logits(self, jets: Jets, chosen: Ints) -> Tensor:
        """Return the logits (B, classes) of the ``chosen`` jets, computed in bf16 on a GPU."""
        particles, lengths, _ = jets.gather(chosen)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.on_gpu):
            found: Tensor = self.run(torch.from_numpy(particles).to(self.device), torch.from_numpy(lengths))
        return found.float()

    def update(self, jets: Jets, chosen: Ints, rate: float) -> Tensor:
        """Take one step of AdamW on the ``chosen`` jets with the learning rate ``rate``.

        Returns the loss before the step.
        """
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
        """Return the logits (jets, classes) of all jets, without dropout. Raises Stopped if the cell must stop."""
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
        """Store a copy of the current weights as the best weights so far."""
        self.kept = {name: value.clone() for name, value in self.model.state_dict().items()}

    def save(self, place: Path) -> None:
        """Write a checkpoint with everything on which the next step depends."""
        whole = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(), "kept": self.kept}
        training_loop.save_checkpoint(place, self.device, **whole, state=asdict(self.state), jets=self.jets)

    def load(self, place: Path) -> None:
        """Load a checkpoint. Raises CellError if it cannot be read or was written for other jets."""
        with training_loop.read_checkpoint(place, self.device) as found:
            if found["jets"] != self.jets:
                raise CellError("the jets have changed since it was saved")
            self.model.load_state_dict(found["model"])
            self.optimiser.load_state_dict(found["optimiser"])
            self.kept, self.state = found["kept"], State(**found["state"])


def train(root: Path, cell: JetCell, stream: RunContext) -> Mapping[str, float]:
    """Train and evaluate a cell of the workspace ``root``. Return the measured values by name.

    The values are loss, accuracy, rejections, and N, D, U and C. Raises CellError if the memory or the number of jets
    is not sufficient.
    """
    check_memory(memory(cell), stream.device, "make its width or batch smaller, or use inputs with fewer particles")
    data = open_jets(root, cell, stream)
    set_determinism(cell)
    trainer = training_loop.make_or_resume(lambda: Trainer(cell, stream.device, data.train.fingerprint), stream)
    try:
        _passes(trainer, data.train, data.validation, stream)
        return _measured(trainer, data.train, data.validation, data.test, stream)
    except torch.OutOfMemoryError:
        raise CellError("The GPU has too little memory for this cell: make its batch or its width smaller.") from None


def _passes(trainer: Trainer, train: Jets, validation: Jets, stream: RunContext) -> None:
    """Train for the given number of epochs, or until the validation loss no longer improves (early stopping)."""
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
    """Yield the batches of a pass, starting with batch ``first``.

    Each pass contains all jets once, in a new random order.
    """
    order = np.random.default_rng([cell.seed, epoch]).permutation(cell.jets)
    for k in range(first, cell.updates_a_pass):
        yield order[k * cell.jets_a_batch : (k + 1) * cell.jets_a_batch]


def _rate(cell: JetCell, update: int, total: int) -> float:
    return cell.peak_rate if cell.schedule == "constant" else warm_cosine(cell.peak_rate, update, total)


def _say(trainer: Trainer, said: list[Tensor], stream: RunContext) -> None:
    """Report the mean training loss since the last report.

    If every jet is new to the model, this mean is an unbiased estimate of the loss on unseen jets.
    """
    cell, done = trainer.cell, trainer.state.updates
    mean = float(torch.stack(said).mean())
    if not math.isfinite(mean):
        raise CellError(f"The training diverged after {done:,} training steps: use a smaller learning rate.")
    name = "loss" if cell.epochs == 1 else "train"
    stream.step(done, _end(trainer), **{name: mean}, samples=float(_seen(cell, done)))


def _look(trainer: Trainer, validation: Jets, stream: RunContext) -> None:
    """Measure the validation loss after a pass, and store the weights if this loss is the smallest so far.

    The measurement is skipped if the last measurement is too recent (see ``STRIDE``).
    """
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
    """Return whether training ends now, because the last passes did not improve on the best validation loss."""
    state = trainer.state
    return bool(state.best) and state.checked - state.best >= _waits(trainer)


def _waits(trainer: Trainer) -> float:
    """Return the early-stopping patience: number of passes without a better validation loss before training ends."""
    cell = trainer.cell
    stride = max(math.ceil(STRIDE * cell.validation / cell.jets), 1)
    return max(cell.patience * trainer.state.best, 3 * stride, STALL / cell.updates_a_pass)


def _end(trainer: Trainer) -> int:
    """Return the training step after which the cell ends, if no later pass has a better loss.

    The remaining time of the cell is estimated from this step.
    """
    cell, state = trainer.cell, trainer.state
    passes = min(cell.epochs, math.ceil(state.best + _waits(trainer)))
    return max(passes * cell.updates_a_pass, state.updates)


def rise(losses: Sequence[float]) -> float:
    """Return (final loss - lowest loss) / lowest loss, computed on the running median of the validation ``losses``."""
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
    """Return the metrics, sizes and compute of a finished cell by name.

    If there were several passes, the values are those of the best pass.
    """
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
