"""A crash at each moment of each operation on a workspace: at each change of a file, and around commits and renames.

After a crash, each item of the workspace must have its state before the operation or its state after the operation.
When the operation is then repeated, the result must be equal to the result of an operation without a crash.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.reliability.faults.cells import FAMILY, finish, workspace
from benchmarks.reliability.faults.crash import OPERATIONS, RUNS, everywhere, launch
from benchmarks.reliability.faults.trial import Trial
from isoplan.app.cell_service import ingest_if_free
from isoplan.engine.fitting import FitSpec, fit, to_json
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.database import FILE, memory, open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from isoplan.trainers.backend.queue.cells import Deleted, Queue
from isoplan.trainers.backend.queue.sweep import read_sweeps

State = Mapping[str, Any]


def fresh(root: Path) -> None:
    """Create a workspace without cells."""
    workspace(root)


def launched(root: Path) -> None:
    """Create a workspace with a launched grid of two cells."""
    launch(workspace(root))


def leased(root: Path) -> None:
    """Create a workspace whose first cell has a lease."""
    launched(root)
    OPERATIONS["lease a cell"](root)


def held(root: Path) -> None:
    """Create a workspace whose first cell is on hold."""
    launched(root)
    OPERATIONS["hold a cell"](root)


def done(root: Path) -> None:
    """Create a workspace whose cells are done but have no rows yet."""
    launched(root)
    for name in Queue(root).scan():
        finish(root, name)


def with_rows(root: Path) -> None:
    """Create a workspace whose cells are done and have rows."""
    done(root)
    ingest_if_free(root)


def stored(root: Path) -> None:
    """Create a workspace with a table in its database, and with a fit in the file ``fit.json``."""
    workspace(root)
    with open_workspace(root) as db:
        tables.add(db, b"N,D,loss\n1e3,1e4,3.5\n1e4,1e5,3.2\n", "before.csv")
    with memory() as db:
        runs = snapshots.runs(db, snapshots.take(db, tables.add(db, RUNS, "runs.csv").id))
        spec = FitSpec(law="power", axis="N", objective="ols-log", bootstrap=0)
        (root / "fit.json").write_text(json.dumps(to_json(fit(spec, runs))))


OLDER = {
    7: "ALTER TABLE tables DROP COLUMN layout",
    6: "DROP TABLE logged; DROP TABLE imports",
    5: "DROP TABLE cells",
    4: "DROP TABLE answers",
    3: "DROP TABLE actuals",
    2: "ALTER TABLE fits DROP COLUMN note",
}
"""For each layout n, the SQL statement that changes a database from layout n + 1 back to layout n."""


def older(root: Path, layout: int = 2) -> None:
    """Create a workspace whose database has an older ``layout``."""
    stored(root)
    with duckdb.connect(str(root / FILE)) as connection:
        for number in sorted(OLDER, reverse=True):
            if number >= layout:
                connection.execute(OLDER[number])
        connection.execute(f"UPDATE meta SET value = '{layout}' WHERE key = 'schema'")


def queue_state(root: Path) -> State:
    """Return the state of each cell and each sweep of a workspace."""
    records = Queue(root).scan().values()
    found = {r.name: (r.state, r.number, r.order.held, r.order.cancelled, r.damage) for r in records}
    return found | {s.key: (s.waits, len(s.cells)) for s in read_sweeps(root)}


def store_state(root: Path) -> State:
    """Return the number of rows of each table, the parameters of each fit, and each answer of a workspace, by name."""
    with open_workspace(root) as db:
        found: dict[str, Any] = {t.name: len(tables.frame(db, t.id)) for t in tables.all(db)}
        found |= {f.name: to_json(results.fit(db, f.hash))["parameters"] for f in results.fits(db)}
        return found | {a.name: results.answer(db, a.hash) for a in results.answers(db)}


def both_states(root: Path) -> State:
    """Return the rows of cells, the number of withdrawn rows, and the state of each cell and sweep."""
    with open_workspace(root) as db:
        if not any(t.id == cell_index.table_of(FAMILY) for t in tables.all(db)):
            return {"rows": 0, **queue_state(root)}
        rows = tables.frame(db, cell_index.table_of(FAMILY))
        withdrawn = len(tables.withdrawn(db, cell_index.table_of(FAMILY)))
        return {"rows": sorted(rows["run"]), "withdrawn": withdrawn, **queue_state(root)}


CASES: dict[str, tuple[Callable[[Path], None], Callable[[Path], State]]] = {
    "launch a grid": (fresh, queue_state),
    "lease a cell": (launched, queue_state),
    "end an attempt": (leased, queue_state),
    "hold a cell": (launched, queue_state),
    "cancel a running cell": (leased, queue_state),
    "retry a cell": (held, queue_state),
    "delete a cell": (launched, queue_state),
    "hold a sweep": (launched, queue_state),
    "forget a sweep": (launched, queue_state),
    "make rows of cells": (done, both_states),
    "delete a cell with its row": (with_rows, both_states),
    "import a table": (stored, store_state),
    "save a fit": (stored, store_state),
    "save an answer": (stored, store_state),
    "open an older workspace": (older, store_state),
}
ONCE = ("lease a cell", "retry a cell")
"""Operations whose repetition changes the workspace once more.

After a crash, such an operation is repeated only if the workspace is still in its state before the operation.
"""
EXPECTED = "each item is as before or as after the operation; repeated: same result as without a crash"


def trials(place: Path, operations: Sequence[str] = tuple(CASES)) -> list[Trial]:
    """Kill each operation at each of its moments, and return one trial per moment. Workspaces are below ``place``."""
    for name in operations:
        CASES[name][0](place / name / "before")
    moments = everywhere(place, operations)
    return [trial for name in operations for trial in _tried(name, place / name, moments[name])]


def _tried(operation: str, place: Path, moments: Sequence[str]) -> list[Trial]:
    undisturbed, look = place / "undisturbed", CASES[operation][1]
    before = look(shutil.copytree(place / "before", undisturbed))
    OPERATIONS[operation](undisturbed)
    after = look(undisturbed)
    happened = [_happened(operation, place / str(k), before, after) for k in range(1, len(moments) + 1)]
    what = f"a process that would {operation} is killed"
    return [Trial(what, moment, EXPECTED, text) for moment, text in zip(moments, happened, strict=True)]


def _happened(operation: str, root: Path, before: State, after: State) -> str:
    look = CASES[operation][1]
    found = look(root)
    kept = all(key in found for key in before if key in after)
    whole = kept and all(before.get(key) == value or after.get(key) == value for key, value in found.items())
    first = "each item is as before or as after the operation" if whole else f"an item is neither: {found}"
    if operation not in ONCE or found == before:
        with contextlib.suppress(IndexError, Deleted):  # the item can be deleted already
            OPERATIONS[operation](root)
    again = look(root)
    return f"{first}; repeated: {'same result as without a crash' if again == after else again}"
