"""Page Train: define a grid of cells (training runs), launch and monitor the cells, and fit the finished cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from isoplan.app import workspace
from isoplan.app.cell_service import queue_of
from isoplan.app.views.training import autopilots, form, overview, permission, special, standing, table
from isoplan.app.views.training.lines import AXES, COLOURS
from isoplan.app.views.training.standing import Group, Look
from isoplan.app.views.widgets.parts import escape_markdown, heading, sentences
from isoplan.app.views.widgets.state import recall, remember, rename_choice, select_one
from isoplan.trainers.families import find_family

IN_MEMORY = "This workspace is in memory only and cannot store cells. Start Isoplan with a folder to train."
FORMER = {"Updates": "Training steps"}
"""Current names of renamed options of "Curves against", by former name. Old links can contain the former names."""


def cells(look: Look, may: bool) -> None:
    """Show one sweep: its progress and training curves, its results, and a table of its cells (training runs).

    ``may`` is true if the user is allowed to start, stop or change cells.
    """
    many = len(look.groups) > 1
    row = st.grid(3 if many else 2, min_column_width=300)
    group = choose(look, row)
    with row.cell():
        rename_choice("against", FORMER)
        against = st.segmented_control(
            "Curves against", list(AXES), default="Samples", required=True, key="against", bind="query-params"
        )
    with row.cell():
        colour = st.segmented_control(
            "Colour by", list(COLOURS), default="Size", required=True, key="colour", bind="query-params"
        )
    with sentences():
        family = find_family(group.family, look.root)
        overview.show(queue, group, family, (AXES[str(against)], COLOURS[str(colour)]), look.working, may)
        special.results(queue, group, family, look.working)
        table.show(queue, group, family, look.working, may)


def choose(look: Look, row: Any) -> Group:
    """Return the selected sweep. The initial sweep is the sweep in the page URL, or else the newest sweep.

    If there are several sweeps, a selection is shown in the grid ``row``.
    """
    wanted = recall("sweep")
    if wanted and wanted not in look.groups:
        st.error(
            f"The sweep {escape_markdown(wanted)} of this link is not in this workspace.", icon=":material/link_off:"
        )
    opened = wanted if wanted in look.groups else next(iter(look.groups))
    if len(look.groups) > 1:
        with row.cell():
            select_one("Sweep", {key: group.title for key, group in look.groups.items()}, "sweep", opened)
    remember("sweep", opened)
    return look.groups[opened]


heading("Train", "Train new runs. Each finished run becomes a row of a run table.")
folder: Path | None = workspace.current().folder
reason = permission.why_not()
if reason:
    st.info(reason, icon=":material/block:")
if folder is None:
    st.info(IN_MEMORY, icon=":material/folder_off:")
else:
    queue = queue_of(folder)
    seen = standing.look(queue)
    if not reason:
        form.show(queue)
    autopilots.show(folder, not reason)
    if seen.groups:
        cells(seen, not reason)
