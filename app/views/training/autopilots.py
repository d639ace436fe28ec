"""Section "Autopilot" of the page Train: start an autopilot, see its figure and decisions, pause, stop or extend it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from isoplan.app.autopilot.decisions import Decision, Promise, to_json
from isoplan.app.autopilot.orders import Orders
from isoplan.app.autopilot.specification import Specification
from isoplan.app.autopilot.stored_decisions import is_working, read_decisions, read_orders, read_spec, stored_keys
from isoplan.app.autopilot.typed import LAW, positive, read_share, read_target
from isoplan.app.autopilot.work import extend, new_work, open_work, order
from isoplan.app.figures.style.theme import Drawing, Theme
from isoplan.app.figures.training import narrowing
from isoplan.app.figures.training.narrowing import Step
from isoplan.app.sweep_costs import ON_PAGES, read_cap
from isoplan.app.views.planning.asked import as_budget
from isoplan.app.views.widgets.parts import distinct, draw, escape_markdown, sentences
from isoplan.app.views.widgets.state import recall, remember, select_one
from isoplan.engine.quantities import parse_flops
from isoplan.trainers.backend.queue.sweep import Cap, read_sweeps
from isoplan.trainers.cell import Family
from isoplan.trainers.grid import Grid

BUDGET, TARGET = "Budget", "Target loss"
EARLY = 0.05
"""A cell is stopped early if it would move the answer by less than this fraction of the half width of the answer's
68 % interval.
"""
OPENED = "autopilot"
"""Name of the link parameter that contains the key of the autopilot on the page."""


def start(root: Path, family: Family[Any], grid: Grid, cap: Cap, largest: float | None) -> None:
    """Show the question of a new autopilot for ``grid`` and the button that starts it within ``cap``.

    ``largest`` is the compute of the largest cell in FLOPs. The default budget is ten times as large.
    """
    row = st.grid(4, min_column_width=200)
    with row.cell():
        question = st.segmented_control(
            "Question", (BUDGET, TARGET), default=BUDGET, required=True, key="pilot_question"
        )
    with row.cell():
        if question == BUDGET:
            usual = as_budget(10 * largest) if largest else "1e15"
            value = st.text_input("Budget [FLOPs]", usual, key="pilot_budget", max_chars=100)
        else:
            value = st.text_input("Target loss", "0.5", key="pilot_target", max_chars=100)
    with row.cell():
        text = "The autopilot stops when the half width of the 68 % interval of the answer is at most this value."
        until = st.text_input("Until", "5 %", key="pilot_until", max_chars=100, help=text)
    with row.cell():
        most = st.number_input("Cells per round", 1, 100, 4, key="pilot_cells")
    early = st.checkbox(
        "Stop cells that cannot change the answer",
        key="pilot_early",
        help=f"A running cell is stopped if its predicted final loss would move the answer by less than {EARLY:.0%} of "
        "the half width of the answer's 68 % interval. The cell stays in the table as unfinished, and no fit uses it.",
    )
    limit = f"for at most {cap.text} in total" if cap.text else "without a cap"
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Start autopilot", icon=":material/rocket_launch:", key="pilot_start")
        st.caption(escape_markdown(f"The autopilot trains cells of this grid in rounds, {limit}."))
    if not pressed:
        return
    asked: dict[str, float | None] = {"budget": None, "target_loss": None}
    if question == BUDGET:
        asked["budget"] = positive(parse_flops(value, "budget").value, "Budget")
    else:
        asked["target_loss"] = read_target(value, "Target loss")
    work = new_work(root, grid, family, law=LAW, until=read_share(until, "Until"), **asked)
    order(work, "run", cap, int(most), EARLY if early else 0.0)
    remember(OPENED, work.key)
    st.rerun()


def show(root: Path, may: bool) -> None:
    """Show one autopilot of the workspace; nothing if there is none. Orders are allowed if ``may`` is true."""
    keys = stored_keys(root)[::-1]
    if not keys:
        return
    st.subheader("Autopilot", anchor=False)
    with sentences():
        specs = {key: read_spec(root, key) for key in keys}
        opened = recall(OPENED) if recall(OPENED) in specs else keys[0]
        if len(keys) > 1:
            select_one("Autopilot", distinct({key: _title(one) for key, one in specs.items()}), OPENED, opened)
            remember(OPENED, opened)
        orders = read_orders(root, opened)
        moving = orders.wanted == "run" or is_working(root, opened)
        drawn = len(read_sweeps(root))
        st.fragment(_one, run_every="2s" if moving else None)(root, specs[opened], moving, drawn, may)


def _title(spec: Specification) -> str:
    return f"{spec.quantity[0].upper()}{spec.quantity[1:]}, to be known to ± {100 * spec.until:g} %"


def _one(root: Path, spec: Specification, moving: bool, drawn: int, may: bool) -> None:
    """Show an autopilot. If ``moving`` or ``drawn`` is out of date, the whole page is drawn again.

    ``moving`` states whether the autopilot worked when the page was drawn, and ``drawn`` is the number of sweeps at
    that time.
    """
    orders, working, made = read_orders(root, spec.key), is_working(root, spec.key), read_decisions(root, spec.key)
    st.markdown(escape_markdown(f"{_title(spec)}. {state(orders, working)}"))
    if may:
        with sentences():
            _buttons(root, spec, orders, working, asks=bool(made) and bool(made[-1].ranges))
    steps = steps_of(made)
    if any(math.isfinite(one.width) or math.isfinite(one.expected) for one in steps):

        def redraw(theme: Theme) -> Drawing:
            return narrowing.draw(steps, 100 * spec.until, theme)

        draw(redraw, "autopilot_picture")
    st.markdown("\n".join(f"{one.number}. {escape_markdown(one.sentence)}" for one in made))
    if made:
        with st.container(horizontal=True):
            st.download_button("Decisions as CSV", csv(made), "decisions.csv", "text/csv", on_click="ignore")
            text = json.dumps(to_json(spec, made), indent=1, ensure_ascii=False)
            st.download_button("Decisions as JSON", text, "decisions.json", "application/json", on_click="ignore")
    if (orders.wanted == "run" or working) != moving or len(read_sweeps(root)) != drawn:
        st.rerun()


def state(orders: Orders, working: bool) -> str:
    """Return the state of an autopilot as a sentence."""
    cap = f" It may use at most {orders.cap.text}." if orders.cap.text else ""
    cap += " Cells that cannot change the answer are stopped." if orders.stop_early else ""
    if orders.wanted == "run":
        return f"{'It trains.' if working else 'It starts.'}{cap}"
    if orders.wanted == "pause":
        return "It pauses after the cells of this round." if working else f"Paused. {orders.why}".strip()
    return "It stops." if working else "Stopped."


def _buttons(root: Path, spec: Specification, orders: Orders, working: bool, asks: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if (
            asks
            and orders.wanted == "pause"
            and st.button(
                "Allow larger cells",
                type="primary",
                icon=":material/open_in_full:",
                key="pilot_extend",
                disabled=working,
            )
        ):
            order(extend(open_work(root, spec.key)), "run")
            st.rerun()
        if orders.wanted == "run":
            pause = st.button(
                "Pause", icon=":material/pause:", key="pilot_pause", help="Pauses the autopilot after this round."
            )
            if pause:
                _order(root, spec, "pause")
        elif st.button("Continue", icon=":material/play_arrow:", key="pilot_continue", disabled=working):
            _order(root, spec, "run")
        if st.button("Stop", icon=":material/stop:", key="pilot_stop", disabled=orders.wanted == "stop"):
            _order(root, spec, "stop")
        with st.popover("Cap", icon=":material/payments:"):
            cap = orders.cap
            typed = st.text_input("Maximum cost or time", cap.text or "no limit", key="pilot_cap", max_chars=100)
            if st.button("Set cap", key="pilot_set_cap"):
                price = f"{cap.price} {cap.currency}" if cap.price else ""
                _order(root, spec, orders.wanted, read_cap(typed, price, ON_PAGES))


def _order(root: Path, spec: Specification, wanted: Any, cap: Cap | None = None) -> None:
    order(open_work(root, spec.key), wanted, cap)
    st.rerun()


def steps_of(made: Sequence[Decision]) -> list[Step]:
    """Return the points of the picture: one for each decision, and one for the cells that still train."""
    steps = [
        Step(one.spent, _percent(one.width), *_promise(one.promised))
        for one in made
        if one.spent or one.width is not None
    ]
    last = made[-1] if made else None
    if last is not None and last.promise is not None:
        steps.append(Step(last.spent + last.flops, math.nan, *_promise(last.promise), ahead=True))
    return steps


def _promise(promise: Promise | None) -> tuple[float, float, float]:
    if promise is None:
        return (math.nan,) * 3
    return _percent(promise.expected), _percent(promise.low), _percent(promise.high)


def _percent(width: float | None) -> float:
    return math.nan if width is None else 100 * math.expm1(width)


def csv(made: Sequence[Decision]) -> str:
    """Return the decisions as CSV, one row each. Widths are half widths of the 68 % interval in percent."""
    rows = [
        {
            "number": one.number, "kind": one.kind, "reason": one.reason, "runs": len(one.table),
            "width": _percent(one.width), "expected": _promise(one.promised)[0], "low": _promise(one.promised)[1],
            "high": _promise(one.promised)[2], "cells": len(one.cells), "flops": one.flops, "spent": one.spent,
            "hours": one.hours, "sentence": one.sentence,
        }
        for one in made
    ]  # fmt: skip
    return str(pd.DataFrame(rows).to_csv(index=False))
