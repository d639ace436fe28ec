"""Minima of the parabolas of approach 2: their location in the sweeps of N, and their bias.

At a fixed budget, the loss is not exactly a parabola in log N. The vertex of a fitted parabola is therefore biased,
even without noise. If alpha = beta and the sweep is centred, the bias is zero. Otherwise, the bias is a fraction of N*
that increases with compute. To estimate the bias for the N and C of the runs, a chinchilla law is fitted to the runs.
Parabolas are then fitted to the predictions of this law, and their minima are compared with the frontier of the law.
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
    """Return the location of N* in the sweep of each budget, in the order of ``parabolas`` (lowest budget first).

    The refits of ``spec`` draw runs within each budget. A resample has no minimum if its parabola has no minimum, or if
    it has fewer than three model sizes. Raises PlannerError in the same cases as ``fit``.
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
"""Compute at which N* and D* are compared, in decades beyond the largest budget."""


@dataclass(frozen=True)
class OptimumBias:
    """Relative bias of N* and D* at ``C`` FLOPs: (value of the parabolas) / (value of the surface) - 1.

    ``beyond`` is the distance of C from the largest budget in decades.
    """

    C: float
    beyond: float
    N: float
    D: float


@dataclass(frozen=True, eq=False)
class ParabolaBias:
    """Bias of the exponent ``a`` in N* = k C^a.

    ``exponent`` is the exponent of the parabolas, and ``truth`` is the exponent of the surface.
    """

    surface: Fit
    exponent: float
    truth: float
    at: tuple[OptimumBias, ...]

    @property
    def bias(self) -> float:
        """The bias of the exponent ``a``: exponent of the parabolas minus exponent of the surface."""
        return self.exponent - self.truth

    @property
    def sentence(self) -> str:
        """The biases of ``a`` and of N* as a sentence."""
        first, last = self.at[0], self.at[-1]
        return (
            f"Test of the bias: a chinchilla surface is fitted to the runs and gives the losses at their N and C. "
            f"Parabolas through these losses give a = {self.exponent:.4f}, but the surface has {self.truth:.4f} (bias "
            f"{self.bias:+.4f}): N* is off by {first.N:+.2%} at the largest budget ({first.C:.3g} FLOPs) and by "
            f"{last.N:+.2%} at {last.C:.3g} FLOPs."
        )


def parabola_bias(found: Fit, runs: Runs, beyond: tuple[float, ...] = BEYOND) -> ParabolaBias:
    """Return the bias of ``found``, a fit of iso-FLOP minima, for the N and C of its ``runs``.

    The compute rule determines D from C and N. Raises PlannerError if no surface can be fitted to the runs, if a term
    of the surface is zero, or if the parabolas of the surface have no minimum near their sweeps.
    """
    spec = found.spec.without_refits()
    surface = fit(spec.for_law(get_law("chinchilla")), runs)
    if not (surface.theta > 0)[1:].all():
        raise PlannerError(
            "A term of the chinchilla surface of these runs is zero, so the surface has no optimum to compare."
        )
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
    """Return the runs with the loss of ``surface`` at their N and C, and with D from the compute rule."""
    D = runs.roles.compute.samples(runs["C"], runs["N"])
    y = surface.predict({"N": runs["N"], "D": D})
    measured = runs.roles.model_copy(update={"C": "C", "D": "D"})
    return replace(runs, values={**runs.values, "D": D, surface.spec.y: y}, roles=measured)
