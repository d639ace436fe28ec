"""Operations on a workspace that are killed at each possible moment: at each change of a file, and around each commit.

``python -m benchmarks.reliability.faults.crash FOLDER OPERATION...`` copies the workspace ``FOLDER/OPERATION/before``
to ``FOLDER/OPERATION/1``, starts the operation there in a forked process, and kills it at its first moment. In the copy
``FOLDER/OPERATION/2``, the operation is killed at its second moment, and so on, until the operation ends without a
kill. The file ``k.txt`` has the name of the k-th moment.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.reliability.faults.cells import FAMILY, ROOT
from isoplan.app.cell_service import delete, ingest_if_free
from isoplan.engine import fitting
from isoplan.engine.store.database import migration
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue import sweep
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
RUNS = b"N,D,loss\n" + b"".join(b"%d,%d,%.3f\n" % (10**k, 10 ** (k + 1), 4 - 0.3 * k) for k in range(3, 8))
SIZES = [3, 5]


class Moments:
    """Hook that counts the moments of this process and kills the process at moment number ``last``, as kill -9 does.

    A moment is a change of a file below ``folder``, or a call of ``pass_by``. The name of the last moment is written to
    the file ``note``.
    """

    def __init__(self, folder: Path, last: int, note: Path) -> None:
        self.folder, self.last, self.note, self.count, self.ending = str(folder), last, note, 0, False
        sys.addaudithook(self._heard)

    def pass_by(self, what: str) -> None:
        """Count the moment ``what``. Kill the process if this is moment number ``last``."""
        if self.ending:
            return
        self.count += 1
        if self.count == self.last:
            self.ending = True
            self.note.write_text(what)
            os.kill(os.getpid(), signal.SIGKILL)

    def _heard(self, event: str, given: tuple[Any, ...]) -> None:
        place = given[1] if event == "os.rename" else given[0] if given else None
        if event == "open" and (not isinstance(given[2], int) or not given[2] & WRITES):
            return
        if event in ("open", "os.rename", "os.mkdir") and not _text(place).startswith(self.folder):
            return
        if event in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate"):
            self.pass_by(f"{event.removeprefix('os.')} {_named(_text(place))}")


def _text(place: object) -> str:
    """Return a path as text; "" for an open file."""
    return os.fsdecode(place) if isinstance(place, str | bytes | os.PathLike) else ""


def _named(place: str) -> str:
    """Return a name for the file that does not depend on random parts of its real name."""
    name = Path(place).name
    parts = [part for part in re.split(r"[-.]", name) if re.fullmatch(r"[a-z]+", part)]
    if name.startswith(".tmp-"):
        return f"the temporary {'.'.join(parts[1:]) or 'folder'}"
    if name.startswith((".part-", "tmp")):
        return "a temporary file"
    return "an upload" if len(name) > 40 else "a folder" if re.fullmatch(r"[0-9a-f]{20}|[0-9]+", name) else name


def launch(root: Path) -> None:
    """Launch a grid of two cells in the workspace ``root``."""
    family = find_family(FAMILY, root)
    sweep.launch(root, make_grid(family, {"steps": SIZES}, "Asked for"), family)


def import_table(root: Path) -> None:
    """Import a table into the workspace ``root``."""
    with open_workspace(root) as db:
        tables.add(db, RUNS, "runs.csv")


def save_answer(root: Path) -> None:
    """Save an answer of the planner in the workspace ``root``."""
    with open_workspace(root) as db:
        results.save_answer(db, "repeat", {"value": 1.5}, "A sentence.", {}, "kept")


def save_fit(root: Path) -> None:
    """Save the fit in the file ``fit.json`` in the database of the workspace ``root``."""
    fit = fitting.read_fit(json.loads((root / "fit.json").read_bytes()))
    with open_workspace(root) as db:
        results.save_fit(db, fit, name="kept")


def migrate(root: Path) -> None:
    """Open the workspace ``root``, whose database has an older layout, so that it is migrated."""
    with open_workspace(root):
        pass


def _one(root: Path) -> str:
    return sweep.read_sweeps(root)[0].cells[0]


def _delete_with_row(root: Path) -> None:
    with open_workspace(root) as db:
        delete(db, Queue(root), [_one(root)])


OPERATIONS: dict[str, Callable[[Path], object]] = {
    "launch a grid": launch,
    "lease a cell": lambda root: Queue(root).lease(_one(root), "test"),
    "end an attempt": lambda root: Queue(root).end(_one(root), 1, "stopped", "runner"),
    "hold a cell": lambda root: Queue(root).hold([_one(root)]),
    "cancel a running cell": lambda root: Queue(root).cancel([_one(root)]),
    "retry a cell": lambda root: Queue(root).retry([_one(root)]),
    "delete a cell": lambda root: Queue(root).delete([_one(root)]),
    "hold a sweep": lambda root: sweep.hold(root, sweep.read_sweeps(root)[0].key),
    "forget a sweep": lambda root: sweep.forget(root, sweep.read_sweeps(root)[0].key),
    "make rows of cells": ingest_if_free,
    "delete a cell with its row": _delete_with_row,
    "import a table": import_table,
    "save a fit": save_fit,
    "save an answer": save_answer,
    "open an older workspace": migrate,
}


def everywhere(folder: Path, operations: Sequence[str]) -> dict[str, list[str]]:
    """Kill each operation at each of its moments, in copies of its workspace, and return the names of the moments.

    ``folder`` has a workspace ``OPERATION/before`` for each operation.
    """
    command = [sys.executable, "-m", "benchmarks.reliability.faults.crash", str(folder), *operations]
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    found = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})
    if found.returncode:
        raise RuntimeError(found.stderr[-2000:])
    counts: dict[str, int] = json.loads(found.stdout)
    return {name: [(folder / name / f"{k}.txt").read_text() for k in range(1, n + 1)] for name, n in counts.items()}


def _watch_commits(moments: Moments) -> None:
    """Count moments in the database too: before and after each commit and each migration."""
    write, change_layout = Database.write, migration.migrate

    def written(self: Database, change: Callable[[Any], Any]) -> Any:
        def last(cursor: Any) -> Any:
            result = change(cursor)
            moments.pass_by("before a commit")
            return result

        result = write(self, last)
        moments.pass_by("after a commit")
        return result

    def migrated(connection: Any, found: int) -> None:
        moments.pass_by("before the migration")
        change_layout(connection, found)
        moments.pass_by("after the migration")

    Database.write = written  # type: ignore[method-assign]
    migration.migrate = migrated


def killed(place: Path, operation: Callable[[Path], object]) -> int:
    """Kill ``operation`` at each of its moments, each time in a new copy of ``place/before``.

    Returns the number of moments.
    """
    k = 0
    while True:
        k += 1
        folder = place / str(k)
        shutil.copytree(place / "before", folder)
        child = os.fork()
        if child == 0:
            _run(operation, folder, Moments(folder, k, place / f"{k}.txt"))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code > 0:
            raise RuntimeError(f"the operation failed in {folder}")
        if code == 0:
            shutil.rmtree(folder)
            return k - 1


def _run(operation: Callable[[Path], object], folder: Path, moments: Moments) -> NoReturn:
    code = 1
    try:
        _watch_commits(moments)
        operation(folder)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main() -> None:
    """Kill the operations named on the command line at each moment, and print the numbers of moments as JSON."""
    folder, operations = Path(sys.argv[1]), sys.argv[2:]
    print(json.dumps({name: killed(folder / name, OPERATIONS[name]) for name in operations}))


if __name__ == "__main__":
    main()
