"""Weighted phase-space points of a process, and selection of unweighted events from these points.

The package vegas adapts the hypercube of a phase-space mapping to the cross section (G. P. Lepage, J. Comput. Phys. 439
(2021) 110386). A point of weight w becomes an event with probability min(1, w / cap). The event has the weight max(1, w
/ cap), so weighted means are exact for any cap. Points with weights above the cap contribute about 0.1 % of the cross
section.

Points are generated in parts. The cap is computed from all points up to the last part that is used. Before the cap is
available, each part stores the points that are selected with a lower cap (the floor), together with their random
numbers. When the cap is available, the stored points are selected again with the cap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.phase_space.mapping import Mapping, passes
from isoplan.trainers.amplitudes.processes import Process, squared_amplitude
from isoplan.trainers.amplitudes.processes.fields import INCOMING
from isoplan.trainers.cell import Stopped

ROUNDS, BINS, PACE = 8, 50, 0.5
"""Settings of the adaptation by vegas: number of rounds, bins per dimension, and the damping exponent alpha."""
POINTS, FEW = 30_000, 10_000
"""Number of points in one round of the adaptation.

FEW is used for a process with more than ``MANY`` colour orders, because one point then takes half a millisecond.
"""
MANY = 6
EDGE = 1e-12
"""Minimum distance of points from the faces of the unit hypercube. On a face, momenta can be infinite."""
PICOBARN = 0.3893793721e9
"""Conversion of a cross section from GeV^-2 to pb: (hbar c)^2 in pb GeV^2."""


@dataclass(frozen=True)
class Points:
    """Points that pass the cuts, out of ``tried`` drawn points.

    The sum of ``weight`` divided by ``tried`` is the cross section sigma in pb. ``momenta`` (n, particles, 4) in GeV
    are in the rest frame of the partons, with the incoming particles first. ``amplitude`` (n,) is |M|^2. ``weight``
    (n,) is in pb.
    """

    momenta: Floats
    amplitude: Floats
    weight: Floats
    tried: int


@dataclass(frozen=True)
class Sampler:
    """A mapping and the vegas grid of its hypercube (dimension, bins + 1). Without a grid, points are uniform."""

    mapping: Mapping
    grid: Floats | None = None

    def draw(self, count: int, rng: np.random.Generator) -> Points:
        """Draw ``count`` points and return the points that pass the cuts.

        The result contains the squared amplitudes. Each event has a random azimuth.
        """
        return self._at(rng.random((count, self.mapping.dimension)), rng)[0]

    def adapted(self, seed: int = 0, said: Callable[[int], None] = lambda rounds: None) -> Sampler:
        """Return a sampler whose grid is adapted to the squared weights in ``ROUNDS`` rounds.

        The same ``seed`` gives the same grid. ``said`` is called with the number of completed rounds. Raises
        PlannerError if no point passes the cuts.
        """
        process, rng = self.mapping.process, np.random.default_rng(seed)
        count = POINTS if len(process.plan.ends) <= MANY else FEW
        sampler = self
        for done in range(ROUNDS):
            u = rng.random((count, self.mapping.dimension))
            points, rows = sampler._at(u, rng)
            if not len(rows):
                raise PlannerError(
                    f"None of {count:,} points of {process.name} passes the cuts: give a larger sqrt(s)."
                )
            weights = np.zeros(count)
            weights[rows] = points.weight
            grid = _grid(sampler)
            grid.add_training_data(u, weights**2)
            grid.adapt(alpha=PACE)
            sampler = Sampler(self.mapping, np.array(grid.extract_grid()))
            said(done + 1)
        return sampler

    def _at(self, u: Floats, rng: np.random.Generator) -> tuple[Points, NDArray[np.int64]]:
        """Return the points that pass the cuts at the hypercube coordinates ``u`` (n, dimension).

        The second result (points,) contains, for each returned point, the row of its coordinates in ``u``.
        """
        x, jacobian = np.empty_like(u), np.empty(len(u))
        _grid(self).map(u, x, jacobian)
        outgoing, weight = self.mapping(np.clip(x, EDGE, 1 - EDGE))
        process = self.mapping.process
        rows = np.flatnonzero((weight > 0) & passes(process, outgoing))
        momenta = with_beams(self.mapping.sqrt_s, _turned(process, outgoing[rows], rng))
        amplitude = squared_amplitude(process, momenta)
        return Points(momenta, amplitude, PICOBARN * (weight * jacobian)[rows] * amplitude, len(u)), rows


def need_vegas() -> None:
    """Check that vegas is installed. Raises PlannerError (one sentence) otherwise."""
    if find_spec("vegas") is None:
        raise PlannerError(
            "The sampling of phase space needs the package vegas: install it with pip install 'isoplan[amplitudes]'."
        )


def _grid(sampler: Sampler) -> Any:
    """Return the vegas grid of a sampler, or a uniform grid if the sampler has no grid."""
    import vegas

    if sampler.grid is None:
        return vegas.AdaptiveMap([[0.0, 1.0]] * sampler.mapping.dimension, ninc=BINS)
    return vegas.AdaptiveMap(sampler.grid)


def _turned(process: Process, outgoing: Floats, rng: np.random.Generator) -> Floats:
    """Rotate each event by a random azimuth and put its gluons into a random order.

    The mapping gives gluons that are ordered in rapidity. In an event, the order of the gluons must be random.
    """
    phi = 2 * pi * rng.random(len(outgoing))[:, None]
    e, x, y, z = np.moveaxis(outgoing, -1, 0)
    turned = np.stack([e, x * np.cos(phi) - y * np.sin(phi), x * np.sin(phi) + y * np.cos(phi), z], axis=-1)
    gluons = np.array([leg - INCOMING for leg in process.gluons], np.int64)
    order = rng.permuted(np.tile(gluons, (len(outgoing), 1)), axis=1)
    turned[:, gluons] = np.take_along_axis(turned, order[..., None], axis=1)
    return turned


def with_beams(sqrt_s: float | None, outgoing: Floats) -> Floats:
    """Add the incoming quark (along +z) and antiquark (along -z) before the ``outgoing`` particles.

    If ``sqrt_s`` in GeV is None, the total energy is the sum of the outgoing energies.
    """
    energy = outgoing[..., 0].sum(axis=1) if sqrt_s is None else np.full(len(outgoing), sqrt_s)
    beams = np.zeros((len(outgoing), INCOMING, 4))
    beams[..., 0] = energy[:, None] / 2
    beams[:, 0, 3], beams[:, 1, 3] = energy / 2, -energy / 2
    return np.concatenate([beams, outgoing], axis=1)


ABOVE = 1e-3
"""Maximum contribution of points with weights above the cap, as a fraction of the cross section."""
TRIES, WARM = 8192, 16384
"""Number of hypercube points in a part of the sample, and number of points from which the floor is computed."""
ROOMY = 0.01
"""Maximum contribution of points with weights above the floor, as a fraction of the cross section.

The floor is a lower bound of the cap.
"""


@dataclass(frozen=True)
class Ready:
    """An adapted sampler and its ``floor``, a lower bound on the cap of the event selection.

    Parts contain only points that are selected with the floor as cap.
    """

    sampler: Sampler
    floor: float

    @staticmethod
    def of(sampler: Sampler, seed: int = 0) -> Ready:
        """Return ``sampler`` with a floor that is computed from ``WARM`` points, drawn with ``seed``."""
        weight = sampler.draw(WARM, np.random.default_rng([seed, 1])).weight
        return Ready(sampler, cap_of(weight, float(weight.sum()), ROOMY))


@dataclass(frozen=True)
class Part:
    """One part of a sample: its points that are selected with a cap, and statistics of its points that pass the cuts.

    ``lot`` (n,) contains the random number of each stored point. The statistics are ``passed``, the number of points
    that passed the cuts; ``total``, the sum of the weights in pb; and ``squares``, the sum of the squared weights.
    """

    points: Points
    lot: Floats
    passed: int
    total: float
    squares: float

    def thinned(self, cap: float) -> Part:
        """Return a part with the points that are selected with the higher ``cap``, and with unchanged statistics."""
        points = self.points
        kept = points.weight > self.lot * cap
        fewer = Points(points.momenta[kept], points.amplitude[kept], points.weight[kept], points.tried)
        return replace(self, points=fewer, lot=self.lot[kept])

    def __len__(self) -> int:
        return len(self.lot)


@dataclass(frozen=True)
class Sample:
    """Unweighted events and statistics of their generation.

    ``sigma`` and its ``error`` in pb are computed from all points. ``passed`` is the number of points that passed the
    cuts. The amplitude is computed only at these points. ``efficiency`` is the number of events divided by ``passed``.
    ``above`` is the contribution of points with weights above the cap, as a fraction of the cross section.
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
        """Largest weight of an event, at least 1."""
        return float(self.events.weight.max())


def cap_of(weight: Floats, total: float, share: float) -> float:
    """Return the smallest cap for which the weights above the cap sum to at most the fraction ``share`` of ``total``.

    The cap is an entry of ``weight`` (n,), and ``total`` is in the unit of the weights.
    """
    falling = np.sort(weight)[::-1]
    above = int(np.searchsorted(np.cumsum(falling), share * total, side="right"))
    return float(falling[min(above, len(falling) - 1)])


def make_part(ready: Ready, seed: int, index: int) -> Part:
    """Return part number ``index`` of the sequence of parts with the seed ``seed``.

    The result depends only on the arguments, so any process can compute any part.
    """
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
    """Return the first ``n`` events of ``parts``.

    The selection cap is computed from all parts up to the last part that is used. After each part, ``said`` is called
    with the number of events so far. Raises Stopped if ``stop`` returns True.
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
