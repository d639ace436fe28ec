"""How a cell sizes itself: model, events and steps out of a budget, by the step formula (behavioural, eq. 1).

With a ratio D / N the formula has one N that spends the budget (Sec. 3.1); the share s fixes h, and the layers or the
width of the contextualiser follow. With a contextualiser that is given, the budget fixes D instead (Sec. 5). Widths are
whole, so that what comes out lies a little beside what was asked: it is said as it is.
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
"""Width over layers where the layers are free; Table 8 has 16 to 51."""
MOST_LAYERS = 64
NARROWEST = 4
"""Of h and d: the text encoder is never removed, so that a share of nothing is a small one (Sec. 3.1)."""
STEP = 4
"""Widths of the contextualiser are multiples of it, so that heads divide them."""
LEAST, MOST = 1e2, 1e14
"""Parameters among which N is sought."""


@dataclass(frozen=True)
class Asked:
    """What a cell is sized for: ``budget`` FLOPs of stage 1 with ``batch`` sequences a step and ``t`` tokens an event.

    Zero leaves a number free. ``share`` s = p_e / N or ``h``, one of them, fixes the embedder. Without ``width`` the
    ``ratio`` D / N fixes N; with it, the contextualiser is as given and D is what the budget leaves. A sequence has
    ``events`` on average, ``length`` where that is zero.
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
        """Events of a sequence, a whole number of them."""
        return max(round(self.events or self.length), 1)


@dataclass(frozen=True)
class Sized:
    """A model and how long it is trained. ``C`` is what eq. 1 says of it, in FLOPs."""

    shape: Shape
    batch: int
    steps: int
    t: int
    events: int = 256

    @property
    def parts(self) -> TwoPart:
        """The model as eq. 1 reads it."""
        return two_part(self.shape, self.batch, self.t, self.events)

    @property
    def N(self) -> int:
        """Parameters without vocabulary."""
        return sum(parameters(self.shape))

    @property
    def share(self) -> float:
        """s = p_e / N."""
        return self.parts.s

    @property
    def D(self) -> float:
        """Events: T B L, with so many events a sequence as there are on average."""
        return self.steps * self.parts.events

    @property
    def C(self) -> float:
        """T times F_step of eq. 1."""
        return float(self.parts.stage1.flops(np.asarray(float(self.N)), np.asarray(self.D)))


def size(asked: Asked) -> Sized:
    """The cell whose steps spend the budget to half a step.

    Raises PlannerError where both or none of share and h are given, and where the budget is too small for a model or a
    step.
    """
    if (asked.share > 0) == (asked.h > 0):
        raise PlannerError("The embedder is sized by its share or by its width h: give one of them.")
    if not 0 <= asked.share < 1:
        raise PlannerError(f"The share {asked.share:g} is no fraction of the parameters: write 0.02 for 2 %, below 1.")
    shape = given(asked) if asked.width else _at_ratio(asked)
    once = Sized(shape, asked.batch, 1, asked.t, asked.reads)
    return replace(once, steps=steps_of(asked.budget, once.C))


def stage2_steps(shape: Shape, budget: float, batch: int, events: int, K: int) -> int:
    """Steps of stage 2 that spend ``budget`` FLOPs on ``batch`` sequences of ``events`` with ``K`` extra negatives.

    Raises PlannerError where the budget is less than half of one.
    """
    parts = two_part(shape, batch, 1, events, K)
    return steps_of(budget, float(parts.stage2.flops(_N(shape), np.asarray(parts.events))))


def steps_of(budget: float, step: float) -> int:
    """The whole number of steps of ``step`` FLOPs that is nearest to ``budget``. Raises PlannerError for none."""
    steps = round(budget / step)
    if steps < 1:
        raise PlannerError(
            f"The budget of {budget:.3g} FLOPs is less than one step of {step:.3g} FLOPs: raise it, or make the batch "
            "or the negatives fewer."
        )
    return steps


def _N(shape: Shape) -> Floats:
    return np.asarray(float(sum(parameters(shape))))


def _once(asked: Asked) -> Floats:
    return np.asarray(float(asked.batch * asked.reads))


def given(asked: Asked) -> Shape:
    """The contextualiser of ``width`` with the embedder of ``h``, or of the share beside it: p_e (1 - s) = s p."""
    layers = asked.layers or max(round(asked.width / ASPECT), 1)
    if asked.h:
        return _shape(asked, asked.h, asked.width, layers)
    s = asked.share

    def excess(h: int) -> float:
        p_e, p = parameters(_shape(asked, h, asked.width, layers))
        return abs(math.log(p_e * (1 - s) / (s * p)))

    a, b = _of_h(asked)
    c = -contextualiser_parameters(_shape(asked, 1, asked.width, layers)) * s / (1 - s)
    about = _root(a, b - 2 * asked.width * s / (1 - s), c)  # p grows as 2 d h with h
    return _shape(asked, min(_around(about), key=excess), asked.width, layers)


def _at_ratio(asked: Asked) -> Shape:
    """The model of that N which spends the budget at D = ratio N."""
    p_e = float(embedder_parameters(asked.fields, asked.h, asked.text_layers)) if asked.h else 0.0

    def excess(log_N: Floats, log_C: Floats) -> Floats:
        N = np.exp(log_N)
        of_e = np.full_like(N, p_e) if asked.h else asked.share * N
        h = np.full_like(N, float(asked.h)) if asked.h else _width_of_embedder(asked, of_e)
        bracket = N - of_e + asked.t * of_e + 3 * float(_once(asked)) * h
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
        f"The budget of {asked.budget:.3g} FLOPs at D / N = {asked.ratio:g} and batch {asked.batch} leaves no "
        "contextualiser of this depth: raise the budget, or make the batch, the layers or the ratio smaller."
    )


def _shape(asked: Asked, h: int, width: int, layers: int) -> Shape:
    return Shape(asked.fields, h, width, layers, asked.text_layers, asked.length)


def _of_h(asked: Asked) -> tuple[float, float]:
    """(a, b) of p_e = a h^2 + b h."""
    one, two = (embedder_parameters(asked.fields, h, asked.text_layers) for h in (1, 2))
    a = (two - 2 * one) / 2
    return a, one - a


def _width_of_embedder(asked: Asked, p_e: Floats) -> Floats:
    """h of an embedder of ``p_e`` parameters, before it is made whole."""
    a, b = _of_h(asked)
    return (np.sqrt(b * b + 4 * a * p_e) - b) / (2 * a)


def _width_of_context(asked: Asked, p: float, h: int, layers: int) -> float:
    """d of a contextualiser of ``p`` parameters, before it is made whole."""
    return _root(12 * layers, 13 * layers + 2 * h + asked.length + 3, h - p)


def _root(a: float, b: float, c: float) -> float:
    """The positive root of a x^2 + b x + c; zero where there is none."""
    return max((math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a), 0.0)


def _around(x: float) -> tuple[int, int]:
    """The whole widths below and above."""
    low = max(math.floor(x), NARROWEST)
    return low, low + 1
