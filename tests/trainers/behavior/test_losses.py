"""Sampled softmax losses, compared with loops over positions and candidates, and tested in limiting cases."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from isoplan.trainers.behavior.model.losses import (  # noqa: E402
    Candidates,
    Drawn,
    cross_entropy,
    draw,
    in_batch,
    log_chances,
    sampled,
)

H, ITEMS = 5, 30


def numbers(*shape: int, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64).requires_grad_()


def loop(query: Tensor, target: Tensor, others: Sequence[Tensor], less: Sequence[float], less_own: float) -> Tensor:
    """Return -log of the softmax probability of the target, computed one candidate at a time."""
    own = query @ target - less_own
    return torch.log(own.exp() + sum((query @ e - z).exp() for e, z in zip(others, less, strict=True))) - own


@pytest.mark.parametrize("chunk", [1, 20, 10**6])
@pytest.mark.parametrize("corrected", [False, True])
def test_cross_entropy_is_the_loop_over_candidates(chunk: int, corrected: bool) -> None:
    q, t, e = numbers(6, H), numbers(6, H, seed=1), numbers(7, H, seed=2)
    own = torch.tensor([3, -1, 0, 6, -1, 3])
    offset, mine = (torch.randn(n, dtype=torch.float64) for n in (7, 6))
    among = Candidates(e, own, *((offset, mine) if corrected else ()))
    by_hand = torch.stack(
        [
            loop(
                q[i], t[i], [e[j] for j in range(7) if j != own[i]],
                [float(offset[j]) * corrected for j in range(7) if j != own[i]], float(mine[i]) * corrected,
            )
            for i in range(6)
        ]
    ).mean()  # fmt: skip
    ours = cross_entropy(q, t, among, chunk)
    torch.testing.assert_close(ours, by_hand, rtol=1e-12, atol=1e-12)
    for a, b in zip(*(torch.autograd.grad(2 * loss, (q, t, e)) for loss in (ours, by_hand)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_gradients_are_those_of_finite_differences() -> None:
    q, t, e = numbers(3, 2), numbers(3, 2, seed=1), numbers(4, 2, seed=2)
    own = torch.tensor([1, -1, 0])
    assert torch.autograd.gradcheck(lambda q, t, e: cross_entropy(q, t, Candidates(e, own), 5), (q, t, e))
    batch = torch.tensor([2, 0, 2])
    assert torch.autograd.gradcheck(lambda q, e: in_batch(q, e, batch, chunk=4), (q, e))


def test_the_in_batch_loss_is_the_cross_entropy_of_torch_over_unique_targets() -> None:
    q, e = numbers(9, H), numbers(4, H, seed=1)
    own = torch.tensor([0, 1, 1, 3, 2, 0, 1, 3, 3])
    ours, theirs = in_batch(q, e, own), F.cross_entropy(q @ e.mT, own)
    torch.testing.assert_close(ours, theirs)
    for a, b in zip(*(torch.autograd.grad(loss, (q, e)) for loss in (ours, theirs)), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_large_scores_do_not_overflow(scale: float) -> None:
    q, e = scale * numbers(9, H).detach().float(), numbers(4, H, seed=1).detach().float()
    own = torch.arange(9) % 4
    torch.testing.assert_close(in_batch(q, e, own), F.cross_entropy(q @ e.mT, own), rtol=1e-5, atol=1e-6)


def step_of(K: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor, Drawn]:
    """Return random inputs of the losses for 8 positions and ``K`` drawn items.

    They are the queries, the embeddings of all items, the candidates of the batch, the target of each position as an
    index into the candidates, and the drawn items.
    """
    cache = numbers(ITEMS, H, seed=5).detach()
    candidates, own = torch.tensor([2, 3, 11, 29]), torch.tensor([0, 1, 1, 3, 2, 0, 1, 3])
    return numbers(8, H), cache, candidates, own, draw(ITEMS, K, candidates, own, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("K", [1, 12, ITEMS])
def test_stage_2_minimises_the_mean_of_both_loops(K: int) -> None:
    q, cache, candidates, own, drawn = step_of(K)
    found = sampled(q, cache, candidates, own, drawn, chunk=9)
    extras = drawn.items.tolist()
    assert len(set(extras)) == K
    in_batch, extra = torch.zeros(()), torch.zeros(())
    for i in range(8):
        true = int(candidates[own[i]])
        batch = [cache[j] for j in candidates.tolist() if j != true]
        others = [cache[j] for j in extras if j != true]  # the true item counts once, even if it is also drawn
        in_batch = in_batch + loop(q[i], cache[true], batch, [0] * len(batch), 0) / 8
        extra = extra + loop(q[i], cache[true], others, [0] * len(others), 0) / 8
    torch.testing.assert_close(found.parts["in_batch"], in_batch)
    torch.testing.assert_close(found.parts["extra"], extra)
    torch.testing.assert_close(found.total, (in_batch + extra) / 2)
    for a, b in zip(*(torch.autograd.grad(x, q) for x in (found.total, (in_batch + extra) / 2)), strict=True):
        torch.testing.assert_close(a, b)


def test_without_negatives_stage_2_is_in_batch() -> None:
    q, cache, candidates, own, drawn = step_of(0)
    found = sampled(q, cache, candidates, own, drawn)
    assert list(found.parts) == ["in_batch"]
    torch.testing.assert_close(found.total, F.cross_entropy(q @ cache[candidates].mT, own))


@pytest.mark.parametrize("softmax", ["mean", "joint"])
def test_with_all_items_drawn_the_candidates_are_the_catalogue(softmax: str) -> None:
    q, cache, candidates, own, drawn = step_of(ITEMS)
    parts = sampled(q, cache, candidates, own, drawn, softmax).parts  # type: ignore[arg-type]
    whole = F.cross_entropy(q @ cache.mT, candidates[own])
    torch.testing.assert_close(parts["extra" if softmax == "mean" else "joint"], whole)


@pytest.mark.parametrize("corrected", [False, True])
def test_a_joint_softmax_counts_every_candidate_once(corrected: bool) -> None:
    q, cache, candidates, own, drawn = step_of(12, seed=3)
    assert 0 < len(drawn.fresh) < 12
    log_q = torch.linspace(-3, 0, ITEMS, dtype=torch.float64) * corrected
    given = (log_q[candidates], log_q[drawn.items]) if corrected else None
    found = sampled(q, cache, candidates, own, drawn, "joint", given)
    union = sorted({*candidates.tolist(), *drawn.items.tolist()})
    place = torch.tensor([union.index(int(c)) for c in candidates])
    theirs = F.cross_entropy(q @ cache[union].mT - log_q[union], place[own])
    torch.testing.assert_close(found.total, theirs)
    assert list(found.parts) == ["joint"]


def test_the_correction_of_uniform_negatives_does_nothing() -> None:
    q, cache, candidates, own, drawn = step_of(12)
    plain = sampled(q, cache, candidates, own, drawn).parts
    log_q = torch.linspace(-3, 0, 4, dtype=torch.float64)
    corrected = sampled(q, cache, candidates, own, drawn, "mean", (log_q, log_q)).parts
    torch.testing.assert_close(plain["extra"], corrected["extra"])
    theirs = F.cross_entropy(q @ cache[candidates].mT - log_q, own)
    torch.testing.assert_close(corrected["in_batch"], theirs)


@settings(max_examples=40)
@given(st.integers(1, 40), st.data())
def test_drawn_items_are_different_and_hits_are_found(catalogue: int, data: st.DataObject) -> None:
    K = data.draw(st.integers(0, catalogue))
    candidates = data.draw(st.lists(st.integers(0, catalogue - 1), min_size=1, max_size=9, unique=True))
    own = data.draw(st.lists(st.integers(0, len(candidates) - 1), min_size=1, max_size=9))
    found = draw(catalogue, K, torch.tensor(candidates), torch.tensor(own), torch.Generator().manual_seed(K))
    items = found.items.tolist()
    assert len(set(items)) == len(items) == K
    assert all(0 <= item < catalogue for item in items)
    for place, hit in zip(own, found.hits.tolist(), strict=True):
        assert items.index(candidates[place]) == hit if candidates[place] in items else hit == -1
    assert [items[column] for column in found.fresh] == [item for item in items if item not in candidates]


def test_every_item_is_drawn_as_often() -> None:
    random, none = torch.Generator().manual_seed(1), torch.zeros(1, dtype=torch.int64)
    counts = sum(torch.bincount(draw(20, 5, none, none, random).items, minlength=20) for _ in range(2000))
    assert abs(counts - 500).max() < 4.5 * math.sqrt(2000 * 0.25 * 0.75)


def test_log_q_is_the_chance_to_be_a_candidate() -> None:
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    positions, K, draws = 6, 2, 20_000
    targets = rng.choice(5, (draws, positions), p=shares)
    among = np.stack([(targets == i).any(1) for i in range(5)], 1)
    drawn = rng.permuted(np.tile(np.arange(5), (draws, 1)), axis=1)[:, :K]
    either = among | np.stack([(drawn == i).any(1) for i in range(5)], 1)
    for counted, extra in ((among, 0.0), (either, K / 5)):
        chance = log_chances(torch.from_numpy(shares), positions, extra).exp().numpy()
        error = np.sqrt(chance * (1 - chance) / draws)
        assert (np.abs(counted.mean(0) - chance) < 4.5 * error + 1e-12).all()
    assert log_chances(torch.tensor([1.0, 1e-9]), 10, 1.0).tolist() == pytest.approx([0, 0], abs=1e-6)


@pytest.mark.parametrize("corrected", [False, True])
def test_what_the_in_batch_loss_is_least_for(corrected: bool) -> None:
    """If targets do not depend on the history, the in-batch loss is smallest for equal scores of all items.

    With the correction ``log_q``, the loss is smallest if the score of an item with popularity p is log p plus a
    constant (behavioural paper, Sec. 7).
    """
    shares = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    scores = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([scores], 0.05)
    random = torch.Generator().manual_seed(0)
    late = []
    for step in range(450):
        targets = torch.multinomial(shares, 2, True, generator=random)
        unique, own = targets.unique(return_inverse=True)
        log_q = log_chances(shares, 2)[unique] if corrected else None
        for group in optimiser.param_groups:
            group["lr"] = 0.05 * (1 - step / 450)
        optimiser.zero_grad()
        one = torch.ones(2, 1, dtype=torch.float64)
        torch.autograd.backward(in_batch(one, scores[unique, None], own, log_q))
        optimiser.step()
        if step >= 150:
            late.append(scores.detach() - scores.detach().mean())
    found = torch.stack(late).mean(0)
    expected = shares.log() - shares.log().mean() if corrected else torch.zeros(4, dtype=torch.float64)
    assert (found - expected).abs().max() < 0.2
