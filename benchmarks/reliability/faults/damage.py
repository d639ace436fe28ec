"""Damage to each file in the folder of a cell: cut, emptied, overwritten, replaced by a hostile pickle, or removed.

The damaged cells either wait between two attempts or are done. A runner runs them afterwards.
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
    """An object that creates the file ``mark`` when Python unpickles it."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch '{self.mark}'",)


def truncate(place: Path) -> None:
    """Cut the second half of a file."""
    data = place.read_bytes()
    place.write_bytes(data[: len(data) // 2])


def empty(place: Path) -> None:
    """Make a file empty."""
    place.write_bytes(b"")


def scramble(place: Path) -> None:
    """Overwrite a file with random bytes. The new file is at least as long as the old one."""
    size = max(place.stat().st_size, 64)
    place.write_bytes(np.random.default_rng(SEED).bytes(size))


def poison(place: Path) -> None:
    """Replace a file by a pickle that runs a command when Python unpickles it."""
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
    """A file of a cell, the damage to it, and the expected result of the cell."""

    file: str
    damage: str
    expected: str


def waiting_cases() -> list[Case]:
    """Return one case per file and kind of damage, for a cell between two attempts."""
    return [Case(file, damage, _expected(file, damage)) for file in WAITING for damage in DAMAGES]


def _expected(file: str, damage: str) -> str:
    if file == "spec.json":
        return f"failed: {NO_SPEC} Launched again: {WENT_ON}"
    if file == "order.json" and damage != "removed":
        return f"failed: {NO_ORDER} Retried: {WENT_ON}"
    return BEGAN_AGAIN if file == "checkpoint" else WENT_ON


def wait(root: Path, cases: list[Case]) -> list[str]:
    """Stop one cell per case, damage it, run it with a runner, and return the results as text."""
    workspace(root)
    names = add(root, [{"seed": k} for k in range(len(cases))])
    for name in names:
        Queue(root).put_first([name], 1)
        stop_early(root, name)
    return _damaged(root, cases, names)


def _damaged(root: Path, cases: list[Case], names: list[str]) -> list[str]:
    """Damage one file of each cell, run the cells, and return their results.

    If at least one cell fails, all cells are launched a second time. The cells that failed are then also retried.
    """
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
    """Return one case per file and kind of damage, for a finished cell that already has a row."""
    return [Case(file, damage, _expected_done(file)) for file in DONE for damage in DAMAGES]


def _expected_done(file: str) -> str:
    if file == "spec.json":
        return f"failed: {NO_SPEC} Launched again: {BEGAN_AGAIN}, 1 attempt, 1 row"
    return f"{BEGAN_AGAIN}, {2 if file == 'result-1.json' else 1} attempt{'s' * (file == 'result-1.json')}, 1 row"


def end(root: Path, cases: list[Case]) -> list[str]:
    """Finish one cell per case, add its row, damage the cell, and return the results as text."""
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
    """Return the names of the cells in the run table, one name per row."""
    with open_workspace(root) as db:
        return [str(name) for name in tables.frame(db, cell_index.table_of(family))["run"]]


def _attempts(record: Record) -> str:
    return "1 attempt" if record.number == 1 else f"{record.number} attempts"


def trials(root: Path) -> list[Trial]:
    """Run all trials of this module. Their workspaces are below ``root``."""
    waiting, done = waiting_cases(), done_cases()
    happened = [
        *zip(waiting, wait(root / "waiting", waiting), ["waits after an attempt"] * len(waiting), strict=True),
        *zip(done, end(root / "done", done), ["is done and has its row"] * len(done), strict=True),
    ]
    return [Trial(f"`{c.file}` of a cell that {state}", c.damage, c.expected, text) for c, text, state in happened]
