"""Progress of the cells: one line about the runner, one progress bar per sweep, and the live curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from isoplan.app import workspace
from isoplan.app.cell_service import as_row, ingest
from isoplan.app.figures.style.theme import WEB, Drawing, Theme
from isoplan.app.figures.training import curves as live
from isoplan.app.views.training import actions, costs, special, standing
from isoplan.app.views.training.lines import curves, spans
from isoplan.app.views.training.standing import Group, Look
from isoplan.app.views.widgets.parts import draw, escape_markdown, plural, sentences
from isoplan.app.views.widgets.state import newest_fit
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.samples.sample import SMALLER_RATE, TRAIN_LONGER
from isoplan.engine.quantities import count, duration
from isoplan.engine.store.database.cell_index import table_of
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.progress import OPEN, Progress, describe_simulation, describe_states
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.cell import Family
from isoplan.trainers.families import find_family, read_cell

NAMED = 6
"""Maximum number of names in the list of the cells that gave no row."""
MOST_BARS = 5
"""Maximum number of sweeps with a progress bar. Sweeps with unfinished cells come first, then the newest others."""


WHERE = "Open the menu :material/more_vert: of this sweep and select Cap."
"""Where a user changes the cap of a sweep."""
Axes = tuple[str, str]
"""Two roles of the curves: the role on the x axis, and the role that the colour shows."""


def show(queue: Queue, group: Group, family: Family[Any], axes: Axes, working: bool, may: bool) -> None:
    """Show the overview; redraw it every second while a cell is ``working``. ``may`` allows actions on cells."""
    st.fragment(_show, run_every="1s" if working else None)(queue, group, family, axes, working, may)


def _show(queue: Queue, group: Group, family: Family[Any], axes: Axes, working: bool, may: bool) -> None:
    look = standing.look(queue)
    line = standing.runner(queue.root, look.working)
    if line.wrong:
        st.warning(escape_markdown(line.text), icon=":material/warning:")
    with st.container(horizontal=True, vertical_alignment="center"):
        fit_button(queue, family)
        if not line.wrong:
            st.caption(escape_markdown(line.text))
    shown = look.cells(look.groups[group.key]) if group.key in look.groups else []
    if reasons := " ".join(filter(None, (rowless(shown, family.loss), untrained(shown)))):
        st.warning(escape_markdown(reasons), icon=":material/warning:")
    for one in _shown(look):
        _bar(queue, look, one, may)
    with sentences():
        if group.key in look.groups:
            _curves(queue, look, look.groups[group.key], family, axes)
    _notice(look)
    if look.working != working:
        st.rerun()


def rowless(cells: Sequence[Record], loss: str) -> str:
    """Return a sentence about the finished cells that gave no row of the run table; "" if there are none.

    ``loss`` is the quantity of the laws of the family. A cell without a finite value of ``loss`` gives no row.
    """
    done = [record for record in cells if record.state == "done"]
    lost = [one.name[:8] for one in done if (row := as_row(one)) is None or not row.usable]
    if not lost:
        return ""
    named = ", ".join(lost[:NAMED]) + (f" and {len(lost) - NAMED} more" if len(lost) > NAMED else "")
    many = f"{len(lost)} of {plural(len(done), 'finished cell')}"
    return f"{many} cannot be fitted, because the {loss} is not finite: {named}. {SMALLER_RATE}"


def untrained(cells: Sequence[Record]) -> str:
    """Return a sentence about the finished cells that did not train; "" if there are none.

    The family marks these cells with the metric ``untrained``: their models are no better than guessing.
    """
    done = [record for record in cells if record.state == "done"]
    count = sum(bool(dict((one.result or {}).get("metrics") or {}).get("untrained")) for one in done)
    if not count:
        return ""
    verb = "is" if count == 1 else "are"
    return (
        f"{count:,} of {plural(len(done), 'finished cell')} did not train and {verb} left out of fits. {TRAIN_LONGER}"
    )


def _shown(look: Look) -> list[Group]:
    """Return the groups of cells that have a progress bar, newest first."""
    found = list(look.groups.values())
    first = sorted(found, key=lambda group: not look.works(group))[:MOST_BARS]
    return [group for group in found if group in first]


def _bar(queue: Queue, look: Look, group: Group, may: bool) -> None:
    """Show the progress bar of a group of cells. A sweep also has a menu and, if it is on hold, the reason."""
    found = look.progress(group)
    if found.left is None and not found.over:
        found = replace(found, left=_forecast(str(queue.root), group.key, queue, look, group))
    left, right = st.columns([20, 1], vertical_alignment="bottom", gap="small")
    left.progress(min(found.share, 1.0), f"**{escape_markdown(group.title)}** {progress_text(found, group)}")
    if may:
        with right:
            actions.of_sweep(queue, look, group)
    if group.sweep is not None and group.sweep.order.why:
        where = f" {WHERE}" if may and group.sweep.order.cap.hours is not None else ""
        st.warning(escape_markdown(group.sweep.order.why) + where, icon=":material/payments:")


def progress_text(found: Progress, group: Group) -> str:
    """Return the progress as text, such as ``5 done, 2 training, 2 waiting · 41 k samples/s · 2 min left``."""
    said = [describe_states(found.states)]
    if found.simulated:
        said.append(describe_simulation(*found.simulated, group.family, found.simulation_left))
    if found.samples:
        said.append(f"{count(found.samples)} samples/s")
    if found.money:
        currency = group.sweep.order.cap.currency if group.sweep is not None else ""
        said.append(f"{found.money:.2f} {currency} spent".replace("  ", " "))
    if found.left and not found.over:
        said.append(f"{duration(found.left)} left{' in all' if found.simulation_left else ''}")
    return " · ".join(said)


@st.cache_resource(max_entries=20, show_spinner=False, ttl="10s")
def _forecast(root: str, key: str, _queue: Queue, _look: Look, _group: Group) -> float | None:
    """Return the estimated time in seconds for the unfinished cells of a group that has made no progress yet."""
    try:
        family = find_family(_group.family, _queue.root)
        cells = [read_cell(family, record.cell) for record in _look.cells(_group) if record.state in OPEN]
        return costs.predict(_queue, family, cells).seconds
    except PlannerError:
        return None


def fit_button(queue: Queue, family: Family[Any]) -> None:
    """Show the button that opens the page Fit with all finished cells of ``family``.

    The button first adds the finished cells that are not in the run table yet. If this table has a fit, the page then
    shows the newest fit, which can be repeated with all rows. Otherwise the page shows the form of a fit.
    """
    db, table = workspace.current(), table_of(family.name)
    ready = any(known.id == table for known in tables.all(db))
    help_text = "Opens the Fit page with all finished cells of this model."
    if st.button("Fit these cells", icon=":material/show_chart:", key="fit_cells", disabled=not ready, help=help_text):
        with sentences():
            ingest(db, queue)
            newest = newest_fit(db, table)
            settings = {"fit": newest} if newest else dict(special.special_of(family).fit)
            st.switch_page("views/fit.py", query_params={"table": table, **settings})


def _curves(queue: Queue, look: Look, group: Group, family: Family[Any], axes: Axes) -> None:
    """Show the curves of one group over the chosen axis. If no cell of the group runs, the figure is cached."""
    cells, (x, by) = look.cells(group), axes

    def redraw(theme: Theme) -> Drawing:
        begun = sum(record.number > 0 for record in cells)
        lines, ends = curves(queue, family, cells, x, by), spans(family, cells, x, by)
        return live.draw_live(lines, x, family.loss, *ends, begun, theme, by)

    state = hash(tuple((record.name, record.number, record.state, record.created) for record in cells))
    kept = None if look.works(group) else _settled(str(queue.root), group.key, x, by, state, redraw)
    draw(redraw, "cells_picture", kept)


@st.cache_resource(max_entries=20, show_spinner=False)
def _settled(root: str, group: str, x: str, by: str, state: int, _redraw: Callable[[Theme], Drawing]) -> Drawing:
    return _redraw(WEB)


def _notice(look: Look) -> None:
    """Show a notice for each sweep that has ended since the previous call in this session."""
    working = {group.key for group in look.groups.values() if look.works(group)}
    for key in st.session_state.get("sweeps_working", set()) - working:
        if key in look.groups:
            group = look.groups[key]
            said = describe_states(look.progress(group).states)
            st.toast(f"{escape_markdown(group.title)} has ended: {said}.", icon=":material/flag:")
    st.session_state["sweeps_working"] = working
