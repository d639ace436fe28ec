"""A new planner question that consists of one folder works on the page, in the terminal, in Python and in files."""

from __future__ import annotations

import csv
import importlib
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import isoplan as ip
from isoplan.app.cli import cli, commands
from isoplan.app.figures.style.theme import WEB, Drawing
from isoplan.app.views.planning import planner_answer
from isoplan.app.views.widgets import saved_items
from isoplan.app.views.widgets.saved_items import File
from isoplan.engine import planning
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import to_json
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.questions.declaration import find_questions
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from tests.app.views.conftest import Open, told
from tests.app.views.recommender_page import lines, shown
from tests.app.views.test_saved_answers import save
from tests.engine.planning import doubled
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered

ASKED = {"question": "A larger budget", "budget": "1e20", "factor": "4"}


@pytest.fixture(autouse=True)
def _question(tmp_path: Path) -> Iterator[None]:
    """Copy the folder of the question and add the copy to the path of ``isoplan.engine.planning`` for a test."""
    folder = tmp_path / "planning"
    shutil.copytree(Path(doubled.__file__).parent, folder / "doubled")
    planning.__path__.append(str(folder))
    find_questions.cache_clear()
    importlib.reload(ip)
    yield
    planning.__path__.remove(str(folder))
    for name in [name for name in sys.modules if name.startswith("isoplan.engine.planning.doubled")]:
        del sys.modules[name]
    find_questions.cache_clear()
    del ip.doubled
    importlib.reload(ip)


@pytest.fixture
def fit() -> Fit:
    return make_fit(EPOCH, scattered(EPOCH, 60), ranges=RANGES)


def losses(fit: Fit) -> list[float | None]:
    """Return the losses that the new question must predict for a budget of 1e20 FLOPs and a factor of 4."""
    return [plan_budget(fit, C).allocation["loss"].value for C in (1e20, 4e20)]


def test_it_is_one_folder_of_two_modules() -> None:
    modules = [path for path in Path(doubled.__file__).parent.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) == 2
    assert "isoplan.app" not in "".join(path.read_text() for path in modules)


def test_on_the_terminal(fit: Fit, tmp_path: Path) -> None:
    card = tmp_path / "fit.json"
    card.write_text(json.dumps(to_json(fit)))

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["doubled", str(card), "--budget", "1e20", "--factor", "4", *arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert commands()["doubled"].summary == "Compare a budget with a multiple of it."
    assert "--factor" in CliRunner().invoke(cli, ["doubled", "--help"]).output
    assert run().startswith("4 times the budget reduces the loss from ")
    assert json.loads(run("--json"))["losses"] == losses(fit)
    rows = list(csv.DictReader(io.StringIO(run("--format", "csv"))))
    assert [float(row["value"]) for row in rows] == losses(fit)
    assert run("--format", "markdown").startswith(run().strip())
    (tmp_path / "again.py").write_text(run("--format", "python"))
    again = subprocess.run([sys.executable, "again.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout) == pytest.approx(losses(fit))


def test_in_python(fit: Fit, tmp_path: Path) -> None:
    ask: Callable[..., Any] = ip.doubled
    made = ask(fit, budget=1e20, factor=4)
    assert "doubled" in ip.__all__
    assert [q.value for q in made.result] == losses(fit)
    assert f"{ask(fit, budget='100 EFLOP')!r}".startswith("2 times the budget ")
    assert "factor : number or str\n    How many times the budget." in str(ask.__doc__)
    for ending, start in {"json": '{"schema": 1', "csv": "quantity,", "md": "4 times", "py": "# 4 times"}.items():
        ip.save(made, tmp_path / f"answer.{ending}")
        assert (tmp_path / f"answer.{ending}").read_text().startswith(start)
    for options, why in (
        ({}, "Option budget: it is missing. Give it."),
        ({"budget": 1e20, "factor": "x"}, "The option factor 'x' cannot be read"),
        ({"budget": 1e20, "factr": 3}, "Option factr: isoplan.doubled has no such option. Use factor."),
        ({"budget": 1e20, "max_hours": 3}, "Option max_hours: isoplan.doubled has no such option."),
    ):
        with pytest.raises(PlannerError, match=why):
            ask(fit, **options)


def test_on_the_page_with_its_files_and_as_a_saved_answer(
    demo: Database, fit: Fit, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Drawing] = []
    made: dict[str, File] = {}
    monkeypatch.setattr(planner_answer, "draw", lambda redraw, key: drawn.append(redraw(WEB)))
    monkeypatch.setattr(saved_items, "downloads", lambda name, files, report: made.update(files))
    at = open_page("plan", fit=results.save_fit(demo, fit), **ASKED)
    assert told(at) == ""
    first = shown(at.header[0].value), lines(at)
    assert first[0].startswith("4 times the budget reduces the loss from ")
    assert [row[0] for row in first[1]] == ["Loss [loss]", "Loss of 4 budgets [loss]"]
    assert drawn[0].alt.startswith("The least loss against the budget: ")
    assert len(drawn[0].data) == 9
    assert json.loads(made["JSON"][0]())["losses"] == losses(fit)
    assert [float(row["value"]) for row in csv.DictReader(io.StringIO(made["CSV"][0]()))] == losses(fit)
    assert made["Markdown"][0]().startswith("4 times the budget ")
    assert "fit = read('fit-" in made["Python"][0]()
    save(at, "For the talk")
    (saved,) = results.answers(demo)
    assert (saved.kind, saved.name) == ("doubled", "For the talk")
    again = open_page("plan", **saved.query)
    assert told(again) == ""
    assert (shown(again.header[0].value), lines(again)) == first
    home = open_page("home")
    assert told(home) == ""
    assert "Answers (1)" in [h.value for h in home.header]
