"""Laws that describe every run: the terms of the law fitted to all rows at once (approach 3)."""

from __future__ import annotations

from isoplan.engine.fitting.resampling.law_draws import Drawn, resample
from isoplan.engine.fitting.resampling.priors import informed
from isoplan.engine.fitting.samples.sample import Sample
from isoplan.engine.fitting.solver.identifiability import margin, others
from isoplan.engine.fitting.solver.multistart import best_fit
from isoplan.engine.fitting.solver.problem import problem
from isoplan.engine.fitting.types.estimate import Estimate, Progress
from isoplan.engine.fitting.types.interval_methods import Resampling
from isoplan.engine.fitting.types.result import empty_resamples


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
