"""Simulate or repeat: one pass over many samples compared with few samples repeated to early stopping, at one loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import streamlit as st

from isoplan.app.figures.plans import simulate as picture
from isoplan.app.views.planning import pricing
from isoplan.app.views.widgets import saved_items
from isoplan.app.views.widgets.cache import curves_of, runs_of
from isoplan.app.views.widgets.inputs import blank, blanks, words
from isoplan.app.views.widgets.parts import (
    distinct,
    draw,
    escape_markdown,
    number,
    powers,
    readable,
    sentences,
    show_table,
    show_warnings,
)
from isoplan.app.views.widgets.saved_items import keep_answer
from isoplan.app.views.widgets.scopes import belong
from isoplan.app.views.widgets.state import (
    choose_fit,
    fit_names,
    fit_of,
    keep_possible,
    owner_of_fit,
    recall,
    task_of_fit,
)
from isoplan.engine.amounts import SAMPLES, parse_amount
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning import floor_of
from isoplan.engine.planning.answer.format import cells
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.repeat import (
    Factor,
    SampleCosts,
    SimulateOrRepeat,
    between,
    between_text,
    costs_of,
    fit_factor,
    rows,
    sentence,
    simulate_or_repeat,
    stated,
    unpriced,
    unpriced_rows,
    worth_of,
    worth_text,
)
from isoplan.engine.planning.repeat.document import Files, document
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.quantities import parse_number
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

ONE_PASS, REPEATED = ("chinchilla", "data-constrained"), ("repetition", "power")
REPEATED_OVER = (("repetition", "D"), ("repetition", "U"), ("power", "D"), ("power", "U"))
"""Law and axis of laws of repeated samples."""
GIVEN = "as given"
ABOVE = 1.5
"""Initial target in units of the floor, if the runs are unknown."""
SAME_FLOOR = 0.1
"""Maximum relative difference of the floors of a single-pass and a repeated law of the same task."""
UNFITTED = (
    "This task has no law of repeated samples. Fit repetition to a table of repeated runs, or choose another law of "
    "samples seen once."
)
UNKNOWN = (
    "The task of this law is not known. Choose the law of repeated samples that was fitted to runs of the same task."
)
OF_ONE_PASS = ("repeated", "threshold", "few_epochs", "reach", "have")
"""Values that belong to the task of the single-pass law."""
UNPRICED = (
    "Enter a device, its price per hour and the price of a simulated sample under Machine and prices to compare the "
    "costs of both ways."
)


def show(db: Database) -> None:
    """Show the two laws, the question and its answer, which rerun alone if a field changes; then the saved answers."""
    _ask_and_answer(db)
    saved_items.show_answers(db, "repeat")


@st.fragment
def _ask_and_answer(db: Database) -> None:
    with sentences():
        left, right = st.columns(2)
        with left:
            start = "" if recall("one_pass") else _fitting(db)
            one = choose_fit(db, "one_pass", "Every sample seen once", ONE_PASS, start)
        near = _repeated(db, one.hash) if one is not None else []
        with right:
            repeated = _choose_repeated(db, one, near)
        if one is not None and not near:
            st.info(UNFITTED, icon=":material/info:")
        elif one is not None and repeated is not None:
            _say_loss(db, one)
            _ask(db, one, repeated)
        elif one is not None and not recall("repeated"):
            st.info(UNKNOWN, icon=":material/info:")


def _choose_repeated(db: Database, one: Fit | None, near: Sequence[str]) -> Fit | None:
    """Return the chosen law of repeated samples from ``near``; its values belong to the task of ``one``.

    The default is the nearest law of the same task. If the task is unknown, it needs a similar floor.
    """
    start: str | None = ""
    if one is not None:
        belong("one_pass", owner_of_fit(db, one.hash), remembered=OF_ONE_PASS)
        start = _nearest(db, one, near)
        if start and not task_of_fit(db, one.hash) and not _alike(fit_of(db, start), one):
            start = None
    return choose_fit(
        db, "repeated", "Samples repeated to the early stop", REPEATED, start, only=near if one is not None else []
    )


def _fitting(db: Database) -> str:
    """Return the open fit if it is a single-pass law, else the first one with a repeated law of a similar floor.

    Returns "" if there is neither.
    """
    if (opened := recall("fit")) in fit_names(db, ONE_PASS):
        return opened
    for name in fit_names(db, ONE_PASS):
        one = fit_of(db, name)
        near = _nearest(db, one, _repeated(db, name))
        if near and _alike(fit_of(db, near), one):
            return name
    return ""


def _repeated(db: Database, one: str) -> list[str]:
    """Return the laws of repeated samples for the task of the fit ``one``; all of them if its task is unknown.

    Laws of another kind, over another column or of a metric are excluded.
    """
    kinds = {key: fit_of(db, key) for key in fit_names(db, REPEATED)}
    apt = [key for key, fit in kinds.items() if fit.spec.y == "loss" and (fit.law.name, fit.law.axis) in REPEATED_OVER]
    same = [key for key in apt if task_of_fit(db, key) == task_of_fit(db, one)]
    return same if same or task_of_fit(db, one) else apt


def _nearest(db: Database, one: Fit, repeated: Sequence[str]) -> str:
    """Return the law of ``repeated`` with the floor nearest to that of ``one``, most likely of the same inputs."""
    apart = {name: abs(_floor(fit_of(db, name)) - _floor(one)) for name in repeated}
    return min(apart, key=lambda name: apart[name], default="")


def _alike(repeated: Fit, one: Fit) -> bool:
    """Return whether two laws can belong to one task, judged by their floors."""
    return math.isclose(_floor(repeated), _floor(one), rel_tol=SAME_FLOOR)


def _say_loss(db: Database, one: Fit) -> None:
    """Show which loss corresponds to a target metric of the open plan, because targets are losses here."""
    map, target = recall("map"), recall("target")
    if recall("ask") != "Target" or recall("fit") != one.hash or not map or not target:
        return
    with suppress(PlannerError):  # the question shows an invalid target
        read = through(one, fit_of(db, map))
        loss = float(read.goal(parse_number(target, "target")).best)
        if math.isfinite(loss):
            y, metric = one.spec.y, read.map.spec.y
            st.caption(escape_markdown(f"The target is a {y} here: {metric} {target} is {y} {one.sign * loss:.3g}."))


def _floor(fit: Fit) -> float:
    return floor_of(fit).value or 0.0


def _ask(db: Database, one: Fit, repeated: Fit) -> None:
    with blanks("simulate"):
        words(f"I must reach a {escape_markdown(one.spec.y)} of")
        target = blank("Target loss", _start(one), "reach", 100)
        words("repeating takes")
        kappa = blank("kappa", "10", "kappa", 80)
        words("times the compute of one pass, and I have")
        have = blank("Samples at hand", "0", "have", 110)
        words(f"{sample_unit(one)} already")
    source, line, few = _more(db)
    prices = pricing.ask()
    if not target:
        return
    stock = parse_amount(have or "0", "number of samples at hand", SAMPLES)
    costs = _costs(prices, stock)
    goal = parse_number(target, f"target {one.spec.y}")
    factor = _kappa(db, one, source, kappa)
    answer = simulate_or_repeat(one, repeated, goal, costs or SampleCosts(1.0, 1.0, have=stock), factor, line)
    ways = between(few, goal, costs) if few is not None and costs is not None and answer.priced else None
    worth = worth_of(one, repeated, stock) if stock else None
    said = [between_text(ways, answer.costs.currency)] if ways is not None else []
    said += [worth_text(worth, sample_unit(one))] if worth is not None else []
    _answer(answer, costs is not None, said)
    if costs is not None:
        fits = {"one_pass": one, "repeated": repeated, "threshold": line, "surface": few}
        names = Files(**{name: f"fit-{fit.hash}.json" for name, fit in fits.items() if fit is not None})
        name = f"{one.spec.y} {goal:.4g} at {number(costs.sample)} {costs.currency} a sample"
        keep_answer(db, "repeat", name, document(answer, factor, names, ways, worth))


def _start(one: Fit) -> str:
    """Return the best loss of the runs, or a value slightly above the floor if they are unknown."""
    best = one.best_run
    return f"{best:.3g}" if best is not None else f"{ABOVE * (floor_of(one).value or 0.0):.2g}"


def _more(db: Database) -> tuple[str, Fit | None, Fit | None]:
    """Return the source of kappa, the fit of the overfitting threshold, and the law for the cost of a few epochs."""
    with st.expander("kappa from training curves, model size and epochs, few epochs", icon=":material/tune:"):
        grid = st.grid(3, min_column_width=220)
        with grid.cell():
            names = distinct({c.id: c.name for _, c in _curve_tables(db)})
            options = [GIVEN, *names]
            keep_possible("kappa_from", options)
            source = st.selectbox("Source of kappa", options, format_func=lambda key: names.get(key, key),
                                  key="kappa_from", bind="query-params",
                                  help="Computed from training curves with repeated samples.")  # fmt: skip
        with grid.cell():
            line = choose_fit(db, "threshold", "Overfitting threshold", ("threshold",), free=True)
        with grid.cell():
            few = choose_fit(db, "few_epochs", "A few epochs, by data-constrained", ("data-constrained",), free=True)
    return str(source), line, few


def _curve_tables(db: Database) -> list[tuple[TableInfo, TableInfo]]:
    """Return run tables with their tables of training curves."""
    return [(runs, curves) for runs in tables.all(db) for curves in tables.curves_of(db, runs.id)]


def _kappa(db: Database, one: Fit, source: str, typed: str) -> Factor:
    found = next(((runs, curves) for runs, curves in _curve_tables(db) if curves.id == source), None)
    if found is None:
        return stated(parse_number(typed, "kappa"))
    snapshot, runs = runs_of(db, found[0], "")
    return fit_factor(one, curves_of(db, found[1], snapshot, runs))


def _costs(prices: Prices | None, have: float) -> SampleCosts | None:
    """Return the prices of a sample and a FLOP; None, with a sentence about what is missing, if they are incomplete."""
    given = prices is not None and prices.machine.price is not None and prices.simulation is not None
    if prices is None or not given:
        st.info(UNPRICED, icon=":material/payments:")
        return None
    return costs_of(prices, have)


def _answer(answer: SimulateOrRepeat, priced: bool, said: list[str]) -> None:
    """Show the answer, the most important parts first; without prices only the parts that need none."""
    with st.container(border=True):
        st.header(powers(readable(sentence(answer) if priced else unpriced(answer))), anchor=False)
        for text in said:
            st.markdown(powers(readable(text)))
    body = [cells(row) for row in (rows(answer) if priced else unpriced_rows(answer))]
    if body:
        show_table([_brief(line, answer) for line in body], "Numbers of both ways.")
    st.caption(escape_markdown(f"Compute is counted by {answer.compute.text}."))
    if priced and answer.cheaper is not None and answer.cheaper.total.value is not None:
        draw(partial(picture.draw, answer), key="simulate_picture")
    show_warnings(answer.warnings)


def _brief(line: dict[str, str], answer: SimulateOrRepeat) -> dict[str, str]:
    """Return a row as the page shows it; the reason for missing intervals is shown once, below."""
    missing = "" if answer.p_reach is not None else answer.one_pass.C.note
    note = ", ".join(part for part in line["Note"].split(", ") if part != missing)
    return {key: powers(text) for key, text in (line | {"Note": note}).items()}
