"""``isoplan compare``: laws ranked by how they extrapolate, for people and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.terminal.asking import MAP, Run, object_in, one_sentence

SWEEP = Path(__file__).parents[3] / "data" / "demo" / "recommender_isoflop.csv"


def test_laws_are_ranked_beside_baselines(run: Run) -> None:
    shown = run("compare", SWEEP)
    assert shown.code == 0
    assert shown.out.split()[:6] == ["law", "error", "AIC", "BIC", "parameters", "1"]
    assert all(name in shown.out for name in ("isoflop", "chinchilla", "power-C", "last point", "nearest cell"))
    assert "best runs of the largest budgets, 1, 2 of 45 runs left out in turn, up to 2.0 decades" in shown.out


def test_json_has_every_cut(run: Run) -> None:
    found = object_in(run("compare", SWEEP, "--json").out)
    assert [law["rank"] for law in found["laws"]] == list(range(1, len(found["laws"]) + 1))
    errors = found["validation"]["errors"]
    assert {"chinchilla", "isoflop", "last point", "log-linear", "nearest cell"} <= set(errors)
    assert errors["isoflop"]["runs"] is None
    assert errors["chinchilla"]["runs"] == pytest.approx(sum(errors["chinchilla"]["cuts"]) / 2)
    ranked = {law["law"]: law["error"] for law in found["laws"]}
    assert ranked["chinchilla"] == errors["chinchilla"]["best"]


def test_what_cannot_be_fitted_says_why(run: Run, table: Path) -> None:
    shown = run("compare", table, *MAP, "--objective", "ols")
    assert "1  chinchilla" in shown.out
    assert "isoflop" in shown.out.split("Error")[1]
    one_sentence(run("compare", table, "--map", "N=size"), "No law can be fitted to these runs.")


def test_a_fit_of_minima_says_how_parabolas_are_biased(run: Run) -> None:
    words = "Parabolas of this design on the chinchilla surface through the same runs find a ="
    assert words in run("fit", SWEEP, "--law", "isoflop", "--bootstrap", 20).out
    card = object_in(run("fit", SWEEP, "--law", "isoflop", "--bootstrap", 20, "--json").out)
    assert words in card["parabola_bias"]
