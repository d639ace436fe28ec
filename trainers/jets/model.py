"""The set Transformer of the jet paper (jets, Sec. 2), computed on rectangles of jets with hardly any padding.

Logits, losses and gradients are those of ``torch.nn.TransformerEncoder`` with padding and a key-padding mask, to
rounding, and the weights have its names and shapes. What is saved: padding, all of the last layer but what [CLS] needs
of it, and nearly all random numbers of dropout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from isoplan.trainers.jets.jetset import lay_out
from isoplan.trainers.jets.shape import Shape
from isoplan.trainers.packed.layer import Block, Layer, add_dropped, blocks_of, drop

CLS_SPREAD = 0.02
"""Standard deviation of the first [CLS]; the paper does not say, BERT and vision Transformers use this."""


class SetTransformer(nn.Module):
    """Logits of jets out of their particles; no positions, so the order of the particles of a jet says nothing."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Linear(shape.features, shape.width)
        self.cls = nn.Parameter(torch.randn(shape.width) * CLS_SPREAD)
        self.layers = nn.ModuleList(JetLayer(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.classes)

    def forward(self, particles: Tensor, lengths: Tensor) -> Tensor:
        """Logits (B, classes) of the jets whose ``particles`` (P, F) come one jet after the other.

        ``lengths`` (B,) int64, on the CPU, is how many particles each has; a jet of none is its [CLS] alone.
        """
        layout = lay_out(lengths.numpy())
        blocks = blocks_of(layout, particles)
        cls = torch.from_numpy(layout.cls).to(particles.device)
        x = self._tokens(particles, torch.from_numpy(layout.particles).to(particles.device), cls, layout.rows)
        *inner, last = cast("list[JetLayer]", list(self.layers))
        for layer in inner:
            x = layer(x, blocks)
        x = last.of_cls(x, blocks, cls)
        place = torch.from_numpy(layout.order).argsort().to(x.device)
        return self.head(self.norm(x)).index_select(0, place)

    def _tokens(self, particles: Tensor, at: Tensor, cls: Tensor, rows: int) -> Tensor:
        """Embedded particles and [CLS] in their rows, (rows, d); padding is zero."""
        embedded = self.embed(particles).to(self.cls.dtype)
        tokens = torch.cat([embedded, self.cls.expand(len(cls), -1)])
        return tokens.new_zeros(rows, self.shape.width).index_copy(0, torch.cat([at, cls]), tokens)


def loss_of(model: SetTransformer, particles: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy (nats) of a batch, with the ``labels`` (B,) where the particles are; bf16 on a GPU."""
    with torch.autocast("cuda", torch.bfloat16, enabled=particles.is_cuda):
        return F.cross_entropy(model(particles, lengths), labels)


class JetLayer(Layer):
    """A layer that can also be computed for [CLS] alone."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape.width, shape.heads, shape.hidden, shape.dropout)

    def of_cls(self, x: Tensor, blocks: Sequence[Block], cls: Tensor) -> Tensor:
        """The layer for [CLS] alone, in rows ``cls``: (rows, d) -> (B, d).

        With one query q a jet, q (W x) = (q W) x and sum a (W x) = W (sum a x): keys and values are never made. The
        bias of the keys adds the same to all scores of a jet, which changes no weight.
        """
        attention, heads, d = self.self_attn, self.heads, self.width
        w_q, w_k, w_v = attention.in_proj_weight.view(3, heads, d // heads, d)
        b_q, _, b_v = attention.in_proj_bias.view(3, heads, 1, d // heads)
        n = self.norm1(x)
        q = torch.baddbmm(b_q, n.index_select(0, cls).expand(heads, -1, -1), w_q.mT)
        asked = torch.bmm(q, w_k).transpose(0, 1) * (d // heads) ** -0.5
        pooled, shares = _pool(n, asked, blocks, self._p)
        seen = torch.baddbmm(shares.mT[:, :, None] * b_v, pooled.transpose(0, 1), w_v.mT)
        seen = attention.out_proj(seen.transpose(0, 1).reshape(-1, d))
        return self._feed(add_dropped(x.index_select(0, cls), seen, self._p))


def _pool(n: Tensor, asked: Tensor, blocks: Sequence[Block], p: float) -> tuple[Tensor, Tensor]:
    """Means of each jet's tokens by the softmax of ``asked`` (B, heads, d), and the sums of its weights."""
    pooled, shares = [], []
    parts = torch.split(n, [b.rows.stop - b.rows.start for b in blocks])
    for part, a, b in zip(parts, torch.split(asked, [len(b.mask) for b in blocks]), blocks, strict=True):
        tokens = part.view(-1, b.tokens, n.shape[1])
        weights = drop(torch.baddbmm(b.mask, a, tokens.mT).softmax(-1), p)
        pooled.append(torch.bmm(weights, tokens))
        shares.append(weights.sum(-1))
    return torch.cat(pooled), torch.cat(shares)
