"""A pre-norm Transformer layer on the rows of a layout, and who may look at whom in it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from isoplan.trainers.packed.operations import Block, add_dropped, attend, gelu_dropped
from isoplan.trainers.packed.rectangles import Layout


class Layer(nn.TransformerEncoderLayer):
    """A pre-norm layer of torch, its parameters and their first values, computed on the rows of a layout."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__(width, heads, hidden, dropout, "gelu", norm_first=True)
        self.width, self.heads, self.p = width, heads, dropout

    def forward(self, x: Tensor, blocks: Sequence[Block]) -> Tensor:  # type: ignore[override]
        """The layer on all tokens: (rows, d) -> (rows, d)."""
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
    """The rectangles of a layout with masks against padding, where and of the type that ``like`` is."""
    filled = torch.from_numpy(layout.filled)
    found = []
    for r in layout.rectangles:
        padding = torch.arange(r.tokens) >= filled[r.members, None]
        mask = torch.zeros(padding.shape, dtype=like.dtype).masked_fill_(padding, -math.inf)
        found.append(Block(r.rows, r.members, r.tokens, mask[:, None].to(like.device)))
    return found


def causal_blocks(layout: Layout, like: Tensor) -> list[Block]:
    """The rectangles of a layout in which a token sees itself and those before it, never the padding after them."""
    found = []
    for r in layout.rectangles:
        mask = torch.full((r.tokens, r.tokens), -math.inf, dtype=like.dtype).triu_(1)
        found.append(Block(r.rows, r.members, r.tokens, mask[None].to(like.device)))
    return found
