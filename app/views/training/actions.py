"""Actions on cells, such as cancel or delete, for selected cells or for a whole sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from isoplan.app import cell_service, workspace
from isoplan.app.sweep_costs import ON_PAGES, read_cap
from isoplan.app.views.training.standing import Group, Look, changed, names_in
from isoplan.app.views.widgets.parts import escape_markdown, plural, sentences
from isoplan.engine.quantities import si
from isoplan.trainers.backend.queue import sweep
from isoplan.trainers.backend.queue.cells import Queue, size_of
from isoplan.trainers.backend.queue.progress import PREPARING
from isoplan.trainers.backend.queue.sweep import Sweep
from isoplan.trainers.backend.store.files import writing

Type = Literal["secondary", "tertiary"]
PRIORITY = 1000
"""Maximum absolute value of a priority that a user can enter."""


ACTED = "cell_actions"
"""Session key of the number of actions on cells so far."""
STARTED = ("queued", "waiting", PREPARING, "running")
"""States of cells that run or wait to run."""


@dataclass(frozen=True)
class Action:
    """A button for cells.

    It applies to cells in ``states``, calls ``do(queue, names)``, and then shows the message ``said``.
    """

    label: str
    icon: str
    states: tuple[str, ...]
    do: Callable[[Queue, Sequence[str]], object]
    said: str


ACTIONS = (
    Action("Cancel", "cancel", (*STARTED, "held"), lambda q, names: q.cancel(names), "Cancelled"),
    Action("Hold", "pause", STARTED, lambda q, names: q.hold(names), "Held"),
    Action("Resume", "play_arrow", ("held", "stopping"), lambda q, names: q.hold(names, False), "Resumed"),
    Action("Retry", "replay", ("failed", "cancelled"), lambda q, names: q.retry(names), "Queued again"),
)
DELETABLE = ("queued", "held", "done", "failed", "cancelled")


def of_cells(queue: Queue, look: Look, names: Sequence[str]) -> None:
    """Show the buttons for the selected cells ``names``.

    A button is enabled if at least one selected cell has a state to which the button applies. Without a selection, no
    button is shown.
    """
    if not names:
        st.caption("Select rows to change their cells.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        for action in ACTIONS:
            apt = names_in(look, names, action.states)
            if st.button(action.label, icon=f":material/{action.icon}:", disabled=not apt, key=f"do_{action.label}"):
                with sentences(), writing(queue.root):
                    action.do(queue, apt)
                    _again(f"{action.said}: {plural(len(apt), 'cell')}.")
        _priority(queue.root, "cells", lambda priority: queue.put_first(names, priority), kind="secondary")
        _delete(queue, "cells", names_in(look, names, DELETABLE))
        st.caption(f"{plural(len(names), 'cell')} selected")


def of_sweep(queue: Queue, look: Look, group: Group) -> None:
    """Show the menu of the sweep of ``group``. For cells without a sweep, nothing is shown."""
    asked, key, root = group.sweep, group.key, queue.root
    if asked is None:
        return
    menu = _popover("", "more_vert", f"menu_{key}", "tertiary", "content", help="The whole sweep")
    with menu, sentences(), writing(root):
        if asked.waits:
            if _button("Resume the sweep", "play_arrow", key):
                sweep.hold(root, key, False)
                _again("The sweep is resumed.")
        elif _button("Hold the sweep", "pause", key, not names_in(look, group.names, STARTED)):
            sweep.hold(root, key)
            _again("The sweep is on hold.")
        open_cells = names_in(look, group.names, (*STARTED, "held"))
        if _button("Cancel the sweep", "cancel", key, not open_cells):
            sweep.cancel(root, key)
            _again("The sweep is cancelled.")
        failed = names_in(look, group.names, ("failed", "cancelled"))
        if _button(f"Retry {plural(len(failed), 'cell')}", "replay", key, not failed):
            sweep.hold(root, key, False)
            queue.retry(failed)
            _again(f"Queued again: {plural(len(failed), 'cell')}.")
        _priority(root, key, lambda priority: sweep.put_first(root, key, priority), asked.order.priority)
        _cap(queue, asked)
        _delete(queue, key, names_in(look, group.names, DELETABLE), lambda: _forget(look, group), "tertiary")


def _cap(queue: Queue, asked: Sweep) -> None:
    """Show a field with the cap of a sweep (the cost or time at which the sweep stops). The user can change the cap."""
    cap = asked.order.cap
    with _popover("Cap", "payments", f"cap_{asked.key}", "tertiary", "stretch"):
        typed = st.text_input(
            "Maximum cost or time", cap.text, key=f"spend_{asked.key}", placeholder="50 EUR or 20 h", max_chars=100
        )
        if st.button("Set cap", key=f"set_cap_{asked.key}"):
            with sentences(), writing(queue.root):
                price = f"{cap.price} {cap.currency}" if cap.price else ""
                sweep.set_cap(queue.root, asked.key, read_cap(typed or "", price, ON_PAGES))
                _again("The cap is set.")


def _forget(look: Look, group: Group) -> None:
    if len(names_in(look, group.names, DELETABLE)) == len(group.names):
        sweep.forget(look.root, group.key)


def _button(label: str, icon: str, key: str, disabled: bool = False) -> bool:
    return st.button(
        label, icon=f":material/{icon}:", key=f"{icon}_{key}", width="stretch", disabled=disabled, type="tertiary"
    )


def _popover(label: str, icon: str, key: str, kind: Type, width: Literal["stretch", "content"], **look: Any) -> Any:
    """Return a popover with a key that changes after each action, so that each action closes the popover.

    ``look`` are further arguments of the popover.
    """
    key = f"{key}_{st.session_state.get(ACTED, 0)}"
    return st.popover(label, icon=f":material/{icon}:", key=key, type=kind, width=width, on_change="rerun", **look)


def _width(kind: Type) -> Literal["stretch", "content"]:
    return "stretch" if kind == "tertiary" else "content"


def _priority(root: Path, key: str, put: Callable[[int], object], now: int = 0, kind: Type = "tertiary") -> None:
    with _popover("Priority", "low_priority", f"priority_{key}", kind, _width(kind)):
        given = st.number_input(
            "Priority", -PRIORITY, PRIORITY, now, key=f"number_{key}", help="Cells with a higher priority start first."
        )
        if st.button("Set priority", key=f"set_{key}"):
            with sentences(), writing(root):
                put(int(given))
                _again(f"Priority {given}.")


def _delete(
    queue: Queue,
    key: str,
    names: Sequence[str],
    after: Callable[[], object] = lambda: None,
    kind: Type = "secondary",
) -> None:
    """Show the button that deletes the cells ``names``.

    The disk space that the deletion frees is measured only when the menu is open, because the measurement is slow.
    """
    place = _popover("Delete", "delete", f"delete_{key}", kind, _width(kind), disabled=not names)
    if not place.open:
        return
    with place, sentences(), writing(queue.root):
        freed = sum(size_of(queue.folder(name)) for name in names)
        st.markdown(
            f"Deleting {plural(len(names), 'cell')} frees {si(freed)}B. Their results and checkpoints are lost."
        )
        if st.button("Delete", type="primary", key=f"sure_{key}"):
            cell_service.delete(workspace.current(), queue, names)
            after()
            st.session_state["cells_gone"] = st.session_state.get("cells_gone", 0) + 1
            _again(f"Deleted {plural(len(names), 'cell')}.")


def _again(said: str) -> None:
    """Show the message ``said`` and rerun the page with the changed state of the cells."""
    changed()
    st.session_state[ACTED] = st.session_state.get(ACTED, 0) + 1
    st.toast(escape_markdown(said))
    st.rerun()
