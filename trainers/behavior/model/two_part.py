"""The two-part model of the behavioural paper (Sec. 2): an event embedder in front of a causal Transformer.

Sequences lie one after the other in rectangles with hardly any padding. What is in a batch beside a sequence, and how
it is packed, changes nothing of it; a position sees itself and what was before it.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from isoplan.engine.arrays import Ints
from isoplan.trainers.behavior.model.embedder import SPREAD, Embedder
from isoplan.trainers.behavior.model.shape import Shape
from isoplan.trainers.packed.layer import Layer, causal_blocks
from isoplan.trainers.packed.operations import drop
from isoplan.trainers.packed.rectangles import lay_out, runs


class TwoPartModel(nn.Module):
    """Embedder and contextualiser; the score of an item is the product of its embedding with the query."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedder = Embedder(shape)
        self.context = Contextualiser(shape)

    def groups(self, weight_decay: float) -> list[dict[str, object]]:
        """Parameters for AdamW: matrices of layers decay, tables, positions, norms and biases do not."""
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
    """Queries for the next item out of the embeddings of those before it: h -> d, causal layers, d -> h."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        d, h = shape.width, shape.h
        self.length, self.p = shape.length, shape.dropout
        self.into = nn.Linear(h, d)
        self.positions = nn.Parameter(torch.randn(shape.length, d) * SPREAD)
        self.layers = nn.ModuleList(Layer(d, shape.heads, 4 * d, shape.dropout) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, h)
        nn.init.normal_(self.out.weight, std=(d * h) ** -0.5)  # scores of normed vectors then begin with variance 1

    def forward(self, events: Tensor, lengths: Ints) -> Tensor:
        """Queries (P, h) of ``events`` (P, h), sequence after sequence of ``lengths`` (S,) events, 1 to L_seq each."""
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
