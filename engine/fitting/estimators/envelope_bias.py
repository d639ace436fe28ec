"""What luck does to the lower envelope of training curves, by simulation.

At each compute the luckiest curve wins. Sizes that were lucky stay on the envelope too long, so that its N* grows too
slowly with compute, and resampled curves repeat that luck instead of showing it. So envelopes are drawn anew: a smooth
surface (chinchilla's, used for this alone) through the same curves, each curve moved up or down as a whole by the
scatter that the curves show about that surface, and along itself by what is left. What these envelopes find over the
frontier of the surface is the luck, with what the gaps between the trained sizes add.
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
"""Points of the curves that the surface is fitted to."""
SMOOTH = 0.98
"""Share of the variance of the loss that the surface must explain to stand for the curves."""
EVEN = 0.01
"""How much C / (N D) may vary, relatively, for a frontier in closed form."""
FEWEST = 6
"""Curves below which their scatter is not known."""
FREE = 3
"""What a surface takes from the offsets of the curves: their mean and its slopes in log N and log D."""


@dataclass(frozen=True, eq=False)
class Luck:
    """The surface ``theta``, its ``smooth`` losses (n,) at all points, and the ``scatter`` of the whole curves.

    ``curve`` (n,) is that of each point, ``members`` are the points of each curve in the order of compute, ``within``
    (n,) is what is left of a curve's residual: a draw turns it over at random and moves it along the curve. Offsets are
    of log loss where ``log``, else in the unit of the loss.
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
        """The envelope ``found`` (one row) as it were without luck: the frontier of the surface at its compute.

        So it has every size and not only those that were trained. Where C is no multiple of N D, the envelope of the
        unmoved curves.
        """
        pairs = e.C / (e.N * e.D)
        k = float(np.median(pairs))
        if np.ptp(pairs) > EVEN * k:
            return e.records(self.smooth[None])
        rule = ComputeRule(rule="6npND", n_p=k / 6)
        best = CHINCHILLA.frontier(CHINCHILLA.values(self.theta), found.C, rule)  # type: ignore[misc]
        return replace(found, N=best.N[None], D=best.D[None], y=best.loss[None])

    def draw(self, seed: int, start: int, stop: int) -> Floats:
        """Losses (stop - start, n) of curves with luck of their own."""
        g = len(self.scatter.mean)
        off = self.scatter.draw(seed, start, stop)[:, self.curve]
        u = uniforms(seed, start, stop, 4 * g + 1)[:, 2 * g + 1 :]  # the offsets read those before
        for i, own in enumerate(self.members):
            shift = (u[:, i : i + 1] * len(own)).astype(np.int64)
            sign = np.where(u[:, g + i] < 0.5, -1.0, 1.0)[:, None]
            off[:, own] += sign * self.within[own][(np.arange(len(own)) + shift) % len(own)]
        return np.asarray(self.smooth * np.exp(off) if self.log else self.smooth + off)


def luck(e: Points) -> Luck | None:
    """The luck in the losses of the points ``e``; None without curves or a surface that stands for them."""
    y, curve, curves, log = e.y, e.curve, int(e.curve.max()) + 1, bool((e.y > 0).all())
    if curves < FEWEST or not e.whole:
        return None
    some = slice(None, None, -(-len(y) // MOST))
    values = {"N": e.N[some], "D": e.D[some], "C": e.C[some], "loss": y[some]}  # turned so that less is better
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
    return Luck(theta, smooth, scatter, off - mean[curve], curve, members, log)
