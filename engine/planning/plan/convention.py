"""Compute convention of a plan: N* from the frontier, D from the rule in use, and both by another rule.

The behavioural paper publishes N* and D* under C = 6 N D but sized its runs with the step formula (eq. 1). By this
formula the published optima cost 1.9 to 2.9 times their budget. So a plan never mixes the two: ``spend`` gives the D
that the rule in use pays for, and ``recost`` restates the same plan by another rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer.quantity import measure
from isoplan.engine.planning.plan.parts import SecondRuleCost
from isoplan.engine.quantities import count, flops

APART, IN_USE = "cost-mismatch", "rule-in-use"
COSTS_APART = 0.05
"""Relative difference between the budget and the cost of N* and D* above which a plan shows a warning."""


@dataclass(frozen=True)
class Recost:
    """Cost of the same N and D by two rules; arrays of one shape, FLOPs and samples.

    ``C`` is the cost by ``rule``, ``other_C`` that by ``other``. ``other_D`` is the D that ``C`` pays for by ``other``
    at the same N (NaN if none).
    """

    rule: ComputeRule
    other: ComputeRule
    D: Floats
    C: Floats
    other_C: Floats
    other_D: Floats

    @property
    def factor(self) -> Floats:
        """Ratio of the cost by ``other`` to the cost by ``rule``."""
        return self.other_C / self.C

    @property
    def sentence(self) -> str:
        """The comparison as a sentence, for a single plan."""
        paid = float(self.other_D)
        instead = f"{flops(float(self.C))} then pay for {count(paid)} samples, not {count(float(self.D))}"
        ending = instead if np.isfinite(paid) else f"{flops(float(self.C))} then pay for no sample"
        return f"By {self.other.text} the same plan costs {float(self.factor):.2f} times as much; {ending}."


def restate(fit: Fit, best: Point, draws: Point, rule: ComputeRule, other: ComputeRule | None) -> SecondRuleCost | None:
    """Restate an answer by ``other``, None without it; ``best`` () is of the best fit, ``draws`` (r,) of its resamples.

    Raises PlannerError if the law does not determine N or D, or if the best fit has no answer.
    """
    if other is None:
        return None
    if not (np.isfinite(best.N) and np.isfinite(best.D)):
        raise PlannerError(
            f"The answer has no N and D, so its compute by {other.text} is not known. Use a law over N and D, or "
            f"leave the second rule out."
        )
    one = recost(best.N, best.D, rule, other)
    there = np.isfinite(draws.N) & np.isfinite(draws.D)
    many = recost(np.where(there, draws.N, 1.0), np.where(there, draws.D, 1.0), rule, other)
    C, D, factor = (
        measure(fit, float(a), np.where(there, b, np.where(np.isinf(draws.C), np.inf, np.nan)), unit)
        for a, b, unit in (
            (one.other_C, many.other_C, "FLOPs"),
            (one.other_D, many.other_D, sample_unit(fit)),
            (one.factor, many.factor, "times"),
        )
    )
    return SecondRuleCost(other, C, D, factor, one.sentence)


def apart(fit: Fit, best: Point, rule: ComputeRule) -> tuple[FitWarning, ...]:
    """Return warnings for N* and D* that were fitted separately: which of them a plan uses, and what they cost.

    ``best`` is the answer of the best fit as ``paid`` by ``rule``, shape ().
    """
    if fit.law.is_pointwise or fit.law.frontier is None or not np.isfinite(best.D):
        return ()
    fitted = fit.law.frontier(fit.values, best.C, rule)
    with np.errstate(all="ignore"):
        share = float(rule.flops_anywhere(fitted.N, fitted.D) / best.C)
    off = np.isfinite(share) and abs(share - 1) > COSTS_APART
    if rule == fit.compute:
        text = f"N* and D* were fitted separately and cost {share:.3g} times the budget by {rule.text}."
        return (FitWarning(APART, text),) if off else ()
    text = f"N* comes from the frontier and D from the rule in use, {rule.text}"
    unit = sample_unit(fit)
    more = f"; by it the fitted D* of {count(float(fitted.D), 3)} {unit} would cost {share:.3g} times the budget"
    return (FitWarning(IN_USE, text + (more if off else "") + "."),)


def recost(N: ArrayLike, D: ArrayLike, rule: ComputeRule, other: ComputeRule) -> Recost:
    """Compute the cost of ``N`` parameters on ``D`` samples by ``rule`` and by ``other``; arrays broadcast.

    Raises PlannerError for a size that is not positive.
    """
    sizes = np.asarray(N, float), np.asarray(D, float)
    for name, x in zip("ND", sizes, strict=True):
        if np.any(x <= 0):
            raise PlannerError(f"{name} = {float(np.nanmin(x)):g} cannot be costed: give a positive {name}.")
    n, d = np.broadcast_arrays(*sizes)
    C = rule.flops_anywhere(n, d)
    return Recost(rule, other, d, C, other.flops_anywhere(n, d), other.samples(C, n))
