"""Continue a curve like the finished curves of the most similar shape.

Method: Leite and Brazdil, Predicting relative performance of classifiers from samples, ICML 2005. Each finished curve
is scaled to the current loss of the running cell. The nearest scaled curves then give the final loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.curves.curve import TrainingCurve

SHAPE = np.geomspace(0.25, 1.0, 8)
"""Positions, as fractions of the present position, at which the shapes of two curves are compared."""
FEWEST_NEAR = 3
"""Minimum number of curves that are averaged."""


def continue_by_matching(curves: Sequence[TrainingCurve], finished: Sequence[TrainingCurve], position: float) -> Floats:
    """Predict ln(final loss / current loss) of each of the ``curves`` (m,) from its part up to ``position``.

    The prediction is the mean over the finished curves with the most similar shape. Their number is the square root of
    the number of finished curves, but at least three. A curve that is one of the ``finished`` curves is not compared
    with itself.
    """
    ratios = np.array([math.log(one.end) - one.level(position) for one in finished])
    far = np.mean((_shapes(curves, position)[:, None] - _shapes(finished, position)[None]) ** 2, axis=2)
    far[np.array([[a is b for b in finished] for a in curves], bool).reshape(far.shape)] = np.inf
    near = np.argsort(far, axis=1, kind="stable")[:, : max(FEWEST_NEAR, math.isqrt(len(finished)))]
    return np.asarray(np.mean(ratios[near], axis=1))


def _shapes(curves: Sequence[TrainingCurve], position: float) -> Floats:
    """Return ln(loss / current loss) of each curve at ``SHAPE``: shape (m, 8)."""
    return np.array([one.logs(position * SHAPE) - one.level(position) for one in curves])
