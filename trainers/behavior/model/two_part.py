"""The two-part model of the behavioural paper (Sec. 2): an event embedder in front of a causal Transformer.

The sequences of a batch are packed into rectangles with hardly any padding. The result for a sequence does not depend
on the other sequences of the batch or on the packing. A position attends to itself and to earlier positions.

The words in the text of an item pass through a small Transformer, and its outputs are averaged. Categories and hashed
ids are rows of lookup tables, and numbers pass through a linear map. The sum of these vectors passes through a
feed-forward layer and a norm. The features of an event are embedded in the same way. The resulting vectors are added to
the inputs of the contextualiser but not to the candidates, because the features of the next event are not known in
advance.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from isoplan.engine.arrays import Ints, Singles
from isoplan.trainers.behavior.model.item_features import Known
from isoplan.trainers.behavior.model.shape import TEXT, Shape
from isoplan.trainers.packed.layer import Layer, blocks_of, causal_blocks, drop
from isoplan.trainers.packed.rectangles import lay_out, runs

SPREAD = 0.02
"""Standard deviation of the initial weights of lookup tables and linear maps."""
BESIDE = 0.5
"""Standard deviation of the initial weights for event features.

The resulting vectors are added to the vectors of items, which have variance 1.
"""
AT_ONCE = 2048
"""Number of items that are embedded together if no gradient is needed."""


class Embedder(nn.Module):
    """The module that computes the embeddings (items, h) of items.

    The embedding of an item does not depend on padding or on the other items of a batch.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        fields, h = shape.fields, shape.h
        self.width, self.p = h, shape.dropout
        self.words = _table(fields.vocabulary, h) if fields.vocabulary else None
        self.text = TextEncoder(shape) if fields.vocabulary else None
        self.categories = _table(sum(fields.categories), h) if fields.categories else None
        self.ids = _table(fields.buckets, h) if fields.buckets else None
        self.numbers = _map(fields.numbers, h) if fields.numbers else None
        self.event_categories = _table(sum(fields.event_categories), h, BESIDE) if fields.event_categories else None
        self.event_numbers = _map(fields.event_numbers, h, BESIDE) if fields.event_numbers else None
        self.norm1 = nn.LayerNorm(h)
        self.linear1, self.linear2 = nn.Linear(h, 4 * h), nn.Linear(4 * h, h)
        self.norm2 = nn.LayerNorm(h)

    def forward(self, known: Known) -> Tensor:
        """Return the embeddings (items, h) of the items with features ``known``."""
        device = self.norm1.weight.device
        x = torch.zeros(len(known), self.width, device=device, dtype=self.norm1.weight.dtype)
        if self.words is not None and self.text is not None and len(known.words):
            x = x + self.text(self.words(_there(known.words, device)), known.lengths).to(x.dtype)
        if self.categories is not None:
            x = x + self.categories(_there(known.categories, device)).sum(1)
        if self.ids is not None:
            x = x + self.ids(_there(known.ids, device)).sum(1)
        if self.numbers is not None:
            x = x + self.numbers(torch.from_numpy(known.numbers).to(device, x.dtype)).to(x.dtype)
        x = x + self.linear2(F.gelu(self.linear1(self.norm1(x)))).to(x.dtype)
        x = self.norm2(x)
        return drop(x, self.p) if self.training and self.p else x

    def beside(self, items: Tensor, categories: Ints, numbers: Singles) -> Tensor:
        """Return the vectors (P, h) of events, which are the inputs of the contextualiser.

        A vector is the embedding of the item of the event, from ``items`` (P, h), plus the embedded features of the
        event. ``categories`` (P, columns) contains rows of the category table. ``numbers`` (P, columns) is scaled.
        """
        x = items
        if self.event_categories is not None:
            x = x + self.event_categories(_there(categories, items.device)).sum(1).to(items.dtype)
        if self.event_numbers is not None:
            x = x + self.event_numbers(torch.from_numpy(numbers).to(items.device, items.dtype)).to(items.dtype)
        return x

    @torch.no_grad()
    def all(self, known: Known) -> Tensor:
        """Return the embeddings (items, h) of all items of a catalogue without gradients, for stage 2 and evaluation.

        Items with equal features are embedded only once. This makes their embeddings equal on every processor.
        """
        weight, groups = self.norm2.weight, known.groups
        vectors = torch.empty(len(groups), self.width, device=weight.device, dtype=weight.dtype)
        for first in range(0, len(groups), AT_ONCE):
            vectors[first : first + AT_ONCE] = self(known.take(groups.first[first : first + AT_ONCE]))
        return vectors if groups.distinct else vectors[_there(groups.of, weight.device)]

    def tables(self) -> list[Tensor]:
        """Return the weights of the lookup tables, which are not included in N."""
        tables = (self.words, self.categories, self.ids, self.event_categories)
        return [table.weight for table in tables if table is not None]


class TextEncoder(nn.Module):
    """A Transformer with full attention over the words of each text. Its outputs are averaged over the words."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        h = shape.h
        self.positions = nn.Parameter(torch.randn(TEXT, h) * SPREAD)
        self.layers = nn.ModuleList(Layer(h, shape.text_heads, 4 * h, 0.0) for _ in range(shape.text_layers))

    def forward(self, words: Tensor, lengths: Ints) -> Tensor:
        """Return one vector per text, (texts, h). The vector of an empty text is 0.

        ``words`` (words, h) contains the embedded words of all texts, one text after the other. ``lengths`` (texts,) is
        the number of words of each text.
        """
        some = np.flatnonzero(lengths)
        counts = lengths[some]
        layout = lay_out(counts)
        places = runs(np.zeros_like(counts), counts)
        x = words + self.positions.index_select(0, _there(places, words.device))
        rows = _there(runs(layout.begins, counts), words.device)
        x = x.new_zeros(layout.rows, x.shape[1]).index_copy(0, rows, x)
        blocks = blocks_of(layout, x)
        for layer in cast("list[Layer]", list(self.layers)):
            x = layer(x, blocks)
        sums = []
        for block in blocks:
            there = (block.mask == 0).mT.to(x.dtype)
            sums.append((x[block.rows].view(-1, block.tokens, x.shape[1]) * there).sum(1))
        means = torch.cat(sums) / torch.from_numpy(layout.filled).to(x.device, x.dtype)[:, None]
        at = _there(some[layout.order], x.device)
        return means.new_zeros(len(lengths), x.shape[1]).index_copy(0, at, means)


def _table(rows: int, h: int, spread: float = SPREAD) -> nn.Embedding:
    table = nn.Embedding(rows, h)
    nn.init.normal_(table.weight, std=spread)
    return table


def _map(numbers: int, h: int, spread: float = SPREAD) -> nn.Linear:
    layer = nn.Linear(numbers, h)
    nn.init.normal_(layer.weight, std=spread)
    return layer


def _there(numbers: np.ndarray, device: torch.device) -> Tensor:
    """Return the indices ``numbers`` as an int64 tensor on ``device``."""
    return torch.from_numpy(np.asarray(numbers, np.int64)).to(device)


class TwoPartModel(nn.Module):
    """Embedder and contextualiser. The score of an item is the dot product of its embedding and the query."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedder = Embedder(shape)
        self.context = Contextualiser(shape)

    def groups(self, weight_decay: float) -> list[dict[str, object]]:
        """Return two parameter groups for AdamW: with ``weight_decay``, and without weight decay.

        Weight decay applies to the matrices of layers, and not to tables, positions, norms and biases.
        """
        tables = {id(table) for table in self.embedder.tables()} | {id(self.context.positions)}
        text = self.embedder.text
        tables |= {id(text.positions)} if text is not None else set()
        decays: dict[bool, list[nn.Parameter]] = {True: [], False: []}
        for weights in self.parameters():
            if weights.requires_grad:
                decays[weights.ndim > 1 and id(weights) not in tables].append(weights)
        return [
            {"params": decays[True], "weight_decay": weight_decay},
            {"params": decays[False], "weight_decay": 0.0},
        ]


class Contextualiser(nn.Module):
    """Causal Transformer from the vectors of events to queries for the next item.

    The vectors and the queries have the width h. The layers have the width d.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        d, h = shape.width, shape.h
        self.length, self.p = shape.length, shape.dropout
        self.into = nn.Linear(h, d)
        self.positions = nn.Parameter(torch.randn(shape.length, d) * SPREAD)
        self.layers = nn.ModuleList(Layer(d, shape.heads, 4 * d, shape.dropout) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, h)
        # This standard deviation gives the initial scores the variance 1.
        nn.init.normal_(self.out.weight, std=(d * h) ** -0.5)

    def forward(self, events: Tensor, lengths: Ints) -> Tensor:
        """Return the query (P, h) at each event of ``events`` (P, h).

        The events of several sequences are concatenated. ``lengths`` (S,) is the number of events of each sequence,
        from 1 to the maximum length L_seq.
        """
        if lengths.min() < 1 or lengths.max() > self.length:
            raise ValueError(f"sequences of {lengths.min()} to {lengths.max()} events, not of 1 to {self.length}")
        layout, device = lay_out(lengths), events.device
        rows = torch.from_numpy(runs(layout.begins, lengths)).to(device)
        places = torch.from_numpy(runs(np.zeros_like(lengths), lengths)).to(device)
        x = self.into(events) + self.positions.index_select(0, places)
        if self.training:
            x = drop(x, self.p)
        x = x.new_zeros(layout.rows, x.shape[1]).index_copy(0, rows, x)
        blocks = causal_blocks(layout, x)
        for layer in cast("list[Layer]", list(self.layers)):
            x = layer(x, blocks)
        return self.out(self.norm(x.index_select(0, rows)))
