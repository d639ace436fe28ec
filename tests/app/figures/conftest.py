"""Fits built by hand, so that the tests of figures do not depend on the solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isoplan.app.figures.style.theme import KEY, Drawing
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting import Fit, FitData, FitSpec, Parameter
from isoplan.engine.schema import Metric, Roles, Runs

TRUTH = {"E": 1.8172, "A": 477.83, "B": 2143.4, "alpha": 0.34731, "beta": 0.36717}
MakeFit = Callable[..., Fit]
POWER = FitSpec(law="power", axis="D", bootstrap=100)


@pytest.fixture
def runs() -> Runs:
    """Return named runs on a 9 x 6 grid of N and D. The runs have the metric recall@10, and a loss with 1 % noise."""
    rng = np.random.default_rng(0)
    N, D = (axis.ravel() for axis in np.meshgrid(np.geomspace(1e7, 1e10, 9), np.geomspace(1e9, 1e11, 6)))
    loss = TRUTH["E"] + TRUTH["A"] * N ** -TRUTH["alpha"] + TRUTH["B"] * D ** -TRUTH["beta"]
    loss *= np.exp(0.01 * rng.normal(size=N.size))
    values = {"N": N, "D": D, "C": 6 * N * D, "loss": loss, "recall@10": 1 / loss}
    roles = Roles(N="N", D="D", loss="loss", run="name", metrics=(Metric(column="recall@10"),))
    return Runs(np.arange(100, 154), values, roles, {"run": np.array([f"run {i}" for i in range(54)])})


@pytest.fixture
def budget_runs() -> Runs:
    """Return runs at five compute budgets, with seven model sizes N at each budget."""
    C, size = (
        axis.ravel() for axis in np.meshgrid(np.geomspace(1e18, 1e22, 5), np.geomspace(0.2, 5, 7), indexing="ij")
    )
    N = size * np.sqrt(C / 120)
    D = C / (6 * N)
    loss = TRUTH["E"] + TRUTH["A"] * N ** -TRUTH["alpha"] + TRUTH["B"] * D ** -TRUTH["beta"]
    return Runs(
        np.arange(35), {"N": N, "D": D, "C": C, "budget": C, "loss": loss}, Roles(N="N", D="D", loss="loss"), {}
    )


@pytest.fixture
def make_fit(runs: Runs) -> MakeFit:
    """Return a function that builds a fit of ``runs``: with the true parameters, and with resamples of 1 % scatter."""

    def make(draws: int = 100, ranges: bool = True, spec: FitSpec | None = None, theta: object = None) -> Fit:
        best = np.array(list(TRUTH.values()) if theta is None else theta, float)
        spec = spec or FitSpec(bootstrap=draws)
        noise = 1 + 0.01 * np.random.default_rng(1).normal(size=(draws, len(best)))
        spans = {role: (float(v.min()), float(v.max())) for role, v in runs.values.items()}
        parameters = tuple(Parameter(n, v) for n, v in zip(spec.find_law().names, best.tolist(), strict=True))
        data = FitData("grid", ranges=spans if ranges else {}, roles={"D": "tokens"})
        return Fit(spec, len(runs), best, 0.1 if draws else None, best * noise, parameters, data, ComputeRule())

    return make


@pytest.fixture
def fit(make_fit: MakeFit) -> Fit:
    return make_fit()


def traces(drawing: Drawing, **wanted: Any) -> list[Any]:
    """Return the traces that have the attributes ``wanted``. Traces that are only legend entries are left out."""
    drawn = [t for t in drawing.figure.data if not str(t.legendgroup or "").startswith(KEY)]
    return [t for t in drawn if all(getattr(t, k, None) == v for k, v in wanted.items())]


def texts(drawing: Drawing) -> str:
    return " ".join(str(a.text) for a in drawing.figure.layout.annotations)


@pytest.fixture
def power(make_fit: MakeFit) -> Fit:
    return make_fit(spec=POWER, theta=[1.9, 3e8, 0.4])
