"""The closed forms that compute rules have, and the root of what has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats

HUGE = 1e30


class Form(Protocol):
    """C from N and D, and D back from C and N: FLOPs, parameters, samples; arrays broadcast."""

    def flops(self, N: Floats, D: Floats) -> Floats:
        """C in FLOPs."""
        ...

    def samples(self, C: Floats, N: Floats) -> Floats:
        """D that spends exactly ``C`` FLOPs on ``N`` parameters."""
        ...


@dataclass(frozen=True)
class Powers:
    """C = zeta N^a D^b; with a = b = 1 ``zeta`` FLOPs for one parameter and one sample."""

    zeta: float
    a: float = 1.0
    b: float = 1.0

    def flops(self, N: Floats, D: Floats) -> Floats:
        """C in FLOPs, infinite beyond what a float64 holds."""
        with np.errstate(over="ignore"):
            return self.zeta * (N if self.a == 1 else N**self.a) * (D if self.b == 1 else D**self.b)

    def samples(self, C: Floats, N: Floats) -> Floats:
        """D = (C / (zeta N^a))^(1/b)."""
        once = C / (self.zeta * (N if self.a == 1 else N**self.a))
        return once if self.b == 1 else once ** (1 / self.b)


@dataclass(frozen=True)
class PerSample:
    """C = 6 D (u N + v): every sample touches ``u`` N parameters, and ``v`` more that do not grow with the model."""

    u: float
    v: float

    def flops(self, N: Floats, D: Floats) -> Floats:
        """C in FLOPs."""
        return 6.0 * D * (self.u * N + self.v)

    def samples(self, C: Floats, N: Floats) -> Floats:
        """D = C / (6 (u N + v))."""
        return C / (6.0 * (self.u * N + self.v))


def increasing_root(f: Callable[..., Floats], low: ArrayLike, high: ArrayLike, *args: ArrayLike) -> Floats:
    """Where an increasing ``f(x, *args)`` crosses zero in [low, high], element by element over ``args``; NaN where not.

    Where ``f`` is NaN counts as below zero (a logarithm left of its domain). Chandrupatla's method, scipy's.
    """
    from scipy.optimize.elementwise import find_root  # 0.2 s to import, and few plans need it

    arrays = np.broadcast_arrays(*(np.asarray(a, float) for a in args))
    ends = np.full(arrays[0].shape, low), np.full(arrays[0].shape, high)
    with np.errstate(all="ignore"):
        found = find_root(
            lambda x, *a: np.nan_to_num(f(x, *a), nan=-HUGE, posinf=HUGE, neginf=-HUGE), ends, args=tuple(arrays)
        )
    return np.where(found.success, found.x, np.nan)
