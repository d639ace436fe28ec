"""Input fields of the section "Budget or target" of the Plan page. The module ``plan_answer`` shows the answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from isoplan.app.views.planning import limiting, map_forms, metrics, plan_answer, pricing, rules, saved
from isoplan.app.views.planning.asked import (
    as_budget,
    budget_blank,
    choose_way,
    own_values,
    target_blank,
    typed_budget,
)
from isoplan.app.views.planning.opening import choose_law
from isoplan.app.views.widgets.cache import runs_behind
from isoplan.app.views.widgets.inputs import TARGETS, blank, blanks, compute_steps, target_steps, words
from isoplan.app.views.widgets.parts import escape_markdown, sentences
from isoplan.app.views.widgets.state import remember
from isoplan.engine.amounts import is_money
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.saving import save_against
from isoplan.engine.planning.plan.start import best_of_runs, usual_metric
from isoplan.engine.planning.questions.typed_plan import OURS, Asked, answer_question, read_ours, read_question
from isoplan.engine.planning.scenario.fields import FIELDS, Field
from isoplan.engine.planning.scenario.typed_prices import missing_device
from isoplan.engine.quantities import as_typed, count, power10
from isoplan.engine.store.database.database import Database

Show = Callable[[float], str]


@dataclass(frozen=True)
class Typed:
    """Texts of the input fields.

    ``way`` is "Budget" or "Target", and ``value`` is the text of its field. ``maps`` contains the hash of the map
    if the target is a metric. ``limits`` contains the text of each limit by field name.
    """

    way: str
    value: str
    maps: tuple[str, ...]
    limits: dict[str, str]


def show(db: Database) -> None:
    """Show the question with its answer, then the saved plans.

    A change of an input field reruns only the question and its answer.
    """
    _ask_and_answer(db)
    saved.show(db)


@st.fragment
def _ask_and_answer(db: Database) -> None:
    with sentences():
        map = metrics.follow_map(db)
        fit = choose_law(db)
        if fit is not None and map is not None:
            metrics.offer_law(db, map)
        elif fit is not None:
            _ask(db, fit)


def _ask(db: Database, fit: Fit) -> None:
    """Show the question and its answer. If a value is invalid, show an error sentence instead of the answer.

    The input fields are above the answer. Only the fields for N and D of the user's own plan are below the answer.
    """
    own_values(db, fit)
    names = metrics.maps_of(db, fit)
    line = st.container()
    near = st.container() if is_money(typed_budget(fit)) else None
    slider = st.container()
    more = st.expander("Limits, machine and prices", icon=":material/tune:", key="machine_and_prices")
    notes = st.container()
    with more:
        chosen = limiting.choose()
        runs = runs_behind(db, fit)
        rule, second = rules.widgets(fit, runs)
        expected = st.container()
        prices = pricing.fields(near)
        measured = st.container()
        if lacking := missing_device(prices, "page"):
            st.warning(escape_markdown(f"{lacking} The plan is shown without costs."), icon=":material/warning:")
            prices = {}
    with line:
        typed = _sentence(db, fit, names, chosen, notes)
    shown = typed.maps
    if typed.way == "Budget":
        with expected:
            shown = tuple(metrics.choose_shown(db, fit, names, notes))
    if metrics.published(fit):
        notes.caption(metrics.why(fit))
    if not typed.value:
        notes.caption("Enter a number to see its plan.")
        return
    maps = tuple(metrics.open_map(db, fit, name) for name in shown)
    for foreign in metrics.foreign(fit, maps):
        notes.caption(escape_markdown(foreign))
    used, other = rules.read(fit, runs, rule, second)
    with slider:
        asked = _read(fit, typed, {**prices, **limiting.drop_empty(typed.limits)}, maps, used)
    with measured:
        pricing.offer_measured(runs, used, asked.prices)
    plan = map_forms.with_cautions(db, answer_question(fit, asked, used, other, maps), maps)
    top = st.container()
    with st.expander("Compare with your plan", icon=":material/compare_arrows:", key="our_plan"):
        plan = _compare(fit, plan)
    with top:
        plan_answer.show(db, fit, plan.shown, maps, runs)
    plan_answer.show_details(db, fit, plan.shown, runs)


def _sentence(db: Database, fit: Fit, names: dict[str, str], chosen: list[Field], notes: DeltaGenerator) -> Typed:
    """Show the question as a sentence with input fields and return their values.

    ``names`` are the names of the maps by hash. ``chosen`` are the selected limits. ``notes`` is the container for
    messages.
    """
    with blanks("plan"):
        way = choose_way(fit)
        maps: tuple[str, ...] = ()
        if way == "Budget":
            words("I have a budget of")
            value = budget_blank(fit)
            words("in FLOPs, device hours or money")
        else:
            words("I need")
            name = metrics.choose_target(db, fit, names, notes)
            of = metrics.described(db, fit, name)
            start = f"{usual_metric(of):g}" if name else ""
            value = target_blank(db, fit, f"Target {escape_markdown(of.spec.y)}", of.spec.y, start)
            maps = (name,) if name else ()
        limits = limiting.blanks_of(chosen, sample_unit(fit), "and at most" if way == "Budget" else "and have at most")
    return Typed(way, value, maps, limits)


def _read(fit: Fit, typed: Typed, texts: dict[str, str], maps: tuple[Through, ...], rule: ComputeRule) -> Asked:
    """Read the typed question and return it; show a slider for its budget or target.

    A caption states how a budget was converted to FLOPs, or how far a target is from the best run. If a value is
    invalid, raises a PlannerError that names the field.
    """
    if typed.way == "Budget":
        asked = read_question({**texts, "budget": typed.value}, "page")
        if asked.question.money is not None:
            _slide_money(asked)
            return asked
        C = asked.question.value
        _slide("Budget as a slider [FLOPs]", "budget", C, [float(f"{x:.3g}") for x in compute_steps(fit)[0]], power10,
               as_budget)  # fmt: skip
        if asked.reading is not None and asked.reading.note:
            st.caption(f"Read as {power10(C)} FLOPs: {escape_markdown(asked.reading.note)}.")
        return asked
    of = maps[0].map if maps else fit
    name = of.spec.y
    asked = read_question(
        {**texts, "target_loss": typed.value}, "page", target=f"target {name}", metric=name if maps else ""
    )
    steps = _even(of.data.ranges[name]) if maps else target_steps(fit)
    _slide(
        f"Target {escape_markdown(name)} as a slider",
        "target",
        asked.question.value,
        steps,
        "{:.4g}".format,
        "{:.4g}".format,
    )
    st.caption(escape_markdown(best_of_runs(of, asked.question.value)))
    return asked


def _slide_money(asked: Asked) -> None:
    """Show a slider for a budget in money, from a tenth to ten times the amount that is typed."""
    assert asked.question.money is not None
    assert asked.prices is not None
    currency, money = asked.prices.currency, asked.question.money
    steps = [float(f"{money * 10 ** (k / 10):.3g}") for k in range(-10, 11)]
    _slide(f"Budget as a slider [{currency}]", "budget", money, steps, lambda x: f"{count(x, 3)} {currency}",
           lambda x: f"{as_typed(x)} {currency}")  # fmt: skip


def _compare(fit: Fit, plan: Plan) -> Plan:
    """Show the fields for N and D of the user's own plan; return ``plan`` with a comparison.

    If the fields are empty, ``plan`` is returned unchanged.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        fields = [FIELDS[name] for name in OURS]
        texts = {one.name: blank(one.label, "", one.name, 200, one.hint, labelled=True) for one in fields}
    with sentences():
        ours = read_ours(texts, "page")
        if ours is not None:
            plan = replace(plan, saving=save_against(fit, plan, *ours))
            plan_answer.show_saving(plan)
        else:
            st.caption("Enter N and D of your plan to compare it with the cheapest plan for the same loss.")
    return plan


def _even(span: tuple[float, float]) -> list[float]:
    """Return ``TARGETS`` + 1 evenly spaced targets in the range ``span`` of a metric, rounded to four digits."""
    low, high = span
    return list(dict.fromkeys(float(f"{low + (high - low) * k / TARGETS:.4g}") for k in range(TARGETS + 1)))


def _slide(label: str, blank: str, value: float, steps: Sequence[float], show: Show, typed: Show) -> None:
    """Show a slider over ``steps`` for the input field with the key ``blank``; ``value`` is the number in the field.

    A moved slider writes its value to the field in the format ``typed``. The plan uses only the value of the field. A
    typed value that is not in ``steps`` becomes an additional position. This position remains while the slider moves,
    because positions must not change during a drag. No slider is shown if ``value`` is not finite, or if a budget is
    not positive.
    """
    if not math.isfinite(value) or (blank == "budget" and value <= 0):
        return
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
