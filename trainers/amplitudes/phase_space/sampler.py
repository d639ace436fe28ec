"""Weighted points of a process: a phase-space mapping whose hypercube vegas adapts to the cross section.

G. P. Lepage, J. Comput. Phys. 439 (2021) 110386, whose library implements the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.phase_space.mapping import Mapping, passes
from isoplan.trainers.amplitudes.processes import Process, squared_amplitude
from isoplan.trainers.amplitudes.processes.fields import INCOMING

ROUNDS, BINS, PACE = 8, 50, 0.5
"""Settings of the adaptation: rounds, bins per dimension, and vegas's alpha."""
POINTS, FEW = 30_000, 10_000
"""Points per round. FEW applies with more than ``MANY`` colour orders, when a point takes half a millisecond."""
MANY = 6
EDGE = 1e-12
"""Minimum distance of points from the faces of the hypercube, where momenta are infinite."""
PICOBARN = 0.3893793721e9
"""(hbar c)^2 in pb GeV^2."""


@dataclass(frozen=True)
class Points:
    """Points that pass the cuts, out of ``tried`` points; the sum of weights over ``tried`` is sigma in pb.

    ``momenta`` (n, particles, 4) in GeV with the incoming particles first, in the rest frame of the partons;
    ``amplitude`` (n,) is |M|^2; ``weight`` (n,) in pb.
    """

    momenta: Floats
    amplitude: Floats
    weight: Floats
    tried: int


@dataclass(frozen=True)
class Sampler:
    """A mapping and the grid of its hypercube (dimension, bins + 1); without a grid the hypercube is flat."""

    mapping: Mapping
    grid: Floats | None = None

    def draw(self, count: int, rng: np.random.Generator) -> Points:
        """Draw ``count`` points and return those that pass the cuts, with squared amplitudes and a random azimuth."""
        return self._at(rng.random((count, self.mapping.dimension)), rng)[0]

    def adapted(self, seed: int = 0, said: Callable[[int], None] = lambda rounds: None) -> Sampler:
        """Return a sampler whose grid is adapted to the squared weights in ``ROUNDS`` rounds, deterministic for a seed.

        ``said`` is called with the number of completed rounds. Raises PlannerError if no point passes the cuts.
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
        """Return the points for the hypercube coordinates ``u``, and their rows."""
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
            "Sampling phase space needs the extra amplitudes (vegas): install it with pip install "
            "'isoplan[amplitudes]'."
        )


def _grid(sampler: Sampler) -> Any:
    """Return vegas's grid of a sampler."""
    import vegas

    if sampler.grid is None:
        return vegas.AdaptiveMap([[0.0, 1.0]] * sampler.mapping.dimension, ninc=BINS)
    return vegas.AdaptiveMap(sampler.grid)


def _turned(process: Process, outgoing: Floats, rng: np.random.Generator) -> Floats:
    """Rotate each event by a random azimuth and shuffle its gluons: the mapping orders them, but events do not."""
    phi = 2 * pi * rng.random(len(outgoing))[:, None]
    e, x, y, z = np.moveaxis(outgoing, -1, 0)
    turned = np.stack([e, x * np.cos(phi) - y * np.sin(phi), x * np.sin(phi) + y * np.cos(phi), z], axis=-1)
    gluons = np.array([leg - INCOMING for leg in process.gluons], np.int64)
    order = rng.permuted(np.tile(gluons, (len(outgoing), 1)), axis=1)
    turned[:, gluons] = np.take_along_axis(turned, order[..., None], axis=1)
    return turned


def with_beams(sqrt_s: float | None, outgoing: Floats) -> Floats:
    """Prepend the incoming quark (along +z) and antiquark (along -z) to the outgoing momenta."""
    energy = outgoing[..., 0].sum(axis=1) if sqrt_s is None else np.full(len(outgoing), sqrt_s)
    beams = np.zeros((len(outgoing), INCOMING, 4))
    beams[..., 0] = energy[:, None] / 2
    beams[:, 0, 3], beams[:, 1, 3] = energy / 2, -energy / 2
    return np.concatenate([beams, outgoing], axis=1)
