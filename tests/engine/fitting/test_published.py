"""Compare fits of real run tables with published and independent fits. The tables are not part of the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.spec import ObjectiveName
from tests.engine.fitting.tables import make_runs


def table(shared: Path, entry: dict[str, Any]) -> pd.DataFrame:
    """Return the rows that were used in a reference fit. ``entry["filter"]`` is a pandas query or a phrase."""
    frame = pd.read_csv(shared / "runs" / entry["file"])
    if entry["filter"] == "all rows":
        return frame
    if entry["filter"].startswith("row with the lowest loss"):
        return frame.loc[frame.groupby(["N", "D"]).loss.idxmin()]
    if entry["filter"].startswith("mean loss over seeds"):
        cells = ["width", "n_hidden", "N", "D", "iso_C"]
        return frame.fillna({"iso_C": 0}).groupby(cells).loss.mean().reset_index()
    return frame.query(entry["filter"])


def epoch(shared: Path, kept: bool = True, **spec: Any) -> Fit:
    frame = pd.read_csv(shared / "runs" / "chinchilla_epoch.csv")
    frame = frame[frame.epoch_kept_240 == 1] if kept else frame
    return fit(FitSpec(**spec), make_runs({k: frame[k].to_numpy() for k in ("N", "D", "loss")}))


def test_every_reference_fit_is_reached_from_a_cold_start(shared: Path) -> None:
    entries = json.loads((shared / "runs" / "reference_fits.json").read_text())["fits"]
    above = {}
    for entry in entries:
        frame = table(shared, entry)
        assert len(frame) == entry["n"]
        name: ObjectiveName = "huber-log" if entry["objective"] == "huber_log_sum" else "ols"
        runs = make_runs({k: frame[k].to_numpy() for k in ("N", "D", "loss")})
        found = fit(FitSpec(objective=name, bootstrap=0), runs)
        ratio = (found.objective or np.inf) / entry["objective_value"]
        if not ratio <= 1 + 1e-6:
            above[entry["file"], entry["filter"], name] = ratio
    assert len(entries) >= 30
    assert above == {}


def test_epoch_table_gives_the_published_fit_and_errors(shared: Path) -> None:
    found = epoch(shared)
    p = {x.name: x for x in found.parameters}
    assert found.objective == pytest.approx(0.0010182740178, rel=1e-9)
    published = {"E": 1.8172, "A": 477.83, "B": 2143.4, "alpha": 0.34731, "beta": 0.36717}
    assert {k: p[k].value for k in p} == pytest.approx(published, rel=1e-3)
    errors = {"alpha": 0.0157, "beta": 0.0208, "E": 0.0256}
    assert {k: p[k].se for k in errors} == pytest.approx(errors, rel=0.15)
    assert found.n == 240
    assert {w.code for w in found.warnings} == {"floor-objectives", "outliers", "rounded"}


def test_absolute_deviations_give_the_published_central_fit(shared: Path) -> None:
    found = epoch(shared, objective="lad", bootstrap=0)
    published = {"E": 1.8168641, "A": 482.00605, "B": 2085.43624, "alpha": 0.34781307, "beta": 0.36585416}
    assert {p.name: p.value for p in found.parameters} == pytest.approx(published, rel=1e-6)
    assert found.objective == pytest.approx(1.12949465, rel=2e-7)
    huber = epoch(shared, delta=1e-9, bootstrap=0)  # For a small ``delta`` a Huber loss is proportional to abs(r).
    assert huber.theta == pytest.approx(found.theta, rel=1e-6)
    assert (huber.objective or 0) / 1e-9 == pytest.approx(1.12949465, rel=1e-6)


def test_the_asymmetric_objective_reaches_the_published_envelope(shared: Path) -> None:
    frame = pd.read_csv(shared / "runs" / "kyo_takano_llm.csv")

    def published(E: float, A: float, B: float, alpha: float, beta: float) -> float:
        r = frame.loss - (E + A / frame.N**alpha + B / frame.D**beta)
        return float(np.mean([x if x > 0 else 10 * abs(x) for x in r]))

    runs = make_runs({k: frame[k].to_numpy() for k in ("N", "D", "loss")})
    found = fit(FitSpec(objective="asymmetric", bootstrap=0), runs)
    best = published(1.70024, 184.6915, 1633.4787, 0.2890076, 0.3557941)
    assert best == pytest.approx(0.0227819, abs=1e-7)
    assert published(*found.theta) <= best
    assert found.objective == pytest.approx(234 * published(*found.theta), rel=1e-6)
    printed = {"E": 1.70024, "A": 184.6915, "B": 1633.4787, "alpha": 0.2890076, "beta": 0.3557941}
    assert {p.name: p.value for p in found.parameters} == pytest.approx(printed, rel=2e-4)


def test_all_245_rows_are_told_from_the_240(shared: Path) -> None:
    found = epoch(shared, kept=False, bootstrap=0)
    assert found.objective == pytest.approx(0.0018260105231, rel=1e-9)
    assert found.values["beta"] == pytest.approx(0.4530493, rel=1e-5)
    outliers = next(w.text for w in found.warnings if w.code == "outliers")
    assert all(f"row {i}" in outliers for i in range(4))


def test_a_floor_at_zero_is_found_exactly_and_said(shared: Path) -> None:
    frame = pd.read_csv(shared / "runs" / "scalebench_lr_bsz.csv")
    frame = frame.loc[frame.groupby(["N", "D"]).loss.idxmin()]
    found = fit(FitSpec(bootstrap=60), make_runs({k: frame[k].to_numpy() for k in ("N", "D", "loss")}))
    assert found.values["E"] == 0.0
    assert "do not require a floor" in next(w.text for w in found.warnings if w.code == "floor-zero")
