"""Run tables for tests, simulated from a law with known parameters or made from given columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.schema import Metric, Roles, Runs

TRUTH = {"E": 1.8, "A": 480.0, "B": 2100.0, "alpha": 0.35, "beta": 0.37}


def make_runs(
    values: Mapping[str, ArrayLike],
    *,
    metrics: tuple[Metric, ...] = (),
    labels: list[str] | None = None,
    groups: list[str] | None = None,
    n_p: float = 1,
) -> Runs:
    """Make runs from ``values`` (one column for each role). C is computed from N and D if it is not given."""
    columns = {k: np.asarray(v, float) for k, v in values.items()}
    rule = ComputeRule(rule="6npND", n_p=n_p) if n_p != 1 else ComputeRule()
    measured = "C" in columns
    if not measured and {"N", "D"} <= set(columns):
        columns["C"] = rule.flops(columns["N"], columns["D"])
    roles = Roles(
        N="params" if "N" in columns else None,
        D="tokens" if "D" in columns else None,
        C="flops" if measured else None,
        loss="val_loss" if "loss" in columns else None,
        budget="budget" if "budget" in columns else None,
        weight="w" if "weight" in columns else None,
        group="config" if groups else None,
        metrics=metrics,
        compute=rule,
    )
    n = len(next(iter(columns.values())))
    text = {role: np.array(names) for role, names in (("run", labels), ("group", groups)) if names}
    return Runs(np.arange(n), columns, roles, text, "table.csv", "")


def surface(n: int, noise: float = 0.0, seed: int = 0, truth: Mapping[str, float] = TRUTH) -> dict[str, Floats]:
    """Simulate ``n`` runs of the law E + A N^-alpha + B D^-beta with log-normal noise; return N, D and loss."""
    random = np.random.default_rng(seed)
    N, D = np.exp(random.uniform(np.log(1e7), np.log(1e10), n)), np.exp(random.uniform(np.log(1e8), np.log(3e11), n))
    loss = truth["E"] + truth["A"] * N ** -truth["alpha"] + truth["B"] * D ** -truth["beta"]
    return {"N": N, "D": D, "loss": loss * np.exp(noise * random.normal(size=n))}


def sweep(
    budgets: ArrayLike, sizes: int = 9, noise: float = 0.0, seed: int = 0, width: float = 1.5
) -> dict[str, Floats]:
    """Return an iso-FLOP sweep: at each budget C the loss is a parabola in log N with minimum N* = 0.1 C^0.5."""
    random = np.random.default_rng(seed)
    C = np.repeat(np.asarray(budgets, float), sizes)
    offset = np.tile(np.linspace(-width, width, sizes), len(np.atleast_1d(budgets)))
    best = 0.1 * C**0.5
    N = best * np.exp(offset)
    loss = 1.5 + (1e18 / C) ** 0.12 + 0.03 * offset**2 + noise * random.normal(size=len(C))
    return {"N": N, "D": C / (6 * N), "budget": C, "loss": loss}
