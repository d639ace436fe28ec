"""Trials with a full disk and with a read-only disk. They mount a small tmpfs, so the user must be root."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil

from benchmarks.reliability.faults.cells import PAUSE, add, finish, loss, runner, workspace
from benchmarks.reliability.faults.clock import became
from benchmarks.reliability.faults.crash import RUNS, launch
from benchmarks.reliability.faults.damage import runs
from benchmarks.reliability.faults.moments import stored
from benchmarks.reliability.faults.trial import Trial
from isoplan.app.cell_service import ingest
from isoplan.data.files import path
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import read_fit
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.command.process import MARK
from tests import progress, server

SIZE = "96m"
MANY = b"N,D,loss\n" + b"".join(b"%d,%d,%.6f\n" % (k, 3 * k, 4 - 1e-5 * k) for k in range(1, 25_000))
"""A CSV table of 0.5 MB. In the database it is larger."""
FULL = "The disk of WORKSPACE is full: free some space and try again."


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """Mount a disk of 96 MiB at ``place`` until the context ends. Raises PermissionError if the user is not root."""
    place.mkdir(parents=True)
    asked = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(asked, capture_output=True).returncode != 0:
        raise PermissionError("only root can mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def filled(root: Path, leave: int = 0) -> Iterator[None]:
    """Keep the disk that contains ``root`` full, except ``leave`` bytes, until the context ends."""
    ballast = root.parent / "ballast"
    fill(ballast, leave)
    try:
        yield
    finally:
        ballast.unlink()


def fill(ballast: Path, leave: int = 0) -> None:
    """Write the file ``ballast`` until only ``leave`` bytes of its disk are free."""
    with ballast.open("wb", buffering=0) as file:
        free = os.statvfs(ballast.parent)
        left = free.f_bavail * free.f_frsize - leave
        try:
            while left > 0:
                left -= file.write(b"\0" * min(left, 1 << 20))
        except OSError:
            pass


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Make the disk at ``place`` read-only until the context ends."""
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)


def sentence(act: Callable[[], object], root: Path) -> str:
    """Call ``act`` and return its error message, or "it works" if there is no error.

    In the message, WORKSPACE replaces the path ``root``.
    """
    try:
        act()
    except PlannerError as error:
        return str(error).replace(str(root.resolve()), "WORKSPACE").replace(str(root), "WORKSPACE")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it works"


def terminal(root: Path, *arguments: str) -> str:
    """Run a terminal command and return "works", or the exit code and the message if the exit code is not 0."""
    isoplan = str(Path(sys.executable).with_name("isoplan"))
    ended = progress.run([isoplan, *arguments, "--workspace", str(root)], stdin=subprocess.DEVNULL)
    if ended.returncode == 0:
        return "works"
    said = ended.stderr.strip() or ended.stdout.strip()
    said = re.sub(rf"{re.escape(str(root.resolve()))}(/sweeps/[0-9a-f]+)?", "WORKSPACE", said)
    return f"exit code {ended.returncode}: {said if len(said.splitlines()) == 1 else said[-600:]}"


def full_store(root: Path) -> list[Trial]:
    """Test imports, saving and new rows on a full disk, and then repeat each action with free space.

    Both attempts run in the same process.
    """
    stored(root)
    for name in add(root, [{"seed": k} for k in range(2)]):
        finish(root, name)
    fit = read_fit(json.loads((root / "fit.json").read_bytes()))
    acts: dict[str, tuple[int, Callable[[Database], object]]] = {
        "import a table": (0, lambda db: tables.add(db, RUNS, "runs.csv")),
        "import a table when there is room for its bytes": (600_000, lambda db: tables.add(db, MANY, "many.csv")),
        "save a fit": (0, lambda db: results.save_fit(db, fit, name="kept")),
        "save an answer": (0, lambda db: results.save_answer(db, "repeat", {"text": "x" * 400_000}, "S.", {}, "kept")),
        "make rows of cells": (0, lambda db: ingest(db, Queue(root))),
    }
    found = []
    for name, (leave, act) in acts.items():
        with open_workspace(root) as db:
            with filled(root, leave):
                said = sentence(partial(act, db), root)
            again = sentence(partial(act, db), root)
        found.append(
            Trial(
                "a full disk", name, f"{said_full(name)} With free space: it works", f"{said} With free space: {again}"
            )
        )
    found.append(Trial("a full disk", "then open the database", "2 rows, 2 cells", _contents(root)))
    return found


def said_full(name: str) -> str:
    """Return the expected message for the action ``name`` on a full disk."""
    rows = "The disk of WORKSPACE is full, so finished cells are not added to their run tables: free some space."
    return rows if name == "make rows of cells" else FULL


def _contents(root: Path) -> str:
    with open_workspace(root) as db:
        before = tables.frame(db, tables.by_name(db, "before.csv").id)
    return f"{len(before)} rows, {len(runs(root))} cells"


def full_cells(root: Path) -> list[Trial]:
    """Fill the disk while a runner trains cells, so that checkpoints, results and leases cannot be written."""
    names = add(workspace(root), [{"seed": k} for k in range(4)])
    queue = Queue(root)
    (root / PAUSE).touch()
    process = runner(root)
    try:
        progress.wait(lambda: sum((queue.folder(n) / "checkpoint").exists() for n in names) >= 2, root)
        with filled(root):
            (root / PAUSE).unlink()
            progress.wait(lambda: not programs(root), root)
        code = progress.end(process, root)
    finally:
        process.kill()
        process.wait()
    records = [queue.scan()[name] for name in names]
    right = sum(r.state == "done" and (r.result or {})["metrics"]["loss"] == loss(k) for k, r in enumerate(records))
    deaths = sum(record.deaths for record in records)
    what = "a full disk while 4 cells write checkpoints, and then free space"
    return [Trial(what, "run them", _ended(4, 0, 0), _ended(right, code, deaths))]


def programs(root: Path) -> list[int]:
    """Return the process ids of the programs that train cells of the workspace ``root``."""
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if one.environ().get(MARK, "").startswith(str(root)) and progress.lives(one):
                found.append(one.pid)
    return found


def _ended(right: int, code: int, deaths: int) -> str:
    return f"{right} of 4 cells done with the right loss, {deaths} counted as deaths, exit code of the runner {code}"


def full_terminal(root: Path, grid: Path) -> list[Trial]:
    """Run terminal commands, including the start of the app, on a full disk."""
    launch(workspace(root))
    with filled(root):
        found = {name: terminal(root, *arguments) for name, arguments in commands(grid).items()}
    return [Trial("a full disk", name, _refused(name, FULL), text) for name, text in found.items()]


def full_answer(root: Path) -> Trial:
    """Run ``isoplan fit`` with its output redirected to a file on a full disk."""
    root.mkdir()
    command = [str(Path(sys.executable).with_name("isoplan")), "fit", str(path("demo/jets_grid.csv"))]
    with filled(root), (root / "fit.json").open("w") as target:
        result = progress.run([*command, "--law", "chinchilla", "--bootstrap", "0", "--json"], stdout=target)
    message = f"exit code {result.returncode}: {result.stderr.strip().splitlines()[-1]}"
    expected = "exit code 2: isoplan: The answer cannot be written: No space left on device."
    return Trial("a full disk", "isoplan fit --json > fit.json", expected, message)


def _refused(name: str, said: str) -> str:
    """Return the expected result of a command: "works" if it only reads, and otherwise the error message ``said``."""
    return "works" if name == "isoplan cells list" else f"exit code 2: isoplan: {said}"


def full_app(root: Path) -> list[Trial]:
    """Fill the disk of a running app while its cells finish."""
    names = add(workspace(root), [{"seed": k} for k in range(3)])
    with server.running(root) as app:
        progress.wait(lambda: all(r.state == "done" for r in Queue(root).scan().values()), root)
        names += add(root, [{"seed": 3}])
        finish(root, names[-1])
        with filled(root):
            time.sleep(3)  # the app reads the folder of cells every second
            answers_meanwhile = _answers(app.url)
        progress.wait(lambda: became(root) == len(names), root)
        answers_later = _answers(app.url)
        printed = app.output.read_text()
    happened = (
        f"{answers_meanwhile}, then {answers_later}, {len(runs(root))} rows, {printed.count('Traceback')} tracebacks"
    )
    return [
        Trial(
            "a full disk, and then free space", "the app runs", "answers, then answers, 4 rows, 0 tracebacks", happened
        )
    ]


def _answers(url: str) -> str:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=60) as answer:
            return "answers" if answer.status == 200 else f"answers {answer.status}"
    except OSError as error:
        return f"does not answer: {error}"


def commands(grid: Path) -> dict[str, tuple[str, ...]]:
    """Return terminal commands by name. Only ``isoplan cells list`` does not write to the workspace."""
    return {
        "isoplan cells list": ("cells", "list"),
        "isoplan cells hold": ("cells", "hold", "Asked for"),
        "isoplan train": ("train", str(grid), "--yes", "--no-wait"),
        "isoplan app": ("app", "--no-browser", "--port", str(server.free_port())),
    }


def read_only_terminal(root: Path, grid: Path) -> list[Trial]:
    """Run the terminal commands of ``commands`` and the runner on a read-only disk."""
    launch(workspace(root))
    with read_only(root.parent):
        found = {name: terminal(root, *arguments) for name, arguments in commands(grid).items()}
        found["the runner"] = _runner(root)
    what = "a read-only workspace"
    return [Trial(what, name, _read_only(name), text) for name, text in found.items()]


def _read_only(name: str) -> str:
    said = "WORKSPACE cannot be written: Read-only file system."
    if name == "isoplan app":
        return _refused(name, "WORKSPACE/isoplan.duckdb cannot be written: choose another folder with --workspace.")
    return f"exit code 1: {said}" if name == "the runner" else _refused(name, said)


def _runner(root: Path) -> str:
    command = [sys.executable, "-P", "-m", "isoplan.trainers.backend.runner.loop", "--workspace", str(root)]
    ended = progress.run(command)
    said = ended.stderr.strip().replace(str(root.resolve()), "WORKSPACE")
    return f"exit code {ended.returncode}: {said if len(said.splitlines()) == 1 else said[-600:]}"


def trials(place: Path) -> list[Trial]:
    """Run all trials of this module, or return [] if the user is not allowed to mount a disk."""
    place.mkdir(parents=True)
    grid = place / "grid.toml"
    grid.write_text('family = "sum"\n[cell]\nseed = [8, 9]\n')
    try:
        with small_disk(place / "disk") as disk:
            return [
                *full_store(disk / "store"),
                *full_cells(disk / "cells"),
                *full_terminal(disk / "terminal", grid),
                full_answer(disk / "answer"),
                *full_app(disk / "app"),
                *read_only_terminal(disk / "read-only", grid),
            ]
    except PermissionError:
        return []
