"""Tests of the bundled demo tables: the intervals of the fits contain the true parameters."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest

from isoplan.data.files import path, records
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.result import Fit
from tests.engine.fitting.tables import make_runs

TRUTH = json.loads(path("demo/truth.json").read_text(encoding="utf-8"))


def covered(found: Fit, truth: dict[str, float]) -> None:
    for p in found.parameters:
        if p.name in truth:
            assert p.ci95 is not None
            assert p.ci95[0] <= truth[p.name] <= p.ci95[1], (p, truth[p.name])


@pytest.mark.parametrize("objective", ["huber-log", "ols-log"])
def test_jets_grid(objective: str) -> None:
    rows = records("demo/jets_grid.csv")
    runs = make_runs({k: [float(r[k]) for r in rows] for k in ("N", "D", "loss")}, n_p=40)
    covered(fit(FitSpec(objective=objective), runs), TRUTH["jets_grid"]["parameters"])  # type: ignore[arg-type]


def test_recommender_isoflop() -> None:
    rows = records("demo/recommender_isoflop.csv")
    columns = {"N": "N", "D": "D", "budget": "budget", "loss": "val_loss"}
    runs = make_runs({role: [float(r[name]) for r in rows] for role, name in columns.items()})
    covered(fit(FitSpec(law="isoflop", objective="ols"), runs), TRUTH["recommender_isoflop"]["frontier"])


def test_jets_repetition() -> None:
    tables = defaultdict(list)
    for r in records("demo/jets_repetition.csv"):
        tables[r["inputs"]].append((float(r["unique_jets"]), float(r["loss"])))
    assert len(tables) == 4
    for inputs, points in tables.items():
        jets, loss = np.array(points).T
        found = fit(FitSpec(law="power", axis="D", objective="ols-log"), make_runs({"D": jets, "loss": loss}))
        covered(found, TRUTH["jets_repetition"]["groups"][inputs])
