"""Recommender: settings for a budget and a serving metric, the sweeps that support them, and agreement of metrics."""

from __future__ import annotations

from typing import Any

import streamlit as st

from isoplan.app import workspace
from isoplan.app.views.recommending import evidence_form, own_table, recipe, regimes, sweeps
from isoplan.app.views.widgets import saved_items
from isoplan.app.views.widgets.inputs import blank, blanks, named_blank, words
from isoplan.app.views.widgets.parts import escape_markdown, heading, sentences
from isoplan.app.views.widgets.state import recall, remember
from isoplan.data.recommender import published_evidence
from isoplan.engine.hardware import DEVICES
from isoplan.engine.planning.questions.answer import Answer
from isoplan.engine.planning.recommender import Evidence, Settings, with_fallback
from isoplan.engine.planning.recommender.builder import Built
from isoplan.engine.planning.recommender.columns import printed_name
from isoplan.engine.planning.recommender.document import reply
from isoplan.engine.planning.recommender.recipe import OTHERWISE
from isoplan.engine.planning.recommender.typed_settings import SETTINGS, read_settings
from isoplan.engine.planning.scenario.fields import Field
from isoplan.engine.quantities import parse_flops, power10

START = "recall@10"
EXPERT = ("width", "length", "precision", "chunk", "rate", "rate_batch", "batch_size")
"""Names of the fields in the expander, in the order of the page."""
BOUNDS = {"width": (1, 1_000_000), "length": (1, 1_000_000), "chunk": (0, 100_000_000)}
OTHERS = {"s": "0.06", "B": "2048", "K": ""}
"""Initial texts of the fields "Cost of another ...", by setting: values whose cost is compared with the optimum."""


def ask(own: Built, printed: Evidence) -> Answer | None:
    """Show the question as a sentence with fields and return its answer; None while the budget is empty.

    The selection contains the metrics that the evidence covers, and the metrics of the user's table that have no fit
    yet. ``own`` is evidence from the user's runs, ``printed`` from papers.
    """
    known = (*with_fallback(own.evidence, printed).metrics, *own.metrics)
    metrics = sorted(dict.fromkeys(known), key=lambda metric: metric != START)
    with blanks("recommender"):
        words("I serve")
        metric = named_blank("Metric that is served", metrics, "metric")
        words("and can spend")
        budget = blank("Budget in FLOPs", "1e18", "flops")
        words("FLOPs, stage 2 on")
        devices = st.number_input("Number of devices", 1, 100_000, 1, key="devices", bind="query-params", width=120,
                                  label_visibility="collapsed")  # fmt: skip
        names = [device.name for device in DEVICES]
        device = st.selectbox("Device", names, names.index("H200"), key="device", bind="query-params", width=150,
                              label_visibility="collapsed")  # fmt: skip
    given = settings({"device": str(device), "devices": str(devices)})
    if not budget:
        return None
    reading = parse_flops(budget)
    if reading.note:
        st.caption(f"Read as {power10(reading.value)} FLOPs: {escape_markdown(reading.note)}.")
    return reply(reading.value, metric, own.evidence, printed, given, None)


def settings(machine: dict[str, str]) -> Settings:
    """Show the expander with settings and return them: memory of stage 2, learning-rate scaling, values to compare.

    ``machine`` contains the texts of the device and of the number of devices.
    """
    with st.expander("Memory of stage 2, learning rate, other choices", icon=":material/tune:"):
        grid = st.grid(4, min_column_width=180)
        texts = machine | {name: _widget(grid, SETTINGS[name]) for name in EXPERT}
        typed = {
            setting: grid.text_input(
                f"Cost of another {setting}",
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
    """Show the widget of ``field`` and return its text. The link shortens the name ``batch_size`` to ``batch``."""
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
heading("Recommender", "Recommended settings for your compute budget and serving metric.")
if (spelled := recall("metric")) != printed_name(spelled):
    remember("metric", printed_name(spelled))
own_table.choose(db)
printed = published_evidence()
own = evidence_form.read(db, recall("metric") or START, printed.metrics)
answer, ours = None, tuple[recipe.Ours, ...]()
with sentences():
    made = ask(own, printed)
    if made is not None:
        answer = made.result
        recipe.show(db, made, own.evidence)
        ours = recipe.read_ours(answer.served)
        recipe.compare(answer, ours)
sweeps.show(db, with_fallback(own.evidence, printed), own, answer, ours)
regimes.show(db)
saved_items.show_answers(db, "recipe")
