"""Whether the metrics of a table rank its runs alike, at each budget or in each group."""

from __future__ import annotations

import streamlit as st

from isoplan.app.figures.metrics import agreement as picture
from isoplan.app.views.widgets.cache import runs_of
from isoplan.app.views.widgets.parts import draw, escape_markdown
from isoplan.engine.agreement import By, agreement, flips
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables.tables import TableInfo

PARTS: tuple[By, ...] = ("all", "budget", "group")
MOST = 8
"""Notes that are shown."""


def show(db: Database, table: TableInfo, where: str) -> None:
    """The heat maps, the pairs whose sign flips, and what limits them; PlannerError with fewer than two metrics."""
    _, runs = runs_of(db, table, where)
    by = st.segmented_control(
        "Compare within",
        PARTS,
        default="all",
        required=True,
        key="agree_by",
        bind="query-params",
        help="All runs together compare models of every compute, which moves all metrics; within a budget they "
        "need not agree.",
    )
    found = agreement(runs, by)
    marked = flips(found)
    st.caption(
        "Spearman's rank correlation of each pair, turned so that 1 means that both prefer the same runs. "
        + ("A frame marks pairs whose sign changes." if marked else "")
    )
    draw(lambda theme: picture.draw_agreement(found, theme), key="agreement")
    for flip in marked[:MOST]:
        st.warning(escape_markdown(flip.sentence), icon=":material/swap_vert:")
    for note in [f"{a.name}: {note}" for a in found for note in a.notes][:MOST]:
        st.info(escape_markdown(note), icon=":material/info:")
