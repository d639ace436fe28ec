"""Section that compares saved plans side by side, with the same prices for all plans. Sliders change these prices."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from isoplan.app.figures.plans import compare as picture
from isoplan.app.views.planning import pricing
from isoplan.app.views.widgets.parts import distinct, draw, escape_markdown, powers, readable, sentences, show_table
from isoplan.app.views.widgets.saved_items import downloads, table_files
from isoplan.app.views.widgets.state import fit_of, keep_possible, recall, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.compare import (
    Answer,
    Comparison,
    Saved,
    ask_again,
    scenario,
    sentence,
    side_by_side,
    to_json,
)
from isoplan.engine.planning.compare import table as lines_of
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.planning.scenario.typed_prices import read_prices
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results

MOST = 12
"""Maximum number of plans that the page compares before the user has selected plans."""
FACTORS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Factors that the user can select with the sliders for the device price and the simulation speed."""
UNPRICED = "Enter a device and its price per hour under Machine and prices to compare the costs of plans."


def show(db: Database) -> None:
    """Show the selection of saved plans, the price fields, and the comparison of the selected plans."""
    kept = {one.hash: one.name for one in results.plans(db)}
    with sentences():
        if not kept:
            raise PlannerError("No saved plan exists. Save a plan under Budget or target.")
        chosen = _choose(kept)
        prices = read_prices(pricing.widgets(), "page")
        plans = {key: results.plan(db, key) for key in chosen}
        priced = prices or next((plan.prices for plan in plans.values() if plan.prices is not None), None)
        if not chosen:
            st.info("Choose the plans to compare.", icon=":material/balance:")
        else:
            _compare(db, [(key, kept[key], plans[key]) for key in chosen], priced)


def _choose(kept: dict[str, str]) -> list[str]:
    """Show the selection of saved plans and return the hashes of the selected plans.

    The plans in the page URL are initially selected. If the URL contains no plan, the newest plans are selected.
    """
    asked = [key for key in recall("plans").split(",") if key]
    gone = [key for key in asked if key not in kept]
    if gone:
        said = f"The plan {escape_markdown(gone[0])} of this link is not in this workspace, or was deleted."
        st.error(said, icon=":material/link_off:")
    names = distinct(kept)
    shown = [key for key in asked if key in kept] if asked else list(kept)[:MOST]
    remember("plans", ",".join(asked or shown))  # the URL shows these plans even if others are saved later
    st.session_state["plans_choice"] = shown
    return st.multiselect(
        "Plans", list(names), format_func=names.__getitem__, key="plans_choice", placeholder="Choose saved plans",
        on_change=lambda: remember("plans", ",".join(st.session_state["plans_choice"])),
    )  # fmt: skip


@st.fragment
def _compare(db: Database, plans: list[tuple[str, str, Plan]], prices: Prices | None) -> None:
    """Compare the plans at the prices that the sliders set. A moved slider reruns only this function.

    ``plans`` contains one tuple per plan: its hash, its name and the plan.
    """
    with sentences():
        moved = None if prices is None else _scenario(prices)
        answers = {key: _answer(key, str(db.folder), db, plan) for key, _, plan in plans}
        found = side_by_side([Saved(name, plan, answers[key]) for key, name, plan in plans], moved)
        _show(found, [name for key, name, _ in plans if answers[key] is None])


def _scenario(prices: Prices) -> Prices:
    """Show sliders for price, utilisation and simulation speed; return ``prices`` changed by the sliders."""
    grid = st.grid(3, min_column_width=220)
    machine, hour, speed = prices.machine, 1.0, 1.0
    if machine.price is not None:
        hour = _times(grid, "Price of a device hour ×", "hour_times")
    share = _share(grid, machine.utilisation)
    if prices.simulation is not None:
        speed = _times(grid, "Speed of the simulation ×", "speed")
    price = None if machine.price is None else hour * machine.price
    return scenario(prices, hour=price, utilisation=share, speed=speed)


def _times(place: Any, label: str, key: str) -> float:
    """Show a slider over ``FACTORS`` and return the selected factor."""
    shown = {f"{x:g}": x for x in FACTORS}
    keep_possible(key, shown, "1")
    return shown[place.select_slider(label, list(shown), "1", key=key, bind="query-params")]


def _share(place: Any, start: float) -> float:
    """Show a slider for the utilisation in percent and return the utilisation as a fraction.

    The initial value is the fraction ``start``. If ``start`` changes, the slider is set to the new value.
    """
    if st.session_state.get("share_of") not in (None, start):
        st.session_state["share"] = 100 * start
    st.session_state["share_of"] = start
    found = place.slider("Utilisation", 1.0, 100.0, 100 * start, 1.0, format="%.0f %%", key="share",
                         bind="query-params")  # fmt: skip
    return float(found) / 100


def _answer(key: str, folder: str, db: Database, plan: Plan) -> Answer | None:
    """Compute the answer of a saved plan again from its fit and its map (a fit that predicts a metric from the loss).

    Returns None if the fit or the map is not in this workspace, or if the question has no answer.
    """
    try:
        map = fit_of(db, plan.maps[0]) if plan.question.metric and plan.maps else None
        return _asked_again(key, folder, plan, fit_of(db, plan.fit), map)
    except PlannerError:
        return None


@st.cache_resource(max_entries=64, show_spinner=False)
def _asked_again(key: str, folder: str, _plan: Plan, _fit: Fit, _map: Fit | None) -> Answer | None:
    return ask_again(_plan, _fit, _map)


def _show(found: Comparison, unknown: list[str]) -> None:
    """Show a comparison of plans: sentence, figure, table, warnings.

    ``unknown`` contains the names of the plans for which the answer could not be computed again.
    """
    if said := sentence(found):
        with st.container(border=True):
            st.header(powers(readable(said)), anchor=False)
    draw(partial(picture.draw, found), key="plans_picture")
    if found.prices is None:
        st.info(UNPRICED, icon=":material/payments:")
    else:
        st.caption(
            escape_markdown(
                f"All costs are for {found.prices.machine.text}. N, D and C of the saved plans do not change."
            )
        )
        if unknown:
            named = ", ".join(unknown)
            st.caption(
                escape_markdown(
                    f"These totals have no interval, because the fit or the map of the plan is missing: {named}."
                )
            )
    head, *lines = lines_of(found)
    body = [dict(zip(("Quantity", *head[1:]), line, strict=True)) for line in lines]
    show_table(
        [{key: powers(text) for key, text in line.items()} for line in body], "Numbers of the plans, side by side."
    )
    for side in found.sides:
        for text in side.risk.warnings:
            st.caption(f":material/warning: **{escape_markdown(side.name)}** {powers(escape_markdown(text))}")
    downloads("plans", table_files(to_json(found), body))
