"""Selection bias of the lower envelope of training curves, estimated by simulation.

At each compute the curve with the most favourable noise is selected. Sizes with favourable noise stay on the envelope
too long, so that N* increases too slowly with compute; resampled curves repeat this bias. Envelopes are therefore
simulated from a smooth surface (a chinchilla law, used for this alone) through the same curves. Each curve is moved up
or down as a whole by the scatter of the curves about that surface, and along itself by the remaining residuals. The
difference between these envelopes and the frontier of the surface is the bias, including the effect of gaps between
trained sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.resampling.noise import Noise, uniforms
from isoplan.engine.fitting.samples.curve_records import Points, Records
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.solver.multistart import best_fit
from isoplan.engine.fitting.solver.problem import problem
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.schema import Roles, Runs

MOST = 2000
"""Largest number of points of the curves to which the surface is fitted."""
SMOOTH = 0.98
"""Smallest fraction of the variance of the loss that the surface must explain to represent the curves."""
EVEN = 0.01
"""Largest relative variation of C / (N D) for a frontier in closed form."""
FEWEST = 6
"""Number of curves below which their scatter is not estimated."""
FREE = 3
"""Degrees of freedom that the surface removes from the curve offsets: their mean and slopes in log N and log D."""


@dataclass(frozen=True, eq=False)
class SelectionBias:
    """The surface ``theta``, its ``smooth`` losses (n,) at all points, and the ``scatter`` of the whole curves.

    ``curve`` (n,) is the curve of each point, and ``members`` are the points of each curve in order of compute.
    ``within`` (n,) is the remaining residual of a curve; a draw flips its sign at random and shifts it along the curve.
    Offsets are of log loss if ``log``, else in the unit of the loss.
    """

    theta: Floats
    smooth: Floats
    scatter: Noise
    within: Floats
    curve: Ints
    members: tuple[Ints, ...]
    log: bool

    @property
    def size(self) -> float:
        """The scatter of the curves, one standard deviation."""
        return float(np.sqrt(np.sum(self.scatter.mean**2) / self.scatter.freedom))

    def without(self, e: Points, found: Records) -> Records:
        """Return the envelope ``found`` (one row) without selection bias: the frontier of the surface at its compute.

        It covers all sizes and not only the trained ones. If C is not proportional to N D, return the envelope of the
        smooth curves.
        """
        pairs = e.C / (e.N * e.D)
        k = float(np.median(pairs))
        if np.ptp(pairs) > EVEN * k:
            return e.records(self.smooth[None])
        rule = ComputeRule(rule="6npND", n_p=k / 6)
        best = CHINCHILLA.frontier(CHINCHILLA.values(self.theta), found.C, rule)  # type: ignore[misc]
        return replace(found, N=best.N[None], D=best.D[None], y=best.loss[None])

    def draw(self, seed: int, start: int, stop: int) -> Floats:
        """Return losses (stop - start, n) of curves with random offsets."""
        g = len(self.scatter.mean)
        off = self.scatter.draw(seed, start, stop)[:, self.curve]
        u = uniforms(seed, start, stop, 4 * g + 1)[:, 2 * g + 1 :]  # the offsets use the earlier numbers
        for i, own in enumerate(self.members):
            shift = (u[:, i : i + 1] * len(own)).astype(np.int64)
            sign = np.where(u[:, g + i] < 0.5, -1.0, 1.0)[:, None]
            off[:, own] += sign * self.within[own][(np.arange(len(own)) + shift) % len(own)]
        return np.asarray(self.smooth * np.exp(off) if self.log else self.smooth + off)


def estimate_selection_bias(e: Points) -> SelectionBias | None:
    """Return the noise model of the points ``e``; None without curves or without a surface that represents them."""
    y, curve, curves, log = e.y, e.curve, int(e.curve.max()) + 1, bool((e.y > 0).all())
    if curves < FEWEST or not e.whole:
        return None
    some = slice(None, None, -(-len(y) // MOST))
    values = {"N": e.N[some], "D": e.D[some], "C": e.C[some], "loss": y[some]}  # sign such that smaller is better
    spec = FitSpec(objective="ols-log" if log else "ols", bootstrap=0)
    try:
        s = sample(spec, Runs(np.arange(len(values["N"])), values, Roles(loss="loss"), {}))
        p = problem(s.law, spec, s.columns, s.y, s.weight)
        theta = p.external(best_fit(p).theta)
    except PlannerError:
        return None
    smooth = CHINCHILLA.predict(theta, {"N": e.N, "D": e.D})
    off = np.log(y / smooth) if log else y - smooth
    if np.var(off) > (1 - SMOOTH) * np.var(np.log(y) if log else y):
        return None
    mean = np.bincount(curve, off) / np.bincount(curve)
    scatter = Noise(mean - mean.mean(), np.zeros(curves), np.arange(curves), FREE)
    members = tuple(np.flatnonzero(curve == i) for i in range(curves))
    return SelectionBias(theta, smooth, scatter, off - mean[curve], curve, members, log)
