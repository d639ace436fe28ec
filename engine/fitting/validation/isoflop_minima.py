"""Minima of the parabolas of approach 2: their location within the sweeps of N, and the bias of the optimum.

The loss along a budget is not a parabola in log N, so its vertex is biased even without noise. The bias is zero if
alpha = beta and the sweep is centred, and otherwise an increasing fraction of N*. It is estimated at the design of the
runs: their losses are replaced by those of the chinchilla law through them, parabolas are fitted again, and the result
is compared with the law's own frontier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.estimators.isoflop import MEMORY, budgets, strata, vertices
from isoplan.engine.fitting.resampling.bootstrap import counts
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.single import fit
from isoplan.engine.fitting.solver.problem import blocks, objective
from isoplan.engine.fitting.types.optimum_location import LEVEL, OptimumLocation, differs, locate_optimum
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws import get_law
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


BEYOND = (0.0, 1.0, 2.0, 3.0)
"""Decades of compute beyond the largest budget at which N* and D* are compared."""


@dataclass(frozen=True)
class OptimumBias:
    """Bias at ``C`` FLOPs: N* and D* of the parabolas over those of the surface, minus one."""

    C: float
    beyond: float
    N: float
    D: float


@dataclass(frozen=True, eq=False)
class ParabolaBias:
    """Bias of the exponent a in N* = k C^a: ``exponent`` from the parabolas, ``truth`` that of the surface."""

    surface: Fit
    exponent: float
    truth: float
    at: tuple[OptimumBias, ...]

    @property
    def bias(self) -> float:
        """The bias of a."""
        return self.exponent - self.truth

    @property
    def sentence(self) -> str:
        """The bias in words."""
        first, last = self.at[0], self.at[-1]
        return (
            f"Parabolas of this design on the chinchilla surface through the same runs find a = {self.exponent:.4f} "
            f"where the surface has {self.truth:.4f} (bias {self.bias:+.4f}): N* is off by {first.N:+.2%} at the "
            f"largest budget ({first.C:.3g} FLOPs) and by {last.N:+.2%} at {last.C:.3g} FLOPs."
        )


def parabola_bias(found: Fit, runs: Runs, beyond: tuple[float, ...] = BEYOND) -> ParabolaBias:
    """Compute the bias of ``found``, a fit of iso-FLOP minima, at the N and C of its ``runs``.

    D follows from C and N by the compute rule. Raises PlannerError if no surface can be fitted to the runs, if one of
    its terms vanished, or if its parabolas have no minimum near their sweeps.
    """
    spec = found.spec.without_refits()
    surface = fit(spec.for_law(get_law("chinchilla")), runs)
    if not (surface.theta > 0)[1:].all():
        raise PlannerError("The chinchilla surface through these runs lost a term, so it has no optimum to compare.")
    again = fit(spec, _on(surface, runs))
    largest = np.max(runs["C"][~np.isnan(runs["budget"])])
    C = largest * 10.0 ** np.array(beyond)
    ours, truth = (f.law.frontier(f.values, C, runs.roles.compute) for f in (again, surface))  # type: ignore[misc]
    at = zip(C, beyond, ours.N / truth.N - 1, ours.D / truth.D - 1, strict=True)
    own = surface.values
    return ParabolaBias(
        surface,
        float(again.values["a"]),
        float(own["beta"] / (own["alpha"] + own["beta"])),
        tuple(OptimumBias(*(float(x) for x in row)) for row in at),
    )


def _on(surface: Fit, runs: Runs) -> Runs:
    """Return the runs at their N and C, with D by the compute rule and the loss of ``surface``."""
    D = runs.roles.compute.samples(runs["C"], runs["N"])
    y = surface.predict({"N": runs["N"], "D": D})
    measured = runs.roles.model_copy(update={"C": "C", "D": "D"})
    return replace(runs, values={**runs.values, "D": D, surface.spec.y: y}, roles=measured)
