"""Page Recommender: recommended settings, their evidence, and whether metrics agree.

The settings depend on the budget and on the metrics that are served.
"""

from __future__ import annotations

from typing import Any, get_args

import streamlit as st

from isoplan.app import workspace
from isoplan.app.views.recommending import cards, evidence_form, own_table, tabs
from isoplan.app.views.widgets import saved_items
from isoplan.app.views.widgets.inputs import blank
from isoplan.app.views.widgets.parts import escape_markdown, heading, sentences
from isoplan.app.views.widgets.state import recall, remember
from isoplan.data.recommender import published_evidence
from isoplan.engine.amounts import is_money
from isoplan.engine.hardware import DEVICES
from isoplan.engine.planning.recommender import Evidence, Settings, with_fallback
from isoplan.engine.planning.recommender.builder import Built
from isoplan.engine.planning.recommender.cards import make_cards
from isoplan.engine.planning.recommender.columns import metric_names
from isoplan.engine.planning.recommender.document import reply
from isoplan.engine.planning.recommender.recipe import OTHERWISE
from isoplan.engine.planning.recommender.spending import read_budget
from isoplan.engine.planning.recommender.typed_settings import PRICE, SETTINGS, read_settings
from isoplan.engine.planning.scenario.fields import Field
from isoplan.engine.planning.scenario.prices import Currency
from isoplan.engine.quantities import power10

START = "recall@10"
EXPERT = ("width", "length", "precision", "chunk", "rate", "rate_batch", "batch_size")
"""Names of the input fields in the expander "More", in the order of the page."""
BOUNDS = {"width": (1, 1_000_000), "length": (1, 1_000_000), "chunk": (0, 100_000_000)}
OTHERS = {"s": "0.06", "B": "2048", "K": ""}
"""Initial text of the field "Other ... to compare" of each setting: a value that is compared with the optimum."""


def ask_metrics(own: Built, printed: Evidence, usual: str) -> tuple[str, ...]:
    """Show the selection of serving metrics; return the selected metrics, at least one.

    The options are the metrics of the evidence and the metrics of the user's table. ``own`` is evidence from the user's
    runs, and ``printed`` is evidence from papers. ``usual`` is the default metric.
    """
    known = dict.fromkeys((*with_fallback(own.evidence, printed).metrics, *own.metrics))
    metrics = sorted(known, key=lambda metric: metric != START)
    asked = metric_names(recall("metric")) if recall("metric") else ()
    lost = [name for name in asked if name not in metrics]
    if lost:
        st.info(
            f"{escape_markdown(', '.join(lost))} is not available here. "
            f"Available: {escape_markdown(', '.join(metrics))}.",
            icon=":material/info:",
        )
    chosen = [name for name in metrics if name in asked] or [usual if usual in metrics else metrics[0]]
    st.session_state["metric_choice"] = chosen
    st.pills(
        "Serving metrics",
        metrics,
        selection_mode="multi",
        format_func=escape_markdown,
        key="metric_choice",
        on_change=lambda: remember("metric", ",".join(st.session_state["metric_choice"])),
    )
    return tuple(chosen)


def ask_budget() -> tuple[str, dict[str, str]]:
    """Show the input fields for budget and devices; return the typed budget and the texts of the other fields.

    A budget in money also needs the price of a device hour.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        budget = blank("Budget [FLOPs or money]", "1e18", "flops", width=180, labelled=True)
        names = [device.name for device in DEVICES]
        device = st.selectbox("Device", names, names.index("H200"), key="device", bind="query-params", width=150)
        devices = st.number_input("Number of devices", 1, 100_000, 1, key="devices", bind="query-params", width=150)
        prices = {field.name: _price(field) for field in PRICE} if is_money(budget) else {}
    return budget, {"device": str(device), "devices": str(devices), **prices}


def _price(field: Field) -> str:
    """Show the input field of a price and return its text. The link of the page Plan uses the same field name."""
    if field.name == "currency":
        return st.selectbox("Currency", get_args(Currency), key=field.name, bind="query-params", width=100)
    return st.text_input(
        field.label, field.start, key=field.name, bind="query-params", max_chars=100, width=150,
        placeholder=field.hint or None, help=field.tip,
    ) or ""  # fmt: skip


def settings(machine: dict[str, str]) -> Settings:
    """Show an expander for memory, learning rate and values to compare with the optimum; return all settings.

    ``machine`` contains the texts of the device, of the number of devices and of the prices.
    """
    with st.expander("More: memory, learning rate, other choices", icon=":material/tune:"):
        grid = st.grid(3, min_column_width=160)
        texts = machine | {name: _widget(grid, SETTINGS[name]) for name in EXPERT}
        typed = {
            setting: grid.text_input(
                f"Other {setting} to compare",
                OTHERS[setting],
                key=f"other_{setting}",
                bind="query-params",
                max_chars=100,
            )
            for setting in OTHERWISE
        }
    others = {setting: filter(str.strip, (text or "").split(",")) for setting, text in typed.items()}
    return read_settings(texts, others, "page")


def _widget(grid: Any, field: Field) -> str:
    """Show the widget of ``field`` and return its text. The URL stores the field ``batch_size`` as ``batch``."""
    if field.name == "precision":
        options = ["bf16", "fp32", "fp16", "fp8"]
        return str(grid.selectbox(field.label, options, key=field.name, bind="query-params"))
    if field.name in BOUNDS:
        first = int(field.start or field.default)
        return str(grid.number_input(
            field.label, *BOUNDS[field.name], first, key=field.name, bind="query-params", help=field.tip
        ))  # fmt: skip
    return grid.text_input(
        field.label, field.start, key=field.name.removesuffix("_size"), bind="query-params", max_chars=100,
        placeholder=field.hint or None, help=field.tip,
    ) or ""  # fmt: skip


db = workspace.current()
heading("Recommender", "Settings for your compute budget and serving metrics.")
if recall("metric"):
    remember("metric", ",".join(metric_names(recall("metric"))))
printed = published_evidence()
question, upload = st.columns([3, 2], gap="medium")
with upload.container(border=True, height="stretch", key="own_table"):
    own_table.choose(db)
    usual = own_table.usual_metric(db, START)
    asked = metric_names(recall("metric") or usual)
    own = evidence_form.read(db, asked, printed.metrics)
evidence, shown, values = with_fallback(own.evidence, printed), None, None
with question.container(border=True, height="stretch", key="question"):
    metrics = ask_metrics(own, printed, usual)
    with sentences():
        budget, machine = ask_budget()
        given = settings(machine)
        if budget:
            reading = read_budget(budget, machine, ",".join(metrics), own.evidence, printed, None, "page")
            if reading.note:
                st.caption(f"Read as {power10(reading.value)} FLOPs: {escape_markdown(reading.note)}.")
            spent = " ".join(reading.notes(budget))
            made = reply(reading.value, ",".join(metrics), own.evidence, printed, given, None, spent)
            shown = made.result
own_table.describe(db, asked, printed.metrics)
if shown is not None:
    values = make_cards(shown, evidence, own.evidence, metrics)
    cards.show(db, made, values, evidence)
tabs.show(db, evidence, own, shown, values, metrics)
saved_items.show_answers(db, "recipe")
