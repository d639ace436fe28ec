"""Fits made without data: a law with known parameters, and resamples scattered around these parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.intervals import FloorConfidence
from isoplan.engine.fitting.types.result import Fit, FitData, Interval, Parameter, empty_resamples
from isoplan.engine.fitting.types.spec import FitSpec
from tests.compiled import compiled as compiled

JETS = (0.32, 11.27, 7.22, 0.44, 0.22)
"""E, A, B, alpha, beta of the jets law (jets paper, Table 1)."""
EPOCH = (1.8172, 477.83, 2143.4, 0.34731, 0.36717)
"""E, A, B, alpha, beta that Besiroglu et al. 2024 (Epoch AI) fitted to 240 Chinchilla runs."""
RANGES: dict[str, Interval] = {"N": (1e7, 1e10), "D": (1e8, 1e12), "C": (6e15, 6e22), "loss": (2.0, 4.0)}


def make_fit(
    theta: tuple[float, ...],
    resamples: Floats | None = None,
    *,
    law: str = "chinchilla",
    axis: str | None = None,
    ranges: dict[str, Interval] | None = None,
    rule: ComputeRule | None = None,
    direction: str = "min",
    objective: float | None = 0.1,
) -> Fit:
    """Return a fit of ``law`` with the p parameters ``theta``. Shape of the optional ``resamples``: (r, p)."""
    spec = FitSpec.model_validate({"law": law, "axis": axis})
    names = spec.find_law().names
    return Fit(
        spec=spec,
        n=50,
        theta=np.array(theta, float),
        objective=objective,
        resamples=empty_resamples(len(theta)) if resamples is None else resamples,
        parameters=tuple(Parameter(n, v) for n, v in zip(names, theta, strict=True)),
        data=FitData(
            "runs.csv",
            "ab" * 32,
            {"N": "params", "D": "tokens"},
            ranges or {},
            direction="max" if direction == "max" else "min",
        ),
        compute=rule or ComputeRule(),
    )


def scattered(theta: tuple[float, ...], r: int = 500, spread: float = 0.02, seed: int = 0) -> Floats:
    """Return ``r`` resamples (r, p): ``theta`` with lognormal noise of relative size ``spread``."""
    return np.array(theta) * np.exp(np.random.default_rng(seed).normal(0, spread, (r, len(theta))))


def curved(fit: Fit) -> Fit:
    """Return ``fit`` with a confidence curve of its floor E, computed from the distribution of E in the resamples."""
    name = fit.law.names[0]
    floors, counts = np.unique(fit.draws["E"], return_counts=True)
    below = np.cumsum(counts) / len(fit.resamples)
    at = [0.0, *(x for floor in floors for x in (floor * (1 - 1e-9), floor))]
    share = [0.0, *(x for ends in zip(np.r_[0.0, below[:-1]], below, strict=True) for x in ends)]
    return replace(fit, confidence=FloorConfidence(name, tuple(at), tuple(np.clip(ndtri(share), -5, 5).tolist())))


def with_floors(floors: Floats) -> Fit:
    """Return a fit of the law ``EPOCH``. In each of its resamples, E is one of the values in ``floors``."""
    resamples = np.tile(EPOCH, (len(floors), 1))
    resamples[:, 0] = floors
    return curved(make_fit(EPOCH, resamples, ranges=RANGES | {"loss": (2.1, 4.0)}))


@pytest.fixture
def epoch() -> Fit:
    """Return a fit of the law ``EPOCH`` with 500 resamples, ranges of its runs, and a confidence curve of its floor."""
    return curved(make_fit(EPOCH, scattered(EPOCH), ranges=RANGES))
