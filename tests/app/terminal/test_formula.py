"""Tests of ``isoplan fit --law formula``, which fits a formula that the user types."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from isoplan.app.commands.shared.reading import read_bounds
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import read_fit
from tests.app.terminal.asking import MAP, Run, object_in
from tests.engine.planning.conftest import EPOCH

SURFACE = "E + A/N^alpha + B/D^beta"
TYPED = ("--law", "formula", "--formula")


def test_a_typed_law_is_fitted_and_its_card_plans(run: Run, table: Path, tmp_path: Path) -> None:
    arguments = (*TYPED, SURFACE, *MAP, "--bound", "alpha=0:2,E=0:", "--bootstrap", 40, "--json")
    shown = run("fit", table, *arguments)
    assert shown.code == 0
    card = object_in(shown.out)
    assert list(card["parameters"]) == ["E", "A", "alpha", "B", "beta"]
    truth = dict(zip(("E", "A", "B", "alpha", "beta"), EPOCH, strict=True))
    for name, p in card["parameters"].items():
        assert abs(p["value"] - truth[name]) < 4 * p["se"]
    assert card["spec"]["bounds"] == {"alpha": [0.0, 2.0], "E": [0.0, None]}
    assert read_fit(card).law.axes == ("N", "D")
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(card))
    plan = object_in(run("plan", path, "--budget", "1e21", "--json").out)["allocation"]
    assert 6 * plan["N"]["value"] * plan["D"]["value"] == pytest.approx(1e21, rel=1e-6)


def test_a_column_of_the_file_is_read_by_its_name(run: Run, tmp_path: Path) -> None:
    lr = np.geomspace(1e-4, 1e-1, 40)
    lines = [f"{x},{2 + 0.03 * np.log(x / 3e-3) ** 2}" for x in lr]
    path = tmp_path / "lr.csv"
    path.write_text("\n".join(["lr,loss", *lines]))
    card = object_in(run("fit", path, *TYPED, "E + c*log(lr/best)^2", "--bootstrap", 0, "--json").out)
    assert card["spec"]["columns"] == ["lr"]
    assert card["parameters"]["best"]["value"] == pytest.approx(3e-3, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((*TYPED, "A + B"), "uses no column"),
        ((*TYPED, "__import__('os')"), 'character 12: "\'" has no meaning here'),
        ((*TYPED, "A/N^(lambda: 1)"), "has no meaning here"),
        ((*TYPED, "A/N", "--bound", "A"), "--bound cannot read 'A': write NAME=LOW:HIGH"),
        ((*TYPED, "A/N", "--bound", "B=0:1"), "'B' has a bound but is not a parameter"),
        (("--law", "formula"), "needs a formula: type one such as"),
        (("--law", "chinchilla", "--formula", "A/N"), "chinchilla takes no formula"),
        ((*TYPED, "A/N + B/(D - D)"), "divides by zero in row"),
    ],
)
def test_what_is_no_law_is_one_sentence(run: Run, table: Path, arguments: tuple[str, ...], why: str) -> None:
    shown = run("fit", table, *arguments, *MAP)
    assert (shown.code, shown.out) == (2, "")
    assert why in shown.err
    assert len(shown.err.strip().splitlines()) == 1


def test_bounds_are_read() -> None:
    assert read_bounds(["alpha=0:2, E=0:", "B=:1e3"]) == {"alpha": (0.0, 2.0), "E": (0.0, None), "B": (None, 1000.0)}
    for bad in ("alpha", "alpha=1", "=0:1", "alpha=:", "alpha=x:1", "a=0:1,a=0:2"):
        with pytest.raises(PlannerError, match=r"bound"):
            read_bounds([bad])
