"""The two-part model in plain torch.

Items are embedded one by one. Sequences are padded, with a causal mask. One matrix product gives all scores.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from isoplan.trainers.behavior.model.item_features import Known
from isoplan.trainers.behavior.model.shape import Shape
from isoplan.trainers.behavior.model.two_part import TwoPartModel


def encoder(width: int, heads: int, layers: int) -> nn.TransformerEncoder:
    """Return a Transformer encoder of torch with pre-norm layers."""
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


class Plain:
    """A copy of a ``TwoPartModel`` made of torch's layers. It has the weights of the ``TwoPartModel``."""

    def __init__(self, model: TwoPartModel) -> None:
        shape: Shape = model.shape
        self.model, self.embedder, self.context = model, model.embedder, model.context
        self.layers = encoder(shape.width, shape.heads, shape.layers).to(model.context.positions)
        self.layers.layers.load_state_dict(model.context.layers.state_dict())
        if model.embedder.text is not None:
            self.text = encoder(shape.h, shape.text_heads, shape.text_layers).to(model.context.positions)
            self.text.layers.load_state_dict(model.embedder.text.layers.state_dict())

    def embed(self, known: Known) -> Tensor:
        """Return the embeddings (items, h), computed item by item."""
        return torch.cat([self._item(known.take(np.array([i]))) for i in range(len(known))])

    def _item(self, one: Known) -> Tensor:
        e = self.embedder
        x = torch.zeros(1, e.width, dtype=e.norm1.weight.dtype)
        if e.words is not None and e.text is not None and len(one.words):
            words = e.words(torch.from_numpy(one.words.astype(np.int64))) + e.text.positions[: len(one.words)]
            x = x + self.text(words[None]).mean(1)
        for table, rows in ((e.categories, one.categories), (e.ids, one.ids)):
            if table is not None:
                x = x + table(torch.from_numpy(rows)).sum(1)
        if e.numbers is not None:
            x = x + e.numbers(torch.from_numpy(one.numbers).to(x.dtype))
        return e.norm2(x + e.linear2(F.gelu(e.linear1(e.norm1(x)))))

    def queries(self, events: Tensor, lengths: np.ndarray, more: int = 0) -> Tensor:
        """Return the queries (P, h) of ``events`` (P, h), computed with a causal mask.

        Sequences are padded to the longest length plus ``more``.
        """
        longest = int(lengths.max()) + more
        there = torch.arange(longest) < torch.from_numpy(lengths)[:, None]
        padded = torch.zeros(*there.shape, events.shape[1], dtype=events.dtype)
        padded[there] = events
        x = self.context.into(padded)
        x = x + F.pad(self.context.positions, (0, 0, 0, max(longest - len(self.context.positions), 0)))[:longest]
        mask = torch.full((longest, longest), -torch.inf, dtype=x.dtype).triu(1)
        return self.context.out(self.context.norm(self.layers(x, mask)))[there]


def random_known(rng: np.random.Generator, items: int, vocabulary: int = 30, ids: int = 0) -> Known:
    """Return the features of random items.

    An item has a text of 0 to 24 words, two categories and three numbers. If ``ids`` > 0, it also has ids.
    """
    lengths = rng.integers(0, 25, items)
    words = rng.integers(1, vocabulary, lengths.sum()).astype(np.int32)
    categories = np.stack([rng.integers(0, 4, items), rng.integers(4, 11, items)], 1)
    numbers = rng.standard_normal((items, 3)).astype(np.float32)
    return Known(words, lengths, categories, numbers, rng.integers(0, max(ids, 1), (items, 2 if ids else 0)))
