"""Size of a two-part model: its shape, parameters, training FLOPs, and learning rate.

A multiply-add is two FLOPs. As in ``torch.utils.flop_counter.FlopCounterMode``, only matrix products are counted:
forward, gradient of the weights, and gradient of the inputs if these are trained. Torch is not needed.

C of a cell is this count. The C of behavioural eq. 1 is recorded in addition. Eq. 1 omits attention, assumes t tokens
in every text, and counts 18 B L h FLOPs per event for scoring. Three products with B L candidates are 6 B L h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.costs import TwoPart
from isoplan.engine.errors import PlannerError

HEAD_WIDTH = 64
TEXT = 24
"""Maximum number of tokens that are read of a text: t of behavioural eq. 1."""


@dataclass(frozen=True)
class Fields:
    """The inputs of the embedder for an item and for an event: lookup tables and numbers.

    ``vocabulary`` is the number of tokens of texts (0: no text), ``categories`` the number of values of each category,
    ``numbers`` how many numbers an item has, and ``buckets`` the rows for hashed ids (0: ids are not read).
    ``event_categories`` and ``event_numbers`` are the same for features of an event.
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
        """The rows of all tables, which N excludes: the vocabulary of behavioural Sec. 2."""
        return self.vocabulary + sum(self.categories) + self.buckets + sum(self.event_categories)


@dataclass(frozen=True)
class Shape:
    """An event embedder of width ``h`` followed by a causal Transformer of ``width`` d (behavioural, Sec. 2).

    Candidates are scored in the width ``h`` too (h_emb of behavioural Table 8). ``text_layers`` encode the text of an
    item, ``layers`` a sequence of at most ``length`` events. Raises PlannerError for invalid numbers.
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
        """The number of attention heads of the contextualiser."""
        return heads_of(self.width)

    @property
    def text_heads(self) -> int:
        """The number of attention heads of the text encoder."""
        return heads_of(self.h)


def heads_of(width: int) -> int:
    """Return the largest number of heads of width 64 or more that divides ``width``, at least 1."""
    return next(n for n in range(max(1, width // HEAD_WIDTH), 0, -1) if width % n == 0)


VERSION = 1
"""Version, part of the name of a cell. Increase it if the same cell gives other numbers."""
RATE, BATCH = 2.0e-3, 512
LARGEST = 1e-2


def learning_rate(batch: int) -> float:
    """Return the rate of AdamW for ``batch`` sequences: 2e-3 sqrt(B / 512) (behavioural, Table 7), at most 1e-2.

    The paper tries three rates per cell and keeps that with the smallest training loss. So does a cell with ``rates``
    3.
    """
    return float(min(RATE * (batch / BATCH) ** 0.5, LARGEST))


FORWARD = 2
FORWARD_AND_BACKWARD = 2 * 3
ON_DATA = 2 * 2
"""FLOPs per multiply-add if inputs are not trained: numbers of an item, frozen embeddings, cached candidates."""


def layer_parameters(width: int) -> int:
    """Return the parameters of a pre-norm layer with a feed-forward of 4 ``width``: 12 w^2 + 13 w."""
    return 12 * width**2 + 13 * width


def embedder_parameters(fields: Fields, h: int, text_layers: int) -> int:
    """Return p_e without lookup tables: text encoder with positions, numbers, and the merge into ``h``."""
    text = text_layers * layer_parameters(h) + TEXT * h if fields.vocabulary else 0
    numbers = sum((many + 1) * h for many in (fields.numbers, fields.event_numbers) if many)
    return text + numbers + 8 * h**2 + 5 * h + 2 * 2 * h


def contextualiser_parameters(shape: Shape) -> int:
    """Return p: the maps from h to d and back, positions, layers and the last norm."""
    d, h = shape.width, shape.h
    return (h * d + d) + shape.length * d + shape.layers * layer_parameters(d) + 2 * d + (d * h + h)


def parameters(shape: Shape) -> tuple[int, int]:
    """Return (p_e, p), embedder and contextualiser without vocabulary. N is their sum and the share s = p_e / N."""
    return embedder_parameters(shape.fields, shape.h, shape.text_layers), contextualiser_parameters(shape)


def vocabulary_parameters(shape: Shape) -> int:
    """Return the trainable parameters of token, category and id tables, which count for memory but not for N."""
    return shape.fields.rows * shape.h


def two_part(shape: Shape, batch: int, t: int, events: int, K: int = 0) -> TwoPart:
    """Return the model for behavioural eq. 1: ``batch`` sequences of ``events`` a step, ``t`` tokens an event."""
    p_e, p = parameters(shape)
    return TwoPart(s=p_e / (p_e + p), h=shape.h, B=batch, L=events, t=t, K=K)


def embedding_flops(shape: Shape, tokens: ArrayLike) -> float:
    """Return the FLOPs to embed items, forward and backward, with ``tokens`` (items,) of text each.

    C counts every event of a batch as an item, as eq. 1 does. The code computes each distinct item once.
    """
    h, n = shape.h, np.asarray(tokens, np.float64)
    text = shape.text_layers * (12 * h**2 * n + 2 * h * n**2) * bool(shape.fields.vocabulary)
    return float(FORWARD_AND_BACKWARD * (text + 8 * h**2).sum() + ON_DATA * len(n) * shape.fields.numbers * h)


def context_flops(shape: Shape, lengths: ArrayLike, *, frozen: bool = False) -> float:
    """Return the FLOPs of the contextualiser on sequences of ``lengths`` (sequences,) events, with event numbers.

    Forward and backward. Attention counts in full, causal or not. With a ``frozen`` embedder its inputs need no
    gradient.
    """
    d, h, n = shape.width, shape.h, np.asarray(lengths, np.float64)
    inner = shape.layers * (12 * d**2 * n + 2 * d * n**2) + h * d * n
    first = (ON_DATA if frozen else FORWARD_AND_BACKWARD) * h * d * n
    beside = (FORWARD if frozen else ON_DATA) * shape.fields.event_numbers * h * n
    return float((FORWARD_AND_BACKWARD * inner + first + beside).sum())


def scoring_flops(h: int, positions: float, candidates: float, *, frozen: bool = False) -> float:
    """Return the FLOPs to score ``positions`` against ``candidates`` in width ``h``.

    Frozen (cached) embeddings need no gradient: the factor is 4, not 6.
    """
    return (ON_DATA if frozen else FORWARD_AND_BACKWARD) * h * positions * candidates


def stage1_flops(shape: Shape, lengths: ArrayLike, tokens: ArrayLike, candidates: float) -> float:
    """Return C of a step of stage 1.

    ``lengths`` (sequences,) are the inputs of each sequence. ``tokens`` (events,) are those of every event of the batch
    and of every drawn item. ``candidates`` is the number of unique targets plus that of drawn items.
    """
    scoring = scoring_flops(shape.h, float(np.sum(lengths)), candidates)
    return embedding_flops(shape, tokens) + context_flops(shape, lengths) + scoring


def stage2_flops(shape: Shape, lengths: ArrayLike, candidates: float, extras: float) -> float:
    """Return C of a step of stage 2: embeddings are cached, and ``extras`` negatives are added to the
    ``candidates``.
    """
    scoring = scoring_flops(shape.h, float(np.sum(lengths)), candidates + extras, frozen=True)
    return context_flops(shape, lengths, frozen=True) + scoring
