"""y = c + b ln x + a (ln x)^2: the simplest curve with an optimum (behavioural, Table 10)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.formula import symbol
from isoplan.engine.laws.law import Derived, Law, Param, Values
from isoplan.engine.laws.terms import Log, LogSquared, Offset


def optimum(v: Values) -> Floats:
    """Return x* = exp(-b / (2 a)); NaN if the parabola opens downward and has no minimum."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(v["a"] > 0, np.exp(-v["b"] / (2 * v["a"])), np.nan)


@lru_cache
def log_parabola(axis: str) -> Law:
    """Return the law over the column ``axis``."""
    x = symbol(axis)
    return Law(
        name="log-parabola",
        title=f"Parabola in log {axis}",
        summary=f"A parabola in ln {axis}, by linear least squares: finds the best {axis} of a narrow sweep. "
        "Says nothing beyond the sweep.",
        terms=(Offset("c", axis), Log("b", axis), LogSquared("a", axis)),
        params=(
            Param("c", -np.inf, np.inf, "loss", f"value at {axis} = 1", "c"),
            Param("b", -np.inf, np.inf, "loss", f"slope in ln {axis} at {axis} = 1", "b"),
            Param("a", -np.inf, np.inf, "loss", f"curvature in ln {axis}: above zero where there is a best one", "a"),
        ),
        reference="Scaling laws for behavioral foundation models, Table 10",
        needs=f"{axis} and loss: at least four runs at three values of {axis}.",
        axis=axis,
        axis_roles=("hyperparameter", "N", "D", "U", "epochs"),
        with_axis=log_parabola,
        optimum=optimum,
        derived=(Derived("x_star", f"the best {axis}", rf"{{{x}}}^* = e^{{-b / 2a}}", optimum, "no optimum"),),
    )
