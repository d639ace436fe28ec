"""Covariance of fitted parameters, and random draws of parameters with this covariance.

A law card that contains the covariance instead of all resamples is small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Law

DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance ``matrix`` (m, m) of the parameters ``names``. Parameters in ``logs`` are replaced by their logs."""

    names: tuple[str, ...]
    logs: tuple[str, ...]
    matrix: Floats

    def to_json(self) -> dict[str, Any]:
        """Return the fields for the JSON of a fit."""
        return {"names": list(self.names), "logs": list(self.logs), "matrix": self.matrix.tolist()}


def covariance_of(fit: Fit) -> Covariance | None:
    """Return the covariance of the free parameters over the resamples; None if there are fewer than two resamples.

    A parameter is replaced by its logarithm if its lower bound is zero, it has no upper bound, and all its resamples
    are positive.
    """
    names = tuple(p.name for p in fit.parameters if not p.fixed)
    if len(fit.resamples) < 2 or not names:
        return None
    draws = {name: fit.draws[name] for name in names}
    logs = tuple(name for name in names if _scale(fit.law, name) and np.all(draws[name] > 0) and fit.values[name] > 0)
    columns = [np.log(draws[name]) if name in logs else draws[name] for name in names]
    return Covariance(names, logs, np.atleast_2d(np.cov(np.array(columns))))


def drawn(law: Law, theta: Floats, found: Covariance, seed: int) -> Floats:
    """Return ``DRAWS`` parameter vectors (r, p) that are drawn from a Gaussian around ``theta`` (p,).

    The draws are clipped at the bounds of the law. Parameters without a covariance keep their value. Raises
    PlannerError if the matrix is not a covariance of parameters of ``law``.
    """
    where = [law.names.index(name) for name in found.names if name in law.names]
    m = len(found.names)
    if len(where) != m or found.matrix.shape != (m, m) or not np.allclose(found.matrix, found.matrix.T):
        raise PlannerError("The covariance of this card is not a symmetric matrix over the law's parameters.")
    values, vectors = np.linalg.eigh(found.matrix)
    if values[0] < -1e-9 * max(values[-1], 1e-300):
        raise PlannerError("The covariance of this card has a negative variance: leave the covariance out.")
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    moved = np.random.default_rng(seed).normal(size=(DRAWS, m)) @ root.T
    out = np.tile(theta, (DRAWS, 1))
    for j, (name, i) in enumerate(zip(found.names, where, strict=True)):
        p = law.params[i]
        new = theta[i] * np.exp(moved[:, j]) if name in found.logs else theta[i] + moved[:, j]
        out[:, i] = np.clip(new, p.low, p.high)
    return out


def _scale(law: Law, name: str) -> bool:
    p = law.param(name)
    return p.low == 0 and np.isinf(p.high)
