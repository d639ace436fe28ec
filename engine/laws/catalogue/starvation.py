"""sign y = E + a x^alpha + b x^-beta: an optimum between the costs of too large and too small x (behavioural, eqs. 2,
6).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.formula import symbol
from isoplan.engine.laws.catalogue.power import SMALLEST
from isoplan.engine.laws.law import Derived, Law, Param, Values
from isoplan.engine.laws.terms import Const, Power, Rising


def optimum(v: Values) -> Floats:
    """Return x* = (b beta / (a alpha))^(1/(alpha+beta)), where both slopes cancel.

    0 if only the rising term is left, inf if only the falling one is, NaN if neither is.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.log(v["b"]) + np.log(v["beta"]) - np.log(v["a"]) - np.log(v["alpha"])
        return np.exp(ratio / (v["alpha"] + v["beta"]))


@lru_cache
def starvation(axis: str) -> Law:
    """Return the law over the column ``axis``.

    The axis is a setting between two costs, for example an embedder share s or a number of negatives K.
    """
    x = symbol(axis)
    star = r"\left(\frac{b \beta}{a \alpha}\right)^{1/(\alpha + \beta)}"
    return Law(
        name="starvation",
        title=f"Two costs against {axis}",
        summary=f"A floor, a power that rises with {axis} and one that falls: says which {axis} is best, "
        "and whether that lies inside the sweep.",
        terms=(Const("E"), Rising("a", axis, "alpha"), Power("b", axis, "beta")),
        params=(
            Param("E", 0.0, np.inf, "loss", "floor: the loss if neither cost were there", "E"),
            Param("a", 0.0, np.inf, "loss", f"size of the cost of too much {axis}", "a"),
            Param("b", 0.0, np.inf, "loss", f"size of the cost of too little {axis}", "b"),
            Param("alpha", SMALLEST, 5.0, "", f"exponent of too much {axis}", r"\alpha"),
            Param("beta", SMALLEST, 5.0, "", f"exponent of too little {axis}", r"\beta"),
        ),
        reference="Scaling laws for behavioral foundation models, eqs. 2, 6 and Tables 2, 6",
        needs=f"{axis} and loss: at least six runs at five values of {axis}, on both sides of the optimum.",
        axis=axis,
        axis_roles=("hyperparameter", "N", "D", "U", "epochs"),
        with_axis=starvation,
        optimum=optimum,
        derived=(Derived("x_star", f"the best {axis}", rf"{{{x}}}^* = {star}", optimum, "no optimum"),),
    )
