"""Laws that describe every run: the terms of the law fitted to all rows at once (approach 3)."""

from __future__ import annotations

import numpy as np

from engine.fitting.bootstrap import counts
from engine.fitting.checks import Sample
from engine.fitting.estimate import Estimate, Progress
from engine.fitting.priors import informed, normals, redrawn
from engine.fitting.problem import Problem, problem
from engine.fitting.result import FitWarning, empty_resamples
from engine.fitting.solver import Optimum, best_fit, refits
from engine.laws.law import Floats

MARGIN = 0.01
"""Another optimum this close to the best (relative) is reported."""


def surface(s: Sample, progress: Progress | None = None) -> Estimate:
    """The global optimum and one refit a resample (pairs bootstrap over runs), under the priors."""
    p = informed(s, problem(s.law, s.spec, s.columns, s.y, s.weight))
    optimum = best_fit(p)
    resamples = empty_resamples(len(s.law.params))
    if s.spec.bootstrap:
        own = redrawn(p, s.spec.prior, normals(s.spec.seed, s.spec.bootstrap, len(s.spec.prior)))
        found = refits(own, optimum, lambda i, j: counts(len(s), s.spec.seed, i, j), s.spec.bootstrap, progress)
        resamples = p.external(found)
    value = optimum.value - (p.penalty.value(optimum.theta) if p.penalty else 0.0)  # the plain sum over runs
    return Estimate(p.external(optimum.theta), value, resamples, others(s, p, optimum))


def others(s: Sample, p: Problem, optimum: Optimum) -> tuple[FitWarning, ...]:
    """A distinct optimum within the margin, as a warning."""
    for theta, value in zip(optimum.others, optimum.other_values, strict=True):
        if not np.isfinite(value) or value > optimum.value * (1 + MARGIN):
            return ()
        if _apart(p, optimum.theta, theta):
            shown = ", ".join(f"{n} = {v:.4g}" for n, v in zip(s.law.names, p.external(theta), strict=True))
            higher = value / optimum.value - 1 if optimum.value > 0 else 0.0
            text = (
                f"A second optimum lies only {higher:.1e} (relative) above the best: {shown}. The runs hardly choose "
                "between the two: read the intervals, and add runs where the two curves differ."
            )
            return (FitWarning("second-optimum", text),)
    return ()


def _apart(p: Problem, one: Floats, other: Floats) -> bool:
    """Do two optima differ by more than 1 % in an amplitude, or in the exponent of a term that is there?"""
    different = np.abs(one - other) > 0.01 * np.maximum(np.abs(one), np.abs(other))
    there = (one[list(p.powers)] != 0) & (other[list(p.powers)] != 0)
    return bool(different[: p.k].any() or (different[p.k :] & there).any())
