"""Reports of answers that were saved as JSON. The terminal and Python write these reports with or without a fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import isoplan as ip
from isoplan.app.commands.report import report as command
from isoplan.app.reports.content import readable
from isoplan.app.reports.saved_answers import read_report
from isoplan.data.files import path
from isoplan.engine.fitting import Fit, to_json
from isoplan.engine.planning.answer.format import as_row
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.document import as_document
from tests.app.reports.reading import read_html, text_of_pdf

MACHINE: dict[str, Any] = {"device": "CPU", "utilisation": "1%", "hour_price": "3 EUR"}


@pytest.fixture(scope="module")
def fit() -> Fit:
    runs = ip.runs(str(path("grids/jets_one_pass.csv")), rule="6npND", n_p=42)
    found = ip.fit(runs, "chinchilla", bootstrap=40)
    assert isinstance(found, Fit)
    return found


def test_a_saved_plan_is_reported_with_its_fit(fit: Fit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The terminal and Python write the same report, except for the time of writing."""
    plan = ip.plan(fit, budget="1e12", **MACHINE)
    ip.save(plan, tmp_path / "plan.json")
    ip.save(fit, tmp_path / "fit.json")
    command(str(tmp_path / "plan.json"), [str(tmp_path / "fit.json")], tmp_path / "a.html")
    assert capsys.readouterr().out == f"Report: {tmp_path / 'a.html'}\n"
    ip.save(plan, tmp_path / "b.html", fit=fit)
    text, cells, tags = read_html((tmp_path / "a.html").read_bytes())
    assert read_html((tmp_path / "b.html").read_bytes())[0] == text
    assert plan.sentence in text
    assert tags.count("figure") == 1
    for label, q in as_document(plan).lines:
        assert isinstance(q, Quantity)
        assert as_row(label, q).value in cells
    assert fit.data.sha256 in cells


def test_a_plan_without_its_fit_has_no_figure(fit: Fit, tmp_path: Path) -> None:
    plan = ip.plan(fit, budget="1e12")
    ip.save(plan, tmp_path / "plan.html")
    text, _, tags = read_html((tmp_path / "plan.html").read_bytes())
    assert plan.sentence in text
    assert "figure" not in tags
    assert "Computed from the laws of the answer; intervals from its resamples" in text


def test_another_answer_is_read_from_json(fit: Fit, tmp_path: Path) -> None:
    """The report contains the numbers and warnings of the JSON object. The labels are the same as for a plan."""
    answer = ip.smaller(fit, target_loss=0.8)
    ip.save(answer, tmp_path / "smaller.json")
    raw = json.loads((tmp_path / "smaller.json").read_text())
    found = read_report(raw, [fit])
    labels = [label for label, _ in found.document.lines]
    assert labels == ["Model size N", "Training samples D", "Compute C", "loss", "smallest"]
    assert found.document.sentence.startswith(answer.sentence)
    assert len(found.document.notes) == len(raw["warnings"]) > 0
    ip.save(answer, tmp_path / "smaller.pdf", fit=fit)
    printed = text_of_pdf((tmp_path / "smaller.pdf").read_bytes())
    for text in (answer.sentence, "SHA-256 of the table", fit.data.sha256):
        assert "".join(readable(text).split()) in printed


def test_a_recipe_and_an_amplitude_plan_have_reports() -> None:
    raw = {
        "question": {"budget": 1e19, "metric": "recall@10"},
        "recipes": {"recall@10": {"choices": {"B": _number(540.0, "sequences"), "K": _number(None, "negatives")}}},
        "sentence": "Take batches of 540.",
        "warnings": [{"code": "x", "text": "K is not known."}],
    }
    found = read_report(raw, ())
    assert [label for label, _ in found.document.lines] == ["recall@10: Batch size B", "recall@10: Extra negatives K"]
    assert [row[1] for row in found.rows] == ["540", "-"]
    size = {"least": 25_000.0, "most": None, "unit": "phase-space points", "note": "from the anchor"}
    found = read_report({"sentence": "It needs 25 k points.", "allocation": {"D": size}}, ())
    assert [(label, q.value) for label, q in found.document.lines if isinstance(q, Quantity)] == [
        ("Training samples D, optimistic", 25_000.0),
        ("Training samples D, conservative", None),
    ]


def _number(value: float | None, unit: str) -> dict[str, Any]:
    return {"value": value, "ci68": None, "ci95": None, "beyond": 0.0, "unit": unit, "note": ""}


def test_what_cannot_be_reported_is_named(fit: Fit, tmp_path: Path) -> None:
    plan = ip.plan(fit, budget="1e12")
    other = ip.fit(ip.runs(str(path("grids/jets_one_pass.csv")), where="N > 3000"), bootstrap=0)
    assert isinstance(other, Fit)
    for call, sentence in (
        (lambda: read_report(to_json(fit), ()), "Answer: the file is a fit."),
        (lambda: read_report({"schema": 1}, ()), "Answer: the file is not an answer of Isoplan."),
        (lambda: ip.save(plan, tmp_path / "x.pdf", fit=other), f"Fit: the fit {plan.fit} of the plan is missing."),
        (lambda: ip.save(fit, tmp_path / "x.html"), "Answer: a fit has no report."),
        (
            lambda: command(_written(plan, tmp_path), None, tmp_path / "x.doc"),
            "Path: a report cannot have the ending '.doc'.",
        ),
        (lambda: command(_written(plan, tmp_path), None, tmp_path / "no" / "x.pdf"), "cannot be written"),
    ):
        with pytest.raises(ip.PlannerError) as caught:
            call()
        assert sentence in str(caught.value)


def _written(plan: Any, folder: Path) -> str:
    ip.save(plan, folder / "plan.json")
    return str(folder / "plan.json")
