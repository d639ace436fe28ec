"""Recommender: settings for a budget and a serving metric, the sweeps behind them, and metric agreement."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from isoplan.app import workspace
from isoplan.app.views.recommending import evidence_form, our_cells, own_table, recipe, regimes, sweeps
from isoplan.app.views.widgets import saved_items
from isoplan.app.views.widgets.inputs import blank, blanks, named_blank, words
from isoplan.app.views.widgets.parts import escape_markdown, heading, sentences
from isoplan.app.views.widgets.state import recall, remember
from isoplan.data.recommender import published_evidence
from isoplan.engine.hardware import DEVICES, find_device
from isoplan.engine.planning.recommender import (
    Evidence,
    LearningRate,
    Recommendation,
    Settings,
    Stage2,
    recommend,
    with_fallback,
)
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.metric_names import printed_name
from isoplan.engine.planning.recommender.negatives import CHUNK
from isoplan.engine.planning.recommender.recipe import OTHERWISE
from isoplan.engine.quantities import parse_flops, parse_number, parse_share, power10

START = "recall@10"
WIDTH = 188
"""Joint embedding width of the behavioural paper at 1e18 FLOPs (Table 8)."""


def ask(evidence: Evidence, measured: Sequence[str]) -> Recommendation | None:
    """Show the question as a sentence with fields and return its answer; None while the budget is empty.

    The metrics of the evidence are offered, and those that are ``measured`` but not fitted yet.
    """
    metrics = sorted(dict.fromkeys((*evidence.metrics, *measured)), key=lambda metric: metric != START)
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
    given = settings(str(device), int(devices))
    if not budget:
        return None
    reading = parse_flops(budget)
    if reading.note:
        st.caption(f"Read as {power10(reading.value)} FLOPs: {escape_markdown(reading.note)}.")
    return recommend(evidence, reading.value, metric, given)


def settings(device: str, devices: int) -> Settings:
    """Return the memory settings of stage 2, the scaling of the learning rate, and the alternative values."""
    with st.expander("Memory of stage 2, learning rate, other choices", icon=":material/tune:"):
        grid = st.grid(4, min_column_width=180)
        width = grid.number_input("Embedding width h", 1, 1_000_000, WIDTH, key="width", bind="query-params",
                                  help="188 in the behavioural paper at 10¹⁸ FLOPs.")  # fmt: skip
        length = grid.number_input("Events in a sequence", 1, 1_000_000, 256, key="length", bind="query-params")
        precision = grid.selectbox("Precision of the logits", ["bf16", "fp32", "fp16", "fp8"], key="precision",
                                   bind="query-params")  # fmt: skip
        chunk = grid.number_input("Candidates scored at a time", 0, 100_000_000, CHUNK, key="chunk",
                                  bind="query-params", help="0 scores all candidates at once.")  # fmt: skip
        rate = grid.text_input("Learning rate", "2e-3", key="rate", bind="query-params", max_chars=100)
        at = grid.text_input("at a batch of", "512", key="rate_batch", bind="query-params", max_chars=100,
                             help="It scales with the square root of the batch.")  # fmt: skip
        batch = grid.text_input("Batch size B", "", key="batch", bind="query-params", max_chars=100,
                                placeholder="the critical one")  # fmt: skip
        others = _others([
            grid.text_input(
                f"Cost of another {setting}", start, key=f"other_{setting}", bind="query-params", max_chars=100
            )
            for setting, start in (("s", "0.06"), ("B", "2048"), ("K", ""))
        ])  # fmt: skip
    scaling = LearningRate(parse_number(rate or "", "learning rate"), parse_number(at or "", "batch of the rate"))
    stage2 = Stage2(find_device(device), int(width), devices, int(length), str(precision), int(chunk) or None)
    return Settings(scaling, stage2, parse_number(batch, "batch size") if batch else None, others)


def _others(typed: list[str | None]) -> dict[Setting, tuple[float, ...]]:
    """Return the alternative values of s, B and K, each typed as a list with commas."""
    return {
        setting: tuple(
            (parse_share if setting == "s" else parse_number)(part, f"other {setting}")
            for part in (text or "").split(",")
            if part.strip()
        )
        for setting, text in zip(OTHERWISE, typed, strict=True)
    }


db = workspace.current()
heading("Recommender", "Recommended settings for your compute budget and serving metric.")
if (spelled := recall("metric")) != printed_name(spelled):
    remember("metric", printed_name(spelled))
own_table.choose(db)
printed = published_evidence()
own = evidence_form.read(db, recall("metric") or START, printed.metrics)
evidence = with_fallback(own.evidence, printed)
answer, ours = None, tuple[our_cells.Ours, ...]()
with sentences():
    answer = ask(evidence, own.metrics)
    if answer is not None:
        recipe.show(db, answer, own.evidence)
        ours = our_cells.read(answer.served)
        our_cells.show(answer, ours)
sweeps.show(db, evidence, own, answer, ours)
regimes.show(db)
saved_items.show_answers(db, "recipe")
