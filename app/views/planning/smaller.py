"""Smaller for longer: what other model sizes of the same loss cost to train, and which is cheapest over its life."""

from __future__ import annotations

import math
from functools import partial

import streamlit as st

from isoplan.app.figures.plans import smaller as picture
from isoplan.app.views.planning import limiting, metrics, pricing
from isoplan.app.views.planning.asked import choose_way, target_blank
from isoplan.app.views.widgets import saved_items
from isoplan.app.views.widgets.parts import (
    cells,
    draw,
    escape_markdown,
    powers,
    readable,
    sentences,
    show_table,
    show_warnings,
)
from isoplan.app.views.widgets.save_form import keep_answer
from isoplan.app.views.widgets.sentence_form import blank, blanks, words
from isoplan.app.views.widgets.state import choose_fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.plan.answer import Question, sample_unit
from isoplan.engine.planning.plan.support import budgets
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.planning.smaller.answer import Lifetime, SameLoss, lifetime, lifetime_curve, same_loss
from isoplan.engine.planning.smaller.document import document
from isoplan.engine.planning.smaller.text import (
    half_sentence,
    lifetime_rows,
    lifetime_sentence,
    size_rows,
    smallest_sentence,
    warnings,
)
from isoplan.engine.quantities import parse_flops, parse_number, power10
from isoplan.engine.store.database.database import Database

UNSERVED = (
    "Give the queries over its life under Machine and prices to see which size trains and answers them at least cost."
)


def show(db: Database) -> None:
    """The law, the question, and its answer, which runs alone when a blank changes; then what was saved."""
    _ask_and_answer(db)
    saved_items.show_answers(db, "smaller")


@st.fragment
def _ask_and_answer(db: Database) -> None:
    with sentences():
        fit = choose_fit(db, start=metrics.usual(db))
        if fit is None:
            metrics.offer_fit(db)
            return
        question, prices = _ask(db, fit), pricing.ask()
        if question is not None:
            _answer(db, fit, question, prices)


def _ask(db: Database, fit: Fit) -> Question | None:
    """Which loss the models have in common, and what limits them; None while the first blank is empty."""
    line = st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        words("Limits")
        chosen = limiting.choose()
    with line, blanks("smaller"):
        words("Models that reach the loss of")
        way = choose_way(fit)
        if way == "Budget":
            top = budgets(fit)[1]
            typed = blank("Compute budget", f"1e{round(math.log10(top))}", "budget", 150, hint="1e20, 200 H200 hours")
            words("FLOPs at its best")
        else:
            typed = target_blank(db, fit, f"Target {escape_markdown(fit.spec.y)}", fit.spec.y, "for example 2.0")
        limits = limiting.blanks_of(chosen, sample_unit(fit), "with at most")
    if not typed:
        return None
    if way == "Budget":
        return Question("budget", parse_flops(typed).value, limiting.read(limits))
    return Question("target", parse_number(typed, f"target {fit.spec.y}"), limiting.read(limits))


def _answer(db: Database, fit: Fit, question: Question, prices: Prices | None) -> None:
    """The sentence, what each size costs, its picture, and over the model's life where queries are known."""
    curve, served = same_loss(fit, question, prices=prices), prices.inference if prices is not None else None
    life = lifetime(fit, question, served, prices=prices) if served is not None and curve.plan.answers else None
    with st.container(border=True):
        st.header(powers(readable(half_sentence(curve))), anchor=False)
        if smallest := smallest_sentence(curve):
            st.markdown(powers(readable(smallest)))
        if life is not None:
            st.markdown(f"**{powers(readable(lifetime_sentence(life)))}**")
    if curve.plan.answers:
        show_table(_sizes(curve), "Models of the same loss in numbers.")
        fraction = life.fraction.value if life is not None and life.answers else None
        draw(partial(picture.draw, curve, fraction), key="smaller_picture")
        dashed = "" if curve.beyond.max() <= 0.005 else "; what is dashed lies beyond the runs"
        st.caption(f"The star is the best size for training; the tint is the 68 % interval{dashed}.")
    if served is None:
        st.info(UNSERVED, icon=":material/query_stats:")
    elif life is not None and life.answers:
        st.subheader("Over its life", anchor=False)
        _lifetime(life)
        if life.total.value is not None:
            costs = lifetime_curve(fit, question, served, prices=prices)
            draw(partial(picture.draw_life, costs, life), key="lifetime_picture")
    st.caption(escape_markdown(f"Compute is counted by {fit.compute.text}."))
    show_warnings(warnings(curve, life))
    keep_answer(db, "smaller", _name(curve), document(curve, life, served, f"fit-{fit.hash}.json"))


def _name(curve: SameLoss) -> str:
    asked = curve.plan.question
    of = f"of {power10(asked.value)} FLOPs" if asked.kind == "budget" else f"{asked.value:.4g}"
    return f"{curve.plan.y} {of}"


def _sizes(curve: SameLoss) -> list[dict[str, str]]:
    head, *lines = size_rows(curve)
    return [dict(zip((*head[:-1], "Note"), line, strict=True)) for line in lines]


def _lifetime(life: Lifetime) -> None:
    body = [{key: powers(text) for key, text in cells(row).items()} for row in lifetime_rows(life)]
    show_table(body, "The cheapest size over its life in numbers.")
