"""L(X) = K + (X_c / X)^alpha on one axis X (amplitudes, eq. 1; Kaplan et al. 2020, eq. 1.1-1.3)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.formula import symbol
from isoplan.engine.laws.law import Law, Param, Point, Values
from isoplan.engine.laws.terms import Const, Ratio

SMALLEST = 0.01
"""Smallest exponent; below it the scale X_c = a^(1/alpha) of the term overflows."""
AXIS_UNITS = {"N": "parameters", "D": "samples", "C": "FLOPs"}


def _inverse(v: Values, loss: Floats) -> Floats:
    """Return X that reaches ``loss``: X_c (L-K)^(-1/alpha), inf at or below the floor."""
    excess = np.asarray(loss, float) - v["K"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = v["X_c"] * np.exp(-np.log(excess) / v["alpha"])
    return np.where(excess <= 0, np.inf, x)


def _repetition(v: Values) -> Values:
    """Return L_inf, B_rep and beta_rep of the equivalent law repetition, with B_rep = X_c^alpha."""
    return {"L_inf": v["K"], "B_rep": v["X_c"] ** v["alpha"], "beta_rep": v["alpha"]}


def _along_c(v: Values, C: Floats, rule: ComputeRule) -> Point:
    C = np.asarray(C, float)
    loss = v["K"] + np.exp(v["alpha"] * (np.log(v["X_c"]) - np.log(C)))
    return Point(np.full_like(loss, np.nan), np.full_like(loss, np.nan), np.zeros_like(loss) + C, loss)


def along_axis(axis: str, x: Floats, loss: Floats) -> Point:
    """Return the point at ``x`` of an axis N, D or C; NaN for the other two."""
    unknown = np.full_like(x, np.nan)
    at = {name: x if name == axis else unknown for name in ("N", "D", "C")}
    return Point(at["N"], at["D"], at["C"], np.zeros_like(x) + loss)


@lru_cache
def power_law(axis: str) -> Law:
    """Return the one-axis law on the column ``axis``; on N, D or C it can also compute the cost of a target."""
    x = symbol(axis)
    return Law(
        name="power",
        title=f"One axis: loss against {axis}",
        summary=f"A floor plus one power of {axis}. For a scan of one axis with the others large enough not to matter.",
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
        repetition=_repetition if axis in ("D", "U") else None,
    )
