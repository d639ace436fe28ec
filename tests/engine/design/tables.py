"""Simulated runs of a known law over N and D, and a fit of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.design.estimand import Estimand
from isoplan.engine.fitting import Fit, FitSpec, fit
from isoplan.engine.laws import get_law
from isoplan.engine.planning.optimum.frontier import frontier
from isoplan.engine.schema import Roles, Runs

LAW, TRUTH, RULE = get_law("chinchilla"), (0.5, 8.0, 30.0, 0.35, 0.37), ComputeRule()
BUDGET = 1e16


def runs(n: int = 16, noise: float = 0.01, seed: int = 0) -> Runs:
    """Return ``n`` runs with N from 1e4 to 1e6 and D from 1e6 to 1e8."""
    random = np.random.default_rng(seed)
    N, D = 10 ** random.uniform(4, 6, n), 10 ** random.uniform(6, 8, n)
    return table(N, D, LAW.predict(np.array(TRUTH), {"N": N, "D": D}) * np.exp(noise * random.standard_normal(n)))


def table(N: Floats, D: Floats, loss: Floats) -> Runs:
    """Return runs with the given columns."""
    values = {"N": N, "D": D, "loss": loss, "C": np.asarray(RULE.flops(N, D), float)}
    return Runs(np.arange(len(N)), values, Roles(N="N", D="D", loss="loss"), {})


def fitted(n: int = 16, noise: float = 0.01, seed: int = 0, **spec: Any) -> Fit:
    """Return a fit of the law to ``runs``."""
    return fit(FitSpec.model_validate({"objective": "ols-log", "bootstrap": 200, **spec}), runs(n, noise, seed))


def loss_at(budget: float = BUDGET) -> Estimand:
    """Return the loss at ``budget`` FLOPs as an estimand, with the optimal N and D of the true law."""
    at = frontier(LAW, LAW.values(TRUTH), np.asarray(budget), RULE)
    return Estimand(
        "loss",
        "loss",
        lambda v: frontier(LAW, v, np.asarray(budget), RULE).loss,
        {"N": float(at.N), "D": float(at.D)},
    )
