"""Size of a two-part model: its shape, parameters, training FLOPs, and learning rate.

A multiply-add is two FLOPs. Only matrix products are counted, as ``torch.utils.flop_counter.FlopCounterMode`` does:
forward, gradient of the weights, gradient of the inputs where those are trained. Needs no torch.

C of a cell is this count. What behavioural eq. 1 says of the same cell stands beside it: it leaves attention out, takes
every text as t tokens, and charges scoring with 18 B L h FLOPs an event, where three products with B L candidates are
6 B L h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.costs import TwoPart
from isoplan.engine.errors import PlannerError

HEAD_WIDTH = 64
TEXT = 24
"""Tokens that are read of a text: t of behavioural eq. 1."""


@dataclass(frozen=True)
class Fields:
    """What the embedder reads of an item, and of an event beside its item: tables of rows, and numbers.

    ``vocabulary`` tokens a text may be made of (0: no text), the values of each of the ``categories``, how many
    ``numbers`` an item has, and the ``buckets`` into which ids are hashed (0: ids are not read). ``event_categories``
    and ``event_numbers`` are the same of what changes from event to event.
    """

    vocabulary: int = 0
    categories: tuple[int, ...] = ()
    numbers: int = 0
    buckets: int = 0
    event_categories: tuple[int, ...] = ()
    event_numbers: int = 0

    def __post_init__(self) -> None:
        if not (self.vocabulary or self.categories or self.numbers or self.buckets):
            raise PlannerError("The items have nothing that could be embedded: give features, or buckets for ids.")

    @property
    def rows(self) -> int:
        """Rows of all tables, which N leaves out: the vocabulary of behavioural Sec. 2."""
        return self.vocabulary + sum(self.categories) + self.buckets + sum(self.event_categories)


@dataclass(frozen=True)
class Shape:
    """An event embedder of width ``h`` in front of a causal Transformer of ``width`` d (behavioural, Sec. 2).

    ``h`` is also the width in which candidates are scored (h_emb of behavioural Table 8). ``text_layers`` encode the
    text of an item, ``layers`` a sequence of at most ``length`` events. Raises PlannerError for numbers that make no
    model.
    """

    fields: Fields
    h: int
    width: int
    layers: int = 2
    text_layers: int = 2
    length: int = 256
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("h", "width", "layers", "text_layers", "length"):
            if getattr(self, name) < 1:
                raise PlannerError(f"{name} is {getattr(self, name)}: the model needs at least 1.")
        if not 0 <= self.dropout < 1:
            raise PlannerError(f"Dropout is {self.dropout:g}: use at least 0 and less than 1.")

    @property
    def heads(self) -> int:
        """Heads of the contextualiser."""
        return heads_of(self.width)

    @property
    def text_heads(self) -> int:
        """Heads of the text encoder."""
        return heads_of(self.h)


def heads_of(width: int) -> int:
    """The most heads of at least 64 numbers, or one, that divide ``width``."""
    return next(n for n in range(max(1, width // HEAD_WIDTH), 0, -1) if width % n == 0)


VERSION = 1
"""Part of the name of a cell, to be raised where the same cell gives other numbers."""
RATE, BATCH = 2.0e-3, 512
LARGEST = 1e-2


def learning_rate(batch: int) -> float:
    """Of AdamW for ``batch`` sequences a step: 2e-3 sqrt(B / 512) (behavioural, Table 7), at most 1e-2.

    The paper tries three rates a cell and keeps the one with the least training loss; so does a cell with ``rates`` 3.
    """
    return float(min(RATE * (batch / BATCH) ** 0.5, LARGEST))


FORWARD = 2
FORWARD_AND_BACKWARD = 2 * 3
ON_DATA = 2 * 2
"""Where inputs are not trained: numbers of an item, embeddings that are frozen, candidates that are cached."""


def layer_parameters(width: int) -> int:
    """A pre-norm layer with a feed-forward of 4 ``width``: 12 w^2 + 13 w."""
    return 12 * width**2 + 13 * width


def embedder_parameters(fields: Fields, h: int, text_layers: int) -> int:
    """p_e without tables of rows: text encoder with its positions, numbers, and what merges them into ``h``."""
    text = text_layers * layer_parameters(h) + TEXT * h if fields.vocabulary else 0
    numbers = sum((many + 1) * h for many in (fields.numbers, fields.event_numbers) if many)
    return text + numbers + 8 * h**2 + 5 * h + 2 * 2 * h


def contextualiser_parameters(shape: Shape) -> int:
    """p: from h to d and back, positions, layers and the last norm."""
    d, h = shape.width, shape.h
    return (h * d + d) + shape.length * d + shape.layers * layer_parameters(d) + 2 * d + (d * h + h)


def parameters(shape: Shape) -> tuple[int, int]:
    """(p_e, p): embedder and contextualiser without vocabulary; N is their sum and the share s = p_e / N."""
    return embedder_parameters(shape.fields, shape.h, shape.text_layers), contextualiser_parameters(shape)


def vocabulary_parameters(shape: Shape) -> int:
    """Trainable rows of tokens, categories and hashed ids, which N leaves out and memory does not."""
    return shape.fields.rows * shape.h


def two_part(shape: Shape, batch: int, t: int, events: int, K: int = 0) -> TwoPart:
    """The model as behavioural eq. 1 reads it: ``batch`` sequences of ``events`` a step, ``t`` tokens an event."""
    p_e, p = parameters(shape)
    return TwoPart(s=p_e / (p_e + p), h=shape.h, B=batch, L=events, t=t, K=K)


def embedding_flops(shape: Shape, tokens: ArrayLike) -> float:
    """Of embedding items, forward and backward, with ``tokens`` (items,) of text each.

    C counts every event of a batch as an item, as eq. 1 does. What is computed is each distinct item once.
    """
    h, n = shape.h, np.asarray(tokens, np.float64)
    text = shape.text_layers * (12 * h**2 * n + 2 * h * n**2) * bool(shape.fields.vocabulary)
    return float(FORWARD_AND_BACKWARD * (text + 8 * h**2).sum() + ON_DATA * len(n) * shape.fields.numbers * h)


def context_flops(shape: Shape, lengths: ArrayLike, *, frozen: bool = False) -> float:
    """Of the contextualiser on sequences of ``lengths`` (sequences,) events, and of numbers of the events.

    Forward and backward. Attention is counted whole, causal or not. With a ``frozen`` embedder its inputs need no
    gradient.
    """
    d, h, n = shape.width, shape.h, np.asarray(lengths, np.float64)
    inner = shape.layers * (12 * d**2 * n + 2 * d * n**2) + h * d * n
    first = (ON_DATA if frozen else FORWARD_AND_BACKWARD) * h * d * n
    beside = (FORWARD if frozen else ON_DATA) * shape.fields.event_numbers * h * n
    return float((FORWARD_AND_BACKWARD * inner + first + beside).sum())


def scoring_flops(h: int, positions: float, candidates: float, *, frozen: bool = False) -> float:
    """Of scoring ``positions`` against ``candidates`` in width ``h``; cached embeddings need no gradient: 4, not 6."""
    return (ON_DATA if frozen else FORWARD_AND_BACKWARD) * h * positions * candidates


def stage1_flops(shape: Shape, lengths: ArrayLike, tokens: ArrayLike, candidates: float) -> float:
    """C of a step of stage 1: sequences of ``lengths`` (sequences,) inputs, the ``tokens`` of every event of the batch,
    (events,), and of every drawn item, and as ``candidates`` the unique targets and the drawn items.
    """
    scoring = scoring_flops(shape.h, float(np.sum(lengths)), candidates)
    return embedding_flops(shape, tokens) + context_flops(shape, lengths) + scoring


def stage2_flops(shape: Shape, lengths: ArrayLike, candidates: float, extras: float) -> float:
    """C of a step of stage 2: embeddings are read from a cache, and ``extras`` negatives are scored beside the
    ``candidates`` of the batch.
    """
    scoring = scoring_flops(shape.h, float(np.sum(lengths)), candidates + extras, frozen=True)
    return context_flops(shape, lengths, frozen=True) + scoring
