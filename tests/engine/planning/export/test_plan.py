"""Exports of a plan: CSV, Markdown, LaTeX, and the Python script that computes the plan."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isoplan.engine.costs import compute_rule
from isoplan.engine.fitting import to_json as fit_to_json
from isoplan.engine.fitting.cards import read_fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.answer.document import _latex_text, latex, to_csv, to_latex, to_markdown
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import as_document, to_json
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered
from tests.engine.planning.test_metric import rejection

ROOT = Path(__file__).parents[4]
PRICES = Prices(
    Machine(find_device("H200"), 8, price=3.0, precision="fp8"),
    Simulation(price=1e-7, size=1e3),
    Inference(queries=1e8, tokens=100, machine=Machine(find_device("L40S"), price=1.0)),
    "USD",
    grid=300,
    pue=1.2,
)
LIMITS = Limits(unique=6e9, hours=1e5)


@pytest.fixture
def plan(epoch: Fit) -> Plan:
    return plan_budget(epoch, 1e22, limits=LIMITS, prices=PRICES, other=compute_rule("6npND", 2))


def test_csv_holds_every_digit(plan: Plan) -> None:
    rows = {row["quantity"]: row for row in csv.DictReader(io.StringIO(to_csv(as_document(plan))))}
    N = plan.allocation["N"]
    assert float(rows["Model size N"]["value"]) == N.value
    assert N.ci95 is not None
    assert float(rows["Model size N"]["high95"]) == N.ci95[1]
    assert float(rows["Total, money"]["value"]) > 0
    assert rows["Total, money"]["unit"] == "USD"
    assert "Gain from ten per cent more than 6.00 B unique samples" in rows
    assert "Compute by C = 6 n_p N D with n_p = 2" in rows


def test_markdown_is_a_table_with_its_sentence(plan: Plan) -> None:
    shown = to_markdown(as_document(plan))
    lines = shown.splitlines()
    assert lines[0] == plan.sentence
    table = [line for line in lines if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert table[2].startswith("| Model size N | ")
    assert any(line.startswith("- The limit of 6.00 B unique samples is reached") for line in lines)


@pytest.mark.parametrize(
    ("q", "shown"),
    [
        (Quantity(8.512e8, (8.1e8, 8.93e8)), r"$8.51^{+0.42}_{-0.41} \times 10^{8}$"),
        (Quantity(2.21034, (2.2, 2.2253)), r"$2.210^{+0.015}_{-0.010}$"),
        (Quantity(1e20, (1e20, 1e20), note="given"), r"$1.00 \times 10^{20}$"),
        (Quantity(3.1e21, (2.5e21, float("inf"))), r"$3.10 \times 10^{21}$ (at least $2.50 \times 10^{21}$)"),
        (Quantity(3.4e29, (2.3e26, float("inf"))), r"$3.4 \times 10^{29}$ (at least $2.3 \times 10^{26}$)"),
        (Quantity(3.4e29, (2.3e26, 9.97e30)), r"$3.4 \times 10^{29}$ ($2.3 \times 10^{26}$ to $1.0 \times 10^{31}$)"),
        (Quantity(5e20, (float("inf"),) * 2), r"$5.0 \times 10^{20}$ (not reachable)"),
        (Quantity(5e20, (float("-inf"), 6e20)), r"$5.0 \times 10^{20}$ (at most $6.0 \times 10^{20}$)"),
        (Quantity(2.0, (1.0, 4.0)), r"$2.0^{+2.0}_{-1.0}$"),
        (Quantity(2.0, (0.9, 4.0)), r"$2.0$ ($0.90$ to $4.0$)"),
        (Quantity(0.003, (-0.001, 0.007)), r"$3.0 \times 10^{-3}$ ($-1.0 \times 10^{-3}$ to $7.0 \times 10^{-3}$)"),
        (Quantity(0.0, (0.0, 0.02)), r"$0.0$ ($0.0$ to $0.020$)"),
        (Quantity(120.0, (40.0, 9500.0)), r"$120$ ($40.0$ to $9500$)"),
        (Quantity(None, (float("inf"), float("inf"))), "not reachable"),
        (Quantity(None, note="the law on C does not determine N"), "---"),
        (Quantity(0.0), "$0.00$"),
        (Quantity(0.0, (0.0, 0.0)), "$0.00$"),
        (Quantity(-3.25, (-3.5, -3.0)), "$-3.25^{+0.25}_{-0.25}$"),
    ],
)
def test_numbers_in_latex_have_the_digits_of_their_interval(q: Quantity, shown: str) -> None:
    assert latex(q) == shown


def test_latex_is_one_table_without_bare_special_characters(plan: Plan) -> None:
    shown = to_latex(as_document(plan))
    assert shown.startswith("\\begin{tabular}{lll}\n")
    assert shown.rstrip().endswith("\\end{tabular}")
    body = [line for line in shown.splitlines() if "&" in line]
    assert all(line.count("&") == 2 and line.endswith("\\\\") for line in body)
    assert "n\\_p" in shown
    assert "68\\,\\%" in shown


def test_text_in_latex_has_no_bare_special_character(epoch: Fit) -> None:
    """LaTeX export escapes ^, ~ and braces in texts and writes 10²³ in math mode."""
    plan = plan_budget(epoch, 1e22, other=compute_rule("formula", formula="6*N^1.1*D"))
    (line,) = [one for one in to_latex(as_document(plan)).splitlines() if one.startswith("Compute by")]
    assert r"N\textasciicircum{}1.1" in line
    assert "^" not in line.split(" & ")[0]
    assert _latex_text("a^b~c\\{d}") == r"a\textasciicircum{}b\textasciitilde{}c\textbackslash{}\{d\}"
    assert _latex_text("1.4 × 10²³ & 5 %") == r"1.4 $\times$ 10$^{23}$ \& 5 \%"


def cases(epoch: Fit) -> dict[str, Callable[[], Plan]]:
    dear = compute_rule("formula", formula="6*N*D + 1e9*D")
    return {
        "budget": lambda: plan_budget(epoch, 1e22),
        "limits": lambda: plan_budget(epoch, 1e22, limits=LIMITS, prices=PRICES, other=compute_rule("6npND", 2)),
        "rule": lambda: plan_target(epoch, 2.2, dear, prices=Prices(Machine(find_device("CPU node")))),
        "target": lambda: plan_target(epoch, 2.6, limits=Limits(unique=6e9, epochs=2)),
    }


@pytest.mark.parametrize("name", ["budget", "limits", "rule", "target", "metric", "metrics"])
def test_the_python_of_a_plan_makes_the_same_numbers(name: str, epoch: Fit, tmp_path: Path) -> None:
    (tmp_path / "fit.json").write_text(json.dumps(fit_to_json(epoch)))
    (tmp_path / "map.json").write_text(json.dumps(fit_to_json(rejection())))
    fit, map = (read_fit(json.loads((tmp_path / f"{n}.json").read_text())) for n in ("fit", "map"))
    if name in ("metric", "metrics"):
        both = through(fit, map)
        plan = plan_target(fit, 24.0, map=both) if name == "metric" else plan_budget(fit, 1e21, maps=(both,))
        code = as_document(plan, "fit.json", maps=("map.json",)).script
    else:
        plan = cases(fit)[name]()
        code = as_document(plan, "fit.json").script
    script = tmp_path / "plan.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}\n"
        "from isoplan.engine.planning import to_json\nprint('JSON', json.dumps(to_json(plan)))\n"
    )
    made = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    shown, _, raw = made.stdout.rpartition("JSON ")
    assert json.loads(raw) == json.loads(json.dumps(to_json(plan)))
    assert shown.startswith(plan.sentence)
    assert max(map_len(code)) <= 400


def map_len(code: str) -> list[int]:
    return [len(line) for line in code.splitlines()]


def test_a_group_of_a_fit_is_named_in_its_python() -> None:
    code = as_document(
        plan_budget(make_fit(EPOCH, scattered(EPOCH), ranges=RANGES), 1e20), "both.json", group="wide"
    ).script
    assert "fit = read('both.json', 'wide')" in code
