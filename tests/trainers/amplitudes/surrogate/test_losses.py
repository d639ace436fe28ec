"""Losses compared with torch's losses, and their gradients compared with autograd."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from isoplan.trainers.amplitudes.surrogate import trainer

torch.manual_seed(3)
Y, ONE, TWO = torch.randn(50, 1), torch.randn(50, 1), torch.randn(50, 2)
SPREAD, MEAN = 0.7, 4.0


def nll(out: Tensor, y: Tensor) -> Tensor:
    """Return the loss of eq. 15 of the amplitude paper, computed with torch."""
    return F.gaussian_nll_loss(out[:, :1], y, torch.exp(2 * out[:, 1:]))


def of_logs(out: Tensor, y: Tensor) -> Tensor:
    return (torch.exp(MEAN + SPREAD * out) / torch.exp(MEAN + SPREAD * y) - 1).abs().mean()


def of_amplitudes(out: Tensor, y: Tensor) -> Tensor:
    return ((MEAN + SPREAD * out) / (MEAN + SPREAD * y) - 1).abs().mean()


CASES = pytest.mark.parametrize(
    ("ours", "plain", "out"),
    [
        (trainer.mse, F.mse_loss, ONE),
        (trainer.heteroscedastic, nll, TWO),
        (trainer.relative_of_logs(SPREAD), of_logs, ONE),
        (trainer.relative_of_amplitudes(MEAN, SPREAD), of_amplitudes, ONE),
    ],
)


@CASES
def test_value_and_gradient(ours: trainer.Loss, plain: Callable[[Tensor, Tensor], Tensor], out: Tensor) -> None:
    leaf = out.clone().requires_grad_()
    expected = plain(leaf, Y)
    value, gradient = trainer.averaged(ours, out, Y, None)
    torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, leaf)[0], rtol=1e-4, atol=1e-6)


@CASES
def test_a_point_of_weight_two_is_two_points(
    ours: trainer.Loss, plain: Callable[[Tensor, Tensor], Tensor], out: Tensor
) -> None:
    """A point with weight n changes the loss and the gradient of the loss as n copies of the point do."""
    times = torch.arange(50) % 4
    leaf = out.clone().requires_grad_()
    expected = plain(leaf.repeat_interleave(times, 0), Y.repeat_interleave(times, 0))
    value, gradient = trainer.averaged(ours, out, Y, (times / times.float().mean())[:, None])
    torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, leaf)[0], rtol=1e-4, atol=1e-6)


def test_a_first_guess_that_is_far_off_is_finite() -> None:
    each, gradient = trainer.relative_of_logs(1.0)(torch.full((2, 1), 1e4), torch.zeros(2, 1))
    assert torch.isfinite(each).all()
    assert torch.isfinite(gradient).all()


def test_sigma_does_not_vanish_where_points_are_known_by_heart() -> None:
    out = torch.tensor([[0.0, -80.0]])
    each, gradient = trainer.heteroscedastic(out, torch.zeros(1, 1))
    assert float(each) == trainer.LOWEST
    assert float(gradient[0, 1]) == 0
