"""Dropout that draws indices, and the operations that use this dropout, are compared with plain torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor
from torch.nn import functional as F

from isoplan.trainers.packed import layer
from isoplan.trainers.packed.layer import add_dropped, attend, blocks_of, drop, gelu_dropped, zeros
from isoplan.trainers.packed.rectangles import lay_out, runs

LENGTHS = np.array([4, 1, 8, 13, 6, 6, 2])
LAYOUT = lay_out(LENGTHS, 6.0)
P = 0.3


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Return a list that collects the dropout masks, in the order in which the operations draw them.

    A mask has one axis. The entry 1 marks a kept element.
    """
    masks = []

    def noted(n: int, p: float) -> Tensor:
        at = zeros(n, p)
        masks.append(torch.ones(n, dtype=torch.float64).index_fill_(0, at, 0))
        return at

    monkeypatch.setattr(layer, "zeros", noted)
    torch.manual_seed(2)
    return masks


def numbers(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64).requires_grad_()


def same_gradients(ours: Tensor, theirs: Tensor, *of: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    along = torch.randn_like(ours)
    for a, b in zip(torch.autograd.grad(ours, of, along), torch.autograd.grad(theirs, of, along), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("p", [0.01, 0.3, 0.9])
def test_each_place_is_taken_with_its_probability_and_alone(p: float) -> None:
    torch.manual_seed(0)
    n, draws = 40, 5000
    found = np.zeros((draws, n))
    for row in found:
        row[zeros(n, p).numpy()] = 1
    each = found.sum(0)
    assert np.abs(each - draws * p).max() < 4.5 * math.sqrt(draws * p * (1 - p))
    counts = np.bincount(found.sum(1).astype(int), minlength=n + 1)
    expected = draws * stats.binom.pmf(np.arange(n + 1), n, p)
    ok = expected > 5
    chi2 = ((counts - expected)[ok] ** 2 / expected[ok]).sum()
    assert stats.chi2.sf(chi2, ok.sum()) > 1e-4
    neighbours = (found[:, 1:] * found[:, :-1]).sum()
    mean = draws * (n - 1) * p**2
    assert abs(neighbours - mean) < 5 * math.sqrt(mean) * (1 + 2 * p)


def test_no_place_is_taken_at_zero_and_all_are_in_range() -> None:
    assert len(zeros(100, 0.0)) == 0
    assert len(zeros(0, 0.5)) == 0
    found = zeros(200_000, 0.01)
    assert found.min() >= 0
    assert found.max() < 200_000
    assert (found.diff() > 0).all()
    assert abs(len(found) - 2000) < 5 * math.sqrt(2000)


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("p", [0.0, P])
def test_attention_with_dropout_is_that_of_torch(heads: int, p: float, drawn: list[Tensor]) -> None:
    qkv = numbers(LAYOUT.rows, 3 * 6)
    blocks = blocks_of(LAYOUT, qkv)
    ours = attend(qkv, blocks, heads, p)
    masks = iter(drawn)
    rows = []
    for b in blocks:
        q, k, v = qkv[b.rows].view(-1, b.tokens, 3, heads, 6 // heads).permute(2, 3, 0, 1, 4)
        weights = (q @ k.mT / math.sqrt(6 // heads) + b.mask).softmax(-1)
        kept = torch.stack([next(masks).view(weights.shape[1:]) for _ in range(heads)])
        rows.append((weights * kept / (1 - p) @ v).permute(1, 2, 0, 3).reshape(-1, 6))
    assert next(masks, None) is None
    same_gradients(ours, torch.cat(rows), qkv)


def test_attention_of_a_gpu_is_that_of_a_cpu() -> None:
    qkv = numbers(LAYOUT.rows, 3 * 6)
    blocks = blocks_of(LAYOUT, qkv)
    same_gradients(attend(qkv, blocks, 2, 0.0), layer._attend_by_torch(qkv, blocks, 2, 0.0), qkv)


def test_padding_of_a_rectangle_gets_no_weight_and_no_gradient() -> None:
    qkv = numbers(LAYOUT.rows, 3 * 4)
    padding = np.ones(LAYOUT.rows, bool)
    padding[runs(LAYOUT.begins, LENGTHS)] = False
    assert padding.sum() > 3
    out = attend(qkv, blocks_of(LAYOUT, qkv), 1, 0.0)
    (grad,) = torch.autograd.grad(out[~torch.from_numpy(padding)].sum(), qkv)
    assert grad[torch.from_numpy(padding)].abs().max() == 0


def test_dropped_gelu_sum_and_plain_dropout_are_those_of_torch(drawn: list[Tensor]) -> None:
    x, y = numbers(30, 8), numbers(30, 8)
    found = [gelu_dropped(x, P), add_dropped(x, y, P), drop(x, P)]
    first, second, third = (mask.view(30, 8) for mask in drawn)
    same_gradients(found[0], F.gelu(x) * first, x)
    same_gradients(found[1], x + y * second / (1 - P), x, y)
    same_gradients(found[2], x * third / (1 - P), x)
    assert 0.2 < 1 - first.mean() < 0.4
