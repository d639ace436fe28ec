"""Closed forms of compute rules, including those of a two-part model, and a search for roots.

Stage 1 trains the embedder (p_e parameters) and the contextualizer (p parameters) with an in-batch softmax. Stage 1
costs ``6 * B * L * (t * p_e + p + 3 * B * L * h)`` FLOPs per step (behavioural, eq. 1). Stage 2 freezes the embedder,
caches its embeddings and scores K extra negatives. It costs ``B * L * (6 * p + 4 * (B * L + K) * h)`` FLOPs per step.
The symbols B, L, t, h and K are defined in ``TwoPart``. Each step uses ``B * L`` events, so C is the cost of a step
times ``D / (B * L)``.

The paper states no formula for stage 2. The formula here counts the operations of Isoplan's trainer, and a test
compares it with PyTorch's FLOP counter. Each candidate costs two matrix products: one for the score and one for the
gradient of the query. Cached embeddings need no gradient. Eq. 1 for stage 1 counts nine products for each candidate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, model_validator

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError

HUGE = 1e30


class Form(Protocol):
    """A closed form: C from N and D, and D from C and N. C is in FLOPs; arrays broadcast."""

    def flops(self, N: Floats, D: Floats) -> Floats:
        """Return C in FLOPs."""
        ...

    def samples(self, C: Floats, N: Floats) -> Floats:
        """Return the D at which ``N`` parameters cost exactly ``C`` FLOPs."""
        ...


@dataclass(frozen=True)
class Powers:
    """The form ``C = zeta * N**a * D**b``. If ``a = b = 1``, ``zeta`` is in FLOPs per parameter and sample."""

    zeta: float
    a: float = 1.0
    b: float = 1.0

    def flops(self, N: Floats, D: Floats) -> Floats:
        """Return C in FLOPs; infinite if the result overflows a float64."""
        with np.errstate(over="ignore"):
            return self.zeta * (N if self.a == 1 else N**self.a) * (D if self.b == 1 else D**self.b)

    def samples(self, C: Floats, N: Floats) -> Floats:
        """Return ``D = (C / (zeta * N**a))**(1 / b)``."""
        once = C / (self.zeta * (N if self.a == 1 else N**self.a))
        return once if self.b == 1 else once ** (1 / self.b)


@dataclass(frozen=True)
class PerSample:
    """The form ``C = 6 * D * (u * N + v)``.

    Every sample uses ``u * N`` parameters of the model, and ``v`` further parameters that do not depend on the size of
    the model.
    """

    u: float
    v: float

    def flops(self, N: Floats, D: Floats) -> Floats:
        """Return C in FLOPs."""
        return 6.0 * D * (self.u * N + self.v)

    def samples(self, C: Floats, N: Floats) -> Floats:
        """Return ``D = C / (6 * (u * N + v))``."""
        return C / (6.0 * (self.u * N + self.v))


def increasing_root(f: Callable[..., Floats], low: ArrayLike, high: ArrayLike, *args: ArrayLike) -> Floats:
    """Return the x in [low, high] at which the increasing function ``f(x, *args)`` is zero.

    The result has one x for each element of ``args``, and NaN where no such x exists. A NaN of ``f`` counts as
    negative, because it occurs below the domain of a logarithm. The method is Chandrupatla's, as implemented in scipy.
    """
    from scipy.optimize.elementwise import find_root  # This import takes 0.2 s, and few plans need it.

    arrays = np.broadcast_arrays(*(np.asarray(a, float) for a in args))
    ends = np.full(arrays[0].shape, low), np.full(arrays[0].shape, high)
    with np.errstate(all="ignore"):
        root = find_root(
            lambda x, *a: np.nan_to_num(f(x, *a), nan=-HUGE, posinf=HUGE, neginf=-HUGE), ends, args=tuple(arrays)
        )
    return np.where(root.success, root.x, np.nan)


WHOLE = {
    "B": ("batch size", "whole number of sequences, such as 256"),
    "L": ("sequence length", "whole number of events, such as 256"),
    "t": ("context of the embedder", "whole number of events, such as 24"),
}


class TwoPart(BaseModel):
    """A two-part model (embedder and contextualizer) and its batch.

    ``s`` = p_e / N is the embedder's share of the N parameters, as a fraction (0.02 is 2 %). ``h`` is the width of the
    joint embedding (h_emb of behavioural Table 8, not the width of the contextualizer). ``B`` is the number of
    sequences per step, ``L`` the number of events per sequence, ``t`` the number of events in the context of the
    embedder, and ``K`` the number of extra negatives in stage 2. Raises PlannerError that names the invalid field.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    s: float
    h: float
    B: float
    L: float = 256.0
    t: float = 24.0
    K: float = 0.0

    @model_validator(mode="after")
    def _sound(self) -> TwoPart:
        if not 0 <= self.s < 1:
            raise PlannerError(
                f"The embedder share s = {self.s:g} is not a fraction of the parameters: write a number below "
                f"1, such as 0.02 for 2 %."
            )
        if not (math.isfinite(self.h) and self.h > 0):
            raise PlannerError(
                f"The joint embedding width h = {self.h:g} is not a width: give a positive number, such as 188."
            )
        for name, (what, unit) in WHOLE.items():
            if not (getattr(self, name) >= 1 and float(getattr(self, name)).is_integer()):
                raise PlannerError(f"The {what} {name} = {getattr(self, name):g} is not possible: give a {unit}.")
        if not (self.K >= 0 and float(self.K).is_integer()):
            raise PlannerError(f"K = {self.K:g} is not a number of extra negatives: give a whole number, 0 for none.")
        return self

    @property
    def events(self) -> float:
        """Number of events in one step, ``B * L``. It is also the maximum number of candidates in stage 1."""
        return self.B * self.L

    def effective(self, N: ArrayLike) -> Floats:
        """Return ``N_eff = p + t * p_e``: a parameter counts as often as one event uses it (behavioural, Sec. 2)."""
        return (1 + (self.t - 1) * self.s) * np.asarray(N, float)

    @property
    def stage1(self) -> PerSample:
        """The form of stage 1: ``C = 6 * D * (t * p_e + p + 3 * B * L * h)``, with D in events (behavioural, eq. 1)."""
        return PerSample(1 + (self.t - 1) * self.s, 3 * self.events * self.h)

    @property
    def stage2(self) -> PerSample:
        """The form of stage 2 in Isoplan's trainer: ``C = D * (6 * p + 4 * (B * L + K) * h)``, with D in events."""
        return PerSample(1 - self.s, 2 / 3 * (self.events + self.K) * self.h)
