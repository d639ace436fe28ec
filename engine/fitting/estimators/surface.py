"""Approach 3: fit of a law to all runs at once. The law describes the loss of every run.

The specification selects the method to draw resamples. If the runs do not resolve the floor, half of the resamples are
fits without a floor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.resampling.bootstrap import counts, targets
from isoplan.engine.fitting.resampling.floor_profile import bound_by_lowest_run, floor_confidence
from isoplan.engine.fitting.resampling.likelihood_draws import likelihood_draws
from isoplan.engine.fitting.resampling.priors import informed, normals, redrawn
from isoplan.engine.fitting.samples.sample import Sample, clusters
from isoplan.engine.fitting.solver.identifiability import margin, others
from isoplan.engine.fitting.solver.multistart import Optimum, best_fit, least_objective, predict, refits
from isoplan.engine.fitting.solver.problem import Problem, problem
from isoplan.engine.fitting.solver.threads import Progress
from isoplan.engine.fitting.types.intervals import EXCLUDED, FloorConfidence, Method, Resampling, choose
from isoplan.engine.fitting.types.result import Estimate, empty_resamples
from isoplan.engine.laws.terms import Const


@dataclass(frozen=True, eq=False)
class Drawn:
    """Parameters (r, p) of the resamples, their method, and the confidence curve of the floor.

    ``floorless`` (p,) is the best fit without a floor; None if the floor is resolved.
    """

    resamples: Floats
    how: Resampling
    confidence: FloorConfidence | None = None
    floorless: Floats | None = None


def surface(s: Sample, progress: Progress | None = None) -> Estimate:
    """Return the global minimum of the objective with priors, and the resamples that the specification requests."""
    p = informed(s, problem(s.law, s.spec, s.columns, s.y, s.weight), least_objective)
    optimum = best_fit(p)
    drawn = Drawn(empty_resamples(len(s.law.params)), Resampling())
    if s.spec.bootstrap:
        drawn = resample(s, p, optimum, progress)
    notes = others(s.law, p, optimum, margin(p.objective.loss, optimum.value, len(s) - len(s.free)))
    value = optimum.value - (p.penalty.value(optimum.theta) if p.penalty else 0.0)  # without priors
    return Estimate(
        p.external(optimum.theta),
        value,
        drawn.resamples,
        notes,
        resampling=drawn.how,
        floorless=drawn.floorless,
        confidence=drawn.confidence,
    )


def resample(s: Sample, p: Problem, best: Optimum, progress: Progress | None) -> Drawn:
    """Return the resamples that the specification requests.

    If the runs do not resolve the floor, half of the resamples have no floor.
    """
    total, member = s.spec.bootstrap, clusters(s.runs)
    groups = int(member.max()) + 1
    how = Resampling(choose(s.spec.interval, groups, len(s.free)), runs=groups, parameters=len(s.free))
    found = _draw(s, p, best, how.method, member, slice(0, total), progress)
    floor = floor_term(s, p)
    confidence = None if floor is None else floor_confidence(s, floor)
    if confidence is not None:
        fitted = predict(p, best.theta[None])[0]
        confidence = bound_by_lowest_run(confidence, p.y[0], fitted, len(s.free), s.spec.log_residuals)
    if floor is None or _resolved(confidence, found[:, floor]):
        return Drawn(p.external(found), how, confidence)
    without = p.holding(floor, 0.0)
    other, half = best_fit(without), slice(total // 2, total)
    found[half] = _draw(s, without, other, how.method, member, half, None)
    how = replace(how, floorless=total - total // 2)
    return Drawn(p.external(found), how, confidence, p.external(other.theta))


def _resolved(confidence: FloorConfidence | None, drawn: Floats) -> bool:
    """Return whether the runs resolve the floor, according to its confidence curve.

    If there is no curve, the result is computed from the floors ``drawn`` (r,) of the resamples.
    """
    return confidence.resolved if confidence else not np.mean(drawn <= 0) > EXCLUDED


def floor_term(s: Sample, p: Problem) -> int | None:
    """Return the index of the floor among the terms; None if the law has no suitable floor.

    A suitable floor has a lower bound of zero, is not fixed and has no prior.
    """
    for j, term in enumerate(s.law.terms):
        if isinstance(term, Const) and term.amplitude in s.unaided and p.low[j] == 0:
            return j
    return None


def _draw(
    s: Sample, p: Problem, best: Optimum, method: Method, member: Ints, which: slice, progress: Progress | None
) -> Floats:
    """Return the internal parameters (r, q) of the resamples that the slice ``which`` selects."""
    seed, first, total = s.spec.seed, which.start, which.stop - which.start
    if method == "profile":
        if p.penalty:
            raise PlannerError("The interval profile does not support priors. Choose auto, residual, bc or percentile.")
        return likelihood_draws(p, best, seed, first, which.stop)
    if s.spec.prior:
        p = redrawn(p, s.spec.prior, normals(seed, which.stop, len(s.spec.prior))).of(which)
    if method != "residual":
        g = int(member.max()) + 1
        return refits(p, best, lambda i, j: counts(g, seed, first + i, first + j)[:, member], total, progress)
    fitted, free = predict(p, best.theta[None])[0], p.n_free
    drawn = replace(p, y=targets(s.spec, p.y[0], p.weight, fitted, member, free, which))
    return refits(drawn, best, lambda i, j: np.ones((j - i, p.n)), total, progress)
