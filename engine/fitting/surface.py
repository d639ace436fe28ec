"""Laws that describe every run: the terms of the law fitted to all rows at once (approach 3)."""

from __future__ import annotations

from engine.fitting.checks import Sample
from engine.fitting.draws import Drawn, resample
from engine.fitting.estimate import Estimate, Progress
from engine.fitting.priors import informed
from engine.fitting.problem import problem
from engine.fitting.resampling import Resampling
from engine.fitting.result import empty_resamples
from engine.fitting.solver import best_fit
from engine.fitting.uniqueness import margin, others


def surface(s: Sample, progress: Progress | None = None) -> Estimate:
    """The global optimum and the resamples that the specification asks for, under the priors."""
    p = informed(s, problem(s.law, s.spec, s.columns, s.y, s.weight))
    optimum = best_fit(p)
    drawn = Drawn(empty_resamples(len(s.law.params)), Resampling())
    if s.spec.bootstrap:
        drawn = resample(s, p, optimum, progress)
    notes = others(s.law, p, optimum, margin(p.objective.loss, optimum.value, len(s) - len(s.free)))
    value = optimum.value - (p.penalty.value(optimum.theta) if p.penalty else 0.0)  # the plain sum over runs
    return Estimate(
        p.external(optimum.theta),
        value,
        drawn.resamples,
        notes,
        resampling=drawn.how,
        floorless=drawn.floorless,
        confidence=drawn.confidence,
    )
