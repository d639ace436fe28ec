"""Tests of the output of a fit: rows, text, HTML, residuals, derived numbers, and the JSON round trip."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from isoplan.data.files import path
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit, read_fit, residuals, to_json
from isoplan.engine.fitting.types.text import beside_interval, plus_minus, span
from isoplan.engine.schema import Metric
from tests.engine.fitting.tables import TRUTH, make_runs, surface

RUNS = make_runs(surface(80, noise=0.01))
FOUND = fit(FitSpec(bootstrap=200, fixed={"E": 1.8}), RUNS)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.34731, 0.01569, "0.347 ± 0.016"),
        (1.83e19, 3e18, "(1.83 ± 0.30)e+19"),
        (-5.7019, 0.31, "-5.70 ± 0.31"),
        (3.0e-9, 2.0e-10, "(3.00 ± 0.20)e-09"),
        (1.5, None, "1.5"),
        (1.23456789, 0.0, "1.2346"),
        (math.nan, 0.1, "not defined"),
        (math.inf, 0.1, "inf"),
    ],
)
def test_a_value_is_rounded_to_match_its_error(value: float, error: float | None, text: str) -> None:
    assert plus_minus(value, error) == text


@pytest.mark.parametrize(
    ("value", "ends", "text"),
    [
        (1.8172, (1.79, 1.843), "1.817"),
        (2143.4, (1501.0, 3021.0), "2140"),
        (0.0517, (0.0209, 0.0626), "0.052"),
        (243.0, (195.0, 27788.0), "243"),
        (4.7e32, (1.272e28, 3.657e38), "4.7e+32"),
        (5.5, (4.725, 9.277e11), "5.50"),
        (1.2e-9, (1.0e-9, 3.0e3), "1.20e-09"),
        (1.2, (-30.0, 400.0), "1.2"),
        (120.0, (48.9, 200.1), "120"),
        (1.62, (1.421, 1.833), "1.62"),
        (0.0, (0.0, 0.021), "0"),
        (5.0, (4.0, math.inf), "5.0"),
        (0.694, (0.417, math.inf), "0.69"),
        (0.5, (-math.inf, math.inf), "0.5"),
    ],
)
def test_a_value_beside_its_interval_has_no_error(value: float, ends: tuple[float, float], text: str) -> None:
    assert beside_interval(value, ends) == text


def test_spans() -> None:
    assert span((0.3309, 0.36262)) == "0.3309 to 0.3626"
    assert span((1.0, math.inf)) == "at least 1"
    assert span(None) == "no interval"


def test_rows_are_the_parameters_and_the_derived_numbers() -> None:
    table = FOUND.rows
    assert [r["parameter"] for r in table] == ["E", "A", "B", "alpha", "beta", "a", "b", "gamma"]
    assert len({tuple(r) for r in table}) == 1
    assert table[0]["text"] == "fixed at 1.8"
    assert table[0]["error"] is None
    alpha = table[3]
    assert alpha["value"] == FOUND.values["alpha"]
    assert alpha["low 95 %"] < alpha["low 68 %"] < alpha["value"] < alpha["high 68 %"] < alpha["high 95 %"]


def test_text_and_html_hold_every_row_and_warning() -> None:
    few = fit(FitSpec(bootstrap=50), make_runs(surface(10, noise=0.01)))
    text, html = repr(few), few._repr_html_()
    for word in ("E", "alpha", "gamma", "10 runs of table.csv", "huber-log (delta 0.001)", "Caution: 10 runs for 5"):
        assert word in text
    assert "<table>" in html
    assert few.law.latex in html
    assert "10 runs for 5" in html


def test_derived_numbers_come_from_the_same_resamples() -> None:
    a = next(p for p in FOUND.derived if p.name == "a")
    draws = FOUND.draws["beta"] / (FOUND.draws["alpha"] + FOUND.draws["beta"])
    assert a.value == pytest.approx(FOUND.values["beta"] / (FOUND.values["alpha"] + FOUND.values["beta"]))
    assert a.se == pytest.approx(np.std(draws, ddof=1))
    assert a.ci95 is not None
    assert a.ci95[0] < TRUTH["beta"] / (TRUTH["alpha"] + TRUTH["beta"]) < a.ci95[1]


def test_a_published_law_has_no_interval_of_what_follows_from_it() -> None:
    card = read_fit(json.loads(path("cards/jets_table1.json").read_text(encoding="utf-8")))
    by_name = {r["parameter"]: r for r in card.rows}
    assert by_name["gamma"]["value"] == pytest.approx(0.147, abs=5e-4)
    assert by_name["gamma"]["low 68 %"] is None
    assert "published" in repr(card)


def test_residuals_and_their_summary() -> None:
    r = residuals(FOUND, RUNS)
    assert r.predicted == pytest.approx(FOUND.predict({"N": RUNS["N"], "D": RUNS["D"]}))
    assert r.residual == pytest.approx(np.log(RUNS["loss"] / r.predicted))
    assert r.rms == pytest.approx(0.01, rel=0.3)
    assert 0.98 < r.r2 < 1
    assert r.log
    # The robust scale ignores the smallest residuals, one for each of the 4 free parameters.
    assert np.median(np.sort(np.abs(r.z))[4:]) == pytest.approx(1 / 1.4826)
    assert not r.outlier.any()
    plain = fit(FitSpec(bootstrap=0, objective="ols"), RUNS)
    assert residuals(plain, RUNS).residual == pytest.approx(
        RUNS["loss"] - plain.predict({"N": RUNS["N"], "D": RUNS["D"]})
    )
    exact = make_runs(surface(20))
    assert (residuals(fit(FitSpec(bootstrap=0), exact), exact).z == 0).all()
    with pytest.raises(PlannerError, match="These runs have no D"):
        residuals(FOUND, make_runs({"N": [1e8], "loss": [2.0]}))


@pytest.mark.parametrize("spec", [FitSpec(bootstrap=30), FitSpec(bootstrap=0), FitSpec(bootstrap=5, objective="ols")])
def test_json_and_back(spec: FitSpec) -> None:
    found = fit(spec, RUNS, snapshot="abc", where="N > 0")
    back = read_fit(json.loads(json.dumps(to_json(found), allow_nan=False)))
    assert back.theta == pytest.approx(found.theta, rel=1e-15)
    assert np.array_equal(back.resamples, found.resamples)
    assert back.parameters == tuple(replace(p, se=p.error) for p in found.parameters)
    assert (back.objective, back.n, back.data, back.warnings) == (found.objective, found.n, found.data, found.warnings)
    assert back.hash == found.hash
    if spec.bootstrap == 0:
        assert all(p.se is None and p.ci68 is None for p in found.parameters)


def test_a_floor_of_a_metric_where_larger_is_better_is_called_minus_its_ceiling() -> None:
    runs = make_runs({**surface(80, noise=0.01), "R_top": 1 / surface(80, noise=0.01)["loss"]})
    roles = runs.roles.model_copy(update={"metrics": (Metric(column="R_top", direction="max"),)})
    found = fit(FitSpec(y="R_top", objective="ols", bootstrap=0), replace(runs, roles=roles))
    floor, amplitude, _, alpha, *_ = found.rows
    assert floor["meaning"] == "minus the ceiling of R_top: the law describes -R_top"
    assert floor["unit"] == amplitude["unit"] == "-R_top"
    assert floor["value"] == found.values["E"] < 0
    assert alpha["unit"] == ""
    assert FOUND.rows[0]["meaning"] == "floor: the loss at infinite N and D"


def test_too_few_refits_for_an_interval_are_said() -> None:
    found = fit(FitSpec(bootstrap=5, fixed={"E": 1.8}), RUNS)
    (text,) = [w.text for w in found.warnings if w.code == "few-refits"]
    assert text.startswith("5 refits are too few for intervals: use 20 or more")
    assert all(w.code != "few-refits" for w in FOUND.warnings)


def test_a_later_schema_is_named_before_anything_else() -> None:
    with pytest.raises(PlannerError, match="The fit has schema 2, but this version of Isoplan reads schema 1"):
        read_fit({"schema": 2})
