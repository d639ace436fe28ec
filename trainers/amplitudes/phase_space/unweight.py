"""Events of weight one from weighted points, with a cap above which a thousandth of the cross section lies.

A point of weight w becomes an event with probability min(1, w / cap) and the weight max(1, w / cap), so that weighted
means are exact whatever the cap. The cap follows from all points up to the last one: each part of them keeps what
passes a lower floor, with the lot that was drawn for it, and is thinned when the cap is known.
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
"""Of the cross section, which may lie above the cap."""
TRIES, WARM = 8192, 16384
"""Points of the hypercube of one part, and those that a floor is taken from."""
ROOMY = 0.01
"""Of the cross section, which may lie above the floor: a cap below it is not looked for."""


@dataclass(frozen=True)
class Ready:
    """An adapted sampler and a cap that is likely too low, the ``floor``: parts keep what passes it."""

    sampler: Sampler
    floor: float

    @staticmethod
    def of(sampler: Sampler, seed: int = 0) -> Ready:
        """With the floor of a few points: the same for the same seed."""
        weight = sampler.draw(WARM, np.random.default_rng([seed, 1])).weight
        return Ready(sampler, cap_of(weight, float(weight.sum()), ROOMY))


@dataclass(frozen=True)
class Part:
    """What is left of the points of one part, and of all its points: how many were tried and passed the cuts, and the
    sums of their weights (pb) and of the squares."""

    points: Points
    lot: Floats
    passed: int
    total: float
    squares: float

    def thinned(self, cap: float) -> Part:
        """Those that a higher cap leaves."""
        points = self.points
        kept = points.weight > self.lot * cap
        fewer = Points(points.momenta[kept], points.amplitude[kept], points.weight[kept], points.tried)
        return replace(self, points=fewer, lot=self.lot[kept])

    def __len__(self) -> int:
        return len(self.lot)


@dataclass(frozen=True)
class Sample:
    """Unweighted events and what they took.

    ``sigma`` and its ``error`` in pb are from all points, ``passed`` of them passed the cuts and had their amplitude
    taken; ``efficiency`` is the share of those that became events; ``above`` is the share of the cross section that
    lies above the cap.
    """

    events: Events
    sigma: float
    error: float
    passed: int
    efficiency: float
    above: float

    @property
    def overweights(self) -> int:
        """Events with a weight above one."""
        return int((self.events.weight > 1).sum())

    @property
    def largest(self) -> float:
        """The largest weight of an event."""
        return float(self.events.weight.max())


def cap_of(weight: Floats, total: float, share: float) -> float:
    """The least of ``weight`` (n,) above which at most the ``share`` of ``total`` lies."""
    falling = np.sort(weight)[::-1]
    above = int(np.searchsorted(np.cumsum(falling), share * total, side="right"))
    return float(falling[min(above, len(falling) - 1)])


def make_part(ready: Ready, seed: int, index: int) -> Part:
    """The ``index``-th part of a ``seed``: the same in whatever process it is made."""
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
    """The first ``n`` events of ``parts``, with the cap that all parts up to there have.

    ``said`` is told how many there are. Raises Stopped where ``stop`` says so.
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
