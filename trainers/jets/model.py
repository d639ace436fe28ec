"""The set Transformer of the jet paper (jets, Sec. 2), computed on rectangles of jets with little padding.

Logits, losses and gradients are equal, up to rounding, to those of ``torch.nn.TransformerEncoder`` with padding and a
key-padding mask. The weights have the same names and shapes. This module is faster for three reasons: it computes
almost no padding, computes only the [CLS] output of the last layer, and needs few random numbers for dropout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from isoplan.trainers.jets.cell import Shape
from isoplan.trainers.packed.layer import Block, Layer, add_dropped, blocks_of, drop
from isoplan.trainers.packed.rectangles import lay_out, runs

CLS_SPREAD = 0.02
"""Standard deviation of the initial [CLS] token. The paper gives none; BERT and vision Transformers use this value."""


class SetTransformer(nn.Module):
    """Transformer from the particles of a jet to its logits.

    There are no positional encodings, so the order of the particles has no effect.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Linear(shape.features, shape.width)
        self.cls = nn.Parameter(torch.randn(shape.width) * CLS_SPREAD)
        self.layers = nn.ModuleList(JetLayer(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.classes)

    def forward(self, particles: Tensor, lengths: Tensor) -> Tensor:
        """Return the logits (B, classes) of jets. ``particles`` (P, F) contains all jets, one jet after the other.

        ``lengths`` (B,) int64, on the CPU, is the number of particles of each jet. A jet without particles has only its
        [CLS] token.
        """
        counts = lengths.numpy()
        layout = lay_out(counts + 1)  # [CLS] comes before the particles of its jet
        blocks = blocks_of(layout, particles)
        cls = torch.from_numpy(layout.first).to(particles.device)
        rows = torch.from_numpy(runs(layout.begins + 1, counts)).to(particles.device)
        x = self._tokens(particles, rows, cls, layout.rows)
        *inner, last = cast("list[JetLayer]", list(self.layers))
        for layer in inner:
            x = layer(x, blocks)
        x = last.of_cls(x, blocks, cls)
        place = torch.from_numpy(layout.order).argsort().to(x.device)
        return self.head(self.norm(x)).index_select(0, place)

    def _tokens(self, particles: Tensor, at: Tensor, cls: Tensor, rows: int) -> Tensor:
        """Return the tokens (rows, d): particles in the rows ``at``, [CLS] in the rows ``cls``, and 0 as padding."""
        embedded = self.embed(particles).to(self.cls.dtype)
        tokens = torch.cat([embedded, self.cls.expand(len(cls), -1)])
        return tokens.new_zeros(rows, self.shape.width).index_copy(0, torch.cat([at, cls]), tokens)


def loss_of(model: SetTransformer, particles: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy of a batch in nats.

    ``labels`` (B,) must be on the device of ``particles``. On a GPU, matrix products are computed in bf16.
    """
    with torch.autocast("cuda", torch.bfloat16, enabled=particles.is_cuda):
        return F.cross_entropy(model(particles, lengths), labels)


class JetLayer(Layer):
    """A Transformer layer whose output can also be computed for the [CLS] tokens alone."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape.width, shape.heads, shape.hidden, shape.dropout)

    def of_cls(self, x: Tensor, blocks: Sequence[Block], cls: Tensor) -> Tensor:
        """Return the output (B, d) of the layer for the [CLS] tokens, which are in the rows ``cls`` of ``x`` (rows, d).

        Each jet has only one query q. Therefore the keys and values W x of the particles x need not be computed: q (W
        x) = (q W) x and sum a (W x) = W (sum a x), where a are the attention weights. The bias of the keys adds the
        same constant to all scores of a jet and does not change the attention weights.
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
    """Return the weighted sums of each jet's tokens (B, heads, d), and the sums of the weights (B, heads).

    The weights are softmax(``n`` · ``asked``) after dropout, with the tokens ``n`` and the queries ``asked`` (B, heads,
    d).
    """
    pooled, shares = [], []
    parts = torch.split(n, [b.rows.stop - b.rows.start for b in blocks])
    for part, a, b in zip(parts, torch.split(asked, [len(b.mask) for b in blocks]), blocks, strict=True):
        tokens = part.view(-1, b.tokens, n.shape[1])
        weights = drop(torch.baddbmm(b.mask, a, tokens.mT).softmax(-1), p)
        pooled.append(torch.bmm(weights, tokens))
        shares.append(weights.sum(-1))
    return torch.cat(pooled), torch.cat(shares)
