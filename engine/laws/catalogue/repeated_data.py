"""Laws of repeated data: the one-axis law, the overfitting threshold, and the surface over N, D and unique samples U.

``repetition`` is ``L = L_inf + B_rep / D**beta_rep``: the lowest loss that repeated training on D unique samples
reaches (jets, eqs. 4, 5, Table 2). ``threshold`` is ``N = c * D**lambda``: the model size above which training on D
unique samples overfits (jets, Fig. 3).

In the law ``data-constrained``, each repetition of a sample has a smaller effect than the previous repetition.
Parameters in excess of the number needed for the unique samples lose their effect in the same way. The law is
``L = E + A / N'**alpha + B / D'**beta``. The effective number of samples is
``D' = U_D + U_D * R_D * (1 - exp(-(D / U_D - 1) / R_D))``, with ``U_D = min(D, U)`` unique samples. The effective model
size N' has the same formula, with N, R_N and ``U_N = min(N, N_opt(U))`` in place of D, R_D and U_D. N_opt(U) is the
compute-optimal model size for U samples that are each seen once (Muennighoff et al. 2023, eqs. 5, 6 and sec. 3.1).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.formula import parse_formula, value
from isoplan.engine.laws import numeric
from isoplan.engine.laws.catalogue import chinchilla
from isoplan.engine.laws.expression import FormulaLaw
from isoplan.engine.laws.law import Law, Param, Point, Values, axis_words
from isoplan.engine.laws.terms import Const, Power, Rising


def _samples(v: Values, loss: Floats) -> Floats:
    """Return the D with loss L = ``loss``: ``(B_rep / (L - L_inf))**(1 / beta_rep)``; infinite if ``L <= L_inf``."""
    excess = np.asarray(loss, float) - v["L_inf"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        D = np.exp((np.log(v["B_rep"]) - np.log(excess)) / v["beta_rep"])
    return np.where(excess <= 0, np.inf, D)


def _least(v: Values, loss: Floats, rule: ComputeRule) -> Point:
    D = _samples(v, loss)
    unknown = np.full_like(D, np.nan)
    return Point(unknown, D, unknown, np.zeros_like(D) + loss)


@lru_cache
def repetition(axis: str) -> Law:
    """Return the law ``L = L_inf + B_rep / D**beta_rep``; here D is the column ``axis``, a count of unique samples."""
    return Law(
        name="repetition",
        title=f"Loss over {axis_words(axis)}, with repetition (power law)",
        summary=f"A floor plus one power of the unique samples {axis}, for runs trained until the loss stops falling. "
        "The difference from the one-pass law is the value of repeated data.",
        terms=(Const("L_inf"), Power("B_rep", axis, "beta_rep")),
        params=(
            Param("L_inf", 0.0, np.inf, "loss", "floor: the loss with unlimited data", r"L_\infty"),
            Param("B_rep", 0.0, np.inf, "loss", "size of the finite-data term under repetition", r"B_{\mathrm{rep}}"),
            Param("beta_rep", 0.0, 5.0, "", "exponent of unique data", r"\beta_{\mathrm{rep}}"),
        ),
        reference="Neural scaling laws for boosted jet tagging, eqs. 4, 5 and Table 2",
        needs=f"{axis} and the least validation loss of models large enough to overfit: "
        f"at least four runs at three values of {axis}.",
        least_compute=_least if axis == "D" else None,
        axis=axis,
        axis_roles=("D", "U", "hyperparameter"),
        with_axis=repetition,
        inverse=_samples,
        repetition=lambda v: v,
    )


def _threshold_samples(v: Values, N: Floats) -> Floats:
    """Return the D at which the overfitting threshold is ``N`` parameters: ``(N / c)**(1 / lambda)``."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.exp((np.log(np.asarray(N, float)) - np.log(v["c"])) / v["lambda"])


THRESHOLD = Law(
    name="threshold",
    title="Smallest model that overfits (threshold)",
    summary="The line between models that overfit if they repeat D unique samples, and smaller models, whose loss "
    "levels off. The smallest model worth training to the end lies on this line.",
    terms=(Rising("c", "D", "lambda"),),
    params=(
        Param("c", 0.0, np.inf, "parameters", "threshold at one sample", "c"),
        Param("lambda", -np.inf, np.inf, "", "exponent: the threshold grows as D^lambda", r"\lambda"),
    ),
    reference="Neural scaling laws for boosted jet tagging, sec. 3.2 and Fig. 3",
    needs="N, unique samples (U, or D if there is no U), and training curves or a column with 1 for runs that overfit "
    "and 0 for others: "
    "at least one run on each side and two numbers of samples.",
    estimator="threshold",
    extra_columns=("N", "D"),
    symbol="N",
    minimised=False,
    inverse=_threshold_samples,
)


ENOUGH = "min(N, (alpha*A/(beta*B))^(1/alpha)*U^(beta/alpha))"
UNIQUE = "min(D, U)"


def _worth(x: str, unique: str, scale: str) -> str:
    """Return the formula of N' or D', the effective size of ``x``; ``unique`` is U_N or U_D, ``scale`` R_N or R_D."""
    return f"{unique}*(1 + {scale}*(1 - exp((1 - {x}/{unique})/{scale})))"


FORMULA = parse_formula(f"E + A/({_worth('N', ENOUGH, 'R_N')})^alpha + B/({_worth('D', UNIQUE, 'R_D')})^beta")


ENDLESS = np.asarray(np.inf)
"""U for unlimited unique samples: no sample is repeated, and no model has more parameters than needed."""


def frontier(v: Values, C: Floats, rule: ComputeRule) -> Point:
    """Return the point with the lowest loss at ``C`` FLOPs with ``v["U"]`` unique samples, by numerical search.

    If ``v`` has no U, no sample is repeated.
    """
    if "U" not in v and rule.proportional:
        return chinchilla.frontier(v, C, rule)
    return numeric.frontier(_loss, v, C, rule)


def least_compute(v: Values, loss: Floats, rule: ComputeRule) -> Point:
    """Return the point with the lowest C that reaches ``loss`` with ``v["U"]`` unique samples; inf if no C does."""
    if "U" not in v and rule.proportional:
        return chinchilla.least_compute(v, loss, rule)
    return numeric.least_compute(_loss, v, loss, rule)


def samples(v: Values, N: Floats, loss: Floats) -> Floats:
    """Return the D with which a model of ``N`` parameters reaches ``loss`` with ``v["U"]`` unique samples.

    D is infinite if the model cannot reach ``loss``. If ``v`` has no U, no sample is repeated. Otherwise, let D' be the
    number of samples that are needed if none is repeated. If D' exceeds U, D is
    ``U * (1 - R_D * ln(1 - (D' / U - 1) / R_D))``.
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
    title="Loss over size and repeated data (Muennighoff)",
    summary="The surface over N and D for repeated samples. The value of each further repetition falls exponentially. "
    "The value of parameters beyond the best N for the unique samples falls in the same way. "
    "Shows the value of more epochs.",
    terms=(),
    params=(
        *chinchilla.CHINCHILLA.params,
        Param(
            "R_D",
            1e-3,
            1e6,
            "",
            "number of repetitions after which one more repetition is worth 1/e of a new sample",
            "R_D",
        ),
        Param(
            "R_N",
            1e-3,
            1e6,
            "",
            "relative excess of N over the best N for the unique samples, at which one more parameter adds 1/e to the "
            "effective N",
            "R_N",
        ),
    ),
    reference="Muennighoff et al. 2023, arXiv:2305.16264, eqs. 5, 6",
    needs="N, D, U (unique samples) and loss, with runs of one epoch and runs of many epochs: at least eight runs. "
    "The fit uses the best of 64 starts.",
    estimator="formula",
    formula=FORMULA,
    shown=r"E + \frac{A}{N'^{\alpha}} + \frac{B}{D'^{\beta}}, \; "
    r"D' = U_D + U_D R_D \left(1 - e^{-(D/U_D - 1)/R_D}\right), \; U_D = \min(D, U), \; "
    r"N' \text{ in the same form, with } U_N = \min(N, N_\mathrm{opt}(U))",
    frontier=frontier,
    least_compute=least_compute,
    samples=samples,
)
