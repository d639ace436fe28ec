"""The dimension bound alpha >= 4/d: a conservative scaling law that needs few runs (amplitudes, eqs. 4, 6, 8).

If a smooth target on a d-dimensional manifold is approximated by a piecewise linear function, the squared error
decreases at least as fast as X^(-4/d). X is the network size, the number of samples or the compute (Bahri et al. 2021,
arXiv:2102.06701; Sharma & Kaplan 2020, arXiv:2004.10802). The phase space of n_f final-state particles has
``d = 3 * n_f - 4`` dimensions, and one less if the collision energy is fixed. The bound is not a theorem for trained
networks: for WZ (n_f = 2, hence a bound of 2) the published fits have exponents of 1.57 to 1.88.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.laws.catalogue.power import AXIS_UNITS, SMALLEST, along_axis
from isoplan.engine.laws.law import Derived, Law, Param, Values, axis_words
from isoplan.engine.laws.terms import Const, Smooth


@lru_cache
def dimension_bound(axis: str) -> Law:
    """Return the law ``power`` over the column ``axis``, with the exponent 4/d; d is a parameter of the law.

    With d fixed at the dimension of the phase space, the law is the bound itself and gives a conservative plan. With d
    free, the fitted d is the effective dimension of the runs.
    """

    def inverse(v: Values, loss: Floats) -> Floats:
        """Return the X with loss L = ``loss``: ``X_c * (L - K)**(-d / 4)``; infinite at or below the floor K."""
        excess = np.asarray(loss, float) - v["K"]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            x = v["X_c"] * np.exp(-np.log(excess) * v["d"] / 4)
        return np.where(excess <= 0, np.inf, x)

    return Law(
        name="dimension-bound",
        title=f"Loss over {axis_words(axis)} (dimension bound)",
        summary=f"A floor plus a power of {axis} with exponent 4/d, the slowest decrease for a smooth target of d "
        "dimensions. Fix d at 3 n_f - 4 (3 n_f - 5 at one collision energy) for a conservative law from few runs.",
        terms=(Const("K"), Smooth("X_c", axis, "d")),
        params=(
            Param("K", 0.0, np.inf, "loss", f"floor: the loss at infinite {axis}", "K"),
            Param("X_c", 0.0, np.inf, AXIS_UNITS.get(axis, axis), "where the power term equals one", "X_c"),
            Param("d", 4 / 5.0, 4 / SMALLEST, "", "intrinsic dimension: the exponent is 4/d", "d"),
        ),
        reference="Scaling laws for amplitude surrogates, eqs. 4, 6, 8 and Fig. 10",
        needs=f"{axis} and loss: at least two runs if d and K are fixed, or four runs at three values of {axis} if no "
        "parameter is fixed.",
        least_compute=(lambda v, loss, rule: along_axis(axis, inverse(v, loss), loss)) if axis in AXIS_UNITS else None,
        axis=axis,
        axis_roles=("D", "N", "C", "hyperparameter"),
        with_axis=dimension_bound,
        inverse=inverse,
        derived=(Derived("alpha", f"exponent of {axis}", r"\alpha = 4 / d", lambda v: 4 / v["d"]),),
    )


def phase_space_dimension(n_f: int, *, fixed_energy: bool = False) -> int:
    """Return the dimension d of the phase space of ``n_f`` final-state particles.

    d is ``3 * n_f - 4``, or ``3 * n_f - 5`` if ``fixed_energy`` (sqrt(s) is the same for all events). Source:
    amplitudes, sec. 2. Raises PlannerError for fewer than two particles.
    """
    if n_f < 2:
        raise PlannerError(f"A process with {n_f} final-state particles has no phase space: give two or more.")
    return 3 * n_f - (5 if fixed_energy else 4)


def least_exponent(d: float) -> float:
    """Return 4/d: the smallest exponent of L - K in N, D or C for the intrinsic dimension ``d``.

    Source: amplitudes, eqs. 4, 6, 8. Raises PlannerError if ``d`` is not positive.
    """
    if not (np.isfinite(d) and d > 0):
        raise PlannerError(f"An intrinsic dimension of {d:g} is not possible: give a number above zero.")
    return 4 / d
