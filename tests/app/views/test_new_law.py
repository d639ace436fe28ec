"""A new law that consists of one file and one line in the catalogue.

Pages and terminal can fit, draw and compare the law and use it for plans.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from isoplan.app.cli import main
from isoplan.app.figures.style.theme import WEB, Drawing
from isoplan.app.views.fits import pictures
from isoplan.engine import laws
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, compare, fit
from isoplan.engine.laws.expression import typed_law
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files.table_files import read_runs
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from tests.app.views.conftest import Open, told
from tests.engine.laws import shifted

TRUTH = {"E": 1.5, "A": 60.0, "n0": 3e5, "alpha": 0.4, "B": 150.0, "beta": 0.35}
BUDGET = 1e17
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the law to the catalogue for a test, with the same effect as one line in ``engine/laws/__init__.py``."""
    more = {"LAWS": (*laws.LAWS, shifted.SHIFTED), "CATALOGUE": (*laws.CATALOGUE, shifted.SHIFTED)}
    for name, longer in more.items():
        before = getattr(laws, name)
        for module in [m for key, m in sys.modules.items() if key.startswith("isoplan.")]:
            if getattr(module, name, None) is before:
                monkeypatch.setattr(module, name, longer)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write simulated runs of the new law (three decades of N and D, 0.1 % noise) and return the path."""
    rng = np.random.default_rng(3)
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e5, 1e8, 7), np.geomspace(1e7, 1e10, 7)))
    loss = law(N, D) * np.exp(1e-3 * rng.normal(size=N.size))
    rows = [f"{n:.9g},{d:.9g},{y:.9g}" for n, d, y in zip(N, D, loss, strict=True)]
    file = tmp_path / "runs.csv"
    file.write_text("\n".join(["N,D,loss", *rows]))
    return file


def law(N: np.ndarray, D: np.ndarray) -> np.ndarray:
    t = TRUTH
    return np.asarray(t["E"] + t["A"] * (N + t["n0"]) ** -t["alpha"] + t["B"] * D ** -t["beta"])


def best_size() -> float:
    """Return the true compute-optimal size N* for the compute budget and C = 6 N D. The minimum is found with scipy."""
    found = minimize_scalar(
        lambda x: float(law(np.exp(x), BUDGET / 6 / np.exp(x))), bounds=(np.log(1e5), np.log(1e10)), method="bounded"
    )
    return float(np.exp(found.x))


def test_the_file_is_short() -> None:
    assert len(Path(shifted.__file__).read_text().splitlines()) <= 25


def test_on_the_terminal(table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["isoplan", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code, capsys.readouterr().err
        return capsys.readouterr().out

    assert "shifted" in run("laws")
    card = table.with_name("fit.json")
    card.write_text(run("fit", str(table), "--law", "shifted", "--bootstrap", "60", "--json"))
    values = {name: p["value"] for name, p in json.loads(card.read_text())["parameters"].items()}
    assert values["alpha"] == pytest.approx(TRUTH["alpha"], rel=0.1)
    assert values["n0"] == pytest.approx(TRUTH["n0"], rel=0.3)
    plan = json.loads(run("plan", str(card), "--budget", str(BUDGET), "--json"))
    assert plan["allocation"]["N"]["value"] == pytest.approx(best_size(), rel=0.1)
    target = json.loads(run("plan", str(card), "--target-loss", "2", "--json"))
    assert target["allocation"]["C"]["value"] > 0


def test_it_is_compared_and_is_the_best_on_its_own_runs(table: Path) -> None:
    found = compare(FitSpec(bootstrap=0, objective="ols-log"), read_runs(table))
    assert found.ranked[0].fit.law.name == "shifted"


def test_on_the_pages(db: Database, table: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Drawing] = []
    monkeypatch.setattr(pictures, "draw", lambda redraw, key: drawn.append(redraw(WEB)))
    info = tables.add(db, table.read_bytes(), "runs.csv")
    at = open_page("fit", table=info.id, law="shifted", refits="20", objective="ols-log")
    next(b for b in at.button if b.label == "Fit law").click().run()
    assert told(at) == ""
    made = results.fit(db, at.query_params["fit"])
    assert made.law.name == "shifted"
    for view in ("Surface", "Iso-FLOP", "Frontier"):
        assert told(open_page("explore", fit=made.hash, figure=view)) == ""
    assert len(drawn) == 3
    assert all(drawing.figure.data for drawing in drawn)
    page = open_page("plan", fit=made.hash, budget=str(BUDGET))
    assert told(page) == ""
    assert "Model size N \\[parameters\\]" in [str(x) for x in page.table[0].value.to_numpy().ravel()]


def test_a_law_without_a_minimum_in_N_names_the_limit(table: Path) -> None:
    product = FitSpec(law="formula", formula="E + A*N^-alpha*D^-beta", bootstrap=0, objective="ols-log")
    made = fit(product, read_runs(table))
    with pytest.raises(PlannerError, match=r"no minimum in N: the \w+ possible model is the best. Set a"):
        plan_budget(made, BUDGET)
    limits = Limits(unique=1e9) if float(made.values["beta"]) > float(made.values["alpha"]) else Limits(parameters=1e7)
    assert plan_budget(made, BUDGET, limits=limits).allocation["C"].value == pytest.approx(BUDGET, rel=1e-6)


def test_a_named_law_is_the_typed_one() -> None:
    typed = typed_law("E + A*(N + n0)^-alpha + B*D^-beta")
    assert shifted.SHIFTED.names == typed.names
    theta = list(TRUTH[name] for name in typed.names)
    columns = {"N": np.geomspace(1e5, 1e8, 5), "D": np.geomspace(1e7, 1e9, 5)}
    assert np.array_equal(shifted.SHIFTED.predict(theta, columns), typed.predict(theta, columns))
