"""Content of a report: an answer with its figures and its sources, independent of the format (HTML or PDF)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version

from isoplan.app.figures.plans import plan as plan_figure
from isoplan.app.figures.plans import story as story_figure
from isoplan.app.figures.plans.chart import draw_chart
from isoplan.app.figures.plans.evidence import draw_frontier
from isoplan.app.figures.style.theme import Drawing, Theme
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.document import Document
from isoplan.engine.planning.answer.format import COLUMNS, as_row, cell_texts, cells
from isoplan.engine.planning.answer.provenance import Source, list_sources
from isoplan.engine.planning.drawing.cost_curve import CostCurve
from isoplan.engine.planning.drawing.curves import frontier_curve
from isoplan.engine.planning.drawing.picture import plan_curve
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.document import as_document
from isoplan.engine.planning.plan.feasibility import floor_of
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.reliability import reliability
from isoplan.engine.planning.plan.saving import saving_rows
from isoplan.engine.planning.plan.variations import variation_rows, vary
from isoplan.engine.planning.questions.answer import Answer
from isoplan.engine.planning.questions.chart import Chart
from isoplan.engine.planning.recommender import ranking
from isoplan.engine.planning.recommender.cards import CARDS, Card, Cards
from isoplan.engine.planning.recommender.evidence import Evidence
from isoplan.engine.planning.recommender.joint import join_metrics, joint_table
from isoplan.engine.planning.recommender.ranking import cost_table
from isoplan.engine.planning.recommender.text import JOINT
from isoplan.engine.planning.story.screens import RunsPicture, Story
from isoplan.engine.schema import Runs

Draw = Callable[[Theme], Drawing]
"""Function that draws a figure in a theme. The function is called when the report is written."""
PRINTED = 390
"""Height of each printed figure of a story in pixels. With this height, the five figures fit on one page."""
POWER = re.compile(r"(?<=\d)e([+-]\d+)\b")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, eq=False)
class Section:
    """A section of a report, placed after the answer: a title with a text, a figure, or a table of texts."""

    title: str = ""
    text: str = ""
    draw: Draw | None = None
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Report:
    """A report: ``title``, the answer as a ``document``, further sections, and at the end the sources.

    ``standing`` states in a few words how far the answer lies from the runs, and how precise it is. ``assumed``,
    printed directly below the answer, states the assumed prices and the source of the runs. ``made`` states the version
    of Isoplan and the date.
    """

    title: str
    document: Document
    sections: tuple[Section, ...] = ()
    sources: tuple[Source, ...] = ()
    made: str = ""
    standing: str = ""
    assumed: str = ""

    @property
    def head(self) -> tuple[str, ...]:
        """The column headings of the table of numbers, without columns that are empty in all rows."""
        return tuple(name for name in COLUMNS if any(row[name] for row in self._cells))

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The rows of the table of numbers as on the page; each row has one text per heading of ``head``."""
        return tuple(tuple(readable(row[name]) for name in self.head) for row in self._cells)

    @property
    def _cells(self) -> list[dict[str, str]]:
        out = []
        for label, cell in self.document.lines:
            blank = dict.fromkeys(COLUMNS, "") | {"Quantity": label, "Value": str(cell)}
            out.append(blank if isinstance(cell, str) else cells(as_row(label, cell)))
        return out


def readable(text: str) -> str:
    """Return ``text`` with powers of ten instead of exponents: 1.3 × 10⁴ for 1.3e+04."""
    return POWER.sub(lambda m: f" × 10{str(int(m[1])).translate(RAISED)}", text)


def make_report(
    title: str, document: Document, fits: Iterable[Fit] = (), sections: Iterable[Section] = (), standing: str = ""
) -> Report:
    """Return the report of an answer. ``fits`` are the fits that the answer uses; the report lists them as sources."""
    made = f"Isoplan {version('isoplan')}, {datetime.now(UTC):%d %B %Y}"
    return Report(title, document, tuple(sections), list_sources(document, tuple(fits)), made, standing)


def report_plan(
    plan: Plan, fit: Fit, title: str = "Plan", runs: Runs | None = None, maps: Iterable[Fit] = ()
) -> Report:
    """Return the report of a plan with a figure, a table of other budgets and, if available, a comparison of plans.

    The plan was made from ``fit``. ``maps`` are the fits of metrics, and ``runs`` are the runs in the figure.
    """
    shown, metrics = plan.shown, tuple(maps)

    def draw(theme: Theme) -> Drawing:
        return plan_figure.draw(shown, plan_curve(shown, fit), runs, floor_of(fit), theme)

    sections = [Section(draw=draw)]
    if others := vary(fit, shown, tuple(through(fit, one) for one in metrics)):
        sections.append(_table("Plans for other budgets", cell_texts(variation_rows(shown, others))))
    if shown.saving is not None:
        sections.append(
            _table("Comparison with your plan", cell_texts(saving_rows(shown.saving)), shown.saving.sentence)
        )
    return make_report(title, as_document(shown), (fit, *metrics), sections, reliability(shown))


def report_answer(answer: Answer, fits: Iterable[Fit] = (), title: str = "") -> Report:
    """Return the report of an answer to a planner question. Raises PlannerError if the answer has no document."""
    sections = []
    for part in answer.parts:
        if part.chart is not None:
            sections.append(Section(part.title, draw=partial(_chart, part.chart)))
        if part.table is not None and not part.folded and part.table.head != COLUMNS:
            sections.append(
                Section(part.title or part.table.alt.rstrip("."), "", None, part.table.head, part.table.rows)
            )
    return make_report(title or answer.name, answer.file, fits, sections)


def report_recipe(reply: Answer, cards: Cards, evidence: Evidence) -> Report:
    """Return the report of a recipe: tables of settings and costs, a figure of N and D, and all numbers."""
    shown = [card for setting in CARDS for card in cards[setting]]
    metrics = tuple(dict.fromkeys(card.metric for card in shown))
    many = len(metrics) > 1
    rows = [
        {"Setting": f"{card.label}, {card.metric}" if many else card.label, "Value": card.text}
        | {"Interval": card.interval, "Source": card.source, "Another choice": _notes(card) or "-"}
        for card in shown
    ]
    fits = {fit.hash: fit for kind in (evidence.allocation, evidence.batch) for name in (*metrics, *_lenders(shown))
            if (fit := kind.get(name)) is not None}  # fmt: skip
    law = next((fit for fit in fits.values() if fit in evidence.allocation.values()), None)
    drawn = [] if law is None else [Section("N and D over compute", draw=partial(_path, law))]
    joint = joint_table(join_metrics(cards))
    tables = [_table("Settings", rows), *([_table(JOINT, joint)] if joint else [])]
    tables.append(_table(ranking.TITLE, cost_table(reply.result.recipes[metric] for metric in metrics), ranking.UNITS))
    return make_report(reply.name, reply.file, fits.values(), [*tables, *drawn])


def _notes(card: Card) -> str:
    """Return the notes of a card: other choices, another compute rule, and why the user's runs are not used."""
    return " ".join(filter(None, (card.what_if, card.caution, card.complaint)))


def _lenders(cards: Iterable[Card]) -> tuple[str, ...]:
    """Return the metrics whose laws the cards use for other metrics."""
    return tuple(dict.fromkeys(card.lender for card in cards if card.lender))


def _path(fit: Fit, theme: Theme) -> Drawing:
    return draw_frontier(frontier_curve(fit), None, fit.spec.y, theme=theme)


def report_story(story: Story) -> Report:
    """Return the report of a story: its five screens, followed by the numbers and the sources of its plan."""
    sections = [
        Section(one.title, f"{one.sentence} {one.caption}".strip(), partial(_picture, one.picture))
        for one in story.screens
    ]
    told = as_document(story.plan.shown)
    made = make_report(story.title, told, story.fits, sections, reliability(story.plan.shown))
    return replace(made, assumed=story.assumed)


def _picture(picture: CostCurve | RunsPicture, theme: Theme) -> Drawing:
    return story_figure.draw(picture, theme) if theme.width is None else story_figure.draw(picture, theme, PRINTED)


def _table(title: str, rows: Sequence[Mapping[str, str]], text: str = "") -> Section:
    return Section(title, text, None, tuple(rows[0]), tuple(tuple(row.values()) for row in rows))


def _chart(make: Callable[[], Chart], theme: Theme) -> Drawing:
    return draw_chart(make(), theme)
