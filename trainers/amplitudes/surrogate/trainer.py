"""The trainer of a surrogate network: model, losses, optimiser, and standardised points on a device.

Outputs and targets are standardised. For a batch of B points, outputs have the shape (B, 1). For the heteroscedastic
loss, outputs have the shape (B, 2): mean and log sigma. If points have weights, ``averaged`` multiplies the loss of
each point by its weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from isoplan.engine.arrays import Floats
from isoplan.trainers import training_loop
from isoplan.trainers.amplitudes.cell import AmplitudeCell
from isoplan.trainers.amplitudes.surrogate.mlp import Adam
from isoplan.trainers.amplitudes.surrogate.networks import NETWORKS
from isoplan.trainers.amplitudes.surrogate.preprocessing import LOG, Standard, Weight, unit
from isoplan.trainers.amplitudes.surrogate.shape import Size
from isoplan.trainers.cell import CellError

LOWEST = -14.0
"""Lower limit of log sigma.

Single precision does not resolve smaller values. Without a limit, a surrogate that has memorised its training points
would decrease sigma towards 0.
"""
HIGHEST = 30.0
"""Upper limit of log(A_NN / A) in the relative loss.

Without this limit, the loss of the first predictions could be infinite.
"""
Loss = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""A loss: a function of the outputs (B, o) and the standardised targets (B, 1).

The function returns the loss of each point (B, 1), and the gradient (B, o) of the mean loss with respect to the
outputs.
"""


def averaged(loss: Loss, out: Tensor, y: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the mean loss, a scalar, and its gradient (B, o) with respect to the outputs.

    Points are weighted with ``weight`` (B, 1), or equally if ``weight`` is None. The weights have the mean 1 over the
    whole training set. They are not normalised per batch, so the gradient of a batch is unbiased.
    """
    each, by_output = loss(out, y)
    if weight is None:
        return each.mean(), by_output
    return (weight * each).mean(), weight * by_output


def mse(out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the losses (out - y)^2 (B, 1), and the gradient (B, 1) of their mean with respect to ``out``."""
    off = out - y
    return off.square(), off.mul(2 / len(y))


def heteroscedastic(out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the loss (f - y)^2 / (2 sigma^2) + log sigma of each point, and the gradient of the mean loss.

    ``out`` (B, 2) contains f and log sigma. The loss is eq. 15 of the amplitude paper.
    """
    off, log_sigma = out[:, :1] - y, out[:, 1:].clamp(min=LOWEST)
    by_mean = off * torch.exp(-2 * log_sigma)
    twice = off * by_mean
    by_log_sigma = (1 - twice) * (out[:, 1:] > LOWEST)
    return 0.5 * twice + log_sigma, torch.cat([by_mean, by_log_sigma], 1).div_(len(y))


def relative_of_logs(spread: float) -> Loss:
    """Return the loss function |A_NN / A - 1| for a network that predicts the standardised log A.

    ``spread`` is the standard deviation of log A in the standardisation.
    """

    def relative(out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        off = torch.expm1((spread * (out - y)).clamp(max=HIGHEST))
        return off.abs(), off.sign() * (off + 1) * (spread / len(y))

    return relative


def relative_of_amplitudes(mean: float, spread: float) -> Loss:
    """Return the loss function |A_NN / A - 1| for a network that predicts the standardised amplitude A.

    ``mean`` and ``spread`` are the mean and the standard deviation of A in the standardisation.
    """

    def relative(out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        scale = spread / (mean + spread * y)
        off = (out - y) * scale
        return off.abs(), off.sign() * scale / len(y)

    return relative


@dataclass(frozen=True, eq=False)
class Points:
    """Network inputs ``x`` (points, inputs) and targets ``y`` (points, 1), not standardised.

    ``weight`` (points,) has the mean 1, or is None if all points have equal weights.
    """

    x: Floats
    y: Floats
    weight: Weight = None


@dataclass(frozen=True)
class State:
    """Training state of a surrogate.

    - ``done``: number of iterations so far.
    - ``best``: iteration with the smallest validation loss (0 before the first validation).
    - ``best_loss``: smallest validation loss.
    - ``trained``: mean training loss between the last two validations. It is nan before the first validation, and after
      the load of an old checkpoint without this value.
    """

    done: int = 0
    best: int = 0
    best_loss: float = math.inf
    trained: float = math.nan


class Trainer:
    """A trainer of a surrogate with the size ``shape`` and the settings of ``cell``.

    The trainer standardises the points ``train`` and stores them on the device.
    """

    def __init__(self, cell: AmplitudeCell, shape: Size, train: Points, device: str) -> None:
        self.cell, self.device = cell, torch.device(device)
        self.network = NETWORKS[cell.network]
        self.of_x, self.of_y = self.network.standard(train.x, train.weight), Standard.of(train.y, train.weight)
        self.x, self.y, self.weight = self.tensors(train)
        self.model = self.network.model(shape, cell.start, self.x)
        self.adam = Adam(self.model, cell.parametrization, cell.l2)
        self.loss = loss_of(cell, float(self.of_y.mean[0]), float(self.of_y.spread[0]))
        self.state = State()
        self.kept = self.model.theta.clone()
        self.said = torch.zeros((), device=self.device)

    def tensors(self, points: Points) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the standardised inputs and targets of ``points`` on the device, and their weights.

        The weights are a tensor (points, 1), or None if all weights are equal.
        """
        weight = None if points.weight is None else self._tensor(points.weight[:, None])
        return self._tensor(self.of_x(points.x), self.network.precision), self._tensor(self.of_y(points.y)), weight

    def _tensor(self, values: Floats, precision: type[np.floating[Any]] = np.float32) -> Tensor:
        return torch.from_numpy(values.astype(precision)).to(self.device)

    def update(self, chosen: Tensor | None, rate: float) -> None:
        """Run one training iteration and add its loss to ``said``, the sum of the losses.

        ``chosen`` contains the indices of the training points in the batch. None selects all points.
        """
        x, y, weight = self.x, self.y, self.weight
        if chosen is not None:
            x, y, weight = x[chosen], y[chosen], None if weight is None else weight[chosen]
        value, by_output = averaged(self.loss, self.model.forward(x), y, weight)
        self.model.backward(by_output)
        self.adam.step(rate)
        self.said.add_(value)

    def outputs(self, x: Tensor) -> Tensor:
        """Return outputs (points, outputs) for standardised inputs, computed in blocks."""
        return torch.cat([self.model.layers_of(block)[-1] for block in torch.split(x, self.network.at_once)])

    def last_hidden(self, x: Tensor) -> Tensor:
        """Return activations (points, width) of the last hidden layer."""
        return torch.cat([self.model.layers_of(block)[-2] for block in torch.split(x, self.network.at_once)])

    def save(self, place: Path) -> None:
        """Save the complete training state to ``place``. A resumed training then gives identical results."""
        parts = {
            "theta": self.model.theta, "mean": self.adam.mean, "square": self.adam.square, "kept": self.kept,
            "said": self.said, "x": self.x[:1], "y": self.y.sum(),
        }  # fmt: skip
        training_loop.save_checkpoint(place, self.device, **parts, state=asdict(self.state))

    def load(self, place: Path) -> None:
        """Restore the training state from the checkpoint ``place``.

        Raises CellError if the checkpoint cannot be read or was saved with other training points.
        """
        with training_loop.read_checkpoint(place, self.device) as found:
            if not (torch.equal(found["x"], self.x[:1]) and torch.equal(found["y"], self.y.sum())):
                raise CellError("the events have changed since it was saved")
            self.model.theta.copy_(found["theta"])
            self.adam.mean.copy_(found["mean"])
            self.adam.square.copy_(found["square"])
            self.kept, self.said = found["kept"], found["said"]
            self.state = State(**found["state"])
            self.adam.steps = self.state.done


def loss_of(cell: AmplitudeCell, mean: float, spread: float) -> Loss:
    """Return the training loss function of a training run.

    ``mean`` and ``spread`` are the mean and the standard deviation of the training targets.
    """
    if cell.objective == "mse":
        return mse
    if cell.objective == "heteroscedastic":
        return heteroscedastic
    if cell.target == LOG:
        return relative_of_logs(spread)
    # Amplitudes can be too small for single precision. A power of two scales them without rounding.
    scale = float(unit(np.array([mean, spread])))
    return relative_of_amplitudes(mean / scale, spread / scale)
