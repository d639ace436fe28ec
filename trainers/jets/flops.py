"""Parameters and training FLOPs of the set Transformer, counted from its shape and the lengths of the jets.

A multiply-add is two FLOPs. Only matrix products are counted, as ``torch.utils.flop_counter.FlopCounterMode`` does:
forward, gradient of the weights, gradient of the inputs (none for the particles, which are data). Needs no torch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.trainers.jets.packing import lay_out
from isoplan.trainers.jets.shape import Shape

FORWARD_AND_BACKWARD = 2 * 3
ON_DATA = 2 * 2


def parameters(shape: Shape) -> int:
    """Trainable parameters N; with 21 features, 4 layers and 10 classes 48 d^2 + 87 d + 10 (jets, Sec. 2)."""
    d, h = shape.width, shape.hidden
    attention = 4 * d * d + 4 * d
    feed_forward = 2 * d * h + d + h
    layer = attention + feed_forward + 2 * 2 * d
    ends = (shape.features + 1) * d + d + 2 * d + (d + 1) * shape.classes
    return shape.layers * layer + ends


def training_flops(shape: Shape, lengths: ArrayLike) -> Floats:
    """C of one pass over each jet of ``lengths`` (jets,) particles, in FLOPs (jets,): the C of every law and plan.

    The paper's model: each token, [CLS] among them, goes through every layer, and to every token of its own jet in
    each attention. Padding is never counted.
    """
    d, n = shape.width, np.asarray(lengths, np.float64)
    tokens = n + 1
    layer = tokens * (4 * d * d + 2 * d * shape.hidden) + 2 * d * tokens**2
    products = shape.layers * layer + d * shape.classes
    return FORWARD_AND_BACKWARD * products + ON_DATA * n * shape.features * d


def executed_flops(shape: Shape, lengths: ArrayLike) -> float:
    """Return the FLOPs of one step of ``trainers/jets/model.py`` on a batch of ``lengths`` (B,), padding included.

    The last layer is for [CLS] alone: its query and its values are mapped for one token a jet. This over the time of a
    step is what the machine did; C over that time is what the model is worth.
    """
    d, n = shape.width, np.asarray(lengths, np.int64)
    layout = lay_out(n)
    squares = sum((r.members.stop - r.members.start) * r.tokens**2 for r in layout.rectangles)
    layer = layout.rows * (4 * d * d + 2 * d * shape.hidden) + 2 * d * squares
    last = len(n) * (4 * d * d + 2 * d * shape.hidden) + 2 * d * shape.heads * layout.rows
    products = (shape.layers - 1) * layer + last + len(n) * d * shape.classes
    return float(FORWARD_AND_BACKWARD * products + ON_DATA * n.sum() * shape.features * d)
