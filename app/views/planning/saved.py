"""Section of saved plans: a link that opens each plan again, and a comparison with the results of actual runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

import streamlit as st

from isoplan.app.figures.plans import outcomes
from isoplan.app.views.planning import limiting, pricing, rules
from isoplan.app.views.planning.metrics import open_map
from isoplan.app.views.widgets.cache import runs_of, saved_fit
from isoplan.app.views.widgets.parts import distinct, draw, escape_markdown, number, sentences
from isoplan.app.views.widgets.saved_items import deleted, manage, opener, show_answers
from isoplan.app.views.widgets.state import fit_of
from isoplan.app.views.widgets.stories import story_link
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.actual.outcome import Actual, Outcome, of_run, outcome
from isoplan.engine.planning.actual.results import HEAD, Result, table
from isoplan.engine.planning.actual.results import sentences as said
from isoplan.engine.planning.answer.format import number as stated
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.questions.typed_plan import OURS
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.quantities import as_typed, count, parse_flops, parse_number
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results, saved_items
from isoplan.engine.store.saved.results import SavedActual
from isoplan.engine.store.tables import tables

MOST_PLANS = 20


def show(db: Database) -> None:
    """Show the saved plans, the results of actual runs, and the saved answers."""
    kept = results.plans(db)
    if kept:
        st.header("Saved plans", anchor=False)
    for one in kept[:MOST_PLANS]:
        _saved(db, one)
    if len(kept) > MOST_PLANS:
        st.caption(f"{len(kept) - MOST_PLANS} older plans are not shown.")
    gone = {p.hash: p.name for p in results.plans(db, deleted=True)}
    deleted("plans", gone, lambda key: saved_items.restore(db, "plans", key))
    _results(db)
    show_answers(db)


def _saved(db: Database, one: results.SavedPlan) -> None:
    plan = results.plan(db, one.hash)
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            opener("plan", one.name, link(db, plan), "flag")
            with st.container(horizontal=True, width="content"):
                _form(db, one.hash, plan)
                manage(
                    one.hash,
                    one.name,
                    lambda name: saved_items.rename(db, "plans", one.hash, name),
                    lambda: saved_items.delete(db, "plans", one.hash),
                )
        st.caption(escape_markdown(plan.sentence))
        if plan.answers and not plan.fails:
            story_link(one.hash)


def link(db: Database, plan: Plan) -> dict[str, str | list[str]]:
    """Return the query parameters of a link that opens the Plan page with the question of ``plan``."""
    asked = plan.question
    found: dict[str, str | list[str]] = {
        "fit": plan.fit,
        "ask": asked.kind.capitalize(),
        asked.kind: _typed_value(plan),
    }
    if plan.saving is not None:
        sizes = (plan.saving.stated[name].value for name in ("N", "D"))
        found |= {name: as_typed(x) for name, x in zip(OURS, sizes, strict=True) if x is not None}
    if plan.maps:
        found |= {"map": plan.maps[0]} if asked.kind == "target" else {"maps": ",".join(plan.maps)}
    try:
        fit = fit_of(db, plan.fit)
    except PlannerError:  # the page states that the fit is missing
        return found
    other = plan.restated.rule if plan.restated else None
    found |= rules.link(fit.compute, plan.compute) | rules.second_link(rules.usual_other(fit, plan.compute), other)
    limits = asked.limits if asked.money is None else replace(asked.limits, money=_typed_limit(asked))
    return found | limiting.link(limits) | pricing.link(plan.prices)


def _typed_value(plan: Plan) -> str:
    """Return the budget or the target of ``plan`` as the user may type it: "500 EUR" for a budget in money."""
    asked = plan.question
    if asked.money is not None and plan.prices is not None:
        return f"{as_typed(asked.money)} {plan.prices.currency}"
    return as_typed(asked.value)


def _typed_limit(asked: Question) -> float | None:
    """Return the limit on money that the user typed. If ``asked`` limits money only by its budget, return None."""
    return None if asked.limits.money == asked.money else asked.limits.money


MOST_RUNS, MOST_RESULTS = 200, 40
TYPED, ROW = "Enter numbers", "Select a run of a table"


def _form(db: Database, key: str, plan: Plan) -> None:
    """Show the form for the actual result of the saved plan ``key``: the user enters numbers or selects a table row."""
    with st.popover("Add the result", icon=":material/sports_score:", key=f"done_{key}"):
        way = st.segmented_control(
            "The result", [TYPED, ROW], default=TYPED, required=True, key=f"way_{key}", label_visibility="collapsed"
        )
        measured = ("", *_metrics(db, plan))
        with sentences():
            found = _typed(key, plan, measured) if way == TYPED else _row(db, key, plan, measured)
            if found is not None:
                _outcome(db, plan, found)  # raises PlannerError if the result cannot be compared
                results.save_actual(db, key, found)
                st.toast("The result is saved with its plan.")
                st.rerun()


def _typed(key: str, plan: Plan, measured: tuple[str, ...]) -> Actual | None:
    """Show the form in which the user enters the result as numbers; return it, or None until the form is sent."""
    with st.form(f"result_{key}", border=False):
        metric = _metric(key, plan, measured)
        value = st.text_input("Result", placeholder="for example 2.0", max_chars=60)
        N, D, C = (
            st.text_input(label, placeholder=f"as planned: {shown}", max_chars=60)
            for label, shown in (
                ("Parameters N", _planned(plan, "N")),
                ("Samples D", _planned(plan, "D")),
                ("Compute C [FLOPs]", _planned(plan, "C")),
            )
        )
        note = st.text_input("Note", placeholder="seed 1", max_chars=120)
        when = st.date_input("When", None, max_value=date.today())
        if not st.form_submit_button("Save the result", type="primary"):
            return None
    return Actual(
        parse_number(value or "", "result"),
        parse_number(N, "parameters") if N else None,
        parse_number(D, "samples") if D else None,
        parse_flops(C, "FLOPs").value if C else None,
        metric,
        (note or "").strip(),
        when.isoformat() if when else "",
    )


def _row(db: Database, key: str, plan: Plan, measured: tuple[str, ...]) -> Actual | None:
    """Show the selection of a run table and a run; return the run as a result, or None until the button is pressed."""
    names = distinct({t.id: t.name for t in tables.all(db)})
    chosen = st.selectbox(
        "Run table", list(names), index=None, format_func=names.__getitem__, key=f"table_{key}", placeholder="Choose"
    )
    if chosen is None:
        return None
    runs = runs_of(db, tables.get(db, chosen), "")[1]
    places = list(range(len(runs)))[: -MOST_RUNS - 1 : -1]
    place = st.selectbox(
        f"Run{f' (the last {MOST_RUNS})' if len(runs) > MOST_RUNS else ''}", places,
        format_func=lambda i: _named(runs, i, plan.y), key=f"run_{key}_{chosen}",
    )  # fmt: skip
    metric = _metric(key, plan, measured)
    if place is None or not st.button("Save the result", type="primary", key=f"take_{key}"):
        return None
    return of_run(runs, place, plan.y, metric)


def _metric(key: str, plan: Plan, measured: tuple[str, ...]) -> str:
    """Show the selection of the measured quantity; return a metric, or "" for the quantity that the law describes."""
    if len(measured) == 1:
        st.caption(f"Measured value of {escape_markdown(plan.y)}.")
        return ""
    start = measured.index(plan.question.metric) if plan.question.metric in measured else 0
    return str(
        st.selectbox("Measured quantity", measured, index=start, format_func=lambda m: m or plan.y, key=f"what_{key}")
    )


def _results(db: Database) -> None:
    """Compare actual results with their plans in a figure and in a table.

    A sentence states how many results are inside the predicted intervals.
    """
    kept = results.actuals(db)
    if kept:
        st.header("Planned and actual", anchor=False)
        with sentences():
            _all(db, kept[-MOST_RESULTS:][::-1])
    if len(kept) > MOST_RESULTS:
        st.caption(f"{len(kept) - MOST_RESULTS} older results are not shown.")
    names = {p.hash: p.name for p in results.plans(db)}
    gone = {one.id: _label(one, names) for one in results.actuals(db, deleted=True)}
    deleted("results", gone, lambda key: saved_items.restore(db, "actuals", key))


def _all(db: Database, kept: list[SavedActual]) -> None:
    found, names = [], {p.hash: p.name for p in results.plans(db)}
    for one in kept:
        try:
            found.append(_result(db, one, names[one.plan_hash]))
        except PlannerError as error:
            st.caption(f"{escape_markdown(names[one.plan_hash])}: {escape_markdown(str(error))}")
    if found:
        st.markdown("  \n".join(escape_markdown(sentence) for sentence in said(found)))
        draw(lambda theme: outcomes.draw(found, theme), key="outcomes")
        _, *lines = table(found)
        st.table(
            [{h: escape_markdown(cell) for h, cell in zip(HEAD, line, strict=True)} for line in lines],
            border="horizontal", hide_index=True, alt="Actual results compared with their predictions.",
        )  # fmt: skip
        st.caption(
            "Dots are results. Bands are the 68 % and 95 % intervals of one run with the trained N and D. They "
            "include the interval of the law and the scatter of runs."
        )
    with st.popover("Remove a result", icon=":material/delete:"):
        for one in kept:
            if st.button(
                escape_markdown(_label(one, names)), key=f"remove_{one.id}", help="A removed result can be restored."
            ):
                saved_items.delete(db, "actuals", one.id)
                st.rerun()


def _result(db: Database, one: SavedActual, name: str) -> Result:
    """Return an actual result and its prediction. Raises PlannerError if the fit or the map of the plan is missing."""
    plan = results.plan(db, one.plan_hash)
    return Result(name, plan, _outcome(db, plan, one.actual))


def _outcome(db: Database, plan: Plan, actual: Actual) -> Outcome:
    """Return ``actual`` with its prediction by ``plan``. Raises PlannerError if no comparison is possible."""
    fit, hash = fit_of(db, plan.fit), _metrics(db, plan).get(actual.metric)
    return outcome(plan, fit, actual, open_map(db, fit, hash) if hash else None)


def _metrics(db: Database, plan: Plan) -> Mapping[str, str]:
    """Return the hash of each map of ``plan``, by the metric that the map predicts."""
    found = {}
    for hash in plan.maps:
        try:
            found[saved_fit(db, hash).spec.y] = hash
        except PlannerError:  # the map is not in this workspace
            continue
    return found


def _planned(plan: Plan, size: str) -> str:
    q = plan.allocation[size]
    return "not stated" if q.value is None else stated(q)


def _named(runs: Runs, place: int, y: str) -> str:
    """Return the label of a run in the selection of runs: its name, N, D and the value of ``y``."""
    name = str(runs.labels["run"][place]) if "run" in runs.labels else f"row {runs.ids[place]}"
    sizes = [f"{role} {count(float(runs[role][place]), 3)}" for role in ("N", "D") if role in runs]
    value = [f"{y} {number(float(runs[y][place]), 4)}"] if y in runs else []
    return ", ".join((name, *sizes, *value))


def _label(one: SavedActual, names: Mapping[str, str]) -> str:
    """Return a short label of an actual result: metric, value, and name of its plan."""
    what = f"{one.actual.metric} " if one.actual.metric else ""
    return f"{what}{number(one.actual.value, 4)}, {names.get(one.plan_hash, one.plan_hash)}"
