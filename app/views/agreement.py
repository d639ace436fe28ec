"""Whether the metrics of a table rank its runs alike, at each budget or in each group."""

from __future__ import annotations

import streamlit as st

from app.figures import agreement as picture
from app.views.cached import runs_of
from app.views.parts import draw, plain
from engine.agreement import By, agreement, flips
from engine.store.database import Database
from engine.store.tables import TableInfo

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
    draw(lambda theme: picture.draw(found, theme), key="agreement")
    for flip in marked[:MOST]:
        st.warning(plain(flip.sentence), icon=":material/swap_vert:")
    for note in [f"{a.name}: {note}" for a in found for note in a.notes][:MOST]:
        st.info(plain(note), icon=":material/info:")
