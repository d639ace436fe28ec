"""Section of the Plan page for one planner question: input fields, and the answer with tables and charts."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from isoplan.app.views.planning import first_cells, limiting, listed_cells, pricing
from isoplan.app.views.planning.asked import (
    SHORT,
    WAYS,
    budget_blank,
    choose_way,
    own_blank,
    target_blank,
    typed_budget,
)
from isoplan.app.views.planning.fit_choice import choose_fits, show_target_of_plan
from isoplan.app.views.planning.planner_answer import show_answer
from isoplan.app.views.widgets.cache import curves_of, runs_behind, runs_of
from isoplan.app.views.widgets.inputs import blank, blanks, words
from isoplan.app.views.widgets.parts import distinct, escape_markdown, sentences
from isoplan.app.views.widgets.saved_items import show_answers
from isoplan.app.views.widgets.state import choose_fit, keep_possible, table_of_fit
from isoplan.engine.amounts import is_money
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning import floor_of
from isoplan.engine.planning.questions.declaration import CellsInput, CurveInput, PlannerQuestion
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.planning.questions.reading import read_given
from isoplan.engine.planning.scenario.fields import Field
from isoplan.engine.schema import Curves
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables

MORE = "More options"
"""Title of the expander with optional inputs, if the question has no other title for it."""
GIVEN = "as given"
ABOVE = 1.5
"""Ratio of the default target to the floor (irreducible loss) of the law. Used if the fit has no best run."""


def show(db: Database, question: PlannerQuestion) -> None:
    """Show the question with its answer, then the saved answers to this question.

    A change of an input field reruns only the question and its answer.
    """
    _ask_and_answer(db, question)
    show_answers(db, question.name)


@st.fragment
def _ask_and_answer(db: Database, question: PlannerQuestion) -> None:
    with sentences():
        fits = choose_fits(db, question)
        fit = next(iter(fits.values()), None)
        if (fit is None or not fit.law.is_surface) and first_cells.show(db, question):
            return
        if fit is None:
            return
        if any(field.link for field in question.losses):
            show_target_of_plan(db, fit)
        asked = _ask(db, fits, _name_target(question, fit.spec.y))
        if asked is not None:
            show_answer(db, fit, question, *asked)


def _ask(
    db: Database, fits: dict[str, Fit], question: PlannerQuestion
) -> tuple[Given, listed_cells.ListedCells | None] | None:
    """Show the input fields and return their values, and the listed cells to choose from.

    The result is None if the budget or target is empty. Raises PlannerError if a value is invalid.
    """
    fit = next(iter(fits.values()))
    line = st.container()
    near = st.container() if question.losses and is_money(typed_budget(fit)) else None
    chosen: list[Field] = []
    if question.limits:
        with st.container(horizontal=True, vertical_alignment="center"):
            words("Limits")
            chosen = limiting.choose()
    with line, blanks(question.name):
        words(question.lead.format(y=escape_markdown(fit.spec.y)))
        loss = _loss_blank(db, fit, question)
        own = {
            field.name: own_blank(field, sample_unit(fit)) for field in question.own if field.label and not field.folded
        }
        cells = None if question.cells is None else _cells(db, fit, question.cells)
        limits = limiting.blanks_of(chosen, sample_unit(fit), "with at most")
    optional, curves, folded = _more(db, question)
    prices = pricing.widgets(near) if question.prices else {}
    if question.losses and not any(loss.values()):
        return None
    if curves is not None and question.curves is not None:
        del own[question.curves.field]
    given = read_given(question, {**prices, **loss, **own, **folded, **limiting.drop_empty(limits)}, "page")
    for note in given.notes:
        st.caption(escape_markdown(note))
    fits = {**fits, **optional}
    files = {name: f"fit-{one.hash}.json" for name, one in fits.items()}
    candidates = None if cells is None else cells.candidates
    return replace(given, fits=fits, files=files, curves=curves, candidates=candidates), cells


def _cells(db: Database, fit: Fit, source: CellsInput) -> listed_cells.ListedCells | None:
    return listed_cells.choose(db, table_of_fit(db, fit.hash), runs_behind(db, fit), fit.compute, source)


def _name_target(question: PlannerQuestion, y: str) -> PlannerQuestion:
    """Return ``question`` with the name ``y`` in the label of its target field. The law describes the column ``y``."""
    fields = (
        replace(one, label=f"Target {escape_markdown(y)}", said=f"target {y}") if one.name == "target_loss" else one
        for one in question.fields
    )
    return replace(question, fields=tuple(fields))


def _loss_blank(db: Database, fit: Fit, question: PlannerQuestion) -> dict[str, str]:
    """Show the input field of a budget or a target; return its text by the name of the field.

    If the question allows a budget and a target, a choice between the two comes first. If the target field
    of ``question`` has its own key in the URL (``Field.link``), the initial target is the best loss of the runs.
    """
    fields = {field.name: field for field in question.losses}
    if not fields:
        return {}
    way = choose_way(fit) if len(fields) > 1 else WAYS["budget" not in fields]
    if way == WAYS[0]:
        typed = budget_blank(fit)
        if after := fields["budget"].after:
            words(after)
        return {"budget": typed}
    target = fields["target_loss"]
    if target.link:
        best = fit.best_run
        start = f"{best:.3g}" if best is not None else f"{ABOVE * (floor_of(fit).value or 0.0):.2g}"
        return {target.name: blank(target.label, start, target.link, SHORT)}
    return {target.name: target_blank(db, fit, target.label, fit.spec.y)}


def _more(db: Database, question: PlannerQuestion) -> tuple[dict[str, Fit], Curves | None, dict[str, str]]:
    """Show an expander with optional fits, training curves and folded fields.

    Returns the fits by name, the curves, and the texts of the fields that are not empty, by name.
    """
    optional, source = [one for one in question.fits if one.optional], question.curves
    folded = [field for field in question.own if field.folded]
    if not optional and source is None and not folded:
        return {}, None, {}
    curves, texts = None, dict[str, str]()
    with st.expander(question.more or MORE, icon=":material/tune:"):
        grid = st.grid(3, min_column_width=220)
        if source is not None:
            with grid.cell():
                curves = _choose_curves(db, source)
        fits: dict[str, Fit] = {}
        for one in optional:
            with grid.cell():
                fit = choose_fit(db, one.key, one.label, one.laws, free=True)
            fits |= {one.name: fit} if fit is not None else {}
        for field in folded:
            with grid.cell():
                text = blank(field.label, field.start, field.link or field.name, 220, field.hint, labelled=True)
            texts |= {field.name: text} if text.strip() else {}
    return fits, curves, texts


def _choose_curves(db: Database, source: CurveInput) -> Curves | None:
    """Show the selection of a table of training curves; return the curves, or None if none is selected."""
    pairs = {curves.id: (runs, curves) for runs in tables.all(db) for curves in tables.curves_of(db, runs.id)}
    names = distinct({key: curves.name for key, (_, curves) in pairs.items()})
    keep_possible(source.link, [GIVEN, *names])
    chosen = str(
        st.selectbox(source.label, [GIVEN, *names], format_func=lambda key: names.get(key, key), key=source.link,
                     bind="query-params", help=source.tip)
    )  # fmt: skip
    if chosen not in pairs:
        return None
    snapshot, runs = runs_of(db, pairs[chosen][0], "")
    return curves_of(db, pairs[chosen][1], snapshot, runs)
