"""Workspaces on paths that hold spaces, quotes and other letters; several processes on one workspace; other layouts."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb

from benchmarks.reliability.faults.cells import PAUSE, add, loss, runner, workspace
from benchmarks.reliability.faults.clock import became
from benchmarks.reliability.faults.damage import runs
from benchmarks.reliability.faults.disk import sentence, terminal
from benchmarks.reliability.faults.moments import OLDER, older, store_state, stored
from benchmarks.reliability.faults.trial import Trial
from engine.store import migration, tables
from engine.store.database import FILE, open_workspace
from tests import progress, server
from trainers.backend.queue import Queue

NAMES = (
    'it\'s a "quoted"  name',
    "größe-数据-ß😀",
    "$(touch escaped); `touch escaped` & c | d > e #f",
    "-rf 100%s [h]{i}*",
)
NEWER = "was written by a newer Isoplan"
GRID = 'family = "sum"\n[cell]\nseed = [8, 9]\n'
ALL = "app trained 2 cells, terminal 2 more, 4 rows, a table of 5 rows, nothing else ran"


def odd_path(place: Path, name: str) -> Trial:
    """An app, `isoplan train` and an import in a workspace whose folder has that name."""
    root = workspace(place / name / name)
    grid = root / f"{name}.toml"
    grid.write_text(GRID, encoding="utf-8")
    names = add(root, [{"seed": 0}, {"seed": 1}])
    with server.running(root):
        progress.wait(lambda: became(root) == len(names), root)
    said = terminal(root, "train", str(grid), "--yes")
    with open_workspace(root) as db:
        rows = len(tables.frame(db, tables.add(db, b"N,D,loss\n" + b"1,2,3\n" * 5, f"{name}.csv").id))
    records = Queue(root).scan()
    right = [n for n, r in records.items() if r.state == "done" and r.result["metrics"]["loss"] == loss(r.cell["seed"])]  # type: ignore[index]
    mine = len(set(names) & set(right))
    more = len(right) - mine if said == "works" else said
    ran = "SOMETHING RAN" if [*place.rglob("escaped"), *Path().glob("escaped")] else "nothing else ran"
    happened = f"app trained {mine} cells, terminal {more} more, {len(runs(root))} rows, a table of {rows} rows, {ran}"
    return Trial("a workspace on a path", f"`{name}`", ALL, happened)


def two_servers(place: Path) -> Trial:
    """A second app on the workspace of one that runs."""
    root = workspace(place / "space")
    with server.running(root) as first:
        said = terminal(root, "app", "--no-browser", "--port", str(server.free_port()))
        said = re.sub(r"http://localhost:\d+ \(process \d+ on [^)]+\)", "URL", said)
        lives = first.process.poll() is None
    expected = (
        "exit code 2: isoplan: The workspace WORKSPACE is open in another Isoplan at URL: use that one, stop it, or "
        "choose another folder with --workspace. The first goes on: True"
    )
    return Trial(
        "a second process on one workspace", "`isoplan app` twice", expected, f"{said} The first goes on: {lives}"
    )


def two_runners(place: Path) -> Trial:
    """A second runner on the workspace of one that runs, and the first one killed."""
    root = workspace(place / "space")
    add(root, [{"seed": k} for k in range(4)])
    (root / PAUSE).touch()
    first = runner(root)
    try:
        progress.wait(lambda: sum((f / "checkpoint").exists() for f in (root / "cells").iterdir()) >= 2, root)
        second = runner(root)
        code = progress.end(second, root)
        (root / PAUSE).unlink()
        ended = progress.end(first, root)
    finally:
        first.kill()
        first.wait()
    return Trial(
        "a second process on one workspace",
        "a runner twice",
        "the second ends with 0, the first with 0; 4 of 4 right in 4 attempts",
        f"the second ends with {code}, the first with {ended}; {right_of(root)}",
    )


def right_of(root: Path) -> str:
    """How many cells are done with the right loss, and in how many attempts."""
    records = list(Queue(root).scan().values())
    right = sum(r.state == "done" and (r.result or {})["metrics"]["loss"] == loss(r.cell["seed"]) for r in records)
    return f"{right} of {len(records)} right in {sum(r.number for r in records)} attempts"


def server_and_train(place: Path) -> Trial:
    """`isoplan train` in the workspace of an app, with the same cells asked for in both at once."""
    root = workspace(place / "space")
    grid = place / "grid.toml"
    grid.write_text(GRID)
    with server.running(root):
        add(root, [{"seed": k} for k in (7, 8)])
        isoplan = str(Path(sys.executable).with_name("isoplan"))
        command = [isoplan, "train", str(grid), "--yes", "--workspace", str(root)]
        trains = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
        codes = [progress.end(train, root) for train in trains]
        progress.wait(lambda: became(root) == 3, root)
    found = f"both end with {codes[0]} and {codes[1]}; {right_of(root)}, {len(runs(root))} rows"
    expected = "both end with 0 and 0; 3 of 3 right in 3 attempts, 3 rows"
    return Trial(
        "a second process on one workspace", "`isoplan app` and `isoplan train` twice at once", expected, found
    )


def older_layouts(place: Path) -> Iterator[Trial]:
    """Workspaces of earlier layouts are opened, and keep a copy of what they were."""
    stored(place / "new")
    wanted = store_state(place / "new")
    for layout in sorted(OLDER):
        root = place / str(layout)
        older(root, layout)
        found = store_state(root)
        copied = (root / f"isoplan.layout{layout}.duckdb").exists()
        happened = f"{'the same tables' if found == wanted else found}, {'a copy' if copied else 'no copy'}"
        yield Trial("an older workspace", f"layout {layout}", "the same tables, a copy", happened)


def newer_layouts(place: Path) -> Iterator[Trial]:
    """Workspaces that a newer Isoplan wrote are refused and left as they are."""
    values = {"a newer layout": (str(migration.SCHEMA + 1), NEWER), "a layout that is no number": ("abc", "is damaged")}
    for what, (value, words) in values.items():
        root = place / what
        stored(root)
        with duckdb.connect(str(root / FILE)) as connection:
            connection.execute(f"UPDATE meta SET value = '{value}' WHERE key = 'schema'")
        before = (root / FILE).read_bytes()
        said = sentence(lambda root=root: open_workspace(root).close(), root)  # type: ignore[misc]
        kept = "unchanged" if (root / FILE).read_bytes() == before else "CHANGED"
        told = words if words in said else said
        yield Trial("a newer workspace", what, f"refused: {words}; unchanged", f"refused: {told}; {kept}")


def trials(place: Path) -> list[Trial]:
    """All of them, below ``place``."""
    found = [odd_path(place / str(k), name) for k, name in enumerate(NAMES)]
    found += [two_servers(place / "servers"), two_runners(place / "runners"), server_and_train(place / "train")]
    return [*found, *older_layouts(place / "older"), *newer_layouts(place / "newer")]
