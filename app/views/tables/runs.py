"""Figures of the runs of a table: selection of runs to exclude or restore, and the rank agreement of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from isoplan.app.figures.fits import runs as picture
from isoplan.app.figures.metrics.agreement import draw_agreement
from isoplan.app.views.tables.growing import choosing
from isoplan.app.views.widgets.cache import drawn_runs, runs_of
from isoplan.app.views.widgets.parts import chosen_rows, draw, draw_selectable, escape_markdown, plural, sentences
from isoplan.engine.agreement import By, agreement, flips
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

MOST_SHOWN = 200


def show(db: Database, table: TableInfo, snapshot: str, runs: Runs) -> None:
    """Show a figure in which the user selects runs to withdraw (exclude from fits), and the list of withdrawn runs.

    ``runs`` are the runs of the snapshot with the hash ``snapshot``, after mapping and filter.
    """
    event = draw_selectable(
        lambda theme: picture.draw(runs, theme=theme),
        key=f"overview_{table.id}_{snapshot}",
        drawing=drawn_runs(snapshot, str(db.folder), runs),
        text="" if table.read_only else "Click a run, or draw a box around runs, to leave them out.",
    )
    rows = chosen_rows(event)
    choosing(table.id, rows)
    if not table.read_only:
        _withdraw(db, table, rows)
    _withdrawn(db, table)


def _withdraw(db: Database, table: TableInfo, rows: list[int]) -> None:
    if not rows:
        return
    with st.form(f"withdraw_{table.id}"):
        left, right = st.columns([4, 1], vertical_alignment="bottom")
        reason = left.text_input(
            f"Reason for leaving out {plural(len(rows), 'run')}", placeholder="diverged, stopped early, wrong tokenizer"
        )
        if right.form_submit_button(f"Leave out {plural(len(rows), 'run')}"):
            with sentences():
                tables.withdraw(db, table.id, rows, reason or "")
                st.rerun()


def _withdrawn(db: Database, table: TableInfo) -> None:
    gone = tables.withdrawn(db, table.id)
    if not gone:
        return
    with st.expander(f"{plural(len(gone), 'run')} left out", icon=":material/visibility_off:"):
        _list_withdrawn(db, table, gone)


def _list_withdrawn(db: Database, table: TableInfo, gone: Sequence[tuple[int, str, datetime]]) -> None:
    choice = st.dataframe(
        [{"Row": r, "Reason": why, "When": f"{when:%d %b %Y %H:%M}"} for r, why, when in gone[:MOST_SHOWN]],
        hide_index=True,
        on_select="rerun",
        selection_mode="multi-row",
        key=f"withdrawn_{table.id}_{len(gone)}",
        alt="Withdrawn rows with the reason and the time.",
    )
    picked = [gone[i][0] for i in choice["selection"]["rows"]]
    label = f"Bring back {plural(len(picked), 'run')}" if picked else "Bring all back"
    if not table.read_only and st.button(label, icon=":material/undo:"):
        with sentences():
            tables.bring_back(db, table.id, picked or [row for row, _, _ in gone])
            st.rerun()


PARTS: tuple[By, ...] = ("all", "budget", "group")
MOST = 8
"""Maximum number of notes on the page, and maximum number of warnings about sign changes."""


def show_agreement(db: Database, table: TableInfo, where: str) -> None:
    """Show the rank correlations of the metrics, the pairs of metrics whose correlation changes sign, and notes.

    Raises PlannerError if the table has fewer than two metrics.
    """
    _, runs = runs_of(db, table, where)
    by = st.segmented_control(
        "Compare within",
        PARTS,
        default="all",
        required=True,
        key="agree_by",
        bind="query-params",
        help="Across all runs, metrics usually agree, because more compute improves all of them. "
        "Within one budget, they can disagree.",
    )
    correlations = agreement(runs, by)
    marked = flips(correlations)
    st.caption(
        "Spearman's rank correlation of each pair of metrics. 1 means the same order of runs. "
        + ("A frame marks pairs whose correlation changes sign." if marked else "")
    )
    draw(lambda theme: draw_agreement(correlations, theme), key="agreement")
    for flip in marked[:MOST]:
        st.warning(escape_markdown(flip.sentence), icon=":material/swap_vert:")
    for note in [f"{a.name}: {note}" for a in correlations for note in a.notes][:MOST]:
        st.info(escape_markdown(note), icon=":material/info:")
