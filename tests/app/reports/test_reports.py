"""Reports contain the numbers of their answer and load no other file. Texts of users are never read as code."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from isoplan import fit as fit_law
from isoplan import plan as plan_of
from isoplan import runs as read_runs
from isoplan.app.reports.content import Report, make_report, readable, report_plan, report_recipe, report_story
from isoplan.app.reports.printed_pages import MOST_PAGES, compile_pages, pdf_report
from isoplan.app.reports.web_page import html_report
from isoplan.data.files import path
from isoplan.data.recommender import published_evidence
from isoplan.data.stories import DOMAINS, Domain, read_fits
from isoplan.engine.fitting import Fit
from isoplan.engine.planning.answer.document import Document
from isoplan.engine.planning.answer.format import as_row, between
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.recommender import Evidence, Settings
from isoplan.engine.planning.recommender.cards import CARDS, make_cards
from isoplan.engine.planning.recommender.document import reply
from isoplan.engine.planning.scenario.typed_prices import read_prices
from isoplan.engine.planning.story.screens import tell
from tests.app.reports.reading import pages, read_html, text_of_pdf

HOSTILE = (
    '#read("/etc/passwd")', "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "$x$ *b* _i_ @a `c`",
    '#import "@preview/x:1.0.0"', "\\u{41} \\ // comment", "{{7*7}} %{x}", "\x00\x07\ud800",
)  # fmt: skip
MACHINE: dict[str, Any] = {"device": "CPU", "utilisation": "1%", "hour_price": "3 EUR", "sample_price": "0.001 EUR"}


EMPTY = Evidence()


def _bare(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.fixture(scope="module")
def fit() -> Fit:
    found = fit_law(read_runs(str(path("grids/jets_one_pass.csv")), rule="6npND", n_p=42), "chinchilla", bootstrap=40)
    assert isinstance(found, Fit)
    return found


@pytest.fixture(scope="module")
def plan(fit: Fit) -> Plan:
    return plan_of(fit, target_loss=0.8, max_unique="1 M", max_hours="100 h", **MACHINE)


@pytest.fixture(scope="module")
def report(plan: Plan, fit: Fit) -> Report:
    return report_plan(plan, fit, "Plan for the review")


def test_the_numbers_are_those_of_the_answer(report: Report) -> None:
    """The PDF and the HTML file contain the sources of the document and each of its labels, values and intervals."""
    printed, (text, cells, _) = text_of_pdf(pdf_report(report)), read_html(html_report(report))
    document = report.document
    assert len(document.lines) >= 14
    for label, q in document.lines:
        assert isinstance(q, Quantity)
        expected = [label, as_row(label, q).value]
        expected += [between(q, ends) for ends in (q.ci68, q.ci95) if ends is not None and q.note != "given"]
        for shown in map(readable, expected):
            assert _bare(shown) in printed, shown
            assert any(shown in cell for cell in cells), shown
    for shown in (document.sentence, *document.notes, "jets_one_pass.csv", "C = 6 n_p N D with n_p = 42"):
        assert _bare(readable(shown)) in printed, shown
        assert readable(shown) in text, shown


def test_each_number_has_a_source(report: Report, fit: Fit) -> None:
    first, question, law = report.sources
    named = "; ".join(labels for _, labels in first.rows).split("; ")
    assert named != []
    assert set(named) == {label for label, _ in report.document.lines}
    by_source = dict(first.rows)
    assert by_source["Entered in the question"] == "loss"
    assert by_source["Measured times of the runs, column seconds"] == "Training time on the machine of the runs"
    assert dict(question.rows)["target"] == "0.8"
    assert dict(question.rows)["limits unique"] == "1000000"
    assert dict(question.rows)["prices machine price"] == "3"
    rows = dict(law.rows)
    assert law.title == f"Fit: {fit.law.title}"
    assert rows["SHA-256 of the table"] == fit.data.sha256
    assert len(fit.data.sha256) == 64
    assert rows["Runs"] == "42"
    assert rows["Refits"] == "40, seed 0"
    assert rows["Identifier"] == fit.hash
    assert rows["Columns"] == "N = N, D = D, C = C, U = U, loss = loss"


def test_texts_of_users_are_not_code() -> None:
    """The PDF and the HTML file show names with markup, commands and control characters as plain text."""
    lines = tuple((text, Quantity(float(i + 1), unit=text)) for i, text in enumerate(HOSTILE))
    body = {"question": {text: text for text in HOSTILE}, "schema": 1}
    hostile = make_report(HOSTILE[0], Document(HOSTILE[1], lines, HOSTILE, body, ""))
    made = html_report(hostile)
    text, _, tags = read_html(made)
    assert "script" not in tags
    assert "img" not in tags
    printed = text_of_pdf(pdf_report(hostile))
    for name in HOSTILE[:-1]:
        assert _bare(name) in printed, name
        assert name in text, name
    assert b"root:" not in made
    assert "root:" not in printed


def test_hostile_names_in_figures(fit: Fit) -> None:
    """A metric name that contains a script is shown as text in the figures of the PDF and of the HTML file."""
    named = replace(plan_of(fit, target_loss=0.8), y="</script><script>alert(1)</script>")
    made = html_report(report_plan(named, fit))
    assert b"<script>alert(1)" not in made
    assert made.count(b"<script") == 3, "the data of the figure, plotly.js and the code that draws"
    assert pdf_report(report_plan(named, fit)).startswith(b"%PDF-")


def test_the_html_file_loads_nothing(report: Report) -> None:
    made = html_report(report)
    head = made[: made.index(b"<style>")]
    assert b"default-src 'none'" in head
    assert b"Plotly.newPlot" in made
    assert len(made) < 8_000_000
    assert read_html(made)[2].count("figure") == 1


def test_a_long_report_has_four_pages_and_says_what_is_missing() -> None:
    lines = tuple((f"Number {i}", Quantity(float(i + 1), (0.5, 99.0), (0.1, 200.0), "FLOPs")) for i in range(60))
    body = {"question": {f"value {i}": "a long text " * 40 for i in range(60)}}
    made = pdf_report(make_report("Long", Document("It is long.", lines, ("A note. " * 40,) * 12, body, "")))
    assert pages(made) <= MOST_PAGES
    assert _bare("The HTML report lists all sources.") in text_of_pdf(made)


def test_the_template_reads_no_file(report: Report) -> None:
    """The template needs no other file: it makes one page even if the report has no figures and no numbers."""
    numbers: dict[str, Any] = {"head": [], "rows": [], "widths": []}
    texts = dict.fromkeys(("title", "sentence", "standing", "assumed", "made", "missing"), "")
    empty = {**texts, "sections": [], "narrow": False, "numbers": numbers, "notes": [], "sources": [], "size": 9}
    assert pages(compile_pages(empty)) == 1
    assert compile_pages(empty, "png").startswith(b"\x89PNG")


def test_symbols_have_glyphs() -> None:
    """The fonts contain the superscripts, signs and Greek letters of answers: the PDF shows these characters."""
    text = "10⁵ × 10⁻¹⁹ ≥ ≤ ± α β γ λ ω ∞ – · é"
    printed = text_of_pdf(pdf_report(make_report("Symbols", Document(text, (), (), {}, ""))))
    assert _bare(text) in printed


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda one: one.key)
def test_a_story_becomes_a_report(domain: Domain) -> None:
    """The PDF and the HTML file of a story contain the sentences of its five screens and the numbers of its plan."""
    law, of_metric = read_fits(domain)
    map = None if of_metric is None else through(law, of_metric)
    plan = plan_target(law, domain.target, prices=read_prices(domain.prices, "python"), map=map)
    story = tell(law, plan, map=map, title=domain.story, words=domain.words, stated=domain.stated, assumed=domain.note)
    report = report_story(story)
    pdf, (text, cells, tags) = pdf_report(report), read_html(html_report(report))
    printed = text_of_pdf(pdf)
    assert pages(pdf) <= MOST_PAGES
    assert tags.count("figure") == len(story.screens) == 5
    assert _bare(readable(domain.note)) in printed
    assert readable(domain.note) in text
    assert _bare(story.screens[3].caption) in printed
    assert story.screens[3].caption in text
    for screen in story.screens:
        for shown in (screen.title, screen.sentence):
            assert _bare(readable(shown)) in printed, shown
            assert readable(shown) in text, shown
    assert all(readable(row[1]) in cells for row in report.rows)
    assert [one.title.partition(":")[0] for one in report.sources[2:]] == (["Fit 1", "Fit 2"] if map else ["Fit"])


def test_a_recipe_becomes_a_report_with_its_cards() -> None:
    """The PDF and the HTML file contain the settings for two metrics, and list the fits as sources."""
    evidence, metrics = published_evidence(), ("recall@10", "NDCG@10")
    made = reply(1e18, ",".join(metrics), EMPTY, evidence, Settings(), None)
    cards = make_cards(made.result, evidence, EMPTY, metrics)
    report = report_recipe(made, cards, evidence)
    pdf, (_, cells, tags) = pdf_report(report), read_html(html_report(report))
    printed = text_of_pdf(pdf)
    assert pages(pdf) <= MOST_PAGES
    assert tags.count("figure") == 1
    for card in (card for setting in CARDS for card in cards[setting]):
        for shown in (f"{card.label}, {card.metric}", card.text, card.interval, card.source):
            assert readable(shown) in cells, shown
            assert _bare(readable(shown)) in printed, shown
    fits = [one for one in report.sources if one.title.startswith("Fit")]
    assert {dict(one.rows)["Identifier"] for one in fits} >= {evidence.batch[name].hash for name in metrics}
