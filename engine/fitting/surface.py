"""Laws that describe every run: the terms of the law fitted to all rows at once (approach 3)."""

from __future__ import annotations

from engine.fitting.bootstrap import counts
from engine.fitting.checks import Sample
from engine.fitting.estimate import Estimate, Progress
from engine.fitting.priors import informed, normals, redrawn
from engine.fitting.problem import problem
from engine.fitting.result import empty_resamples
from engine.fitting.solver import best_fit, refits
from engine.fitting.uniqueness import margin, others


def surface(s: Sample, progress: Progress | None = None) -> Estimate:
    """The global optimum and one refit a resample (pairs bootstrap over runs), under the priors."""
    p = informed(s, problem(s.law, s.spec, s.columns, s.y, s.weight))
    optimum = best_fit(p)
    resamples = empty_resamples(len(s.law.params))
    if s.spec.bootstrap:
        own = redrawn(p, s.spec.prior, normals(s.spec.seed, s.spec.bootstrap, len(s.spec.prior)))
        found = refits(own, optimum, lambda i, j: counts(len(s), s.spec.seed, i, j), s.spec.bootstrap, progress)
        resamples = p.external(found)
    near = margin(p.objective.loss, optimum.value, len(s) - len(s.free))
    value = optimum.value - (p.penalty.value(optimum.theta) if p.penalty else 0.0)  # the plain sum over runs
    return Estimate(p.external(optimum.theta), value, resamples, others(s.law, p, optimum, near))
