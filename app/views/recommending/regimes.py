"""Tab that shows the agreement of metrics: their rank correlations over the runs of one budget.

It lists the pairs of metrics whose correlation changes sign between budgets. It also compares metrics on batch-local
candidates (the targets of the sequences in one batch) with metrics on the full catalogue.
"""

from __future__ import annotations

import streamlit as st

from isoplan.app.figures.metrics import agreement as matrices
from isoplan.app.views.recommending.evidence_form import PRINTED
from isoplan.app.views.widgets.cache import runs_of
from isoplan.app.views.widgets.parts import distinct, draw, escape_markdown, sentences
from isoplan.app.views.widgets.state import recall, remember
from isoplan.data.recommender import published_agreement
from isoplan.engine.agreement import Flip, across, agreement, flips, usual
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

REGIMES = ("batch-local", "full catalogue")
MOST = 8
"""Maximum number of sign changes in the list, and maximum number of notes below the list."""


def show(db: Database) -> None:
    """Show the selection of a run table, its correlation matrices, and the pairs whose correlation changes sign."""
    known = {t.id: t for t in tables.all(db)}
    chosen = recall("agree_runs")
    names = {"": PRINTED} | distinct({i: t.name for i, t in known.items()})
    st.session_state["agree_choice"] = chosen if chosen in names else ""
    st.selectbox(
        "Runs with several metrics", list(names), format_func=names.__getitem__, key="agree_choice",
        on_change=lambda: remember("agree_runs", st.session_state["agree_choice"]),
    )  # fmt: skip
    remember("agree_runs", chosen if chosen in names else "")
    with sentences():
        if chosen in known:
            _own(db, known[chosen])
        else:
            _printed()


def _printed() -> None:
    found = published_agreement()
    parts = [(regime, [a for a in found if a.name.startswith(regime)]) for regime in REGIMES]
    panels = matrices.of_regimes(parts, "loss")
    st.caption(
        "Spearman's rank correlation of each metric with the loss, within one budget. 1 means the same order of runs "
        "from best to worst. Source: behavioural, Tables 16 and 17, with 85 to 99 runs per budget for batch-local "
        "metrics and 8 or 9 for the full catalogue. A frame marks metrics whose correlation changes sign. The paper "
        "reports only correlations with the loss. Choose your own runs to see correlations between other metrics."
    )
    draw(lambda theme: matrices.draw_regimes(panels, theme), key="regimes")
    _say(flips(found))


def _own(db: Database, table: TableInfo) -> None:
    _, runs = runs_of(db, table, "")
    found = agreement(runs, usual(runs))
    st.caption("Spearman's rank correlation of each pair of metrics. 1 means the same order of runs.")
    draw(lambda theme: matrices.draw_agreement(found, theme), key="agreement_own")
    metrics = list(found[0].metrics)
    left, right = st.columns(2)
    local = left.selectbox(
        "Batch-local metric", metrics, index=None, key="local", bind="query-params", placeholder="Choose a metric"
    )
    full = right.selectbox(
        "Full-catalogue metric", metrics, index=None, key="full", bind="query-params", placeholder="Choose a metric"
    )
    if local and full:
        pair = across(found, [(local, full)])
        draw(lambda theme: matrices.draw_regimes(matrices.of_across(pair), theme), key="across")
    _say(flips(found))
    for note in [f"{a.name}: {note}" for a in found for note in a.notes][:MOST]:
        st.info(escape_markdown(note), icon=":material/info:")


def _say(found: tuple[Flip, ...]) -> None:
    """Show one box with the pairs whose correlation changes sign, in the order of ``found``."""
    if found:
        lines = [f"- {escape_markdown(flip.sentence)}" for flip in found[:MOST]]
        more = f"\n- and {len(found) - MOST} more" if len(found) > MOST else ""
        st.warning("\n".join(lines) + more, icon=":material/swap_vert:")
