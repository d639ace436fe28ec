"""Size of a two-part model: its shape, parameters, training FLOPs, and default learning rate.

A multiply-add is two FLOPs. As in ``torch.utils.flop_counter.FlopCounterMode``, only matrix products are counted: the
forward pass, the gradient of the weights, and the gradient of the inputs if the inputs are trained. This module does
not import torch.

The column C of a run is this count, and the column C_step is the C of behavioural eq. 1. They differ because eq. 1
omits attention, assumes t tokens in every text, and counts 18 B L h FLOPs per event for scoring. Scoring against B L
candidates takes three matrix products (the scores and two gradients), which are 6 B L h FLOPs per event.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.costs import TwoPart
from isoplan.engine.errors import PlannerError

HEAD_WIDTH = 64
TEXT = 24
"""Maximum number of tokens of a text that the model reads. The number of tokens is t in behavioural eq. 1."""


@dataclass(frozen=True)
class Fields:
    """The inputs of the embedder for an item and for an event.

    ``vocabulary`` is the number of different tokens of texts (0: no text). ``categories`` has the number of values of
    each category column. ``numbers`` is the number of numeric columns. ``buckets`` is the number of rows of the table
    for hashed ids (0: ids are not read). ``event_categories`` and ``event_numbers`` are the same for features of an
    event.
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
        """The total number of rows of all lookup tables, the vocabulary of behavioural Sec. 2.

        N excludes their parameters.
        """
        return self.vocabulary + sum(self.categories) + self.buckets + sum(self.event_categories)


@dataclass(frozen=True)
class Shape:
    """An event embedder of width ``h`` followed by a causal Transformer of ``width`` d (behavioural, Sec. 2).

    Candidates are also scored in the width ``h`` (h_emb of behavioural Table 8). ``text_layers`` is the number of
    layers that encode the text of an item, and ``layers`` the number of layers that read a sequence of at most
    ``length`` events. Raises PlannerError for invalid numbers.
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
    """Return the number of attention heads for a ``width``: its largest divisor n with width / n >= 64, or 1."""
    return next(n for n in range(max(1, width // HEAD_WIDTH), 0, -1) if width % n == 0)


VERSION = 1
"""Version of the model and its training, part of the name of a cell. Increase it if the same cell gives other
results.
"""
RATE, BATCH = 2.0e-3, 512
LARGEST = 1e-2


def learning_rate(batch: int) -> float:
    """Return the default learning rate of AdamW for ``batch`` sequences per step.

    It is 2e-3 sqrt(B / 512) (behavioural, Table 7), at most 1e-2. The paper trains each cell with three rates and keeps
    the run with the smallest training loss. A cell with ``rates`` = 3 does the same.
    """
    return float(min(RATE * (batch / BATCH) ** 0.5, LARGEST))


FORWARD = 2
FORWARD_AND_BACKWARD = 2 * 3
ON_DATA = 2 * 2
"""FLOPs per multiply-add if the input of a product is not trained, such as numeric features or frozen embeddings: the
forward pass and the gradient of the weights, 2 FLOPs each.
"""


def layer_parameters(width: int) -> int:
    """Return the parameters of a pre-norm Transformer layer of width w, with a hidden width of 4 w: 12 w^2 + 13 w."""
    return 12 * width**2 + 13 * width


def embedder_parameters(fields: Fields, h: int, text_layers: int) -> int:
    """Return p_e, the parameters of the embedder without lookup tables.

    They are those of the text encoder with its positions, of the maps of numbers, and of the feed-forward layer of
    width ``h`` with its norms.
    """
    text = text_layers * layer_parameters(h) + TEXT * h if fields.vocabulary else 0
    numbers = sum((many + 1) * h for many in (fields.numbers, fields.event_numbers) if many)
    return text + numbers + 8 * h**2 + 5 * h + 2 * 2 * h


def contextualiser_parameters(shape: Shape) -> int:
    """Return p, the parameters of the contextualiser.

    They are those of the maps from h to d and back, the positions, the layers and the last norm.
    """
    d, h = shape.width, shape.h
    return (h * d + d) + shape.length * d + shape.layers * layer_parameters(d) + 2 * d + (d * h + h)


def parameters(shape: Shape) -> tuple[int, int]:
    """Return the parameters (p_e, p) of embedder and contextualiser, without lookup tables.

    N is p_e + p, and the share of the embedder is s = p_e / N.
    """
    return embedder_parameters(shape.fields, shape.h, shape.text_layers), contextualiser_parameters(shape)


def vocabulary_parameters(shape: Shape) -> int:
    """Return the number of parameters of the token, category and id tables. They are trained but are not part of N."""
    return shape.fields.rows * shape.h


def two_part(shape: Shape, batch: int, t: int, events: int, K: int = 0) -> TwoPart:
    """Return the arguments of behavioural eq. 1 for a step of ``batch`` sequences with ``events`` events each.

    An event has ``t`` tokens. In stage 2, a step draws ``K`` extra negatives.
    """
    p_e, p = parameters(shape)
    return TwoPart(s=p_e / (p_e + p), h=shape.h, B=batch, L=events, t=t, K=K)


def embedding_flops(shape: Shape, tokens: ArrayLike) -> float:
    """Return the FLOPs to embed items, forward and backward.

    ``tokens`` (items,) is the number of text tokens of each item.

    As in eq. 1, C counts an item once for each of its events in a batch. The code computes each distinct item only
    once.
    """
    h, n = shape.h, np.asarray(tokens, np.float64)
    text = shape.text_layers * (12 * h**2 * n + 2 * h * n**2) * bool(shape.fields.vocabulary)
    return float(FORWARD_AND_BACKWARD * (text + 8 * h**2).sum() + ON_DATA * len(n) * shape.fields.numbers * h)


def context_flops(shape: Shape, lengths: ArrayLike, *, frozen: bool = False) -> float:
    """Return the FLOPs of the contextualiser, forward and backward, on sequences of ``lengths`` (sequences,) events.

    The map of the numeric features of events is included. Attention is counted without the saving by the causal mask.
    If the embedder is ``frozen``, the gradient of the inputs is not counted.
    """
    d, h, n = shape.width, shape.h, np.asarray(lengths, np.float64)
    inner = shape.layers * (12 * d**2 * n + 2 * d * n**2) + h * d * n
    first = (ON_DATA if frozen else FORWARD_AND_BACKWARD) * h * d * n
    beside = (FORWARD if frozen else ON_DATA) * shape.fields.event_numbers * h * n
    return float((FORWARD_AND_BACKWARD * inner + first + beside).sum())


def scoring_flops(h: int, positions: float, candidates: float, *, frozen: bool = False) -> float:
    """Return the FLOPs to score ``positions`` queries against ``candidates`` items in width ``h``.

    Forward and backward pass are counted. The factor is 6 per multiply-add, or 4 if the embeddings are ``frozen``
    (cached), because they need no gradient.
    """
    return (ON_DATA if frozen else FORWARD_AND_BACKWARD) * h * positions * candidates


def stage1_flops(shape: Shape, lengths: ArrayLike, tokens: ArrayLike, candidates: float) -> float:
    """Return C of a step of stage 1 in FLOPs.

    ``lengths`` (sequences,) is the number of events that each sequence reads. ``tokens`` (items,) is the number of text
    tokens of the item of each event of the batch, followed by those of each drawn item. ``candidates`` is the number of
    unique targets plus the number of drawn items.
    """
    scoring = scoring_flops(shape.h, float(np.sum(lengths)), candidates)
    return embedding_flops(shape, tokens) + context_flops(shape, lengths) + scoring


def stage2_flops(shape: Shape, lengths: ArrayLike, candidates: float, extras: float) -> float:
    """Return C of a step of stage 2 in FLOPs, with cached embeddings.

    ``lengths`` (sequences,) is the number of events that each sequence reads. Each position is scored against
    ``candidates`` unique targets and ``extras`` drawn negatives.
    """
    scoring = scoring_flops(shape.h, float(np.sum(lengths)), candidates + extras, frozen=True)
    return context_flops(shape, lengths, frozen=True) + scoring
