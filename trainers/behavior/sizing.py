"""Sizing of a training run: its model, events and steps for a budget in FLOPs, by eq. 1 of the behavioural paper.

N is the number of parameters, D the number of training events, and s the fraction of N in the embedder. If the ratio D
/ N is given, the budget determines N (Sec. 3.1). Then s determines the width h of the embedder, and the layers and the
width of the contextualiser follow. If the contextualiser is given, the budget determines D (Sec. 5). Widths are whole
numbers, so the model differs slightly from the request. The run table contains the actual values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import TwoPart, increasing_root
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.model.shape import (
    Fields,
    Shape,
    contextualiser_parameters,
    embedder_parameters,
    parameters,
    two_part,
)

ASPECT = 32
"""Width of the contextualiser divided by its number of layers, if the number of layers is not given.

The models in Table 8 of the behavioural paper have ratios from 16 to 51.
"""
MOST_LAYERS = 64
NARROWEST = 4
"""Minimum of the widths h (embedder) and d (contextualiser).

The text encoder is never removed, so a requested embedder share close to 0 becomes a larger share (behavioural paper,
Sec. 3.1).
"""
STEP = 4
"""If the budget determines the width of the contextualiser, the width is a multiple of this number.

The width can then be divided into attention heads.
"""
LEAST, MOST = 1e2, 1e14
"""Smallest and largest number of parameters N in the search for the model size."""


@dataclass(frozen=True)
class Asked:
    """Inputs of the sizing of a training run. The value 0 means that a number is not given.

    ``budget`` is in FLOPs of stage 1, ``batch`` in sequences per step and ``t`` in tokens per event. Either ``share``
    (p_e / N, the fraction of parameters in the embedder) or the width ``h`` determines the embedder. Exactly one of
    them is set. If ``width`` is 0, the ``ratio`` D / N (training events per parameter) determines N. Otherwise, the
    contextualiser is given, and D follows from the budget. A sequence has ``events`` events on average, or ``length``
    events if ``events`` is 0.
    """

    budget: float
    fields: Fields
    batch: int
    t: int
    ratio: float = 15.0
    share: float = 0.0
    h: int = 0
    width: int = 0
    layers: int = 0
    text_layers: int = 2
    length: int = 256
    events: float = 0.0

    @property
    def reads(self) -> int:
        """Mean number of events per sequence, rounded, at least 1."""
        return max(round(self.events or self.length), 1)


@dataclass(frozen=True)
class Sized:
    """A model and its number of training steps. ``C`` is the compute by eq. 1 of the behavioural paper in FLOPs."""

    shape: Shape
    batch: int
    steps: int
    t: int
    events: int = 256

    @property
    def parts(self) -> TwoPart:
        """Arguments of eq. 1 of the behavioural paper for this model and batch."""
        return two_part(self.shape, self.batch, self.t, self.events)

    @property
    def N(self) -> int:
        """Number of parameters without lookup tables."""
        return sum(parameters(self.shape))

    @property
    def D(self) -> float:
        """Number of training events: training steps T times batch size B times mean number of events per sequence L."""
        return self.steps * self.parts.events

    @property
    def C(self) -> float:
        """Compute in FLOPs by eq. 1 of the behavioural paper: T F_step, with T steps of F_step FLOPs each."""
        return float(self.parts.stage1.flops(np.asarray(float(self.N)), np.asarray(self.D)))


def size(asked: Asked) -> Sized:
    """Return a model and a number of steps whose compute differs from the budget by at most half a step.

    Raises PlannerError unless exactly one of ``share`` and ``h`` is set. Also raises PlannerError if the budget is too
    small for a model or for one step.
    """
    if (asked.share > 0) == (asked.h > 0):
        raise PlannerError("The embedder is sized by its share or by its width h: give one of them.")
    if not 0 <= asked.share < 1:
        raise PlannerError(
            f"The share {asked.share:g} is not a fraction of the parameters: write a number below 1, such as 0.02 for "
            "2 %."
        )
    shape = given(asked) if asked.width else _at_ratio(asked)
    once = Sized(shape, asked.batch, 1, asked.t, asked.reads)
    return replace(once, steps=steps_of(asked.budget, once.C))


def stage2_steps(shape: Shape, budget: float, batch: int, events: int, K: int) -> int:
    """Return the number of steps of stage 2 that cost ``budget`` FLOPs.

    A step has ``batch`` sequences of ``events`` events each and ``K`` extra negatives. Raises PlannerError if the
    budget is less than half a step.
    """
    parts = two_part(shape, batch, 1, events, K)
    N = np.asarray(float(sum(parameters(shape))))
    return steps_of(budget, float(parts.stage2.flops(N, np.asarray(parts.events))))


def steps_of(budget: float, step: float) -> int:
    """Return the number of steps in a ``budget`` in FLOPs, rounded. One step costs ``step`` FLOPs.

    Raises PlannerError if the result is 0.
    """
    steps = round(budget / step)
    if steps < 1:
        raise PlannerError(
            f"The budget of {budget:.3g} FLOPs is less than one step of {step:.3g} FLOPs: raise the budget, or "
            "use a smaller batch or fewer negatives."
        )
    return steps


def given(asked: Asked) -> Shape:
    """Return the shape with a contextualiser of the given ``width``.

    If ``h`` is set, it is the width of the embedder. Otherwise, the width of the embedder is the whole number for which
    p_e / (p_e + p) is closest to s = ``share``. Here p_e is the number of parameters of the embedder, and p that of the
    contextualiser. The exact solution satisfies p_e (1 - s) = s p.
    """
    layers = asked.layers or max(round(asked.width / ASPECT), 1)
    if asked.h:
        return _shape(asked, asked.h, asked.width, layers)
    s = asked.share

    def excess(h: int) -> float:
        p_e, p = parameters(_shape(asked, h, asked.width, layers))
        return abs(math.log(p_e * (1 - s) / (s * p)))

    a, b = _of_h(asked)
    c = -contextualiser_parameters(_shape(asked, 1, asked.width, layers)) * s / (1 - s)
    # Solve p_e (1 - s) = s p for h. The term 2 d h of p (d: width of the contextualiser) changes the coefficient of h.
    about = _root(a, b - 2 * asked.width * s / (1 - s), c)
    return _shape(asked, min(_around(about), key=excess), asked.width, layers)


def _at_ratio(asked: Asked) -> Shape:
    """Return the shape for which the training cost equals the budget if D = ratio * N.

    N is the number of parameters, and D the number of training events.
    """
    p_e = float(embedder_parameters(asked.fields, asked.h, asked.text_layers)) if asked.h else 0.0

    def excess(log_N: Floats, log_C: Floats) -> Floats:
        N = np.exp(log_N)
        of_e = np.full_like(N, p_e) if asked.h else asked.share * N
        h = np.full_like(N, float(asked.h)) if asked.h else _width_of_embedder(asked, of_e)
        bracket = N - of_e + asked.t * of_e + 3 * float(asked.batch * asked.reads) * h
        return np.log(6 * asked.ratio * N * bracket) - log_C

    N = float(np.exp(increasing_root(excess, math.log(LEAST), math.log(MOST), math.log(asked.budget))))
    h = asked.h
    if not h and math.isfinite(N):
        a, b = _of_h(asked)
        h = min(
            _around(_root(a, b, -asked.share * N)), key=lambda h: abs(math.log((a * h * h + b * h) / (asked.share * N)))
        )
        p_e = a * h * h + b * h
    if not (math.isfinite(N) and N > p_e):
        raise _too_small(asked)
    found = [
        (layers, _width_of_context(asked, N - p_e, h, layers))
        for layers in ([asked.layers] if asked.layers else range(1, MOST_LAYERS + 1))
    ]
    layers, width = min(found, key=lambda one: abs(math.log(max(one[1], 1e-9) / one[0] / ASPECT)))
    if width < NARROWEST:
        raise _too_small(asked)
    return _shape(asked, h, max(STEP * round(width / STEP), NARROWEST), layers)


def _too_small(asked: Asked) -> PlannerError:
    return PlannerError(
        f"The budget of {asked.budget:.3g} FLOPs at D / N = {asked.ratio:g} and batch {asked.batch} is too small for a "
        "contextualiser of this depth: raise the budget, or make the batch, the layers or the ratio smaller."
    )


def _shape(asked: Asked, h: int, width: int, layers: int) -> Shape:
    return Shape(asked.fields, h, width, layers, asked.text_layers, asked.length)


def _of_h(asked: Asked) -> tuple[float, float]:
    """Return the coefficients (a, b) of p_e = a h^2 + b h, the parameters of an embedder of width h."""
    one, two = (embedder_parameters(asked.fields, h, asked.text_layers) for h in (1, 2))
    a = (two - 2 * one) / 2
    return a, one - a


def _width_of_embedder(asked: Asked, p_e: Floats) -> Floats:
    """Return the width h, not rounded, at which an embedder has ``p_e`` parameters."""
    a, b = _of_h(asked)
    return (np.sqrt(b * b + 4 * a * p_e) - b) / (2 * a)


def _width_of_context(asked: Asked, p: float, h: int, layers: int) -> float:
    """Return the width d, not rounded, at which a contextualiser has ``p`` parameters."""
    return _root(12 * layers, 13 * layers + 2 * h + asked.length + 3, h - p)


def _root(a: float, b: float, c: float) -> float:
    """Return the larger root of a x^2 + b x + c, or 0 if this root is negative."""
    return max((math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a), 0.0)


def _around(x: float) -> tuple[int, int]:
    """Return the whole widths just below and just above ``x``, at least ``NARROWEST``."""
    low = max(math.floor(x), NARROWEST)
    return low, low + 1
