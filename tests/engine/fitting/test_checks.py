"""Tests of errors and warnings: an error names the column, row or parameter; a fit stores its warnings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.warnings import LONGEST, FitWarning
from isoplan.engine.schema import LeftOut, Metric
from tests.engine.fitting.tables import make_runs, surface

GOOD = surface(30, noise=0.01)


def changed(column: str, row: int, value: float) -> dict[str, Floats]:
    return {k: np.where((np.arange(30) == row) & (k == column), value, v) for k, v in GOOD.items()}


def some(n: int) -> dict[str, Floats]:
    return {k: v[:n] for k, v in GOOD.items()}


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("no run", {}, some(0), "No run is selected"),
    (
        "one row",
        {},
        some(1),
        r"5 free parameters \(E, A, B, alpha, beta\) but only 1 run is selected: select at least 6",
    ),
    ("few", {}, some(5), "only 5 runs are selected: select at least 6"),
    ("few, one fixed", {"fixed": {"E": 1.8}}, some(4), "4 free parameters .* select at least 5"),
    ("missing D", {}, {"N": GOOD["N"], "loss": GOOD["loss"]}, "chinchilla needs D"),
    ("missing N and D", {}, {"loss": GOOD["loss"]}, "chinchilla needs N and D"),
    ("missing loss", {}, {"N": GOOD["N"], "D": GOOD["D"]}, "The loss is missing"),
    ("unknown metric", {"y": "auc"}, GOOD, "no metric 'auc'"),
    ("missing budget", {"law": "isoflop"}, GOOD, "isoflop needs budget"),
    ("zero N", {}, changed("N", 3, 0.0), r"N \(column params\) is 0 in row 3"),
    ("negative D", {}, changed("D", 7, -5.0), r"D \(column tokens\) is -5 in row 7"),
    ("infinite N", {}, changed("N", 2, np.inf), "is inf in row 2"),
    ("NaN loss", {}, changed("loss", 4, np.nan), r"loss \(column val_loss\) is nan in row 4"),
    ("infinite loss", {}, changed("loss", 4, np.inf), "is inf in row 4"),
    (
        "zero loss",
        {},
        changed("loss", 5, 0.0),
        r"is 0 in row 5, which has no logarithm \(1 of 30 runs\): choose .* ols",
    ),
    ("negative loss", {"objective": "ols-log"}, changed("loss", 6, -1.0), "is -1 in row 6, which has no logarithm"),
    ("negative weight", {}, {**GOOD, "weight": np.r_[-1.0, np.ones(29)]}, r"weight \(column w\) is -1 in row 0"),
    ("no weight", {}, {**GOOD, "weight": np.zeros(30)}, "No run is selected"),
    ("constant N", {}, {**GOOD, "N": np.full(30, 1e8)}, r"N \(column params\) has one value only \(1e\+08\)"),
    ("two sizes", {}, {**GOOD, "N": np.repeat([1e8, 1e9], 15)}, r"only 2 values .* A and alpha need 3"),
    (
        "equal losses",
        {},
        {**GOOD, "loss": np.full(30, 2.5)},
        r"All 30 runs have the same loss \(column val_loss\), 2.5",
    ),
    ("proportional", {}, {**GOOD, "D": 20 * GOOD["N"]}, r"N and D move together .*D proportional to N\^1\)"),
    ("opposed", {}, {**GOOD, "D": 1e18 / GOOD["N"]}, r"D proportional to N\^-1"),
    ("unknown fixed", {"fixed": {"Alpha": 0.3}}, GOOD, "no parameter 'Alpha'"),
    ("fixed outside", {"fixed": {"alpha": 7.0}}, GOOD, "alpha is fixed at 7, outside its bounds 0 to 5"),
    ("fixed floor", {"fixed": {"E": -1.0}}, GOOD, "E is fixed at -1, outside its bounds"),
    ("fixed amplitude", {"fixed": {"A": 0.0}}, GOOD, "A is fixed at 0"),
    ("fixed infinity", {"fixed": {"E": float("inf")}}, GOOD, "E is inf: give a finite number"),
    ("all fixed", {"fixed": {"E": 1, "A": 1, "B": 1, "alpha": 1, "beta": 1}}, GOOD, "Every parameter .* is fixed"),
    ("unknown prior", {"prior": {"gamma": (0.3, 0.1)}}, GOOD, "no parameter .gamma."),
    ("prior and fixed", {"prior": {"E": (1, 0.1)}, "fixed": {"E": 1.0}}, GOOD, "E is fixed and has a prior"),
    ("prior without width", {"prior": {"E": (1, 0.0)}}, GOOD, "prior of E has the standard deviation 0: give"),
    ("prior of negative width", {"prior": {"E": (1, -2.0)}}, GOOD, "standard deviation -2: give a number above zero"),
    ("prior mean", {"prior": {"E": (float("nan"), 1.0)}}, GOOD, "prior mean of E is nan"),
    ("prior of parabolas", {"law": "isoflop", "prior": {"a": (0.5, 0.1)}}, GOOD, "isoflop does not support priors"),
    ("prior of no width", {"prior": {"E": (1.8, 1e-300)}}, GOOD, "leaves no freedom: fix the parameter"),
    (
        "profile of a prior",
        {"prior": {"E": (1.8, 0.1)}, "interval": "profile", "bootstrap": 30},
        GOOD,
        "The interval profile does not support priors",
    ),
    ("relative error", {"relative_error": 0.0}, GOOD, "relative error is 0: give a number above zero"),
    ("unknown error", {"relative_error": "err"}, GOOD, "no column .err. of relative errors"),
    ("bad error", {"relative_error": "e"}, {**GOOD, "e": np.r_[0.1, -1, np.ones(28)]}, "error e is -1 in row 1"),
    ("no axis", {"law": "power"}, GOOD, "power needs an axis"),
    ("unknown law", {"law": "kaplun"}, GOOD, "'kaplun' is unknown"),
]


@pytest.mark.parametrize(("spec", "values", "sentence"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refusals(spec: dict[str, Any], values: dict[str, Floats], sentence: str) -> None:
    with pytest.raises(PlannerError, match=sentence) as caught:
        fit(FitSpec(**{"bootstrap": 0, **spec}), make_runs(values))
    assert "\n" not in str(caught.value)


def test_a_metric_whose_larger_value_is_better_needs_ols() -> None:
    runs = make_runs({**GOOD, "auc": 1 - 0.1 * GOOD["loss"]}, metrics=(Metric(column="auc"),))
    with pytest.raises(PlannerError, match=r"Larger auc is better.*choose the objective ols"):
        fit(FitSpec(y="auc"), runs)
    assert fit(FitSpec(y="auc", objective="ols", bootstrap=0), runs).values["E"] < 0


def test_a_run_is_named_where_the_table_names_runs() -> None:
    labels = [f"run-{i}" for i in range(30)]
    with pytest.raises(PlannerError, match=r"row 3 \(run-3\)"):
        fit(FitSpec(), make_runs(changed("N", 3, 0.0), labels=labels))


def test_two_values_suffice_where_a_parameter_is_fixed() -> None:
    x = np.repeat([1e6, 1e8], 3)
    loss = (2e5 / x) ** 0.4 * np.array([1.0, 1.01, 0.99, 1.0, 1.01, 0.99])
    with pytest.raises(PlannerError, match=r"X_c and alpha need 3"):
        fit(FitSpec(law="power", axis="D"), make_runs({"D": x, "loss": loss}))
    found = fit(FitSpec(law="power", axis="D", fixed={"K": 0.0}, bootstrap=0), make_runs({"D": x, "loss": loss}))
    assert found.values["alpha"] == pytest.approx(0.4, abs=0.01)


def codes(values: dict[str, Floats], **spec: Any) -> dict[str, str]:
    return {w.code: w.text for w in fit(FitSpec(**{"bootstrap": 0, **spec}), make_runs(values)).warnings}


def test_a_sound_table_has_no_warning() -> None:
    assert codes(surface(80, noise=0.01), bootstrap=50) == {}


def test_few_runs_repeats_and_outliers_are_said() -> None:
    found = codes(some(9))
    assert "9 runs for 5 free parameters" in found["few-runs"]
    twice = {k: np.concatenate([v, v[:4]]) for k, v in GOOD.items()}
    assert "4 of 34 runs repeat another run exactly" in codes(twice)["repeats"]
    values = surface(80, noise=0.01)
    values["loss"] = np.where(np.arange(80) == 11, values["loss"] * 1.4, values["loss"])
    assert "1 of 80 runs" in codes(values)["outliers"]
    assert "row 11" in codes(values)["outliers"]
    assert "Outliers change a least-squares fit" in codes(values, objective="ols")["outliers"]


def test_a_nearly_collinear_design_is_said_with_its_direction() -> None:
    random = np.random.default_rng(0)
    values = surface(60)
    values["D"] = 20 * values["N"] ** 1.1 * np.exp(0.1 * random.normal(size=60))
    values["loss"] = 1.8 + 480 * values["N"] ** -0.35 + 2100 * values["D"] ** -0.37
    assert "D roughly proportional to N^1.09" in codes(values)["collinear"]


def test_a_floor_that_is_not_needed_is_an_upper_limit() -> None:
    x = np.geomspace(1e3, 1e6, 12)
    loss = (2e2 / x) ** 0.5 * np.exp(0.02 * np.random.default_rng(3).normal(size=12))
    found = fit(FitSpec(law="power", axis="D", bootstrap=100), make_runs({"D": x, "loss": loss}))
    if found.values["K"] == 0:
        text = next(w.text for w in found.warnings if w.code == "floor-zero")
        assert "zero is not excluded" in text
        ends = found.parameters[0].ci95
        assert ends is not None
        assert ends[0] == -np.inf
    else:
        assert any(w.code == "floor-weak" for w in found.warnings)


def test_losses_under_the_floor_and_rounded_losses_are_said() -> None:
    values = surface(80, noise=0.002)
    values["loss"] = np.where(np.arange(80) < 2, 1.2, values["loss"])
    assert (
        "2 of 80 runs are better than the fitted floor 1.806 by more than their scatter (row 0, row 1"
        in codes(values)["below-floor"]
    )
    rounded = surface(80, noise=0.01)
    rounded["loss"] = np.round(rounded["loss"], 1)
    assert "they look rounded" in codes(rounded)["rounded"]


def test_a_table_without_a_usable_row_names_the_reason() -> None:
    why = np.array(["without a loss", "without N", "without a loss"])
    gone = LeftOut(np.arange(3), np.array(["a", "b", "c"]), why)
    with pytest.raises(
        PlannerError, match=r"No run is left: the table has 2 rows without a loss\. Correct these values"
    ):
        fit(FitSpec(bootstrap=0), replace(make_runs(some(0)), left_out=gone))


def test_a_warning_has_a_short_form() -> None:
    short = FitWarning("few-runs", "12 runs for 5 free parameters: intervals are wide. Use 15 or more runs.").short
    assert short == "12 runs for 5 free parameters"
    assert FitWarning("x", "1.5 % of the runs are off by 0.3 in log loss. Check them.").short.endswith("in log loss")
    assert len(FitWarning("x", "a word " * 40).short) <= LONGEST + 4
    long = "Each law keeps its own floor (0.326 and 0.330), because the published fit of the other law states no error."
    assert FitWarning("x", long).short == "Each law keeps its own floor (0.326 and 0.330)"
