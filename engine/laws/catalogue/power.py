"""Laws of one column X: a power, a power with breaks, and two maps from the loss to another metric.

``power`` is ``L(X) = K + (X_c / X)**alpha`` (amplitudes, eq. 1; Kaplan et al. 2020, eq. 1.1-1.3).

``broken`` is ``y = a + b * x**-c0 * prod_i((1 + (x / d_i)**(1 / f_i))**(-c_i * f_i))`` with one or two breaks
(Caballero et al. 2022, eq. 1). In a log-log plot, the slope of y - a is -c0 before the first break d_1, and changes
smoothly to -(c0 + c1) after this break; f_i is the width of the change in ln x. The parameter of a second break is r2 =
d_2 / d_1 >= 1. This condition keeps the two breaks in the same order in all resamples.

``metric-map`` is ``R(L) = A * exp(B * L) + C``, which converts a loss to another metric (jets, sec. 4 and Fig. 5).
``metric-power`` is ``R(L) = A * L**B + C``, with a power instead of the exponential.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import parse_formula, symbol, value
from isoplan.engine.laws.expression import FormulaLaw
from isoplan.engine.laws.law import Derived, Law, Param, Point, Values, axis_words
from isoplan.engine.laws.numeric import inverse, one_axis
from isoplan.engine.laws.terms import Const, Exponential, Offset, Ratio, SignedPower

SMALLEST = 0.01
"""Smallest allowed exponent alpha. For a smaller alpha, the scale ``X_c = a**(1 / alpha)`` of the term overflows."""
AXIS_UNITS = {"N": "parameters", "D": "samples", "C": "FLOPs"}


def _inverse(v: Values, loss: Floats) -> Floats:
    """Return the X with loss L = ``loss``: ``X_c * (L - K)**(-1 / alpha)``; infinite at or below the floor K."""
    excess = np.asarray(loss, float) - v["K"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = v["X_c"] * np.exp(-np.log(excess) / v["alpha"])
    return np.where(excess <= 0, np.inf, x)


def _repetition(v: Values) -> Values:
    """Return the parameters L_inf, B_rep and beta_rep for which the law "repetition" equals this power law."""
    return {"L_inf": v["K"], "B_rep": v["X_c"] ** v["alpha"], "beta_rep": v["alpha"]}


def _along_c(v: Values, C: Floats, rule: ComputeRule) -> Point:
    C = np.asarray(C, float)
    loss = v["K"] + np.exp(v["alpha"] * (np.log(v["X_c"]) - np.log(C)))
    return Point(np.full_like(loss, np.nan), np.full_like(loss, np.nan), np.zeros_like(loss) + C, loss)


def along_axis(axis: str, x: Floats, loss: Floats) -> Point:
    """Return the point at which N, D or C (named by ``axis``) is ``x``; the other two are NaN."""
    unknown = np.full_like(x, np.nan)
    at = {name: x if name == axis else unknown for name in ("N", "D", "C")}
    return Point(at["N"], at["D"], at["C"], np.zeros_like(x) + loss)


@lru_cache
def power_law(axis: str) -> Law:
    """Return the law ``L = K + (X_c / X)**alpha``, where X is the column ``axis``.

    If ``axis`` is N, D or C, the law can also compute what a target loss costs.
    """
    x = symbol(axis)
    return Law(
        name="power",
        title=f"Loss over {axis_words(axis)} (power law)",
        summary=f"A floor plus one power of {axis}. For a scan of one axis in which the other axes "
        f"do not limit the loss.",
        terms=(Const("K"), Ratio("X_c", axis, "alpha")),
        params=(
            Param("K", 0.0, np.inf, "loss", f"floor: the loss at infinite {axis}", "K"),
            Param(
                "X_c",
                0.0,
                np.inf,
                AXIS_UNITS.get(axis, axis),
                "where the power term equals one",
                f"{x if len(x) == 1 else f'{{{x}}}'}_c",
            ),
            Param("alpha", SMALLEST, 5.0, "", f"exponent of {axis}", r"\alpha"),
        ),
        reference="Scaling laws for amplitude surrogates, eq. 1; Kaplan et al. 2020, arXiv:2001.08361",
        needs=f"{axis} and loss: at least four runs at three values of {axis}.",
        frontier=_along_c if axis == "C" else None,
        least_compute=(lambda v, loss, rule: along_axis(axis, _inverse(v, loss), loss)) if axis in AXIS_UNITS else None,
        axis=axis,
        axis_roles=("N", "D", "C", "hyperparameter", "U", "epochs"),
        with_axis=power_law,
        inverse=_inverse,
        repetition=_repetition if axis == "U" else None,
    )


SHARPEST = 0.05
"""Smallest allowed width f of a break. For a smaller f, the break is a sharp corner, and the power 1/f overflows."""


@lru_cache
def broken_power_law(axis: str, breaks: int) -> FormulaLaw:
    """Return the power law with one or two ``breaks`` over the column ``axis``.

    If ``axis`` is N, D or C, the law can also compute what a target loss costs.
    """
    x, tex = (axis if axis.isidentifier() and axis.isascii() else f'"{axis}"'), symbol(axis)
    bends = f"(1 + ({x}/d1)^(1/f1))^(-c1*f1)"
    params = [
        Param("a", 0.0, np.inf, "loss", f"floor: the loss at infinite {axis}", "a"),
        Param("b", 0.0, np.inf, "loss", "size of the falling part", "b"),
        Param("c0", 0.0, 2.0, "", "exponent before the first break", "c_0"),
        Param("c1", -2.0, 2.0, "", "change of the exponent at the first break", "c_1"),
        Param("d1", 0.0, np.inf, AXIS_UNITS.get(axis, axis), "where the first break is", "d_1"),
        Param("f1", SHARPEST, 5.0, "", f"width of the first break in ln {axis}", "f_1"),
    ]
    derived: tuple[Derived, ...] = ()
    shown = rf"\left(1 + \left(\frac{{{tex}}}{{d_1}}\right)^{{1/f_1}}\right)^{{-c_1 f_1}}"
    if breaks == 2:
        bends += f"*(1 + ({x}/(d1*r2))^(1/f2))^(-c2*f2)"
        shown += rf"\left(1 + \left(\frac{{{tex}}}{{r_2 d_1}}\right)^{{1/f_2}}\right)^{{-c_2 f_2}}"
        params += [
            Param("c2", -2.0, 2.0, "", "change of the exponent at the second break", "c_2"),
            Param("r2", 1.0, 1e9, "", "ratio of the second break to the first", "r_2"),
            Param("f2", SHARPEST, 5.0, "", f"width of the second break in ln {axis}", "f_2"),
        ]
        derived = (Derived("d2", "where the second break is", "d_2 = r_2 d_1", lambda v: v["r2"] * v["d1"]),)
    if '"' in axis or any(axis == p.name for p in params):
        raise PlannerError(f"A column called {axis!r} cannot be the axis of a broken power law: rename it.")
    formula = parse_formula(f"a + b*{x}^(-c0)*{bends}")

    def curve(v: Values, x: Floats) -> Floats:
        return value(formula.tree, {**v, axis: x})

    return FormulaLaw(
        name="broken" if breaks == 1 else f"broken-{breaks}",
        title=f"Loss over {axis_words(axis)} (power law with {'one break' if breaks == 1 else 'two breaks'})",
        summary=f"A floor plus a power of {axis} whose exponent changes smoothly {'once' if breaks == 1 else 'twice'}. "
        "For curves that bend in a log-log plot.",
        terms=(),
        params=tuple(params),
        reference="Caballero et al. 2022, arXiv:2210.14891, eq. 1",
        needs=f"{axis} and loss on both sides of every break: more than {len(params)} runs. "
        "The fit uses the best of 64 starts.",
        estimator="formula",
        formula=formula,
        shown=f"a + b \\, {tex}^{{-c_0}} {shown}",
        axis=axis,
        axis_roles=("N", "D", "C", "hyperparameter", "U", "epochs"),
        with_axis=lambda column: broken_power_law(column, breaks),
        inverse=lambda v, y: inverse(curve, v, y),
        derived=derived,
        **(one_axis(axis, curve) if axis in AXIS_UNITS else {}),
    )


def loss_for(v: Values, metric: Floats) -> Floats:
    """Return the L at which the map gives R = ``metric``: ``ln((R - C) / A) / B``; NaN if R is beyond the limit C."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log((np.asarray(metric, float) - v["C"]) / v["A"]) / v["B"]


@lru_cache
def metric_map(axis: str) -> Law:
    """Return the law ``y = A * exp(B * x) + C``, which is monotone; x is the column ``axis`` (the loss or a metric)."""
    return Law(
        name="metric-map",
        title=f"Metric over {axis_words(axis)} (exponential map)",
        summary=f"An exponential of {axis} plus a constant; this function is monotonic. "
        f"Converts a predicted {axis} into background rejection, recall or any metric.",
        terms=(Exponential("A", axis, "B"), Offset("C", axis)),
        params=(
            Param("A", -np.inf, np.inf, "loss", f"size of the exponential at {axis} = 0", "A"),
            Param(
                "B",
                -np.inf,
                np.inf,
                f"1 / {axis}",
                f"rate: the exponential changes by a factor e if {axis} changes by 1/B",
                "B",
            ),
            Param("C", -np.inf, np.inf, "loss", "value that the map approaches", "C"),
        ),
        reference="Neural scaling laws for boosted jet tagging, sec. 4 and Fig. 5",
        needs=f"{axis} and a metric of the same runs: at least four runs at three values of {axis}.",
        axis=axis,
        symbol="R",
        axis_roles=("loss", "metric"),
        with_axis=metric_map,
        inverse=loss_for,
        minimised=False,
        level="C",
    )


def _loss_for_power(v: Values, metric: Floats) -> Floats:
    """Return the L at which the map gives R = ``metric``: ``((R - C) / A)**(1 / B)``; NaN if R is beyond C."""
    with np.errstate(over="ignore"):
        return np.exp(loss_for(v, metric))


@lru_cache
def metric_power(axis: str) -> Law:
    """Return the law ``y = A * x**B + C``, which is monotone; x is the column ``axis`` (the loss or a metric)."""
    exponential = metric_map(axis)
    return replace(
        exponential,
        name="metric-power",
        title=f"Metric over {axis_words(axis)} (power-law map)",
        summary=exponential.summary.replace("An exponential", "A power"),
        terms=(SignedPower("A", axis, "B"), Offset("C", axis)),
        params=(
            Param("A", -np.inf, np.inf, "loss", f"size of the power at {axis} = 1", "A"),
            Param("B", -np.inf, np.inf, "", f"exponent of {axis}", "B"),
            exponential.param("C"),
        ),
        reference="An alternative to the exponential map of metric-map",
        with_axis=metric_power,
        inverse=_loss_for_power,
    )
