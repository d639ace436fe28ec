"""Tests of ``isoplan actual``, which compares measured results with their plans."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from isoplan.engine.fitting import read_fit
from isoplan.engine.fitting import to_json as fit_to_json
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.engine.planning.test_metric import rejection


@pytest.fixture
def plans(run: Run, fitted: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Write plans for 1e21 and 1e22 FLOPs and return their paths."""
    paths = tmp_path / "small.json", tmp_path / "large.json"
    for path, budget in zip(paths, ("1e21", "1e22"), strict=True):
        path.write_text(run("plan", fitted, "--budget", budget, "--json").out)
    return paths


def test_a_result_is_held_against_its_plan(run: Run, fitted: Path, plans: tuple[Path, Path]) -> None:
    planned = object_in(plans[0].read_text())["allocation"]
    loss = planned["loss"]["value"]
    raw = object_in(run("actual", plans[0], "--fit", fitted, "--loss", 1.1 * loss, "--json").out)
    (one,) = raw["results"]
    assert one["name"] == "small"
    assert one["expected"]["value"] == pytest.approx(loss)
    assert one["planned"]["value"] == loss
    assert one["at"] == {name: planned[name]["value"] for name in ("N", "D", "C")}
    assert (one["inside68"], one["inside95"]) == (False, False)
    # The 60 fitted runs have 0.3 % noise, so the 68 % prediction interval extends about 0.3 % above the loss.
    assert math.log(one["predicted"]["ci68"][1] / loss) == pytest.approx(0.003, rel=0.5)
    assert raw["all"][0]["sentence"].startswith("0 of 1 actual result lies inside the 68 % prediction interval")
    text = run("actual", plans[0], "--fit", fitted, "--loss", 1.1 * loss).out
    assert "above 95 %" in text
    assert "too few results to judge" in text


def test_several_plans_and_what_was_really_trained(run: Run, fitted: Path, plans: tuple[Path, Path]) -> None:
    made = read_fit(object_in(fitted.read_text()))
    expected = float(made.predict({"N": 1e9, "D": 2e10}))
    answer = run("actual", *plans, "--fit", fitted, "--loss", expected, "--loss", expected, "--params", "1B",
                 "--params", "1B", "--samples", "20B", "--samples", "20B", "--json")  # fmt: skip
    raw = object_in(answer.out)
    assert [one["name"] for one in raw["results"]] == ["small", "large"]
    for one in raw["results"]:
        assert one["expected"]["value"] == pytest.approx(expected)
        assert one["inside68"]
        assert one["at"]["C"] == pytest.approx(6 * 1e9 * 2e10)
    assert [count["inside"] for count in raw["all"]] == [2, 2]
    text = run("actual", *plans, "--fit", fitted, "--loss", expected, "--loss", expected, "--compute", "1e21",
               "--compute", "2e21").out  # fmt: skip
    assert "C 2.00 × 10²¹ instead of 10²²" in text
    assert "Results of one fit share its error" in text


def test_a_metric_is_held_against_its_map(run: Run, fitted: Path, plans: tuple[Path, Path], tmp_path: Path) -> None:
    mapped = tmp_path / "map.json"
    mapped.write_text(json.dumps(fit_to_json(rejection(r=200))))
    asked = ("actual", plans[0], "--fit", fitted, "--metric-map", mapped, "--metric", "R=23", "--json")
    raw = object_in(run(*asked).out)
    assert raw["results"][0]["y"] == "R"
    loss = object_in(plans[0].read_text())["allocation"]["loss"]["value"]
    assert raw["results"][0]["expected"]["value"] == pytest.approx(4e4 * math.exp(-4 * loss) + 20)


def test_bad_input_is_one_sentence(run: Run, fitted: Path, plans: tuple[Path, Path], table: Path) -> None:
    asked = ("actual", plans[0], "--fit", fitted)
    one_sentence(run(*asked), "Measured value: give either --loss or --metric")
    one_sentence(run(*asked, "--loss", 2, "--metric", "R=3"), "give either --loss or --metric")
    one_sentence(run(*asked, "--loss", 2, "--loss", 3), "--loss is given 2 times for 1 plans")
    one_sentence(run(*asked, "--loss", "nought"), "option --loss")
    one_sentence(run(*asked, "--metric", "R"), "--metric cannot read 'R'")
    one_sentence(run(*asked, "--metric", "R=20"), "A result in R needs the map from loss to R")
    one_sentence(run(*asked, "--loss", -2.1), "A loss of -2.1 cannot be compared with a fit of its logarithm")
    one_sentence(run(*asked, "--loss", 2, "--params", -1), "N = -1 of the run is not positive")
    one_sentence(run("actual", fitted, "--fit", fitted, "--loss", 2), "not a plan that Isoplan wrote")


def test_another_fit_is_refused(run: Run, plans: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "map.json"
    other.write_text(json.dumps(fit_to_json(rejection(r=50))))
    one_sentence(run("actual", plans[0], "--fit", other, "--loss", 2), "--fit: the fit ")
