"""Damage to each file of a cell's folder: truncated, empty, random bytes, a hostile pickle, removed.

The cells either wait between two attempts or are done; a runner runs them afterwards.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.reliability.faults.cells import FAMILY, add, finish, outcome, run_all, stop_early, workspace
from benchmarks.reliability.faults.trial import Trial
from isoplan.app.cell_service import ingest_if_free
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import NO_ORDER, NO_SPEC, Record

SEED = 20_261_124
MARK = "unpickled"
WAITING = (
    "spec.json", "order.json", "lease.json", "stop.json", "checkpoint", "beat-1", "events-1.jsonl", "log-1.txt",
    "result-1.json",
)  # fmt: skip
DONE = ("spec.json", "order.json", "lease.json", "beat-1", "events-1.jsonl", "log-1.txt", "result-1.json")
WENT_ON, BEGAN_AGAIN = "done, loss right, went on", "done, loss right, began again"


class Hostile:
    """An object that creates the file ``mark`` when it is read as a pickle."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch '{self.mark}'",)


def truncate(place: Path) -> None:
    """Keep the first half."""
    data = place.read_bytes()
    place.write_bytes(data[: len(data) // 2])


def empty(place: Path) -> None:
    """Remove all content."""
    place.write_bytes(b"")


def scramble(place: Path) -> None:
    """Replace the content by random bytes of at least the same length."""
    size = max(place.stat().st_size, 64)
    place.write_bytes(np.random.default_rng(SEED).bytes(size))


def poison(place: Path) -> None:
    """Replace the file by a pickle that runs a command when it is read."""
    place.write_bytes(pickle.dumps(Hostile(place.parent / MARK)))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "truncated": truncate,
    "emptied": empty,
    "random bytes": scramble,
    "a hostile pickle": poison,
    "removed": Path.unlink,
}


@dataclass(frozen=True)
class Case:
    """A file, its damage, and the expected result of its cell."""

    file: str
    damage: str
    expected: str


def waiting_cases() -> list[Case]:
    """Return each file of a cell between two attempts, with each kind of damage."""
    return [Case(file, damage, _expected(file, damage)) for file in WAITING for damage in DAMAGES]


def _expected(file: str, damage: str) -> str:
    if file == "spec.json":
        return f"failed: {NO_SPEC} Launched again: {WENT_ON}"
    if file == "order.json" and damage != "removed":
        return f"failed: {NO_ORDER} Retried: {WENT_ON}"
    return BEGAN_AGAIN if file == "checkpoint" else WENT_ON


def wait(root: Path, cases: list[Case]) -> list[str]:
    """Return the results of cells that were stopped, damaged and then run by a runner; one cell per case."""
    workspace(root)
    names = add(root, [{"seed": k} for k in range(len(cases))])
    for name in names:
        Queue(root).put_first([name], 1)
        stop_early(root, name)
    return _damaged(root, cases, names)


def _damaged(root: Path, cases: list[Case], names: list[str]) -> list[str]:
    """Damage the cells, run them with a runner, follow the messages of failed ones, and run them again."""
    queue = Queue(root)
    for case, name in zip(cases, names, strict=True):
        DAMAGES[case.damage](queue.folder(name) / case.file)
    first = run_all(root)
    failed = {name: record for name, record in first.items() if record.state == "failed"}
    if failed:
        add(root, [{"seed": k} for k in range(len(cases))])
        Queue(root).retry(failed)
        second = run_all(root)
    found = []
    for name in names:
        text = outcome(first[name])
        if name in failed:
            text += f" {'Retried' if NO_ORDER in text else 'Launched again'}: {outcome(second[name])}"
        if (queue.folder(name) / MARK).exists():
            text += ", AND THE PICKLE RAN"
        found.append(text)
    return found


def done_cases() -> list[Case]:
    """Return each file of a finished cell, with each kind of damage; its row was made before."""
    return [Case(file, damage, _expected_done(file)) for file in DONE for damage in DAMAGES]


def _expected_done(file: str) -> str:
    if file == "spec.json":
        return f"failed: {NO_SPEC} Launched again: {BEGAN_AGAIN}, 1 attempt, 1 row"
    return f"{BEGAN_AGAIN}, {2 if file == 'result-1.json' else 1} attempt{'s' * (file == 'result-1.json')}, 1 row"


def end(root: Path, cases: list[Case]) -> list[str]:
    """Return the results of cells that were finished, had a row, and were then damaged."""
    workspace(root)
    names = add(root, [{"seed": k} for k in range(len(cases))])
    for name in names:
        Queue(root).put_first([name], 1)
        finish(root, name)
    ingest_if_free(root)
    found = _damaged(root, cases, names)
    ingest_if_free(root)
    rows, records = runs(root), Queue(root).scan()
    return [f"{text}, {_attempts(records[n])}, {rows.count(n)} row" for text, n in zip(found, names, strict=True)]


def runs(root: Path, family: str = FAMILY) -> list[str]:
    """Return the names of the cells with rows, once for each row."""
    with open_workspace(root) as db:
        return [str(name) for name in tables.frame(db, cell_index.table_of(family))["run"]]


def _attempts(record: Record) -> str:
    return "1 attempt" if record.number == 1 else f"{record.number} attempts"


def trials(root: Path) -> list[Trial]:
    """Run all trials of this module in workspaces below ``root``."""
    waiting, done = waiting_cases(), done_cases()
    happened = [
        *zip(waiting, wait(root / "waiting", waiting), ["waits after an attempt"] * len(waiting), strict=True),
        *zip(done, end(root / "done", done), ["is done and has its row"] * len(done), strict=True),
    ]
    return [Trial(f"`{c.file}` of a cell that {state}", c.damage, c.expected, text) for c, text, state in happened]
