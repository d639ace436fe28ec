"""Surfaces E + A/N^alpha + B/D^beta with irregular positions of the runs, and random surfaces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats

HOFFMANN = {"E": 1.82, "A": 482.0, "B": 2085.0, "alpha": 0.348, "beta": 0.366}


@dataclass(frozen=True, eq=False)
class Surface:
    """Runs at ``N`` and ``D`` (n,) on a surface with the parameters ``law``. ``sigma`` is the noise of log loss."""

    N: Floats
    D: Floats
    law: dict[str, float]
    sigma: float

    @property
    def text(self) -> str:
        """Summary of the surface, such as ``12 runs at 2.2 %, E = 0.65``."""
        return f"{len(self.N)} runs at {100 * self.sigma:.1f} %, E = {self.law['E']:.2g}"


def irregular() -> Surface:
    """Return 12 runs with a noise of 3 %: N over 2.5 decades, and 2 to 160 samples per parameter.

    The positions follow an additive recurrence and were not selected by hand.
    """
    i = np.arange(12.0)
    u, v = (np.mod(0.5 + i * step, 1) for step in (0.7548776662466927, 0.5698402909980532))
    N = 10 ** (7.0 + 2.5 * u)
    return Surface(N, N * 10 ** (0.3 + 1.9 * v), {**HOFFMANN, "E": 1.7}, 0.03)


def drawn(seed: int, total: int) -> Iterator[Surface]:
    """Yield ``total`` random surfaces.

    Parameters, sizes, numbers of runs and noise are drawn at random. The floor of every third surface is zero.
    """
    random = np.random.default_rng(seed)
    for i in range(total):
        n, sigma = int(random.integers(10, 61)), float(np.exp(random.uniform(np.log(0.005), np.log(0.04))))
        low, tokens = random.uniform(4, 8), random.uniform(0, 2)
        N = 10 ** (low + random.uniform(1.5, 3) * random.random(n))
        D = N * 10 ** (tokens + random.uniform(1, 2.5) * random.random(n))
        alpha, beta = random.uniform(0.2, 0.6, 2)
        parts = random.uniform(0.3, 2.0, 2)  # A/N^alpha and B/D^beta at the smallest N and D
        floor = 0.0 if i % 3 == 2 else float(random.uniform(0.2, 2.0))
        A, B = parts[0] * N.min() ** alpha, parts[1] * D.min() ** beta
        law = {"E": floor, "A": float(A), "B": float(B), "alpha": float(alpha), "beta": float(beta)}
        yield Surface(N, D, law, sigma)
