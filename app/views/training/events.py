"""The files of events of the workspace: those there are, to be trained on in a click, and another one from a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from isoplan.app.views.training import incoming
from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.trainers.amplitudes.bring import MOST_BYTES, bring, files_of
from isoplan.trainers.amplitudes.source import FOLDER, SIMULATED

FIELD = "cell_data"
"""The field of the form that names them."""
LIMIT = MOST_BYTES // 1024**2
"""Megabytes of a file that comes in."""


def show(root: Path) -> None:
    """What the field may name, and a box for one more file."""
    with st.popover("Events", icon=":material/folder_open:", help=f"Files in {FOLDER}/ of the workspace"):
        offered = [SIMULATED, *files_of(root)]
        st.session_state["events_chosen"] = [name for name in typed() if name in offered]
        st.pills(
            "Train on", offered, format_func=escape_markdown, selection_mode="multi", key="events_chosen",
            on_change=_choose, args=(offered,),
            help="Puts the name into the field Data; of several each is trained on.",
        )  # fmt: skip
        incoming.box(
            "events", f"A file of momenta and squared amplitudes (at most {LIMIT} MB)",
            ["npz", "h5", "hdf5", "parquet"], LIMIT, partial(_bring, root),
            f"NPZ, HDF5 or Parquet. It is read, and kept in {FOLDER}/ of the workspace if it holds events.",
        )  # fmt: skip
        incoming.refused("events")


def typed() -> list[str]:
    """What the field names now; nothing where it is left at its default, so that a click takes its place."""
    names = str(st.session_state.get(FIELD) or "").split(",")
    return [name.strip() for name in names if name.strip()]


def _choose(offered: list[str]) -> None:
    """Put what was chosen into the field, beside what is typed there and is none of what was ``offered``."""
    others = [name for name in typed() if name not in offered]
    st.session_state[FIELD] = ", ".join([*others, *st.session_state["events_chosen"]])


def _bring(root: Path, sent: Any) -> None:
    """Bring in the file that was given, and train on it."""
    bring(root, sent.name, sent.getvalue())
    st.session_state[FIELD] = sent.name
