"""Losses of a batch and their gradients by the outputs: MSE, heteroscedastic (eq. 15), relative L1.

Outputs and targets are standardised: (B, 1), and for the heteroscedastic loss (B, 2) outputs, mean and log sigma.
Where points have weights, ``averaged`` puts them in.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

LOWEST = -14.0
"""log sigma at least: single precision does not tell smaller ones, and a surrogate that has learned its points by
heart would make them 0."""
HIGHEST = 30.0
"""Log of A_NN / A at most, so that a first guess is finite."""
Loss = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""From outputs (B, o) and targets (B, 1) the loss of each point (B, 1), and the gradient (B, o) of their mean."""


def averaged(loss: Loss, out: Tensor, y: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """The mean loss () and its gradient (B, o), each point with its ``weight`` (B, 1), None where all count alike.

    Weights have the mean 1 over the whole set, not over a batch, so that the gradient of a batch is unbiased.
    """
    each, by_output = loss(out, y)
    if weight is None:
        return each.mean(), by_output
    return (weight * each).mean(), weight * by_output


def mse(out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """<(f - y)^2>."""
    off = out - y
    return off.square(), off.mul(2 / len(y))


def heteroscedastic(out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """<(f - y)^2 / (2 sigma^2) + log sigma>, eq. 15."""
    off, log_sigma = out[:, :1] - y, out[:, 1:].clamp(min=LOWEST)
    by_mean = off * torch.exp(-2 * log_sigma)
    twice = off * by_mean
    by_log_sigma = (1 - twice) * (out[:, 1:] > LOWEST)
    return 0.5 * twice + log_sigma, torch.cat([by_mean, by_log_sigma], 1).div_(len(y))


def relative_of_logs(spread: float) -> Loss:
    """<|A_NN / A - 1|> where the outputs are log A with that ``spread`` before it was standardised."""

    def relative(out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        off = torch.expm1((spread * (out - y)).clamp(max=HIGHEST))
        return off.abs(), off.sign() * (off + 1) * (spread / len(y))

    return relative


def relative_of_amplitudes(mean: float, spread: float) -> Loss:
    """<|A_NN / A - 1|> where the outputs are A with that ``mean`` and ``spread``."""

    def relative(out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        scale = spread / (mean + spread * y)
        off = (out - y) * scale
        return off.abs(), off.sign() * scale / len(y)

    return relative
