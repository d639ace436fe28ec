"""Fits of E + A/N^alpha + B/D^beta by other software, to compare times. Each run has a weight."""

from __future__ import annotations

import importlib.util
from itertools import product

import numpy as np
from scipy.optimize import minimize

from isoplan.engine.arrays import Floats

GRID = (
    (-1.0, -0.5, 0.0, 0.5, 1.0),  # log E
    (0.0, 5.0, 10.0, 15.0, 20.0, 25.0),  # log A
    (0.0, 5.0, 10.0, 15.0, 20.0, 25.0),  # log B
    (0.0, 0.5, 1.0, 1.5, 2.0),  # alpha
    (0.0, 0.5, 1.0, 1.5, 2.0),  # beta
)
"""Grid of 4,500 starting points (Hoffmann et al. 2022, arXiv:2203.15556, sec. D.2)."""


def starts(count: int, seed: int = 0) -> Floats:
    """Return ``count`` starting points of ``GRID`` in random order, each as (log E, log A, log B, alpha, beta)."""
    every = np.array(list(product(*GRID)))
    return np.random.default_rng(seed).permutation(every)[:count]


def scipy_bfgs(columns: dict[str, Floats], weight: Floats, start: Floats, objective: str, delta: float) -> float:
    """Return the minimum of the objective that scipy's BFGS finds from ``start`` with the analytic gradient."""
    log_n, log_d, log_y = (np.log(columns[name]) for name in ("N", "D", "loss"))

    def value(x: Floats) -> tuple[float, Floats]:
        parts = np.stack([np.full_like(log_n, x[0]), x[1] - x[3] * log_n, x[2] - x[4] * log_d])
        top = parts.max(axis=0)
        log_f = top + np.log(np.exp(parts - top).sum(axis=0))
        share = np.exp(parts - log_f)
        if objective == "ols":
            f = np.exp(log_f)
            r = f - columns["loss"]
            total, slope = weight @ r**2, 2 * weight * r * f
        else:
            r = log_f - log_y
            total = weight @ np.where(np.abs(r) <= delta, r * r / 2, delta * (np.abs(r) - delta / 2))
            slope = weight * np.clip(r, -delta, delta)
        g = share * slope
        return float(total), np.array([g[0].sum(), g[1].sum(), g[2].sum(), -(g[1] @ log_n), -(g[2] @ log_d)])

    with np.errstate(all="ignore"):
        return float(minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-10}).fun)


def has_vpnls() -> bool:
    """Return whether the package vpnls is installed."""
    return importlib.util.find_spec("vpnls") is not None


VPNLS_STEPS = (0.01, 0.001)
"""Default step sizes of the package vpnls: in its function ``fit_vpnls``, and in its grid search."""


def vpnls(columns: dict[str, Floats], times: Floats, step: float) -> float:
    """Return the minimum residual sum of squares that vpnls finds with the grid step ``step``, on one core.

    The package accepts no weights, so run i is entered ``times[i]`` times.
    """
    from vpnls.api import fit_vpnls

    again = [np.repeat(columns[name], times.astype(int)) for name in ("N", "D", "loss")]
    return float(fit_vpnls(*again, resolution=step).rss)
