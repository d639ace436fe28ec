"""Laws of one hyperparameter: a parabola in its logarithm, a sum of two opposite costs, and the critical batch size.

y = c + b ln x + a (ln x)^2       the simplest curve with an optimum (behavioural, Table 10)
y = E + a x^alpha + b x^-beta     an optimum between the costs of too large and too small x (behavioural, eqs. 2, 6)
S = S_min (1 + B_crit / B)        training steps to a target as a function of batch size (McCandlish et al. 2018,
                                  arXiv:1812.06162)
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.formula import symbol
from isoplan.engine.laws.catalogue.power import SMALLEST
from isoplan.engine.laws.law import Derived, Law, Param, Values, axis_words
from isoplan.engine.laws.terms import Const, Log, LogSquared, Offset, Power, Reciprocal, Rising


def parabola_optimum(v: Values) -> Floats:
    """Return the x of the minimum: ``exp(-b / (2 * a))``. It is NaN without a minimum, that is, if ``a <= 0``."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(v["a"] > 0, np.exp(-v["b"] / (2 * v["a"])), np.nan)


@lru_cache
def log_parabola(axis: str) -> Law:
    """Return the law ``y = c + b * ln(x) + a * ln(x)**2``, where x is the column ``axis``."""
    x = symbol(axis)
    return Law(
        name="log-parabola",
        title=f"Optimum over {axis_words(axis)} (parabola)",
        summary=f"A parabola in ln {axis}, by linear least squares: finds the best {axis} of a narrow sweep. "
        "Not valid beyond the sweep.",
        terms=(Offset("c", axis), Log("b", axis), LogSquared("a", axis)),
        params=(
            Param("c", -np.inf, np.inf, "loss", f"value at {axis} = 1", "c"),
            Param("b", -np.inf, np.inf, "loss", f"slope in ln {axis} at {axis} = 1", "b"),
            Param(
                "a", -np.inf, np.inf, "loss", f"curvature in ln {axis}: above zero if the parabola has a minimum", "a"
            ),
        ),
        reference="Scaling laws for behavioral foundation models, Table 10",
        needs=f"{axis} and loss: at least four runs at three values of {axis}.",
        axis=axis,
        axis_roles=("hyperparameter", "N", "D", "U", "epochs"),
        with_axis=log_parabola,
        optimum=parabola_optimum,
        derived=(Derived("x_star", f"the best {axis}", rf"{{{x}}}^* = e^{{-b / 2a}}", parabola_optimum, "no optimum"),),
    )


def starvation_optimum(v: Values) -> Floats:
    """Return the x of the minimum: ``(b * beta / (a * alpha))**(1 / (alpha + beta))``.

    At this x, the slopes of the increasing and the decreasing term cancel. The result is 0 if ``b = 0`` (only the
    increasing term remains), infinite if ``a = 0``, and NaN if ``a = b = 0``.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.log(v["b"]) + np.log(v["beta"]) - np.log(v["a"]) - np.log(v["alpha"])
        return np.exp(ratio / (v["alpha"] + v["beta"]))


@lru_cache
def starvation(axis: str) -> Law:
    """Return the law ``y = E + a * x**alpha + b * x**-beta``, where x is the column ``axis``.

    Too small and too large values of x both increase the loss. Examples are the embedder share s and the number of
    negatives K.
    """
    x = symbol(axis)
    star = r"\left(\frac{b \beta}{a \alpha}\right)^{1/(\alpha + \beta)}"
    return Law(
        name="starvation",
        title=f"Optimum over {axis_words(axis)} (two powers)",
        summary=f"A floor, a power that rises with {axis}, and a power that falls with {axis}: shows the best {axis}, "
        "and whether the sweep contains this optimum.",
        terms=(Const("E"), Rising("a", axis, "alpha"), Power("b", axis, "beta")),
        params=(
            Param("E", 0.0, np.inf, "loss", "floor: the loss without the two costs", "E"),
            Param("a", 0.0, np.inf, "loss", f"size of the cost of too much {axis}", "a"),
            Param("b", 0.0, np.inf, "loss", f"size of the cost of too little {axis}", "b"),
            Param("alpha", SMALLEST, 5.0, "", f"exponent of the cost of too much {axis}", r"\alpha"),
            Param("beta", SMALLEST, 5.0, "", f"exponent of the cost of too little {axis}", r"\beta"),
        ),
        reference="Scaling laws for behavioral foundation models, eqs. 2, 6 and Tables 2, 6",
        needs=f"{axis} and loss: at least six runs at five values of {axis}, on both sides of the optimum.",
        axis=axis,
        axis_roles=("hyperparameter", "N", "D", "U", "epochs"),
        with_axis=starvation,
        optimum=starvation_optimum,
        derived=(Derived("x_star", f"the best {axis}", rf"{{{x}}}^* = {star}", starvation_optimum, "no optimum"),),
    )


def critical(v: Values) -> Floats:
    """Return B_crit = E_min / S_min; infinite if S_min <= 0, because the number of steps then has no plateau."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(v["S_min"] > 0, v["E_min"] / v["S_min"], np.inf)


def _batch(v: Values, updates: Floats) -> Floats:
    """Return the batch size B with which ``updates`` training steps reach the target.

    Let S be ``updates``. B is ``E_min / (S - S_min)``, and infinite if S is at or below S_min.
    """
    excess = np.asarray(updates, float) - v["S_min"]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(excess > 0, v["E_min"] / excess, np.inf)


@lru_cache
def critical_batch(axis: str) -> Law:
    """Return the law ``S = S_min + E_min / B``: S is the number of training steps to a target, B the column ``axis``.

    In this form the law is linear in both parameters. ``E_min = S_min * B_crit`` is the smallest number of samples that
    reaches the target.
    """
    return Law(
        name="critical-batch",
        title=f"Training steps over {axis_words(axis)} (critical batch size)",
        summary=f"The training steps to a target fall as 1/{axis} to a plateau. Below B_crit, a larger batch saves "
        "steps. Above B_crit, it saves few steps and needs more samples. Least squares (ols) is the published fit.",
        terms=(Const("S_min"), Reciprocal("E_min", axis)),
        params=(
            Param(
                "S_min", -np.inf, np.inf, "training steps", "steps to the target with the largest batches", r"S_{\min}"
            ),
            Param("E_min", 0.0, np.inf, "samples", "samples to the target with the smallest batches", r"E_{\min}"),
        ),
        reference="McCandlish et al. 2018, arXiv:1812.06162, eq. 2.11; behavioural, eq. 3 and Table 3",
        needs=f"{axis} and the training steps to one target: at least three runs at two batch sizes.",
        axis=axis,
        symbol="S",
        axis_roles=("hyperparameter",),
        with_axis=critical_batch,
        inverse=_batch,
        counts_updates=True,
        derived=(
            Derived(
                "B_crit",
                f"critical {axis}: reaching the target takes twice the minimum of training steps and twice the "
                f"minimum of samples",
                r"B_{\mathrm{crit}} = \frac{E_{\min}}{S_{\min}}",
                critical,
                "no plateau",
            ),
        ),
    )
