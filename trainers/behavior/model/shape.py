"""Size of a two-part model: its shape, parameters, training FLOPs, and default learning rate.

A multiply-add is two FLOPs. As in ``torch.utils.flop_counter.FlopCounterMode``, only matrix products are counted: the
forward pass, the gradient of the weights, and the gradient of the inputs if the inputs are trained. This module does
not import torch.

The run table has two columns of compute. C is the count of this module, and C_step is the compute of eq. 1 of the
behavioural paper, for B sequences of L events. Eq. 1 omits attention, assumes t tokens in every text, and counts 18 B L
h FLOPs per event for scoring. This module counts 6 B L h FLOPs per event, because scoring against B L candidates takes
three matrix products (the scores and two gradients).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.costs import TwoPart
from isoplan.engine.errors import PlannerError

HEAD_WIDTH = 64
TEXT = 24
"""Maximum number of tokens of a text that the model reads (t in eq. 1 of the behavioural paper)."""


@dataclass(frozen=True)
class Fields:
    """The inputs of the embedder for an item and for an event.

    - ``vocabulary``: number of different tokens of texts (0: no text).
    - ``categories``: number of values of each category column.
    - ``numbers``: number of numeric columns.
    - ``buckets``: number of rows of the table for hashed ids (0: ids are not read).
    - ``event_categories``, ``event_numbers``: ``categories`` and ``numbers`` for the features of an event.
    """

    vocabulary: int = 0
    categories: tuple[int, ...] = ()
    numbers: int = 0
    buckets: int = 0
    event_categories: tuple[int, ...] = ()
    event_numbers: int = 0

    def __post_init__(self) -> None:
        if not (self.vocabulary or self.categories or self.numbers or self.buckets):
            raise PlannerError("The items have no features to embed: give features, or buckets for ids.")

    @property
    def rows(self) -> int:
        """Total number of rows of all lookup tables (the vocabulary in Sec. 2 of the behavioural paper).

        N, the number of model parameters, excludes the lookup tables.
        """
        return self.vocabulary + sum(self.categories) + self.buckets + sum(self.event_categories)


@dataclass(frozen=True)
class Shape:
    """An event embedder of width ``h`` followed by a causal Transformer of ``width`` d (behavioural paper, Sec. 2).

    Candidates are also scored in the width ``h`` (h_emb in Table 8 of the behavioural paper). ``text_layers`` is the
    number of layers that encode the text of an item. ``layers`` is the number of layers that read a sequence of at most
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
        """Number of attention heads of the contextualiser."""
        return heads_of(self.width)

    @property
    def text_heads(self) -> int:
        """Number of attention heads of the text encoder."""
        return heads_of(self.h)


def heads_of(width: int) -> int:
    """Return the number of attention heads: the largest divisor n of ``width`` with width / n >= 64, or 1."""
    return next(n for n in range(max(1, width // HEAD_WIDTH), 0, -1) if width % n == 0)


VERSION = 1
"""Version of the model and its training, included in the name of a stored result.

Increase it if a change of the code changes the results of a training run.
"""
RATE, BATCH = 2.0e-3, 512
LARGEST = 1e-2


def learning_rate(batch: int) -> float:
    """Return the default learning rate of AdamW for ``batch`` sequences per step.

    The rate is 2e-3 sqrt(B / 512) (behavioural paper, Table 7), but at most 1e-2. The paper trains with three rates and
    uses the training with the smallest loss. A training run with ``rates`` = 3 follows this procedure.
    """
    return float(min(RATE * (batch / BATCH) ** 0.5, LARGEST))


FORWARD = 2
FORWARD_AND_BACKWARD = 2 * 3
ON_DATA = 2 * 2
"""FLOPs per multiply-add for untrained inputs of a product, such as numeric features or frozen embeddings.

The forward pass and the gradient of the weights cost 2 FLOPs each.
"""


def layer_parameters(width: int) -> int:
    """Return the parameters of a pre-norm Transformer layer of width w, with a hidden width of 4 w: 12 w^2 + 13 w."""
    return 12 * width**2 + 13 * width


def embedder_parameters(fields: Fields, h: int, text_layers: int) -> int:
    """Return p_e, the number of parameters of the embedder without lookup tables.

    The number includes the text encoder with its positions, the maps of numbers, and the feed-forward layer of width
    ``h`` with its norms.
    """
    text = text_layers * layer_parameters(h) + TEXT * h if fields.vocabulary else 0
    numbers = sum((many + 1) * h for many in (fields.numbers, fields.event_numbers) if many)
    return text + numbers + 8 * h**2 + 5 * h + 2 * 2 * h


def contextualiser_parameters(shape: Shape) -> int:
    """Return p, the number of parameters of the contextualiser.

    The number includes the maps from the width h to d and back, the positions, the layers, and the last norm.
    """
    d, h = shape.width, shape.h
    return (h * d + d) + shape.length * d + shape.layers * layer_parameters(d) + 2 * d + (d * h + h)


def parameters(shape: Shape) -> tuple[int, int]:
    """Return the numbers of parameters (p_e, p) of embedder and contextualiser, without lookup tables.

    The total is N = p_e + p. The fraction of the parameters that belongs to the embedder is s = p_e / N.
    """
    return embedder_parameters(shape.fields, shape.h, shape.text_layers), contextualiser_parameters(shape)


def vocabulary_parameters(shape: Shape) -> int:
    """Return the number of parameters of the token, category and id tables.

    These parameters are trained, but they are not included in N.
    """
    return shape.fields.rows * shape.h


def two_part(shape: Shape, batch: int, t: int, events: int, K: int = 0) -> TwoPart:
    """Return the arguments of eq. 1 of the behavioural paper for one training step.

    The step has ``batch`` sequences with ``events`` events each. The item of each event has ``t`` tokens. In stage 2, a
    step draws ``K`` extra negatives.
    """
    p_e, p = parameters(shape)
    return TwoPart(s=p_e / (p_e + p), h=shape.h, B=batch, L=events, t=t, K=K)


def embedding_flops(shape: Shape, tokens: ArrayLike) -> float:
    """Return the FLOPs to embed items, forward and backward.

    ``tokens`` (items,) is the number of text tokens of each item. C counts an item once for each of its events in a
    batch, like eq. 1 of the behavioural paper, although the code computes each distinct item only once.
    """
    h, n = shape.h, np.asarray(tokens, np.float64)
    text = shape.text_layers * (12 * h**2 * n + 2 * h * n**2) * bool(shape.fields.vocabulary)
    return float(FORWARD_AND_BACKWARD * (text + 8 * h**2).sum() + ON_DATA * len(n) * shape.fields.numbers * h)


def context_flops(shape: Shape, lengths: ArrayLike, *, frozen: bool = False) -> float:
    """Return the FLOPs of the contextualiser, forward and backward, on sequences of ``lengths`` (sequences,) events.

    The result includes the map of the numeric features of events. Attention is counted over all pairs of events,
    without the causal mask. If the embedder is ``frozen``, the gradient of the inputs is not counted.
    """
    d, h, n = shape.width, shape.h, np.asarray(lengths, np.float64)
    inner = shape.layers * (12 * d**2 * n + 2 * d * n**2) + h * d * n
    first = (ON_DATA if frozen else FORWARD_AND_BACKWARD) * h * d * n
    beside = (FORWARD if frozen else ON_DATA) * shape.fields.event_numbers * h * n
    return float((FORWARD_AND_BACKWARD * inner + first + beside).sum())


def scoring_flops(h: int, positions: float, candidates: float, *, frozen: bool = False) -> float:
    """Return the FLOPs to score ``positions`` queries against ``candidates`` items in the width ``h``.

    The result includes the forward and the backward pass. A multiply-add counts 6 FLOPs, or 4 FLOPs if the embeddings
    are ``frozen`` (cached), because frozen embeddings need no gradient.
    """
    return (ON_DATA if frozen else FORWARD_AND_BACKWARD) * h * positions * candidates


def stage1_flops(shape: Shape, lengths: ArrayLike, tokens: ArrayLike, candidates: float) -> float:
    """Return the compute C of a training step of stage 1 in FLOPs.

    ``lengths`` (sequences,) is the number of events that the model reads in each sequence. ``tokens`` (items,) contains
    the numbers of text tokens: first one number for each event of the batch, then one number for each drawn item.
    ``candidates`` is the number of unique targets plus the number of drawn items.
    """
    scoring = scoring_flops(shape.h, float(np.sum(lengths)), candidates)
    return embedding_flops(shape, tokens) + context_flops(shape, lengths) + scoring


def stage2_flops(shape: Shape, lengths: ArrayLike, candidates: float, extras: float) -> float:
    """Return the compute C of a training step of stage 2 in FLOPs, with cached embeddings.

    ``lengths`` (sequences,) is the number of events that the model reads in each sequence. Each position is scored
    against ``candidates`` unique targets and ``extras`` drawn negatives.
    """
    scoring = scoring_flops(shape.h, float(np.sum(lengths)), candidates + extras, frozen=True)
    return context_flops(shape, lengths, frozen=True) + scoring
