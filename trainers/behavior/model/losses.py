"""The sampled softmax of both training stages (behavioural paper, Secs. 2 and 7, App. E).

Every loss is a mean over positions. The loss of a position is -log p, where p is the softmax probability of the true
next item among some candidates. There are three sets of candidates:

- **in-batch**: the unique targets of the batch. An item that is the target of several positions is one candidate, so
  the target of a position is never among its negatives. Later items of the same user can be negatives.
- **extra**: the true item and K distinct items drawn uniformly. If the true item is also drawn (an accidental hit), it
  counts only once at this position.
- **joint**: the unique targets of the batch and all other drawn items, in one softmax.

Stage 1 without drawn items minimises the in-batch loss. With drawn items, the minimised loss depends on the field
``softmax``. If the field is ``joint``, it is the joint loss. Otherwise, it is (in-batch loss + extra loss) / 2.

Let y be the next item. Frequent items are more often targets. The in-batch loss is therefore smallest if a score is the
log of p(y | history) / p(y), where p(y) is the popularity. With more drawn items, the candidates approach a uniform
sample, and the optimal score approaches the log of p(y | history) (behavioural paper, Sec. 7).

``log_q`` is the log of the probability that an item is a candidate. It is subtracted from each score, and the optimal
score is then the log of p(y | history) for any candidates (Bengio and Senecal 2008). The scores then include
popularity. This improves full-catalogue metrics but not batch-local metrics. ``log_q`` does not change the extra loss,
because all items are drawn with equal probability.

The gradients are computed together with the loss, in blocks of positions. Each score is therefore computed once. The
memory contains at most ``chunk`` scores at a time, or the scores of one position if these are more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd import Function

CHUNK = 2**20
"""Number of scores in memory at once on a CPU: 4 MB in single precision, which fits into the cache."""
CHUNK_OF_GPU = 2**27
"""Number of scores in memory at once on a GPU: 0.5 GB in single precision, plus 0.25 GB in bf16."""

Softmax = Literal["mean", "joint"]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of a softmax, with their embeddings (M, h).

    For each of P positions, ``own`` (P,) is the index of the true item among the candidates, or -1 if it is not a
    candidate. ``offset`` (M,) is subtracted from the scores of the candidates, and ``own_offset`` (P,) from the score
    of the true item. None means 0.
    """

    embeddings: Tensor
    own: Tensor
    offset: Tensor | None = None
    own_offset: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Losses:
    """The loss of a training step in nats, and its components by name: ``in_batch`` and ``extra``, or ``joint``."""

    total: Tensor
    parts: dict[str, Tensor]


def cross_entropy(queries: Tensor, targets: Tensor, among: Candidates, chunk: int = CHUNK) -> Tensor:
    """Return the mean over positions of -log p, where p is the probability of the true item.

    The softmax of a position is over its true item and the candidates. If the true item is also a candidate (``own``),
    it counts only once. ``queries`` (P, h) contains the query of each position. ``targets`` (P, h) contains the
    embedding of the true item of each position. The memory contains at most ``chunk`` scores, or the scores of one
    position if these are more. The first derivatives with respect to queries, targets and embeddings are available.
    """
    found: Tensor = _CrossEntropy.apply(
        queries, targets, among.embeddings, among.own, among.offset, among.own_offset, chunk
    )  # type: ignore[no-untyped-call]
    return found


@dataclass(frozen=True, eq=False)
class Drawn:
    """Extra negatives (drawn items) of a training step.

    ``items`` (K,) contains the row of each extra negative in the array of embeddings.

    For each of P positions, ``hits`` (P,) is the index of the true item in ``items``, or -1 if the true item is not
    drawn. ``fresh`` (F,) contains the drawn items that are not candidates of the batch, as indices into ``items``.
    """

    items: Tensor
    hits: Tensor
    fresh: Tensor


def draw(catalogue: int, K: int, candidates: Tensor, own: Tensor, random: torch.Generator) -> Drawn:
    """Draw ``K`` distinct items uniformly from ``catalogue`` items.

    ``candidates`` (M,) are the unique targets of the batch, and ``own`` (P,) is the index of each position's target
    among the candidates. The two tensors are on the device of ``random``.
    """
    if not K:
        none = torch.empty(0, dtype=torch.int64, device=random.device)
        return Drawn(none, torch.full_like(own, -1), none)
    items = torch.randperm(catalogue, generator=random, device=random.device)[:K]
    columns = torch.full((catalogue,), -1, device=random.device)
    columns[items] = torch.arange(len(items), device=random.device)
    of_candidates = columns[candidates]
    fresh = torch.ones(len(items), dtype=torch.bool, device=random.device)
    fresh[of_candidates[of_candidates >= 0]] = False
    return Drawn(items, of_candidates[own], fresh.nonzero().squeeze(1))


def in_batch(
    queries: Tensor, embeddings: Tensor, own: Tensor, log_q: Tensor | None = None, chunk: int = CHUNK
) -> Tensor:
    """Return the loss of ``queries`` (P, h) over the ``embeddings`` (M, h) of the unique targets of a batch.

    ``own`` (P,) is the index of the target of each position among the unique targets. ``log_q`` (M,) contains
    the ``log_chances`` of the unique targets. ``log_q`` is subtracted from the scores.
    """
    offset = () if log_q is None else (log_q, log_q[own])
    return cross_entropy(queries, embeddings.index_select(0, own), Candidates(embeddings, own, *offset), chunk)


def sampled(
    queries: Tensor,
    cache: Tensor,
    candidates: Tensor,
    own: Tensor,
    drawn: Drawn,
    softmax: Softmax = "mean",
    log_q: tuple[Tensor, Tensor] | None = None,
    chunk: int = CHUNK,
) -> Losses:
    """Return the loss of ``queries`` (P, h) over the batch's unique targets and the extra negatives.

    ``cache`` (items, h) contains the embeddings, frozen or not. ``candidates`` (M,) are the rows of the unique targets
    in ``cache``, and ``own`` (P,) is the index of each position's target among the candidates. If ``softmax`` is
    "mean", the loss is the mean of the in-batch and the extra loss, or the in-batch loss if no items are drawn.
    ``log_q`` contains the ``log_chances`` of the candidates (M,) and of the drawn items (K,). Only the joint softmax
    uses the values of the drawn items.
    """
    embeddings = cache.index_select(0, candidates)
    true = embeddings.index_select(0, own)
    if softmax == "joint":
        both = torch.cat([embeddings, cache.index_select(0, drawn.items[drawn.fresh])])
        offsets: tuple[Tensor, ...] = ()
        if log_q is not None:
            offsets = torch.cat([log_q[0], log_q[1][drawn.fresh]]), log_q[0][own]
        loss = cross_entropy(queries, true, Candidates(both, own, *offsets), chunk)
        return Losses(loss, {"joint": loss})
    local = in_batch(queries, embeddings, own, None if log_q is None else log_q[0], chunk)
    if not len(drawn.items):
        return Losses(local, {"in_batch": local})
    among = Candidates(cache.index_select(0, drawn.items), drawn.hits)
    extra = cross_entropy(queries, true, among, chunk)
    return Losses((local + extra) / 2, {"in_batch": local, "extra": extra})


def log_chances(shares: Tensor, positions: int, drawn: float = 0.0) -> Tensor:
    """Return log q (items,): the log of the probability that each item is a candidate in a batch of P ``positions``.

    ``shares`` (items,) contains, for each item, the fraction of all targets that are this item. Every fraction must be
    above 0. An item is a unique target with the probability 1 - (1 - share)^P. In a joint softmax, the item is also
    drawn with the probability ``drawn`` = K / items.
    """
    missed = positions * torch.log1p(-shares.double().clamp(max=1 - 1e-12)) + math.log1p(-min(drawn, 1 - 1e-12))
    return torch.log(-torch.expm1(missed)).to(shares.dtype)


class _CrossEntropy(Function):
    """Cross-entropy and its gradients, computed in blocks of positions. Under autocast, matrix products are in bf16."""

    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        targets: Tensor,
        embeddings: Tensor,
        own: Tensor,
        offset: Tensor | None,
        own_offset: Tensor | None,
        chunk: int,
    ) -> Tensor:
        needs = ctx.needs_input_grad[:3]
        half = queries.is_cuda and torch.is_autocast_enabled("cuda")
        whole = torch.float32 if half else queries.dtype
        work = torch.bfloat16 if half else whole
        with torch.autocast(queries.device.type, enabled=False):
            e = embeddings.to(work)
            grads = [
                torch.zeros(x.shape, dtype=whole, device=x.device) if need else None
                for x, need in zip((queries, targets, embeddings), needs, strict=True)
            ]
            total = torch.zeros((), dtype=whole, device=queries.device)
            step = max(chunk // max(len(e), 1), 1)
            for first in range(0, len(queries), step):
                rows = slice(first, first + step)
                q, t, column = queries[rows].to(whole), targets[rows].to(whole), own[rows]
                scores = (q.to(work) @ e.mT).to(whole)
                mine = (q * t).sum(1)
                if offset is not None:
                    scores -= offset
                if own_offset is not None:
                    mine = mine - own_offset[rows]
                if len(e):
                    at = column.clamp(min=0)[:, None]
                    scores.scatter_(1, at, scores.gather(1, at).masked_fill(column[:, None] >= 0, -torch.inf))
                top = torch.maximum(scores.amax(1), mine) if len(e) else mine
                weights = scores.sub_(top[:, None]).exp_()
                at_mine = (mine - top).exp()
                norm = weights.sum(1) + at_mine
                total += (norm.log() + top - mine).sum()
                p, less = weights.div_(norm[:, None]), (at_mine / norm - 1)[:, None]
                _add(grads, rows, p.to(work), q, t, e, less)
        ctx.save_for_backward(*(g for g in grads if g is not None))
        ctx.needs, ctx.of = needs, [x.dtype for x in (queries, targets, embeddings)]
        ctx.count = len(queries)
        return total / len(queries)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        saved = iter(ctx.saved_tensors)
        by = grad / ctx.count
        found = [(next(saved) * by).to(dtype) if need else None for need, dtype in zip(ctx.needs, ctx.of, strict=True)]
        return *found, None, None, None, None


def _add(grads: list[Tensor | None], rows: slice, p: Tensor, q: Tensor, t: Tensor, e: Tensor, less: Tensor) -> None:
    """Add the gradients of a block of positions to ``grads``.

    For a position, q is the query, t the embedding of the target, and p the probability of the target; ``less`` is p -
    1. Candidate j has the probability p_j and the embedding e_j. The gradients are:

    - query: sum_j p_j e_j + (p - 1) t
    - target: (p - 1) q
    - embedding of candidate j: p_j q
    """
    of_queries, of_targets, of_embeddings = grads
    if of_queries is not None:
        of_queries[rows] = (p @ e).to(q.dtype) + less * t
    if of_targets is not None:
        of_targets[rows] = less * q
    if of_embeddings is not None:
        of_embeddings += (p.mT @ q.to(p.dtype)).to(q.dtype)
