"""Approaches 1 and 2 of Hoffmann et al. (2022): power laws over C for the optimal sizes N* and D*.

The laws are ``N* = k * C**a`` and ``D* = k_D * C**b``. They are fitted to the minima: the points of lowest loss at each
compute. The loss at the minima is ``L* = E + (C_L / C)**gamma``.

Approach 2 fits a parabola in log N for each budget. Approach 1 uses the lower envelope of the training curves over
compute.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.laws.catalogue.power import SMALLEST
from isoplan.engine.laws.law import Law, Param, Point, Values
from isoplan.engine.laws.terms import Const, Ratio


def frontier(v: Values, C: Floats, rule: ComputeRule) -> Point:
    """Return N*, D* and L* at ``C`` FLOPs from the fitted power laws (behavioural, eqs. 4, 5).

    ``rule`` is not used, because D* has its own fitted power law.
    """
    C = np.asarray(C, float)
    log_c = np.log(C)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        N = np.exp(np.log(v["k"]) + v["a"] * log_c)
        D = np.exp(np.log(v["k_D"]) + v["b"] * log_c)
        loss = v["E"] + np.exp(v["gamma"] * (np.log(v["C_L"]) - log_c))
    return Point(N, D, np.zeros_like(N) + C, loss)


def least_compute(v: Values, loss: Floats, rule: ComputeRule) -> Point:
    """Return the point at the budget C whose lowest loss equals ``loss``; C is infinite at or below the floor E."""
    excess = np.asarray(loss, float) - v["E"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        C = np.where(excess <= 0, np.inf, v["C_L"] * np.exp(-np.log(excess) / v["gamma"]))
    at = frontier(v, C, rule)
    return Point(at.N, at.D, C, np.zeros_like(C) + loss)


ISOFLOP = Law(
    name="isoflop",
    title="Best size for each compute budget (iso-FLOP)",
    summary="A parabola in log N at each budget; power laws through the minima. "
    "Assumes no surface, needs a sweep of N at several budgets, and is biased if the minimum is not in the "
    "middle of a sweep.",
    terms=(Const("E"), Ratio("C_L", "C", "gamma")),
    params=(
        Param("k", 0.0, np.inf, "parameters", "scale of N* = k C^a", "k"),
        Param("a", 0.0, 1.0, "", "exponent of N*", "a"),
        Param("k_D", 0.0, np.inf, "samples", "scale of D* = k_D C^b", "k_D"),
        Param("b", 0.0, 1.0, "", "exponent of D*", "b"),
        Param("E", 0.0, np.inf, "loss", "floor of the loss along the minima", "E"),
        Param("C_L", 0.0, np.inf, "FLOPs", "where the reducible loss along the minima equals one", "C_L"),
        Param("gamma", SMALLEST, 5.0, "", "exponent of the loss along the minima", r"\gamma"),
    ),
    reference="Hoffmann et al. 2022, arXiv:2203.15556, sec. 3.2; behavioural, eqs. 4, 5",
    needs="N, D, loss and budgets: at least two budgets with four values of N each, and with the minimum inside each "
    "sweep.",
    estimator="parabola",
    extra_columns=("N", "D", "C", "budget"),
    frontier=frontier,
    least_compute=least_compute,
)


ENVELOPE = replace(
    ISOFLOP,
    name="envelope",
    title="Lowest loss over compute (envelope)",
    summary="The smallest loss of all runs at each compute, and power laws through the runs with this loss. "
    "Uses training curves, or only the end of each run if there are none. The lowest of several noisy losses is "
    "too low: with whole curves, this bias is simulated and subtracted; without them, the intervals are too narrow.",
    reference="Hoffmann et al. 2022, arXiv:2203.15556, sec. 3.1",
    needs="N, D, C and loss of several model sizes, preferably as training curves. The best size must change with C.",
    estimator="envelope",
    extra_columns=("N", "D", "C"),
)
