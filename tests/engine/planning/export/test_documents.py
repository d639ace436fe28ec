"""Answers of the planner as files: all digits in CSV, valid LaTeX, and a Python script that gives the same numbers."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from isoplan.data.amplitudes import best_laws, published_law
from isoplan.data.recommender import critical_batch, published_evidence
from isoplan.engine.costs import compute_rule
from isoplan.engine.fitting import to_json as fit_to_json
from isoplan.engine.fitting.cards import read_fit
from isoplan.engine.fitting.solver import kernels
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning import amplitude, recommender, repeat
from isoplan.engine.planning.amplitude import reply as of_amplitude
from isoplan.engine.planning.amplitude.precision import of_error, of_mse
from isoplan.engine.planning.amplitude.reply import as_document as amplitude_document
from isoplan.engine.planning.answer.document import Document, to_csv, to_latex, to_markdown
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import HOMES
from isoplan.engine.planning.plan import document as of_plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.recommender import document as of_recipe
from isoplan.engine.planning.recommender.document import as_document as recipe_document
from isoplan.engine.planning.repeat import document as of_repeat
from isoplan.engine.planning.repeat.document import as_document as repeat_document
from isoplan.engine.planning.repeat.factor import fit_factor
from isoplan.engine.planning.scenario.limits import Limits, Question
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from isoplan.engine.planning.smaller import text as of_smaller
from isoplan.engine.planning.smaller.answer import lifetime, same_loss
from isoplan.engine.planning.smaller.text import as_document as smaller_document
from tests.engine.planning.conftest import EPOCH, JETS, RANGES, make_fit, scattered
from tests.engine.planning.export.tex import table
from tests.engine.planning.recommender.sweeps import sweep
from tests.engine.planning.recommender.test_recipe import SPEC, allocation, swept
from tests.engine.planning.repeat.test_factor import RULE, curves

HOMES_OF_ALL = [HOMES, *(module.HOMES for module in (of_amplitude, of_plan, of_recipe, of_repeat, of_smaller))]
ROOT = Path(__file__).parents[4]
PRICES = Prices(Machine(find_device("H200"), 8, price=3.0), Simulation(price=1e-9), currency="USD")
SERVED = Inference(queries=1e10, tokens=40, machine=Machine(find_device("L40S"), price=1.0))
CHEAP = amplitude.Anchor("D", 1e4, 1e-3, N=1e5, epochs=1e3, doubled=0.03)


@dataclass(frozen=True)
class Case:
    """A document, its expected JSON body, and the Python code ``shown``.

    This code is run after the script of the document. It assigns the JSON body to a variable ``shown``.
    """

    document: Document
    shown: str
    body: dict[str, Any]


def kept(folder: Path, name: str, fit: Fit) -> Fit:
    """Write the fit to a file in ``folder`` and return the fit read from it."""
    (folder / name).write_text(json.dumps(fit_to_json(fit)))
    return read_fit(json.loads((folder / name).read_text()))


def plan(folder: Path) -> Case:
    fit = kept(folder, "fit.json", make_fit(EPOCH, scattered(EPOCH), ranges=RANGES))
    found = plan_budget(fit, 1e22, limits=Limits(unique=6e9), prices=PRICES, other=compute_rule("6npND", 2))
    made = of_plan.as_document(found, "fit.json")
    return Case(made, "from isoplan.engine.planning import to_json\nshown = to_json(plan)", dict(made.body))


def weigh(folder: Path, *, everything: bool) -> Case:
    one = kept(folder, "one.json", make_fit(JETS, scattered(JETS, 200, 0.01), rule=RULE))
    again = kept(folder, "again.json", make_fit((0.32, 5.79, 0.22), scattered((0.32, 5.79, 0.22), 200, 0.01, 1),
                                                law="repetition", axis="D"))  # fmt: skip
    costs = repeat.SampleCosts(1e-3, 2e-18, "USD", 1e4)
    if not everything:
        found = repeat.simulate_or_repeat(one, again, 0.5, costs, repeat.stated(10))
        made = repeat_document(found, repeat.stated(10), {"one_pass": "one.json", "repeated": "again.json"})
        return Case(
            made, "from isoplan.engine.planning.repeat.text import to_json\nshown = to_json(answer)", dict(made.body)
        )
    line = kept(folder, "line.json", make_fit((40.0, 0.47), law="threshold"))
    few = kept(folder, "few.json", make_fit((*JETS, 15.0, 5.0), law="data-constrained"))
    kappa = fit_factor(one, curves())
    found = repeat.simulate_or_repeat(one, again, 0.5, costs, kappa, line)
    ways, worth = repeat.between(few, 0.5, costs), repeat.worth_of(one, again, 2e6)
    files = {"one_pass": "one.json", "repeated": "again.json", "threshold": "line.json", "surface": "few.json"}
    made = repeat_document(found, kappa, files, few=ways, worth=worth)
    shown = (
        "from isoplan.engine.planning.repeat.text import between_json, to_json\n"
        "shown = to_json(answer) | {'between': between_json(few)}\n"
        f"assert worth.equivalent.value == {worth.equivalent.value!r}"
    )
    return Case(made, shown, dict(made.body))


def smaller(folder: Path, *, served: bool) -> Case:
    fit = kept(folder, "fit.json", make_fit(EPOCH, scattered(EPOCH), ranges=RANGES))
    if served:
        asked = Question("target", 2.2, Limits(parameters=1e10))
        curve, life = same_loss(fit, asked, prices=PRICES), lifetime(fit, asked, SERVED, prices=PRICES)
        made = smaller_document(curve, life, SERVED)
    else:
        made = smaller_document(same_loss(fit, Question("budget", 1e21)), None, None)
    shown = "from isoplan.engine.planning.smaller.text import to_json\nshown = to_json(curve, life)"
    return Case(made, shown if served else shown.replace("life", "None"), dict(made.body))


def recipe(folder: Path, *, own: bool) -> Case:
    settings = recommender.Settings(stage2=recommender.Stage2(find_device("H200"), 188, 4, chunk=4096))
    if own:
        mine = recommender.Evidence(sweep(swept(), SPEC), {"loss": critical_batch("NDCG@10")},
                                    {"loss": allocation()})  # fmt: skip
        evidence = recommender.with_fallback(mine, published_evidence())
        made = recipe_document(recommender.recommend(evidence, 1e18, "loss", settings), mine, published=True)
        (folder / "recipe.json").write_text(json.dumps(made.body))
    else:
        found = recommender.recommend(published_evidence(), 1e18, "recall@10", settings)
        made = recipe_document(found, recommender.Evidence(), published=True)
    body = {name: part for name, part in made.body.items() if name != "evidence"}
    return Case(made, "from isoplan.engine.planning.recommender import to_json\nshown = to_json(answer)", body)


def precise(folder: Path, *, own: bool) -> Case:
    if own:
        target = of_error(0.001, 1.5)
        found = amplitude.plan_amplitude(5, target, [CHEAP], None, best_laws(), floor=1e-8, fixed_energy=True)
    else:
        found = amplitude.plan_amplitude(4, of_mse(1e-6), (), published_law("Zggg"), best_laws())
    made = amplitude_document(found)
    return Case(made, "from isoplan.engine.planning.amplitude import to_json\nshown = to_json(plan)", dict(made.body))


CASES: dict[str, Callable[[Path], Case]] = {
    "plan": plan,
    "repeat": lambda folder: weigh(folder, everything=False),
    "repeat, everything": lambda folder: weigh(folder, everything=True),
    "smaller": lambda folder: smaller(folder, served=False),
    "smaller, served": lambda folder: smaller(folder, served=True),
    "recipe": lambda folder: recipe(folder, own=False),
    "recipe, own runs": lambda folder: recipe(folder, own=True),
    "amplitude": lambda folder: precise(folder, own=False),
    "amplitude, own run": lambda folder: precise(folder, own=True),
}


@pytest.fixture(scope="module", autouse=True)
def _numpy() -> Iterator[None]:
    """Fit with NumPy, like the script that the document exports, because compiled kernels differ in the last digits."""
    published_evidence.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "compiled", lambda work: None)
        yield
    published_evidence.cache_clear()


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return CASES[request.param](tmp_path)


def test_the_python_of_an_answer_makes_the_same_numbers(case: Case, tmp_path: Path) -> None:
    code = case.document.script
    assert max(map(len, code.splitlines())) <= 500
    (tmp_path / "again.py").write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}\nimport json\n{case.shown}\n"
        "print('JSON', json.dumps(shown))\n"
    )
    made = subprocess.run([sys.executable, "again.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    shown, _, raw = made.stdout.rpartition("JSON ")
    assert json.loads(raw) == json.loads(json.dumps(case.body))
    assert shown.strip()


def test_csv_has_every_digit_of_every_line(case: Case) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(case.document))))
    assert [row["quantity"] for row in rows] == [label for label, _ in case.document.lines]
    assert len({row["quantity"] for row in rows}) == len(rows)
    for row, (_, cell) in zip(rows, case.document.lines, strict=True):
        if isinstance(cell, str):
            assert row["value"] == cell
            continue
        assert (float(row["value"]) if row["value"] else None) == cell.value
        ends = [float(row[name]) if row[name] else None for name in ("low68", "high68", "low95", "high95")]
        assert ends == [*(cell.ci68 or (None, None)), *(cell.ci95 or (None, None))]


def test_latex_is_sound_and_has_a_row_a_line(case: Case) -> None:
    head, *rows = table(to_latex(case.document))
    assert head == ["Quantity", r"Value (68\,\% interval)", "Unit"]
    assert len(rows) == len(case.document.lines)
    for (_, value, _), (_, cell) in zip(rows, case.document.lines, strict=True):
        if isinstance(cell, Quantity) and cell.value is not None:
            mantissa, _, power = value.lstrip("$").partition(r" \times 10^{")
            shown = float(mantissa.split("^")[0].split("$")[0]) * 10 ** (int(power.split("}")[0]) if power else 0)
            assert math.isclose(shown, cell.value, rel_tol=0.06, abs_tol=5e-3), (value, cell)


def test_markdown_is_one_table_under_its_sentence(case: Case) -> None:
    lines = to_markdown(case.document).splitlines()
    assert lines[0] == case.document.sentence
    body = [line for line in lines if line.startswith("|")]
    assert len(body) == 2 + len(case.document.lines)
    assert {line.replace("\\|", "").count("|") for line in body} == {8}


def test_no_number_is_lost_between_json_and_csv(case: Case) -> None:
    """The JSON has values for the regimes and for the lifetime cost. Lines of the CSV contain all these values."""
    values = {cell.value for _, cell in case.document.lines if isinstance(cell, Quantity)}
    body = case.body
    stated = [*body.get("regimes", {}).values(), body.get("lifetime") or {}]
    for part in stated:
        for name, q in part.items():
            assert q["value"] in values, name


@pytest.mark.parametrize(
    "homes", [HOMES, *(m.HOMES for m in (of_amplitude, of_plan, of_recipe, of_repeat, of_smaller))]
)
def test_scripts_import_names_from_where_they_live(homes: dict[str, str]) -> None:
    for name, module in homes.items():
        assert hasattr(importlib.import_module(module), name), name
