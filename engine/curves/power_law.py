"""Continue a curve by the power law that fits its own points.

Method: the model "pow3", y = c + a x^-alpha, of Domhan, Springenberg and Hutter, Speeding up automatic hyperparameter
optimization of deep neural networks by extrapolation of learning curves, IJCAI 2015.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from isoplan.engine.arrays import Floats
from isoplan.engine.curves.curve import TrainingCurve

EXPONENTS = (0.02, 4.0)
"""Smallest and largest exponent alpha."""
SKIPPED = 0.1
"""Points before this fraction of the present position are left out, because the warm-up is no power law."""


def continue_by_power_law(curves: Sequence[TrainingCurve], position: float) -> Floats:
    """Predict ln(final loss / current loss) of each of the ``curves`` (m,).

    A power law is fitted to the part of each curve up to ``position``.
    """
    return np.array([extrapolate(one.until(position)) - one.level(position) for one in curves])


def extrapolate(curve: TrainingCurve) -> float:
    """Return ln(loss) at the end of the schedule by a fit of c + a x^-alpha with a, c >= 0 to ``curve``.

    The fit minimises the squared relative residuals.
    """
    kept = curve.x >= SKIPPED * curve.x[-1]
    x, y = curve.x[kept], curve.y[kept]
    low, high = EXPONENTS
    found = minimize_scalar(
        lambda log: _fit(x, y, math.exp(log))[1],
        bounds=(math.log(low), math.log(high)),
        method="bounded",
        options={"xatol": 1e-9},
    )
    (c, a), _ = _fit(x, y, math.exp(float(found.x)))
    return math.log(c + a)


def _fit(x: Floats, y: Floats, alpha: float) -> tuple[tuple[float, float], float]:
    """Return the best (c, a) for the exponent ``alpha``, and the sum of the squared relative residuals."""
    floor, power = 1 / y, x**-alpha / y
    products = floor @ floor, floor @ power, power @ power
    determinant = products[0] * products[2] - products[1] ** 2
    options = [(floor.sum() / products[0], 0.0), (0.0, power.sum() / products[2])]
    if determinant > 0:
        c = (products[2] * floor.sum() - products[1] * power.sum()) / determinant
        a = (products[0] * power.sum() - products[1] * floor.sum()) / determinant
        options += [(c, a)] if c >= 0 and a >= 0 else []
    errors = [float(np.sum((c * floor + a * power - 1) ** 2)) for c, a in options]
    best = int(np.argmin(errors))
    return options[best], errors[best]
