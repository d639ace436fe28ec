"""Import of runs from an experiment tracker: find the runs, choose their columns, and add them as a table."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from isoplan.app import workspace
from isoplan.app.views.widgets.parts import escape_markdown, plural, progress_bar, sentences
from isoplan.app.views.widgets.state import open_table
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files.uploads import MAX_UPLOAD_BYTES
from isoplan.engine.store.tables.imported_tables import add_runs, is_imported, read_record, renew
from isoplan.engine.store.tables.tables import TableInfo
from isoplan.engine.trackers.catalogue import SOURCES
from isoplan.engine.trackers.export import selected
from isoplan.engine.trackers.reading import Imported, full_place, import_runs
from isoplan.engine.trackers.source import is_address
from isoplan.engine.trackers.tables import ALWAYS, count_states

FOUND = "tracked_runs"
SHOWN = 100
"""Largest number of runs in the preview."""


@dataclass(frozen=True, eq=False)
class Found:
    """The runs that were found at a place: a full path, an address, or the name of an uploaded archive."""

    place: str
    imported: Imported


def add_tracked(db: Database, key: str) -> None:
    """Show the fields that name the store of a tracker, a preview of its runs, and the button that adds them."""
    with st.form(f"tracked_{key}", border=False):
        place = _ask_place(key)
        names = {"": "Recognised from the files", **{source.name: source.title for source in SOURCES}}
        source = st.selectbox("Tracker", list(names), format_func=names.__getitem__, key=f"tracker_{key}")
        sent = st.file_uploader(
            "An archive with the folder of the tracker (zip or tar)",
            type=["zip", "tar", "gz", "tgz"],
            max_upload_size=MAX_UPLOAD_BYTES // 1024**2,
            key=f"archive_{key}",
        )
        asked = st.form_submit_button("Find runs", icon=":material/search:")
    if asked:
        st.session_state.pop(FOUND, None)
        with sentences(), tempfile.TemporaryDirectory() as folder:
            if sent is not None:
                place = sent.name
                (Path(folder) / Path(sent.name).name).write_bytes(sent.getvalue())
            at = str(Path(folder) / Path(sent.name).name) if sent is not None else place.strip()
            if not at:
                st.warning("Name a folder, a file or an address, or choose an archive.")
            else:
                with progress_bar("Reading runs") as follow:
                    found = import_runs(at, source, follow=lambda done, whole: follow(done / max(whole, 1)))
                st.session_state[FOUND] = Found(place if sent is not None else full_place(place), found)
    if (held := st.session_state.get(FOUND)) is not None:
        _offer(db, key, held)


def _ask_place(key: str) -> str:
    """Return the typed place. On a shared server there is no field, because its users must not read its files."""
    if workspace.settings().shared:
        st.caption("This server is shared. Upload an archive, or use isoplan import on your own machine.")
        return ""
    return st.text_input(
        "Folder, file or address",
        key=f"place_{key}",
        help="For example ~/runs/mlruns, mlflow.db, wandb/ or http://localhost:5000. It is read on this machine.",
    )


def _offer(db: Database, key: str, found: Found) -> None:
    """Show the runs of ``found`` and a button that adds the chosen columns as a table."""
    rows, points = found.imported.tables.rows, found.imported.tables.points
    if not len(rows):
        st.info(f"{escape_markdown(found.imported.title)}: this place contains no runs.")
        return
    curves = f"Their curves have {plural(len(points), 'point')}." if len(points) else "They have no training curves."
    st.markdown(
        f"**{escape_markdown(found.imported.title)}: {plural(len(rows), 'run')}** ({count_states(rows)}). {curves}"
    )
    choice = [name for name in rows.column_names if name not in ALWAYS]
    kept = st.multiselect("Columns", choice, default=choice, key=f"tracked_columns_{key}")
    chosen = selected(rows, kept)
    st.dataframe(chosen.slice(0, SHOWN).to_pandas(), height=210, hide_index=True)
    if st.button(f"Add {plural(len(rows), 'run')}", type="primary", key=f"add_tracked_{key}"):
        with sentences(), st.spinner("Adding the runs"):
            _add(db, found, kept)


def _add(db: Database, found: Found, kept: Collection[str]) -> None:
    """Add the runs and their curves to the table of the place, and open the table."""
    left_out = [name for name in found.imported.tables.rows.column_names if name not in (*ALWAYS, *kept)]
    table = add_runs(db, found.place, found.imported, left_out)
    del st.session_state[FOUND]
    open_table(table.id)
    st.rerun()


def offer_renewal(db: Database, table: TableInfo) -> None:
    """Show a button that imports the new and changed runs of an imported ``table``.

    There is no button if the place is an uploaded archive, or if the server is shared: its users cannot read its files.
    """
    record = read_record(db, table.id) if is_imported(table) else None
    if record is None or workspace.settings().shared:
        return
    if not is_address(record.place) and not Path(record.place).exists():
        return
    if st.button(
        "Refresh",
        icon=":material/refresh:",
        key=f"renew_{table.id}",
        help=f"Read {escape_markdown(record.place)} again.",
    ):
        with sentences(), progress_bar("Reading runs") as follow:
            _, many = renew(db, record.place, record.source, lambda done, whole: follow(done / max(whole, 1)))
            st.toast(f"{plural(many, 'new or changed run')}." if many else "No run is new or changed.")
        if many:
            st.rerun()
