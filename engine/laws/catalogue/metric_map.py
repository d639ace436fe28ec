"""R(L) = A e^(B L) + C: a loss converted to another metric (jets, sec. 4 and Fig. 5)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.laws.law import Law, Param, Values
from isoplan.engine.laws.terms import Exponential, Offset


def loss_for(v: Values, metric: Floats) -> Floats:
    """Return L at which the map gives ``metric``: ln((R - C) / A) / B; NaN on the other side of its limit C."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log((np.asarray(metric, float) - v["C"]) / v["A"]) / v["B"]


@lru_cache
def metric_map(axis: str) -> Law:
    """Return the map from the column ``axis``, the loss or a metric, to y. It is monotone for every A and B."""
    return Law(
        name="metric-map",
        title=f"A metric from {axis}",
        summary=f"An exponential of {axis} plus a constant, rising or falling throughout: "
        f"turns a predicted {axis} into background rejection, recall or any metric.",
        terms=(Exponential("A", axis, "B"), Offset("C", axis)),
        params=(
            Param("A", -np.inf, np.inf, "loss", f"size of the exponential at {axis} = 0", "A"),
            Param("B", -np.inf, np.inf, f"1 / {axis}", f"rate: the exponential changes e-fold over 1/B of {axis}", "B"),
            Param("C", -np.inf, np.inf, "loss", "value that the map levels off to", "C"),
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
