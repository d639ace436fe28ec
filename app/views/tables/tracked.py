"""Import of runs from an experiment tracker: find the runs, choose their columns, and add them as a table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from isoplan.app import workspace
from isoplan.app.views.widgets.parts import escape_markdown, plural, progress_bar, sentences
from isoplan.app.views.widgets.state import open_table
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files.uploads import MAX_UPLOAD_BYTES
from isoplan.engine.store.tables import tables
from isoplan.engine.trackers.catalogue import SOURCES
from isoplan.engine.trackers.export import as_parquet, selected
from isoplan.engine.trackers.reading import Imported, import_runs
from isoplan.engine.trackers.tables import ALWAYS, count_states

FOUND = "tracked_runs"
SHOWN = 100
"""Largest number of runs in the preview."""


@dataclass(frozen=True, eq=False)
class Found:
    """The runs that were found at a place, and the name of the table that they become."""

    place: str
    imported: Imported

    @property
    def name(self) -> str:
        """Name of the table: the title of the source and the last part of the place."""
        return f"{self.imported.title} {Path(self.place).name or self.place}"


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
                st.session_state[FOUND] = Found(place, found)
    if (held := st.session_state.get(FOUND)) is not None:
        _offer(db, key, held)


def _ask_place(key: str) -> str:
    """Return the typed place. On a shared server nobody can read the files of the server, so there is no field."""
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
            _add(db, found, lambda: as_parquet(chosen))


def _add(db: Database, found: Found, content: Callable[[], bytes]) -> None:
    """Add the runs as a table and their curves as a curve table, and open the table."""
    origin = f"{found.imported.title}: {found.place}"
    table = tables.add(db, content(), found.name, provenance=origin)
    points = found.imported.tables.points
    if len(points):
        tables.add(db, as_parquet(points), f"{found.name} curves", provenance=origin, curves_of=table.id)
    del st.session_state[FOUND]
    open_table(table.id)
    st.rerun()
