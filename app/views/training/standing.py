"""State of all cells of the workspace, their groups (sweeps), and the state of the runner."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import streamlit as st

from isoplan.app.views.widgets.parts import plural
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.machine import this_machine
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.progress import PREPARING, Progress, page_state, progress
from isoplan.trainers.backend.queue.sweep import CellPolicy, Sweep, read_sweeps, standings
from isoplan.trainers.backend.store.files import read_json
from isoplan.trainers.backend.store.heartbeat import LOCK, STATUS, is_held
from isoplan.trainers.backend.store.record import CELLS, Record
from isoplan.trainers.families import families

WORKING = ("queued", "waiting", PREPARING, "running", "stopping")
FRESH = 0.5
"""Time in seconds for which a result of ``look`` is reused instead of reading the cells again."""
SILENT = 15.0
"""Time in seconds without a heartbeat after which the page reports that the runner does not respond."""


@st.cache_resource(show_spinner=False)
def cores() -> int:
    """Return the number of cores of this machine."""
    return this_machine().cores


@dataclass(frozen=True)
class Group:
    """A group of cells on the page: the cells of one ``sweep``, or those cells of one family that have no sweep."""

    key: str
    title: str
    family: str
    names: tuple[str, ...]
    sweep: Sweep | None = None


@dataclass(frozen=True, eq=False)
class Look:
    """State of the workspace at one time.

    It contains the cells by name (``records``), the scheduling policy of each cell by name (``told``), and the groups
    of cells by key, newest first.
    """

    root: Path
    records: Mapping[str, Record]
    told: Mapping[str, CellPolicy]
    groups: Mapping[str, Group]

    @cached_property
    def states(self) -> Mapping[str, str]:
        """State of each cell as the page shows it, by the name of the cell."""
        return {name: page_state(record, self.told, self.root / CELLS / name) for name, record in self.records.items()}

    @cached_property
    def working(self) -> bool:
        """Whether at least one cell runs or waits for its start."""
        return any(state in WORKING for state in self.states.values())

    def works(self, group: Group) -> bool:
        """Return whether at least one cell of ``group`` runs or waits for its start."""
        return self.working and any(self.states[name] in WORKING for name in group.names)

    def state(self, record: Record) -> str:
        """Return the state of a cell as the page shows it."""
        return self.states[record.name]

    def cells(self, group: Group) -> list[Record]:
        """Return the cells of ``group`` in the order of the sweep."""
        return [self.records[name] for name in group.names]

    def progress(self, group: Group) -> Progress:
        """Return the progress of ``group``: states of its cells, speed, time left, and cost."""
        sweep = group.sweep or Sweep(group.key, group.family, "", "", "", "", group.names)
        return progress(sweep, self.records, self.told, self.root, cores())


def look(queue: Queue) -> Look:
    """Return the state of the workspace, at most ``FRESH`` seconds old.

    All parts of a page and all sessions share the result, so the cells are read only once.
    """
    return _look(str(queue.root), queue)


@st.cache_resource(ttl=FRESH, show_spinner=False)
def _look(folder: str, _queue: Queue) -> Look:
    records, sweeps = _queue.scan(), read_sweeps(_queue.root)
    titles: dict[str, str] = {}
    with suppress(PlannerError):  # the form shows what is wrong with programs.toml
        titles = {name: family.title for name, family in families(_queue.root).items()}
    return Look(_queue.root, records, standings(sweeps), _groups(records, sweeps, titles))


def changed() -> None:
    """Clear the cache of ``look`` after a change, so that the next call reads the cells again."""
    _look.clear()


def _groups(records: Mapping[str, Record], sweeps: Sequence[Sweep], titles: Mapping[str, str]) -> dict[str, Group]:
    """Return the groups of cells by key: sweeps, newest first, then one group per family for cells without a sweep.

    ``titles`` are the titles of the families by name.
    """
    found: dict[str, Group] = {}
    for sweep in reversed(sweeps):
        names = tuple(name for name in sweep.cells if name in records)
        if names:
            found[sweep.key] = Group(sweep.key, _title(sweep, len(names), titles), sweep.family, names, sweep)
    within = {name for group in found.values() for name in group.names}
    rest: dict[str, list[str]] = {}
    for name, record in records.items():
        if name not in within:
            rest.setdefault(record.family, []).append(name)
    for family, alone in rest.items():
        title = f"{titles.get(family, family)}, {plural(len(alone), 'cell')} without a sweep"
        found[family] = Group(family, title, family, tuple(alone))
    return found


def _title(sweep: Sweep, many: int, titles: Mapping[str, str]) -> str:
    """Return the name of a sweep or, if it has none, its family, number of cells and time of creation."""
    if sweep.name:
        return sweep.name
    try:
        when = f", {datetime.fromisoformat(sweep.created):%d %b %H:%M}"
    except ValueError:
        when = ""
    return f"{titles.get(sweep.family, sweep.family)}, {plural(many, 'cell')}{when}"


@dataclass(frozen=True)
class Line:
    """One line of text about the runner. ``wrong`` is true if the user has to act."""

    text: str
    wrong: bool = False


def runner(root: Path, working: bool) -> Line:
    """Return one line about the runner of the workspace ``root``; ``working`` is true if cells are unfinished."""
    folder = root / CELLS
    return runner_line(read_json(folder / STATUS) if is_held(folder / LOCK) else None, working, time.time())


def runner_line(status: Mapping[str, Any] | None, working: bool, now: float) -> Line:
    """Return one line about the runner from its status file at the time ``now`` in seconds.

    ``status`` is None if no runner holds the lock of the workspace.
    """
    if status is None:
        return Line("A runner is about to start." if working else "Nothing runs.")
    silent = now - float(status.get("beat", 0.0))
    if silent > SILENT and working:
        return Line(
            f"The runner has sent no heartbeat for {silent:.0f} s. If it has ended, a new runner replaces it.", True
        )
    if silent > SILENT:
        return Line("Nothing runs.")
    message, where = str(status.get("message", "")), status.get("cluster") or "this machine"
    if message == "at work":
        return Line(f"Training on {where}." if working else f"No cell waits or runs on {where}.")
    if message == "starting the workers":
        return Line("The runner is starting its workers.")
    return Line(message, True)


def names_in(look: Look, names: Iterable[str], states: Iterable[str]) -> list[str]:
    """Return the cells of ``names`` that exist and whose state is one of ``states``, in the order of ``names``."""
    allowed = set(states)
    return [name for name in names if look.states.get(name) in allowed]
