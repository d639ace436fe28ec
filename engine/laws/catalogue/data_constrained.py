"""The loss surface with repeated data: each repetition of a sample and each excess parameter has less effect.

L = E + A / N'^alpha + B / D'^beta with effective sizes D' = U_D + U_D R_D (1 - exp(-(D/U_D - 1)/R_D)), U_D = min(D, U)
unique samples, and N' likewise from U_N = min(N, N_opt(U)), the model for which U samples in one pass are enough
(Muennighoff et al. 2023, eqs. 5, 6 and sec. 3.1).
"""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.formula import parse_formula, value
from isoplan.engine.laws import numeric
from isoplan.engine.laws.catalogue import chinchilla
from isoplan.engine.laws.expression import FormulaLaw
from isoplan.engine.laws.law import Param, Point
from isoplan.engine.laws.terms import Values

ENOUGH = "min(N, (alpha*A/(beta*B))^(1/alpha)*U^(beta/alpha))"
UNIQUE = "min(D, U)"


def _worth(x: str, unique: str, scale: str) -> str:
    """Return the formula of the effective size of ``x``, of which ``unique`` are new."""
    return f"{unique}*(1 + {scale}*(1 - exp((1 - {x}/{unique})/{scale})))"


FORMULA = parse_formula(f"E + A/({_worth('N', ENOUGH, 'R_N')})^alpha + B/({_worth('D', UNIQUE, 'R_D')})^beta")


ENDLESS = np.asarray(np.inf)
"""Infinite unique samples: all of D is new, and no model is too large for them."""


def frontier(v: Values, C: Floats, rule: ComputeRule) -> Point:
    """Compute the least loss at ``C`` FLOPs with ``v["U"]`` unique samples, by search; without U every sample is
    new.
    """
    if "U" not in v and rule.proportional:
        return chinchilla.frontier(v, C, rule)
    return numeric.frontier(_loss, v, C, rule)


def least_compute(v: Values, loss: Floats, rule: ComputeRule) -> Point:
    """Compute the least C that reaches ``loss`` with ``v["U"]`` unique samples; inf if no C does."""
    if "U" not in v and rule.proportional:
        return chinchilla.least_compute(v, loss, rule)
    return numeric.least_compute(_loss, v, loss, rule)


def samples(v: Values, N: Floats, loss: Floats) -> Floats:
    """Return D for a model of ``N`` to reach ``loss`` with ``v["U"]`` unique samples; inf if no D does.

    Without U every sample is new. Otherwise D' of one pass is inverted: D = U (1 - R_D ln(1 - (D'/U - 1)/R_D)) beyond
    U.
    """
    if "U" not in v:
        return chinchilla.samples(v, N, loss)
    U, scale = v["U"], v["R_D"]
    with np.errstate(all="ignore"):
        needed = (v["alpha"] * v["A"] / (v["beta"] * v["B"])) ** (1 / v["alpha"]) * U ** (v["beta"] / v["alpha"])
        enough = np.minimum(N, needed)
        worth = enough * (1 + v["R_N"] * (1 - np.exp((1 - N / enough) / v["R_N"])))
        once = chinchilla.samples(v, worth, loss)
        left = 1 - (once / U - 1) / scale
        repeated = np.where(left > 0, U * (1 - scale * np.log(left)), np.inf)
    return np.where(once <= U, once, repeated)


def _loss(v: Values, N: Floats, D: Floats) -> Floats:
    return value(FORMULA.tree, {"U": ENDLESS, **v, "N": N, "D": D})


DATA_CONSTRAINED = FormulaLaw(
    name="data-constrained",
    title="Loss surface with repeated data",
    summary="The surface over N and D where repeated samples, and parameters that the unique samples do not need, "
    "lose value exponentially. Says what more epochs are worth.",
    terms=(),
    params=(
        *chinchilla.CHINCHILLA.params,
        Param("R_D", 1e-3, 1e6, "", "repetitions after which another one is worth 1/e of a new sample", "R_D"),
        Param("R_N", 1e-3, 1e6, "", "the same for parameters beyond those that the unique samples need", "R_N"),
    ),
    reference="Muennighoff et al. 2023, arXiv:2305.16264, eqs. 5, 6",
    needs="N, D, U (unique samples) and loss, with runs of one epoch and of many: at least eight runs. "
    "The best of 64 starts.",
    estimator="formula",
    formula=FORMULA,
    shown=r"E + \frac{A}{N'^{\alpha}} + \frac{B}{D'^{\beta}}, \; "
    r"D' = U_D + U_D R_D \left(1 - e^{-(D/U_D - 1)/R_D}\right), \; U_D = \min(D, U), \; "
    r"N' \text{ alike with } U_N = \min(N, N_\mathrm{opt}(U))",
    frontier=frontier,
    least_compute=least_compute,
    samples=samples,
)
