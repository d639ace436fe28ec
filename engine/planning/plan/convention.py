"""Compute rules of a plan: D from the rule in use, and the cost of the same N and D by a second rule.

A plan must not mix two compute rules. For example, the paper "Scaling laws for behavioral foundation models" publishes
optimal N and D under ``C = 6 * N * D`` but chose the sizes of its runs with a formula for C per step (eq. 1). By this
formula the published optima cost 1.9 to 2.9 times their budget. Therefore ``spend``
(engine/planning/optimum/frontier.py) computes D from the budget by the rule in use. ``recost`` computes the cost of the
same N and D by another rule.
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
"""A warning is shown if the cost of the fitted N* and D* differs from the budget by more than this fraction."""


@dataclass(frozen=True)
class Recost:
    """Costs of N parameters and D samples by two compute rules, in FLOPs; all arrays have the same shape.

    ``C`` is the cost by ``rule``, and ``other_C`` the cost by ``other``. By ``other``, ``C`` FLOPs pay for ``other_D``
    samples at the same N; NaN if they pay for no sample.
    """

    rule: ComputeRule
    other: ComputeRule
    D: Floats
    C: Floats
    other_C: Floats
    other_D: Floats

    @property
    def factor(self) -> Floats:
        """Cost by ``other`` divided by the cost by ``rule``."""
        return self.other_C / self.C

    @property
    def sentence(self) -> str:
        """Sentence that compares the two costs of a single plan (arrays of shape ())."""
        paid = float(self.other_D)
        instead = f"{flops(float(self.C))} then pay for {count(paid)} samples instead of {count(float(self.D))}"
        ending = instead if np.isfinite(paid) else f"{flops(float(self.C))} then do not pay for one sample"
        return f"By {self.other.text} the same plan costs {float(self.factor):.2f} times as much; {ending}."


def restate(fit: Fit, best: Point, draws: Point, rule: ComputeRule, other: ComputeRule | None) -> SecondRuleCost | None:
    """Return what an answer costs by the rule ``other``, with intervals; None if ``other`` is None.

    ``best`` () is the answer of the best fit by ``rule``, and ``draws`` (r,) are the answers of the resamples. Raises
    PlannerError if the law does not determine N or D, or if the best fit has no answer.
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
    """Return a warning for a law with separately fitted N* and D*; empty for other laws.

    The warning states which D the plan uses and what the fitted N* and D* cost. ``best`` () is the answer of the best
    fit, in which D is computed from C and N* by ``rule``.
    """
    if fit.law.is_pointwise or fit.law.frontier is None or not np.isfinite(best.D):
        return ()
    fitted = fit.law.frontier(fit.values, best.C, rule)
    with np.errstate(all="ignore"):
        share = float(rule.flops_anywhere(fitted.N, fitted.D) / best.C)
    off = np.isfinite(share) and abs(share - 1) > COSTS_APART
    if rule == fit.compute:
        text = f"N* and D* were fitted separately. By {rule.text} they cost {share:.3g} times the budget."
        return (FitWarning(APART, text),) if off else ()
    text = f"N* is computed from the frontier, D from the compute rule {rule.text}"
    unit = sample_unit(fit)
    more = f". By this rule, the fitted D* of {count(float(fitted.D), 3)} {unit} costs {share:.3g} times the budget"
    return (FitWarning(IN_USE, text + (more if off else "") + "."),)


def recost(N: ArrayLike, D: ArrayLike, rule: ComputeRule, other: ComputeRule) -> Recost:
    """Compute the FLOPs of ``N`` parameters on ``D`` samples by ``rule`` and by ``other``; arrays broadcast.

    Raises PlannerError if a value of N or D is not positive.
    """
    sizes = np.asarray(N, float), np.asarray(D, float)
    for name, x in zip("ND", sizes, strict=True):
        if np.any(x <= 0):
            raise PlannerError(f"{name} = {float(np.nanmin(x)):g} is not positive: give a positive {name}.")
    n, d = np.broadcast_arrays(*sizes)
    C = rule.flops_anywhere(n, d)
    return Recost(rule, other, d, C, other.flops_anywhere(n, d), other.samples(C, n))
