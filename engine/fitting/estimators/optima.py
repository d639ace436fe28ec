"""Location of the minima of iso-FLOP parabolas relative to their sweeps of N, with the support of the resamples."""

from __future__ import annotations

import numpy as np

from isoplan.engine.fitting.estimators.isoflop import MEMORY, budgets, strata, vertices
from isoplan.engine.fitting.resampling.bootstrap import counts
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.solver.problem import blocks, objective
from isoplan.engine.fitting.types.optimum_location import LEVEL, OptimumLocation, differs, locate_optimum
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.schema import Runs


def minima(runs: Runs, spec: FitSpec) -> tuple[OptimumLocation, ...]:
    """Return the location of N* for every budget, lowest first as in ``parabolas``; raises PlannerError as ``fit``.

    Each refit of ``spec`` draws runs within their budgets. A resample has no minimum if its parabola opens the wrong
    way or it has fewer than three model sizes.
    """
    s = sample(spec, runs)
    groups, how = budgets(s), objective(spec, s.y)
    central = vertices(groups, s.weight[None], how)
    drawn, within = np.empty((spec.bootstrap, len(groups))), strata(len(s), groups)
    for at in blocks(spec.bootstrap, MEMORY // len(s)):
        weight = s.weight * counts(len(s), spec.seed, at.start, at.stop, within)
        drawn[at] = vertices(groups, weight, how).u
    out = []
    for i, b in enumerate(groups):
        chance = differs(b.y, central.coefficients[0, i] @ b.basis - b.y, s.weight[b.index], 3)
        N = np.exp(b.centre + np.r_[central.u[:, i], drawn[:, i]] * b.half)
        low, high = float(np.exp(b.centre - b.half)), float(np.exp(b.centre + b.half))
        out.append(locate_optimum(float(N[0]), N[1:], low, high, flat=chance > LEVEL))
    return tuple(out)
