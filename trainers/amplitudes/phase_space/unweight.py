"""Events of weight one from weighted points, with a cap above which 0.1 % of the cross section lies.

A point of weight w becomes an event with probability min(1, w / cap) and the weight max(1, w / cap), so weighted means
are exact for any cap. The cap is determined from all points up to the last part used. Each part keeps the points that
pass a lower floor, with their random numbers, and is thinned when the cap is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.phase_space.sampler import Points, Sampler
from isoplan.trainers.cell import Stopped

ABOVE = 1e-3
"""Fraction of the cross section that may lie above the cap."""
TRIES, WARM = 8192, 16384
"""Hypercube points per part, and the number of points that determine the floor."""
ROOMY = 0.01
"""Fraction of the cross section that may lie above the floor. Caps below the floor are not considered."""


@dataclass(frozen=True)
class Ready:
    """An adapted sampler and the ``floor``, a cap that is likely too low: parts keep the points that pass it."""

    sampler: Sampler
    floor: float

    @staticmethod
    def of(sampler: Sampler, seed: int = 0) -> Ready:
        """Return a sampler with the floor of a few points, deterministic for a seed."""
        weight = sampler.draw(WARM, np.random.default_rng([seed, 1])).weight
        return Ready(sampler, cap_of(weight, float(weight.sum()), ROOMY))


@dataclass(frozen=True)
class Part:
    """Points kept from one part, and statistics of all its points.

    The statistics are the number of tries, the number that passed the cuts, and the sums of the weights (pb) and of
    their squares.
    """

    points: Points
    lot: Floats
    passed: int
    total: float
    squares: float

    def thinned(self, cap: float) -> Part:
        """Return the points that pass a higher cap."""
        points = self.points
        kept = points.weight > self.lot * cap
        fewer = Points(points.momenta[kept], points.amplitude[kept], points.weight[kept], points.tried)
        return replace(self, points=fewer, lot=self.lot[kept])

    def __len__(self) -> int:
        return len(self.lot)


@dataclass(frozen=True)
class Sample:
    """Unweighted events and statistics of their generation.

    ``sigma`` and its ``error`` in pb are from all points. ``passed`` is the number of points that passed the cuts and
    had their amplitude evaluated; ``efficiency`` is the fraction of those that became events; ``above`` is the fraction
    of the cross section that lies above the cap.
    """

    events: Events
    sigma: float
    error: float
    passed: int
    efficiency: float
    above: float

    @property
    def overweights(self) -> int:
        """Number of events with a weight above one."""
        return int((self.events.weight > 1).sum())

    @property
    def largest(self) -> float:
        """Largest weight of an event."""
        return float(self.events.weight.max())


def cap_of(weight: Floats, total: float, share: float) -> float:
    """Return the smallest of ``weight`` (n,) above which at most the fraction ``share`` of ``total`` lies."""
    falling = np.sort(weight)[::-1]
    above = int(np.searchsorted(np.cumsum(falling), share * total, side="right"))
    return float(falling[min(above, len(falling) - 1)])


def make_part(ready: Ready, seed: int, index: int) -> Part:
    """Return part number ``index`` of a ``seed``; the result does not depend on the process that computes it."""
    rng = np.random.default_rng([seed, 2, index])
    points = ready.sampler.draw(TRIES, rng)
    weight = points.weight
    whole = Part(points, rng.random(len(weight)), len(weight), float(weight.sum()), float((weight**2).sum()))
    return whole.thinned(ready.floor)


def gather(
    parts: Iterable[Part],
    n: int,
    ready: Ready,
    said: Callable[[int], None] = lambda events: None,
    stop: Callable[[], bool] = lambda: False,
) -> Sample:
    """Return the first ``n`` events of ``parts``, with the cap computed from all parts up to the last one used.

    ``said`` is called with the number of events so far. Raises Stopped if ``stop`` returns True.
    """
    held: list[Part] = []
    cap, count = ready.floor, 0
    for part in parts:
        if stop():
            raise Stopped
        held.append(part.thinned(cap))
        count += len(held[-1])
        if count >= n:
            total = sum(one.total for one in held)
            cap = max(cap, cap_of(np.concatenate([one.points.weight for one in held]), total, ABOVE))
            held = [one.thinned(cap) for one in held]
            count = sum(len(one) for one in held)
        said(min(count, n))
        if count >= n:
            break
    return _sample(held, n, cap, ready.sampler.mapping.process.name)


def _sample(held: list[Part], n: int, cap: float, process: str) -> Sample:
    weight = np.concatenate([part.points.weight for part in held])
    tried, passed = sum(part.points.tried for part in held), sum(part.passed for part in held)
    total, squares = sum(part.total for part in held), sum(part.squares for part in held)
    events = Events(
        np.concatenate([part.points.momenta for part in held])[:n],
        np.concatenate([part.points.amplitude for part in held])[:n],
        np.maximum(weight[:n] / cap, 1.0),
        process,
    )
    sigma = total / tried
    error = np.sqrt(max(squares / tried - sigma**2, 0) / tried)
    above = float(weight[weight > cap].sum()) / total
    return Sample(events, sigma, float(error), passed, len(weight) / passed, above)
