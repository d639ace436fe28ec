"""The law L(N, D) = [(N_c/N)^(alpha_N/alpha_D) + D_c/D]^alpha_D (Kaplan et al. 2020, eq. 1.5) and its frontier."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.formula import parse_formula, value
from isoplan.engine.laws import numeric
from isoplan.engine.laws.catalogue.power import SMALLEST
from isoplan.engine.laws.expression import FormulaLaw
from isoplan.engine.laws.law import Derived, Param, Point
from isoplan.engine.laws.terms import Values

FORMULA = parse_formula("((N_c/N)^(alpha_N/alpha_D) + D_c/D)^alpha_D")


def frontier(v: Values, C: Floats, rule: ComputeRule) -> Point:
    """Return the point with the lowest loss at ``C`` FLOPs.

    Let ``C = k * N * D`` with ``k = rule.per_pair``, and ``p = alpha_N / alpha_D``. The bracket
    ``(N_c / N)**p + k * D_c * N / C`` is minimal at ``N = (p * N_c**p * C / (k * D_c))**(1 / (1 + p))``. For other
    compute rules the minimum is searched numerically.
    """
    if not rule.proportional:
        return numeric.frontier(_loss, v, C, rule)
    p = v["alpha_N"] / v["alpha_D"]
    pairs = np.log(np.asarray(C, float) / rule.per_pair)
    with np.errstate(all="ignore"):
        log_n = (np.log(p) + p * np.log(v["N_c"]) + pairs - np.log(v["D_c"])) / (1 + p)
        loss = np.exp(v["alpha_D"] * (np.log1p(p) + p * (np.log(v["N_c"]) - log_n)))
        N, D = np.exp(log_n), np.exp(pairs - log_n)
    return Point(N, D, np.zeros_like(N) + C, loss)


def least_compute(v: Values, loss: Floats, rule: ComputeRule) -> Point:
    """Return the point with the lowest C that reaches ``loss``.

    With ``p = alpha_N / alpha_D``, the bracket of the law is ``(N_c / N)**p + D_c / D``. Let ``C = k * N * D``. On the
    frontier, the first term is then the fraction ``1 / (1 + p)`` of the bracket, and the second term is the fraction
    ``p / (1 + p)``.
    """
    if not rule.proportional:
        return numeric.least_compute(_loss, v, loss, rule)
    p = v["alpha_N"] / v["alpha_D"]
    with np.errstate(all="ignore"):
        bracket = np.log(np.asarray(loss, float)) / v["alpha_D"]
        N = np.exp(np.log(v["N_c"]) + (np.log1p(p) - bracket) / p)
        D = np.exp(np.log(v["D_c"]) + np.log1p(p) - np.log(p) - bracket)
        out = np.asarray(loss, float) <= 0
        N, D = np.where(out, np.inf, N), np.where(out, np.inf, D)
        return Point(N, D, rule.flops(N, D), np.zeros_like(N) + loss)


def samples(v: Values, N: Floats, loss: Floats) -> Floats:
    """Return the D with which a model of ``N`` parameters reaches ``loss``; infinite if no D does.

    ``D = D_c / (L**(1 / alpha_D) - (N_c / N)**p)``, where L is the loss and ``p = alpha_N / alpha_D``.
    """
    with np.errstate(all="ignore"):
        left = np.asarray(loss, float) ** (1 / v["alpha_D"]) - (v["N_c"] / N) ** (v["alpha_N"] / v["alpha_D"])
        return np.where(left > 0, v["D_c"] / left, np.inf)


def _loss(v: Values, N: Floats, D: Floats) -> Floats:
    return value(FORMULA.tree, {**v, "N": N, "D": D})


KAPLAN = FormulaLaw(
    name="kaplan",
    title="Loss over size and data, no floor (Kaplan)",
    summary="The terms of model size and data are in one bracket. Without a floor, the loss falls to zero as both "
    "increase. For comparison with the surface that has a floor.",
    terms=(),
    params=(
        Param("N_c", 0.0, np.inf, "parameters", "N at which the loss with infinite data equals one", "N_c"),
        Param("alpha_N", SMALLEST, 5.0, "", "exponent of model size at infinite data", r"\alpha_N"),
        Param("D_c", 0.0, np.inf, "samples", "D at which the loss of an infinite model equals one", "D_c"),
        Param("alpha_D", SMALLEST, 5.0, "", "exponent of data at infinite model size", r"\alpha_D"),
    ),
    reference="Kaplan et al. 2020, arXiv:2001.08361, eq. 1.5",
    needs="N, D and loss of at least five runs in which N and D vary independently. "
    "The fit uses the best of 64 starts.",
    estimator="formula",
    formula=FORMULA,
    frontier=frontier,
    least_compute=least_compute,
    samples=samples,
    derived=(
        Derived(
            "a",
            "exponent of the compute-optimal N*: N* grows as C^a",
            r"a = \frac{\alpha_D}{\alpha_N + \alpha_D}",
            lambda v: v["alpha_D"] / (v["alpha_N"] + v["alpha_D"]),
        ),
        Derived(
            "gamma",
            "exponent of the loss along the frontier: L* falls as C^-gamma",
            r"\gamma = \frac{\alpha_N \alpha_D}{\alpha_N + \alpha_D}",
            lambda v: v["alpha_N"] * v["alpha_D"] / (v["alpha_N"] + v["alpha_D"]),
        ),
    ),
)
