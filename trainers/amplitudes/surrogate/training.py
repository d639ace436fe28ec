"""Training of one surrogate: random batches, a cosine schedule, validations, and a test of the best weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from isoplan.engine.errors import PlannerError
from isoplan.trainers import training_loop
from isoplan.trainers.amplitudes.cell import AmplitudeCell, check, memory
from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.source import Data, Facts, facts_of, open_events
from isoplan.trainers.amplitudes.surrogate import accuracy
from isoplan.trainers.amplitudes.surrogate.accuracy import two_nn
from isoplan.trainers.amplitudes.surrogate.networks import NETWORKS
from isoplan.trainers.amplitudes.surrogate.preprocessing import (
    check_varies,
    effective,
    freedoms,
    relative,
    target,
    unit,
    variance,
)
from isoplan.trainers.amplitudes.surrogate.shape import Size
from isoplan.trainers.amplitudes.surrogate.trainer import LOWEST, Points, Trainer, averaged, mse
from isoplan.trainers.cell import CellError, RunContext
from isoplan.trainers.training_loop import check_memory, cosine, set_determinism, whole_batches

EVERY, LOOKS = 1_000, 20
"""Iterations between two validations (amplitude paper, Sec. 3.2), and the minimum number of validations."""
SHARE = 0.1
"""Maximum cost of all validations, as a fraction of the training compute.

If validations every ``EVERY`` iterations cost more, the interval between validations is longer. Still, there are at
least ``LOOKS`` validations. The training compute C does not include validations.
"""
STRIDE = 50
"""Iterations between two checks for a stop request."""


def train(root: Path, cell: AmplitudeCell, stream: RunContext) -> Mapping[str, float]:
    """Train a cell (one training run) of the workspace ``root`` and return its test results.

    The results are errors, pulls, intrinsic dimensions, and N, D, C. Raises CellError if the training needs more memory
    than available, and PlannerError if fields are inconsistent or events are unavailable.
    """
    check(root, cell)
    check_memory(memory(root, cell), stream.device, "make its width, its points or its batch smaller")
    facts = facts_of(root, cell.source)
    events = open_events(root, cell.source, cell.counts, stream)
    sets = sets_of(events, facts, cell)
    trainer = fit(cell, cell.shape(facts), cell.updates(facts), sets, stream)
    return trainer | {
        "d": float(freedoms(facts.particles, facts.varying)),
        "D_effective": effective(sets.train.weight, cell.points),
    }


def sets_of(data: Data[Events], facts: Facts, cell: AmplitudeCell) -> Data[Points]:
    """Return the network inputs, targets and weights of the events of a training run.

    Raises PlannerError if amplitudes are invalid as targets, or if all targets of one set (training or test) are equal.
    """
    inputs = NETWORKS[cell.network].inputs

    def points(events: Events) -> Points:
        x, y = inputs(events.momenta, facts), target(events.amplitude, cell.target)
        return Points(x, y, relative(events.weight))

    sets = Data(points(data.train), points(data.validation), points(data.test))
    for found, what in ((sets.train, "to train on"), (sets.test, "to test on")):
        check_varies(found.y, cell.target, found.weight, what)
    return sets


def fit(cell: AmplitudeCell, shape: Size, total: int, sets: Data[Points], stream: RunContext) -> dict[str, float]:
    """Train a surrogate for ``total`` iterations and return the test results of its best weights.

    The best weights are those with the smallest validation loss. Raises CellError if the training diverges.
    """
    set_determinism(cell)
    with torch.no_grad():
        trainer = training_loop.make_or_resume(lambda: Trainer(cell, shape, sets.train, stream.device), stream)
        # A finished checkpoint of an old version does not contain the training loss, so the training starts again.
        if trainer.state.done == total and math.isnan(trainer.state.trained):
            trainer = Trainer(cell, shape, sets.train, stream.device)
        try:
            y, scale = sets.test.y[:, 0], unit(sets.test.y[:, 0])
            share = float((trainer.of_y.spread[0] / scale) ** 2 / variance(y / scale, sets.test.weight))
            _iterate(trainer, total, sets.validation, share, stream)
            return _measured(trainer, total, sets.test, stream)
        except torch.OutOfMemoryError:
            raise CellError("The GPU has too little memory for this cell: make its batch or width smaller.") from None


def looked_every(cell: AmplitudeCell, total: int) -> int:
    """Return the number of iterations between two validations.

    The number is ``EVERY`` if the validations then cost at most the fraction ``SHARE`` of the training compute.
    Otherwise, it is larger. In all cases, it is small enough for at least ``LOOKS`` validations.
    """
    dear = math.ceil(cell.validation / (3 * SHARE * cell.points_a_batch))
    return max(min(max(EVERY, dear), total // LOOKS), 1)


def _iterate(trainer: Trainer, total: int, validation: Points, share: float, stream: RunContext) -> None:
    """Train until ``total`` iterations are done.

    ``share`` is the variance of the training targets divided by the variance of the test targets. The reported
    validation error is multiplied by ``share``. It then has the same normalisation as the test loss.
    """
    cell, every = trainer.cell, looked_every(trainer.cell, total)
    points = trainer.tensors(validation)
    values: dict[str, float] = {}
    for chosen in _batches(cell, trainer.state.done, total, trainer.device):
        done = trainer.state.done
        trainer.update(chosen, cosine(cell.rate, done, total))
        done += 1
        trainer.state = replace(trainer.state, done=done)
        if done % every == 0 or done == total:
            values = _look(trainer, points, done % every or every)
            values |= {"loss": share * values["loss"]}
        elif done % STRIDE:
            continue
        if stream.checkpoint_due:
            stream.save(trainer.save)
        stream.step(done, total, **values)
        values = {}


def _batches(cell: AmplitudeCell, first: int, total: int, device: torch.device) -> Iterator[Tensor | None]:
    """Yield the indices of the training points of each iteration, starting with iteration number ``first``.

    The indices are None if a batch contains all points.
    """
    if cell.points_a_batch == cell.points:
        return repeat(None, total - first)
    chosen = whole_batches(cell.points, cell.points_a_batch, (cell.seed, 1), first, total)
    return (torch.from_numpy(some).to(device) for some in chosen)


def _look(trainer: Trainer, points: tuple[Tensor, Tensor, Tensor | None], since: int) -> dict[str, float]:
    """Validate the model, and store its weights if their validation loss is the smallest so far.

    The last validation was ``since`` iterations ago. Returns the values to report. They include the mean training loss
    since the last validation, which is also stored in the state. Raises CellError if the training diverged.
    """
    cell, done, (x, y, weight) = trainer.cell, trainer.state.done, points
    out = trainer.outputs(x)
    value, error = (float(averaged(loss, f, y, weight)[0]) for loss, f in ((trainer.loss, out), (mse, out[:, :1])))
    trained = float(trainer.said) / since
    trainer.said.zero_()
    if not (math.isfinite(value) and math.isfinite(trained)):
        raise CellError(f"The training diverged after {done:,} iterations: use a smaller learning rate.")
    trainer.state = replace(trainer.state, trained=trained)
    if value < trainer.state.best_loss:
        trainer.state = replace(trainer.state, best=done, best_loss=value)
        trainer.kept.copy_(trainer.model.theta)
    samples = float(done) * cell.points_a_batch
    return {"loss": error, "train": trained, "validation": value, "samples": samples}


def _measured(trainer: Trainer, total: int, test: Points, stream: RunContext) -> dict[str, float]:
    """Return the test metrics of the weights with the smallest validation loss.

    The result also contains N, D and C (numbers of parameters and training points, training FLOPs), and the settings
    that the training run used.
    """
    cell, shape, state = trainer.cell, trainer.model.shape, trainer.state
    trainer.model.theta.copy_(trainer.kept)
    x, *_ = trainer.tensors(test)
    out = trainer.outputs(x).cpu().double().numpy()
    truth = test.y[:, 0]
    guess = trainer.of_y.back(out[:, :1])[:, 0]
    errors = accuracy.errors(guess, truth, cell.target, test.weight)
    if shape.outputs == 2:
        sigma = np.exp(np.clip(out[:, 1], LOWEST, accuracy.FURTHEST)) * trainer.of_y.spread[0]
        t = accuracy.pulls(guess, truth, sigma)
        errors |= accuracy.calibration(t, sigma, truth, test.weight)
        accuracy.write_pulls(stream.folder / accuracy.FILE, t, test.weight)
    if cell.dimension_points:
        errors |= _dimensions(trainer, x)
    seen = float(total) * cell.points_a_batch
    return errors | {
        "N": float(shape.parameters), "D": float(cell.points), "C": shape.training_flops * seen,
        "width_used": float(shape.width), "layers_used": float(shape.layers), "rate_used": cell.rate,
        "batch_used": float(cell.points_a_batch), "updates": float(total), "seen": seen,
        "epochs": seen / cell.points, "best_iteration": float(state.best), "validation": state.best_loss,
        "train": state.trained,
    }  # fmt: skip


def _dimensions(trainer: Trainer, x: Tensor) -> dict[str, float]:
    """Return the intrinsic dimensions of the last hidden layer and of the inputs, with their standard deviations.

    If an estimate fails, the result does not contain its value, and the reason is printed.
    """
    dimensions: dict[str, float] = {}
    for name, points in (("dimension", trainer.last_hidden(x)), ("dimension_inputs", x)):
        try:
            mean, spread = two_nn(points.cpu().double().numpy(), trainer.cell.dimension_points, trainer.cell.seed)
            dimensions |= {name: mean, f"{name}_spread": spread}
        except PlannerError as error:
            print(error)
    return dimensions
