"""The lower envelope of training curves (approach 1) and the power laws through it.

A point is on the envelope where no point of less or equal compute has a smaller or equal loss. Hoffmann et al. 2022,
arXiv:2203.15556, sec. 3.1. Where the runs have whole curves, the stretches along which the first or the last model size
of the envelope is best say where the sweep ends and not what is optimal (they would pull the exponent of N* down by a
tenth), so the power laws leave them out. Resamples draw whole curves: the points of a curve stay together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlannerError
from engine.fitting.bootstrap import counts
from engine.fitting.checks import Sample, sample
from engine.fitting.estimate import Estimate, Progress
from engine.fitting.parabola import FREE_FLOOR, MEMORY, power_through
from engine.fitting.problem import Ints, blocks, problem
from engine.fitting.resampling import Resampling, pairs_only
from engine.fitting.result import FitWarning
from engine.fitting.shapes import shaped
from engine.fitting.solver import best_fit, refits
from engine.fitting.spec import FitSpec
from engine.laws.law import Floats
from engine.quantities import power10
from engine.schema import Curves, Roles, Runs

Bools = NDArray[np.bool_]
FEWEST = 3
"""Points of the envelope below which no power law goes through it."""


def envelope(s: Sample, progress: Progress | None = None) -> Estimate:
    """Parameters of the power laws through the envelope and one refit a resample, drawn over curves."""
    e = _Points.of(s)
    on, trimmed = _trimmed(e, on_envelope(e.y, np.ones((1, len(e.y)), bool)))
    _enough(e, on[0])
    places = np.concatenate([e.places(on), *(e.places(part) for part in _resampled(s, e, progress))])
    places = places[:, (places >= 0).any(axis=0)]
    points = int(on.sum())
    floor = "E" in s.spec.fixed or points >= FREE_FLOOR
    spec = s.spec if floor else s.spec.model_copy(update={"fixed": {**s.spec.fixed, "E": 0.0}})
    theta, objective = _laws(s, spec, e, places, progress and (lambda share: progress(0.3 + 0.7 * share)))
    notes = tuple(_notes(e, on[0], bool(trimmed[0]), floor))
    # The best curves are missing from most resamples, so that the best fit lies at their edge: a correction for bias
    # would take all of that for bias.
    method = "percentile" if s.spec.interval == "auto" else pairs_only(s.spec.interval, "Law envelope")
    held = () if floor else ("E",)
    return Estimate(theta[0], objective, theta[1:], notes, held=held, resampling=Resampling(method))


@dataclass(frozen=True, eq=False)
class Envelope:
    """The points on a lower envelope, (p,) each, in the order of compute; the power laws read those that are ``used``.

    C in FLOPs, N in parameters, D in samples, y in its own unit and direction.
    """

    C: Floats
    N: Floats
    D: Floats
    y: Floats
    used: Bools

    def runs(self, y: str, most: int = 60) -> Runs:
        """The points, at most about ``most`` of them, as runs with their loss under the name ``y``."""
        values = {"N": self.N, "D": self.D, "C": self.C, y: self.y}
        some = slice(None, None, -(-len(self.C) // most))
        return Runs(np.arange(len(self.C[some])), {name: x[some] for name, x in values.items()}, Roles(), {})


def lower_envelope(spec: FitSpec, runs: Runs, curves: Curves | None = None) -> Envelope:
    """The envelope that the law of ``spec`` goes through; raises PlannerError as ``fit`` does."""
    s = sample(spec, shaped(spec, runs, curves))
    e = _Points.of(s)
    on = on_envelope(e.y, np.ones((1, len(e.y)), bool))
    used, at = _trimmed(e, on)[0][0][on[0]], e.order[on[0]]
    C, N, D = (s.columns[role][at] for role in ("C", "N", "D"))
    return Envelope(C, N, D, s.sign * s.y[at], used)


@dataclass(frozen=True, eq=False)
class _Points:
    """The points of a sample in the order of compute: loss, model size, curve; ``whole`` where runs have curves."""

    order: Ints
    y: Floats
    C: Floats
    N: Floats
    D: Floats
    curve: Ints
    whole: bool

    @staticmethod
    def of(s: Sample) -> _Points:
        order = np.lexsort((s.y, s.columns["C"]))
        named = s.runs.labels.get("run", np.arange(len(s)).astype(np.str_))
        curve = np.unique(named, return_inverse=True)[1].astype(np.int64)
        C, N, D = (s.columns[role][order] for role in ("C", "N", "D"))
        return _Points(order, s.y[order], C, N, D, curve[order], int(curve.max()) + 1 < len(s))

    def places(self, on: Bools) -> Ints:
        """The point that is ``on`` each envelope (r, n) at each of the b different computes: (r, b), -1 for none."""
        starts = np.flatnonzero(np.r_[True, self.C[1:] != self.C[:-1]])
        return np.add.reduceat(np.where(on, np.arange(1, len(self.y) + 1), 0), starts, axis=1) - 1


def _trimmed(e: _Points, on: Bools) -> tuple[Bools, Bools]:
    """Envelopes (r, n) without their first and last model size, and which (r,) lost them.

    An envelope stays whole where the runs have no curves, or where less than three points or two sizes would remain.
    """
    if not e.whole:
        return on, np.zeros(len(on), bool)
    last = on.shape[1] - 1
    first_size, last_size = e.N[on.argmax(axis=1)], e.N[last - on[:, ::-1].argmax(axis=1)]
    inner = on & (e.N != first_size[:, None]) & (e.N != last_size[:, None])
    enough = _fit_for_laws(e.N, inner)
    return np.where(enough[:, None], inner, on), enough


def _fit_for_laws(N: Floats, on: Bools) -> Bools:
    """Has each envelope (r, n) three points and two model sizes?"""
    high = np.where(on, N, -np.inf).max(axis=1)
    low = np.where(on, N, np.inf).min(axis=1)
    return np.asarray((on.sum(axis=1) >= FEWEST) & (high > low))


def on_envelope(y: Floats, present: Bools) -> Bools:
    """Which points are on the envelope: ``y`` (n,) in the order of compute, ``present`` (r, n) -> (r, n)."""
    seen = np.where(present, y, np.inf)
    least = np.minimum.accumulate(seen, axis=1)
    before = np.concatenate([np.full((len(seen), 1), np.inf), least[:, :-1]], axis=1)
    return np.asarray(seen < before)


def _resampled(s: Sample, e: _Points, progress: Progress | None) -> Iterator[Bools]:
    for at in blocks(s.spec.bootstrap, MEMORY // len(e.y)):
        drawn = counts(int(e.curve.max()) + 1, s.spec.seed, at.start, at.stop)
        yield _trimmed(e, on_envelope(e.y, drawn[:, e.curve] > 0))[0]
        if progress:
            progress(0.3 * at.stop / s.spec.bootstrap)


def _laws(s: Sample, spec: FitSpec, e: _Points, places: Ints, progress: Progress | None) -> tuple[Floats, float]:
    """Parameters (r, p) of the laws through the points at ``places`` (r, b), and the objective of the first.

    NaN where an envelope has fewer than three points or one model size.
    """
    on, fixed = places >= 0, spec.fixed
    C = e.C[places.max(axis=0)]
    N, D = (np.where(on, x[places], np.nan) for x in (e.N, e.D))
    size = power_through(C, N, scale=fixed.get("k"), exponent=fixed.get("a"))
    data = power_through(C, D, scale=fixed.get("k_D"), exponent=fixed.get("b"))
    y = np.where(on, e.y[places], e.y[places.max(axis=0)])
    loss, objective = _along(s, spec, C, y, on, progress)
    sound = _fit_for_laws(e.N[places], on)
    return np.where(sound[:, None], np.concatenate([size, data, loss], axis=1), np.nan), objective


def _along(
    s: Sample, spec: FitSpec, C: Floats, y: Floats, on: Bools, progress: Progress | None
) -> tuple[Floats, float]:
    """E, C_L and gamma (r, 3) of the loss ``y`` (r, b) along each envelope, and the objective of the first."""
    p = problem(s.law, spec, {"C": C}, y, np.ones(len(C)))
    if (p.low == p.high).all():
        held = [spec.fixed[name] for name in ("E", "C_L", "gamma")]
        return np.repeat([held], len(on), axis=0), 0.0
    weight = on.astype(float)
    best = best_fit(replace(p, y=y[:1], weight=weight[0]))
    theta = best.theta[None]
    if len(y) > 1:
        others = replace(p, y=y[1:])
        found = refits(others, best, lambda i, j: weight[i + 1 : j + 1], len(y) - 1, progress)
        theta = np.concatenate([theta, found])
    return p.external(theta), best.value


def _enough(e: _Points, on: Bools) -> None:
    points, sizes = int(on.sum()), len(np.unique(e.N[on]))
    if points < FEWEST or sizes < 2:
        raise PlannerError(
            f"The envelope of {len(on)} points has {points} of them, of {sizes} model size{'s' * (sizes != 1)}: "
            f"it needs {FEWEST} and two sizes that are best at different compute; add larger or smaller models."
        )


def _notes(e: _Points, on: Bools, trimmed: bool, floor: bool) -> Iterator[FitWarning]:
    if trimmed:
        low, high = (power10(float(x), 2) for x in (e.C[on].min(), e.C[on].max()))
        yield FitWarning(
            "envelope-ends",
            f"Below {low} and above {high} FLOPs the smallest or the largest model of the envelope is best, which "
            "shows the ends of the sweep and not the optimum: the power laws leave these stretches out.",
        )
    if not floor:
        yield FitWarning(
            "floor-fixed",
            f"With {int(on.sum())} points on the envelope the floor of the loss cannot be fitted and is taken as zero: "
            f"do not trust losses beyond the data; {FREE_FLOOR} points or more settle it.",
        )
