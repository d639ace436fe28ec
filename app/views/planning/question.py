"""The section "Budget or target": the question, its answer with a figure, and the form that saves the answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from isoplan.app.figures.plans import plan as plan_figure
from isoplan.app.reports.content import report_plan
from isoplan.app.views.planning import limiting, metrics, pricing, rules, saved
from isoplan.app.views.planning.asked import budget_blank, choose_way, target_blank
from isoplan.app.views.widgets.cache import runs_behind
from isoplan.app.views.widgets.inputs import TARGETS, blanks, compute_steps, target_steps, words
from isoplan.app.views.widgets.parts import draw, escape_markdown, readable, sentences, show_table, show_warnings
from isoplan.app.views.widgets.saved_items import keep
from isoplan.app.views.widgets.state import choose_fit, fit_of, remember
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.format import cells, number
from isoplan.engine.planning.drawing.picture import plan_curve
from isoplan.engine.planning.plan.answer import Plan, reach_text
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import bill_rows, document, flatness, rows, summary, worth_sentence
from isoplan.engine.planning.plan.feasibility import floor_of
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.fields import FIELDS, Field
from isoplan.engine.planning.scenario.typed_prices import read_limits, read_prices
from isoplan.engine.quantities import parse_flops, parse_number, power10
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results

Show = Callable[[float], str]


@dataclass(frozen=True)
class Typed:
    """Values of the input fields: budget or target, its text, the hashes of the maps, and the texts of the limits."""

    way: str
    value: str
    maps: tuple[str, ...]
    limits: dict[str, str]


def show(db: Database) -> None:
    """Show the question with its answer, then the saved plans.

    A changed input field reruns only the question and its answer.
    """
    _ask_and_answer(db)
    saved.show(db)


@st.fragment
def _ask_and_answer(db: Database) -> None:
    with sentences():
        map = metrics.follow_map(db)
        fit = choose_fit(db, start=metrics.usual(db))
        if fit is None:
            metrics.offer_fit(db)
        elif map is not None:
            metrics.offer_law(db, map)
        elif (plan := ask(db, fit)) is not None:
            _show_answer(db, fit, plan)


def ask(db: Database, fit: Fit) -> Plan | None:
    """Show the question and return the plan that answers it; None while the field of the budget or target is empty.

    Raises PlannerError if a value is invalid.
    """
    names = metrics.maps_of(db, fit)
    line, slider = st.container(), st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        words("Limits")
        chosen = limiting.choose()
        runs = runs_behind(db, fit)
        rule, second = rules.widgets(fit, runs)
    notes = st.container()
    with line:
        typed = _sentence(db, fit, names, chosen, notes)
    prices = pricing.widgets()
    if metrics.published(fit):
        notes.caption(metrics.why(fit))
    if not typed.value:
        notes.caption("Enter a number to see its plan.")
        return None
    maps = tuple(metrics.open_map(db, fit, name) for name in typed.maps)
    for foreign in metrics.foreign(fit, maps):
        notes.caption(escape_markdown(foreign))
    with slider:
        value = _budget(typed.value, fit) if typed.way == "Budget" else _target(typed.value, fit, maps)
    used, other = rules.read(fit, runs, rule, second)
    limits = read_limits(prices | limiting.drop_empty(typed.limits), "page")
    priced = read_prices(prices, "page")
    if typed.way == "Budget":
        return plan_budget(fit, value, used, limits=limits, prices=priced, other=other, maps=maps)
    return plan_target(fit, value, used, limits=limits, prices=priced, other=other, map=next(iter(maps), None))


def _sentence(db: Database, fit: Fit, names: dict[str, str], chosen: list[Field], notes: DeltaGenerator) -> Typed:
    """Show the question as a sentence with input fields and return their values.

    ``names`` are the names of the maps by hash. ``notes`` is the container, below the sentence, for messages.
    """
    with blanks("plan"):
        way = choose_way(fit)
        if way == "Budget":
            words("I have a budget of")
            value = budget_blank(fit)
            words(FIELDS["budget"].after)
        else:
            words("I need")
            name = metrics.choose_target(db, fit, names, notes)
            hint = metrics.example(db, fit, name)
            quantity = metrics.quantity(db, fit, name)
            value = target_blank(db, fit, f"Target {escape_markdown(names.get(name, fit.spec.y))}", quantity, hint)
        limits = limiting.blanks_of(chosen, sample_unit(fit), "and at most" if way == "Budget" else "and have at most")
        shown = metrics.choose_shown(db, fit, names, notes) if way == "Budget" else [name] if name else []
    return Typed(way, value, tuple(shown), limits)


def _budget(text: str, fit: Fit) -> float:
    """Return the budget in FLOPs from its text, and show its slider.

    If the text needed an interpretation, such as a unit, a caption states it.
    """
    reading = parse_flops(text)
    if 0 < reading.value < math.inf:
        steps = [float(f"{C:.3g}") for C in compute_steps(fit)[0]]
        _slide("Compute budget [FLOPs]", "budget", reading.value, steps, power10, _short)
    if reading.note:
        st.caption(f"Read as {power10(reading.value)} FLOPs: {escape_markdown(reading.note)}.")
    return reading.value


def _short(C: float) -> str:
    """Return a number of FLOPs in the form that a user types, such as 1.12e20."""
    return f"{C:.3g}".replace("e+", "e")


def _target(text: str, fit: Fit, maps: tuple[Through, ...]) -> float:
    """Return the target as a number from its text, and show its slider."""
    name = maps[0].map.spec.y if maps else fit.spec.y
    target = parse_number(text, f"target {name}")
    steps = _even(maps[0].map.data.ranges[name]) if maps else target_steps(fit)
    if math.isfinite(target):
        _slide(f"Target {escape_markdown(name)}", "target", target, steps, "{:.4g}".format, "{:.4g}".format)
    return target


def _even(span: tuple[float, float]) -> list[float]:
    """Return ``TARGETS`` + 1 evenly spaced targets over the range of a metric, each with four significant digits."""
    low, high = span
    return list(dict.fromkeys(float(f"{low + (high - low) * k / TARGETS:.4g}") for k in range(TARGETS + 1)))


def _slide(label: str, blank: str, value: float, steps: Sequence[float], show: Show, typed: Show) -> None:
    """Show a slider over ``steps`` for the input field with the key ``blank``; ``value`` is the number in the field.

    When the slider moves, its value is written to the field in the format ``typed``; a plan uses only the field. A
    typed value that is not a step becomes an additional step. This step is kept while the slider moves, because
    positions must not change during a drag.
    """
    key, between = f"{blank}_slider", f"{blank}_between"
    if value not in steps and value != st.session_state.get(between):
        st.session_state[between] = value
    extra = st.session_state.get(between)
    positions = sorted({*steps, *([] if extra is None else [extra])})
    if st.session_state.get(key) != value:
        st.session_state[key] = value

    def moved() -> None:
        remember(blank, typed(st.session_state[key]))

    st.select_slider(label, positions, key=key, format_func=show, on_change=moved, label_visibility="collapsed")


def _show_answer(db: Database, fit: Fit, plan: Plan) -> None:
    """Show the plan, the most important parts first, and the form that saves it."""
    plan = plan.shown
    with st.container(border=True):
        st.header(readable(plan.sentence), anchor=False)
        if plan.answers and plan.reach is not None and plan.reach.text and not reach_text(plan):
            st.markdown(escape_markdown(plan.reach.text))
        if said := summary(plan):
            st.markdown(readable(said))
        for worth in sorted(plan.worth, key=lambda one: not one.binds):
            icon = ":material/block:" if worth.binds else ":material/check:"
            st.markdown(f"{icon} {readable(worth_sentence(plan, worth))}")
    if plan.answers:
        show_table(map(cells, rows(plan)), "The plan in numbers.")
    if plan.bill and plan.prices is not None:
        st.subheader("What it costs", anchor=False)
        show_table(map(cells, bill_rows(plan)), "Cost of the plan by part.")
        st.caption(f"{escape_markdown(plan.prices.machine.text)}.")
    other = f" {plan.restated.sentence}" if plan.restated is not None else ""
    st.caption(
        escape_markdown(f"Compute is counted by {plan.compute.text}.{other} Decades beyond are counted from the runs.")
    )
    _picture(db, fit, plan)
    show_warnings(plan.warnings)
    maps = tuple(fit_of(db, name) for name in plan.maps)
    make = partial(report_plan, plan, fit, _name(plan), runs_behind(db, fit), maps)
    keep("plan", _name(plan), "plan", document(plan), lambda name: results.save_plan(db, plan, name), make)


def _picture(db: Database, fit: Fit, plan: Plan) -> None:
    runs, arrays, floor = runs_behind(db, fit), plan_curve(plan, fit), floor_of(fit)
    draw(lambda theme: plan_figure.draw(plan, arrays, runs, floor, theme), key="plan_picture")
    for said in flatness(plan):
        st.caption(readable(said))


def _name(plan: Plan) -> str:
    asked = plan.question
    if asked.kind == "budget":
        return f"{number(plan.allocation['C'], asked.value)} FLOPs"
    return f"{asked.metric or plan.y} {asked.value:.4g}"
