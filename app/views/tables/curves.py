"""Training curves of a run table: bring them in, say what their columns mean, see which are left out and why."""

from __future__ import annotations

import streamlit as st

from isoplan.app.figures.training import curves
from isoplan.app.views.tables.mapping import edit_mapping
from isoplan.app.views.tables.upload import add_curves
from isoplan.app.views.widgets.cache import curves_of, runs_of
from isoplan.app.views.widgets.parts import distinct, draw, escape_markdown, plural, sentences
from isoplan.app.views.widgets.saved_items import manage
from isoplan.engine.schema import Curves
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

MOST = 200
"""Curves that are left out and named."""


def show(db: Database, table: TableInfo, where: str) -> None:
    """The curve tables that are tied to ``table``, the box for another one, and the curves of the chosen one."""
    known = {t.id: t for t in tables.curves_of(db, table.id)}
    with st.expander("Add training curves", expanded=not known, icon=":material/upload_file:"):
        add_curves(db, table)
    label = "Use the rows of this table as curves"
    if not known and tables.roles(db, table.id).rows != "all" and st.button(label, key=f"curves_within_{table.id}"):
        with sentences():
            tables.curves_within(db, table.id)
            st.rerun()
    if not known:
        st.info(
            "Envelope, critical batch and overfitting threshold read training curves: one row a point, with the name "
            "of its run, the step and the loss.",
            icon=":material/info:",
        )
        return
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    names = distinct({i: one.name for i, one in known.items()})
    chosen = known[left.selectbox("Curve table", list(known), format_func=names.__getitem__, key="curve_table")]
    with right.container(horizontal=True, horizontal_alignment="right"):
        rename = lambda name: tables.rename(db, chosen.id, name)  # noqa: E731
        manage(chosen.id, chosen.name, rename, lambda: tables.delete(db, chosen.id))
    with st.expander("What its columns mean", icon=":material/table_chart:"):
        edit_mapping(db, chosen, tables.columns(db, chosen.id))
    with sentences():
        snapshot, runs = runs_of(db, table, where)
        _about(curves_of(db, chosen, snapshot, runs), chosen)


def _about(found: Curves, table: TableInfo) -> None:
    """How many curves there are, the notes on them, their picture, and those that are left out."""
    bad = found.marks != ""
    st.caption(f"{plural(len(found), 'curve')} in {plural(table.rows, 'point')}; {int(bad.sum()):,} left out.")
    for note in found.notes:
        st.info(escape_markdown(note), icon=":material/info:")
    targets = [y for y in ("loss", *(m.column for m in found.roles.metrics)) if y in found]
    if not targets:
        st.info("No column of the curves is mapped to the loss or a metric: map one above.", icon=":material/info:")
        return
    y = targets[0] if len(targets) == 1 else st.selectbox("Draw", targets, key=f"curve_y_{table.id}")
    draw(lambda theme: curves.draw_curves(found, y, theme), key=f"curves_{table.id}")
    if bad.any():
        named = zip(found.names[bad][:MOST].tolist(), found.marks[bad][:MOST].tolist(), strict=True)
        st.dataframe(
            [{"Run": name, "Left out": why} for name, why in named],
            hide_index=True,
            alt="Curves that are left out, and why.",
        )
