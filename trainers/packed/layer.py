"""A pre-norm Transformer layer on packed sequences: attention within rectangles, and dropout.

On a CPU, dropout draws the gaps between zeros from a geometric distribution. The result has the exact distribution of
dropout, but needs only one random number per zero instead of one per element. On a GPU, the kernels of torch are used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

from isoplan.trainers.packed.rectangles import Layout

FEW = 16
"""If a matrix product has fewer columns than this number, the transposed product is computed because it is faster."""


@dataclass(frozen=True)
class Block:
    """A rectangle of sequences of similar length, with ``tokens`` rows per sequence.

    ``rows`` are the rows of the packed batch that belong to the rectangle. ``members`` are the numbers of its
    sequences, in the order of the layout. ``mask`` is 0 if a query (second axis) can attend to a key (third axis), and
    -inf otherwise. Its shape is (sequences, 1, tokens) for a mask against padding, and (1, tokens, tokens) for a causal
    mask.
    """

    rows: slice
    members: slice
    tokens: int
    mask: Tensor


def attend(qkv: Tensor, blocks: Sequence[Block], heads: int, p: float) -> Tensor:
    """Return the result of attention within each sequence, (rows, d).

    ``qkv`` (rows, 3 d) contains queries, keys and values, concatenated along the second axis. ``p`` is the dropout rate
    of the attention weights.
    """
    if not qkv.is_cuda:
        return _Attention.apply(qkv, blocks, heads, p)  # type: ignore[no-untyped-call]
    return _attend_by_torch(qkv, blocks, heads, p)


def _attend_by_torch(qkv: Tensor, blocks: Sequence[Block], heads: int, p: float) -> Tensor:
    found = []
    for b in blocks:
        q, k, v = qkv[b.rows].view(-1, b.tokens, 3, heads, qkv.shape[1] // 3 // heads).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, b.mask[:, None].to(q.dtype), p)
        found.append(seen.transpose(1, 2).reshape(-1, qkv.shape[1] // 3))
    return torch.cat(found)


def drop(x: Tensor, p: float) -> Tensor:
    """Return ``x`` after dropout: a fraction ``p`` of the elements is 0, and the others are divided by 1 - p."""
    return F.dropout(x, p) if x.is_cuda else _zeroed(x * (1 / (1 - p)), zeros(x.numel(), p))


def gelu_dropped(x: Tensor, p: float) -> Tensor:
    """Return GELU(x) with a fraction ``p`` of the elements set to 0.

    The result is not divided by 1 - p. The caller must divide the weights of the next matrix product by 1 - p.
    """
    return F.dropout(F.gelu(x), p) * (1 - p) if x.is_cuda else _Gelu.apply(x, p)  # type: ignore[no-untyped-call]


def add_dropped(x: Tensor, y: Tensor, p: float) -> Tensor:
    """Return x + dropout(y)."""
    return x + F.dropout(y, p) if x.is_cuda else _Add.apply(x, y, p)  # type: ignore[no-untyped-call]


def zeros(n: int, p: float) -> Tensor:
    """Return the sorted indices below ``n`` that dropout sets to 0, each independently with probability ``p``."""
    if p == 0:
        return torch.empty(0, dtype=torch.int64)
    most = int(n * p + 10 * math.sqrt(n * p) + 20)  # ten standard deviations above the mean
    at = torch.empty(most, dtype=torch.int64).geometric_(p).cumsum_(0).sub_(1)
    return at[: int(torch.searchsorted(at, n))]


def _zeroed(x: Tensor, at: Tensor) -> Tensor:
    """Set the elements of ``x`` at the positions ``at`` (in the flattened ``x``) to 0 in place. Returns ``x``."""
    x.view(-1).index_fill_(0, at, 0.0)
    return x


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Return the products a @ b of a batch of matrices.

    If b has few columns, the transposed product is computed, because MKL is three times faster for few rows than for
    few columns.
    """
    return torch.bmm(b.mT, a.mT).mT if b.shape[-1] < FEW else torch.bmm(a, b)


class _Attention(Function):
    """Attention on packed rows. Queries, keys, values and the result are views of these rows.

    The matrix products use contiguous arrays, because torch can batch only these.
    """

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, blocks: Sequence[Block], heads: int, p: float) -> Tensor:
        out = qkv.new_empty(len(qkv), qkv.shape[1] // 3)
        saved = []
        for (q, k, v), o, mask in _heads(qkv, out, blocks, heads):
            weights = torch.baddbmm(mask, q, k.mT, alpha=q.shape[-1] ** -0.5).softmax(-1)
            at = zeros(weights.numel(), p)
            kept = weights.view(-1)[at]
            torch.mul(_product(_zeroed(weights, at), v), 1 / (1 - p), out=o)
            weights.view(-1)[at] = kept
            saved += [weights, at]
        ctx.save_for_backward(qkv, *saved)
        ctx.blocks, ctx.heads, ctx.p = blocks, heads, p
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        qkv, *saved = ctx.saved_tensors
        found, grad = torch.empty_like(qkv), grad / (1 - ctx.p)
        pieces = zip(
            _heads(qkv, grad, ctx.blocks, ctx.heads),
            _heads(found, grad, ctx.blocks, ctx.heads),
            saved[::2],
            saved[1::2],
            strict=True,
        )
        for ((q, k, v), g, _), ((dq, dk, dv), *_), weights, at in pieces:
            scale = q.shape[-1] ** -0.5
            d_weights = _zeroed(torch.bmm(g, v.mT), at)
            d_scores = torch._softmax_backward_data(d_weights, weights, -1, weights.dtype)
            torch.mul(_product(d_scores, k), scale, out=dq)
            torch.mul(_product(d_scores.mT, q), scale, out=dk)
            dv.copy_(_product(_zeroed(weights, at).mT, g))
        return found, None, None, None


def _heads(
    qkv: Tensor, out: Tensor, blocks: Sequence[Block], heads: int
) -> Iterator[tuple[tuple[Tensor, Tensor, Tensor], Tensor, Tensor]]:
    """Yield, for each rectangle and head, the views of q, k and v, the view of the output, and the mask.

    Each view is (sequences, tokens, d / heads).
    """
    width = out.shape[1] // heads
    for b in blocks:
        inputs = qkv[b.rows].view(-1, b.tokens, 3, heads, width)
        outputs = out[b.rows].view(-1, b.tokens, heads, width)
        for h in range(heads):
            yield (inputs[:, :, 0, h], inputs[:, :, 1, h], inputs[:, :, 2, h]), outputs[:, :, h], b.mask


class _Gelu(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        at = zeros(x.numel(), p)
        ctx.save_for_backward(x, at)
        return _zeroed(F.gelu(x), at)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, at = ctx.saved_tensors
        return _zeroed(torch.ops.aten.gelu_backward(grad, x), at), None


class _Add(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, p: float) -> Tensor:
        at = zeros(x.numel(), p)
        ctx.save_for_backward(at)
        ctx.keep = 1 / (1 - p)
        out = torch.add(x, y, alpha=ctx.keep)
        out.view(-1)[at] = x.view(-1)[at]
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (at,) = ctx.saved_tensors
        return grad, _zeroed(grad * ctx.keep, at), None


class Layer(nn.TransformerEncoderLayer):
    """A pre-norm Transformer layer with the parameters and initialisation of torch, for packed rows of tokens."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__(width, heads, hidden, dropout, "gelu", norm_first=True)
        self.width, self.heads, self.p = width, heads, dropout

    def forward(self, x: Tensor, blocks: Sequence[Block]) -> Tensor:  # type: ignore[override]
        """Return the output (rows, d) of the layer for all tokens ``x`` (rows, d)."""
        attention = self.self_attn
        qkv = F.linear(self.norm1(x), attention.in_proj_weight, attention.in_proj_bias)
        seen = attend(qkv, blocks, self.heads, self._p)
        return self._feed(add_dropped(x, attention.out_proj(seen), self._p))

    def _feed(self, x: Tensor) -> Tensor:
        hidden = gelu_dropped(self.linear1(self.norm2(x)), self._p)
        return add_dropped(x, F.linear(hidden, self.linear2.weight / (1 - self._p), self.linear2.bias), self._p)

    @property
    def _p(self) -> float:
        return self.p if self.training else 0.0


def blocks_of(layout: Layout, like: Tensor) -> list[Block]:
    """Return the rectangles of a layout with masks that exclude padding, on the device and in the dtype of ``like``."""
    filled = torch.from_numpy(layout.filled)
    found = []
    for r in layout.rectangles:
        padding = torch.arange(r.tokens) >= filled[r.members, None]
        mask = torch.zeros(padding.shape, dtype=like.dtype).masked_fill_(padding, -math.inf)
        found.append(Block(r.rows, r.members, r.tokens, mask[:, None].to(like.device)))
    return found


def causal_blocks(layout: Layout, like: Tensor) -> list[Block]:
    """Return the rectangles of a layout with causal masks: a token attends to itself and to the tokens before it."""
    found = []
    for r in layout.rectangles:
        mask = torch.full((r.tokens, r.tokens), -math.inf, dtype=like.dtype).triu_(1)
        found.append(Block(r.rows, r.members, r.tokens, mask[None].to(like.device)))
    return found
