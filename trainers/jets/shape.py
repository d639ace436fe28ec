"""Size of a set Transformer: its shape, parameters, training FLOPs, and learning rate.

A multiply-add is two FLOPs. As in ``torch.utils.flop_counter.FlopCounterMode``, only matrix products are counted:
forward, gradient of the weights, gradient of the inputs (not for the particles, which are data). Torch is not needed.

The learning rate is inversely proportional to the width, according to the study of data/grids/jets_rates.toml
(docs/jets_laws.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError

HEAD_WIDTH = 64


@dataclass(frozen=True)
class Shape:
    """The set Transformer of the jet paper (jets, Sec. 2): ``features`` per particle, embedding ``width`` d.

    ``heads`` 0 means the paper's max(1, d // 64) and ``hidden`` 0 its 4 d. Raises PlannerError for invalid numbers.
    """

    features: int
    width: int
    layers: int = 4
    heads: int = 0
    hidden: int = 0
    classes: int = 10
    dropout: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", self.heads or max(1, self.width // HEAD_WIDTH))
        object.__setattr__(self, "hidden", self.hidden or 4 * self.width)
        for name in ("features", "width", "layers", "heads", "hidden", "classes"):
            if getattr(self, name) < 1:
                raise PlannerError(f"{name} is {getattr(self, name)}: the Transformer needs at least 1.")
        if self.width % self.heads:
            raise PlannerError(f"Width {self.width} cannot be split over {self.heads} heads: use a multiple of them.")
        if not 0 <= self.dropout < 1:
            raise PlannerError(f"Dropout is {self.dropout:g}: use at least 0 and less than 1.")


VERSION = 1
"""Part of the name of a cell. Increase it if the numbers below change."""
AT_ONE = 0.064
"""Learning rate at width 1."""
LARGEST = 0.02


def learning_rate(width: int) -> float:
    """Return the rate of AdamW at embedding ``width``, for the default batches."""
    return min(AT_ONE / width, LARGEST)


FORWARD_AND_BACKWARD = 2 * 3
ON_DATA = 2 * 2


def parameters(shape: Shape) -> int:
    """Return the trainable parameters N.

    With 21 features, 4 layers and 10 classes N is 48 d^2 + 87 d + 10 (jets, Sec. 2).
    """
    d, h = shape.width, shape.hidden
    attention = 4 * d * d + 4 * d
    feed_forward = 2 * d * h + d + h
    layer = attention + feed_forward + 2 * 2 * d
    ends = (shape.features + 1) * d + d + 2 * d + (d + 1) * shape.classes
    return shape.layers * layer + ends


def training_flops(shape: Shape, lengths: ArrayLike) -> Floats:
    """Return C of one pass over each jet of ``lengths`` (jets,) particles, in FLOPs (jets,).

    All laws and plans use this C. It is that of the paper's model: each token, including [CLS], passes through every
    layer and attends to every token of its jet. Padding is not counted.
    """
    d, n = shape.width, np.asarray(lengths, np.float64)
    tokens = n + 1
    layer = tokens * (4 * d * d + 2 * d * shape.hidden) + 2 * d * tokens**2
    products = shape.layers * layer + d * shape.classes
    return FORWARD_AND_BACKWARD * products + ON_DATA * n * shape.features * d
