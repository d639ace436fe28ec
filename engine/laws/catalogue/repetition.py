"""L = L_inf + B_rep / D^beta_rep: the best loss from repeating D unique samples (jets, eqs. 4, 5, Table 2)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.laws.law import Law, Param, Point, Values
from isoplan.engine.laws.terms import Const, Power


def amplification(repeated: Values, one_pass: Values, D: Floats) -> Floats:
    """Return omega(D): ``D`` unique samples, repeated until the loss stops falling, equal omega D samples seen once.

    ``repeated`` contains B_rep and beta_rep, ``one_pass`` the B and beta of the law chinchilla, both with one floor:
    omega = (B / B_rep)^(1/beta) D^(beta_rep/beta - 1) (jets, eq. 5). It sets both laws equal at infinite N, so it is
    valid for models above the overfitting threshold.
    """
    beta = one_pass["beta"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_gain = (np.log(one_pass["B"]) - np.log(repeated["B_rep"])) / beta
        return np.exp(log_gain + (repeated["beta_rep"] / beta - 1) * np.log(np.asarray(D, float)))


def _samples(v: Values, loss: Floats) -> Floats:
    """Return D that reaches ``loss``: (B_rep / (L - L_inf))^(1/beta_rep), inf at or below the floor."""
    excess = np.asarray(loss, float) - v["L_inf"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        D = np.exp((np.log(v["B_rep"]) - np.log(excess)) / v["beta_rep"])
    return np.where(excess <= 0, np.inf, D)


def _least(v: Values, loss: Floats, rule: ComputeRule) -> Point:
    D = _samples(v, loss)
    unknown = np.full_like(D, np.nan)
    return Point(unknown, D, unknown, np.zeros_like(D) + loss)


@lru_cache
def repetition(axis: str) -> Law:
    """Return the law over unique samples: the column ``axis`` is D or U, or another column that counts them."""
    return Law(
        name="repetition",
        title=f"Repeated data: loss against unique samples {axis}",
        summary=f"A floor plus one power of the unique samples {axis}, for runs trained until the loss stops falling. "
        "Against the one-pass law it says what repeating data is worth.",
        terms=(Const("L_inf"), Power("B_rep", axis, "beta_rep")),
        params=(
            Param("L_inf", 0.0, np.inf, "loss", "floor: the loss with unlimited data", r"L_\infty"),
            Param("B_rep", 0.0, np.inf, "loss", "size of the finite-data term under repetition", r"B_{\mathrm{rep}}"),
            Param("beta_rep", 0.0, 5.0, "", "exponent of unique data", r"\beta_{\mathrm{rep}}"),
        ),
        reference="Neural scaling laws for boosted jet tagging, eqs. 4, 5 and Table 2",
        needs=f"{axis} and the least validation loss of models large enough to overfit: "
        f"at least four runs at three values of {axis}.",
        least_compute=_least if axis == "D" else None,
        axis=axis,
        axis_roles=("D", "U", "hyperparameter"),
        with_axis=repetition,
        inverse=_samples,
        repetition=lambda v: v,
    )
