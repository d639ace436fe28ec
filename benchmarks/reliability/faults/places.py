"""Workspaces on paths with unusual names, workspaces that several processes use, and workspaces of other layouts."""

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
from isoplan.engine.store.database import migration
from isoplan.engine.store.database.database import FILE, open_workspace
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.cells import Queue
from tests import progress, server

NAMES = (
    'it\'s a "quoted"  name',
    "größe-数据-ß😀",
    "$(touch escaped); `touch escaped` & c | d > e #f",
    "-rf 100%s [h]{i}*",
)
NEWER = "was written by a newer Isoplan"
GRID = 'family = "sum"\n[cell]\nseed = [8, 9]\n'
ALL = "app trained 2 cells, terminal 2 more, 4 rows, a table of 5 rows, no command of the path ran"


def odd_path(place: Path, name: str) -> Trial:
    """Use a workspace called ``name``: train cells with the app and with `isoplan train`, and import a table."""
    root = workspace(place / name / name)
    grid = root / f"{name}.toml"
    grid.write_text(GRID, encoding="utf-8")
    names = add(root, [{"seed": 0}, {"seed": 1}])
    with server.running(root):
        progress.wait(lambda: became(root) == len(names), root)
    message = terminal(root, "train", str(grid), "--yes")
    with open_workspace(root) as db:
        rows = len(tables.frame(db, tables.add(db, b"N,D,loss\n" + b"1,2,3\n" * 5, f"{name}.csv").id))
    records = Queue(root).scan()
    right = [n for n, r in records.items() if r.state == "done" and r.result["metrics"]["loss"] == loss(r.cell["seed"])]  # type: ignore[index]
    by_app = len(set(names) & set(right))
    by_terminal = len(right) - by_app if message == "works" else message
    escapes = [*place.rglob("escaped"), *Path().glob("escaped")]
    commands = "A COMMAND OF THE PATH RAN" if escapes else "no command of the path ran"
    happened = (
        f"app trained {by_app} cells, terminal {by_terminal} more, {len(runs(root))} rows, a table of {rows} rows, "
        f"{commands}"
    )
    return Trial("a workspace on an unusual path", f"`{name}`", ALL, happened)


def two_servers(place: Path) -> Trial:
    """Start a second app on a workspace that an app has open."""
    root = workspace(place / "space")
    with server.running(root) as first:
        message = terminal(root, "app", "--no-browser", "--port", str(server.free_port()))
        message = re.sub(r"http://localhost:\d+ \(process \d+ on [^)]+\)", "URL", message)
        runs_on = first.process.poll() is None
    expected = (
        "exit code 2: isoplan: The workspace WORKSPACE is open in another Isoplan at URL: use that one, stop it, or "
        "choose another folder with --workspace. The first app still runs: True"
    )
    happened = f"{message} The first app still runs: {runs_on}"
    return Trial("a second process on one workspace", "`isoplan app` twice", expected, happened)


def two_runners(place: Path) -> Trial:
    """Start a second runner on a workspace in which a runner works."""
    root = workspace(place / "space")
    add(root, [{"seed": k} for k in range(4)])
    (root / PAUSE).touch()
    first = runner(root)
    try:
        progress.wait(lambda: sum((f / "checkpoint").exists() for f in (root / "cells").iterdir()) >= 2, root)
        second = runner(root)
        second_code = progress.end(second, root)
        (root / PAUSE).unlink()
        first_code = progress.end(first, root)
    finally:
        first.kill()
        first.wait()
    return Trial(
        "a second process on one workspace",
        "two runners",
        "exit codes: second 0, first 0; 4 of 4 cells with the right loss in 4 attempts",
        f"exit codes: second {second_code}, first {first_code}; {right_of(root)}",
    )


def right_of(root: Path) -> str:
    """Return as text the number of done cells with the right loss, and the total number of attempts of all cells."""
    records = list(Queue(root).scan().values())
    right = sum(r.state == "done" and (r.result or {})["metrics"]["loss"] == loss(r.cell["seed"]) for r in records)
    return f"{right} of {len(records)} cells with the right loss in {sum(r.number for r in records)} attempts"


def server_and_train(place: Path) -> Trial:
    """Run `isoplan train` twice at once in the workspace of a running app.

    Some cells are requested by the app and by both commands.
    """
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
    happened = f"exit codes {codes[0]} and {codes[1]}; {right_of(root)}, {len(runs(root))} rows"
    expected = "exit codes 0 and 0; 3 of 3 cells with the right loss in 3 attempts, 3 rows"
    return Trial("a second process on one workspace", "`isoplan app` and two `isoplan train`", expected, happened)


def older_layouts(place: Path) -> Iterator[Trial]:
    """Open workspaces of older layouts. The tables stay the same, and a copy of the old file is kept."""
    stored(place / "new")
    wanted = store_state(place / "new")
    for layout in sorted(OLDER):
        root = place / str(layout)
        older(root, layout)
        state = store_state(root)
        has_copy = (root / f"isoplan.layout{layout}.duckdb").exists()
        happened = f"{'the same tables' if state == wanted else state}, {'a copy' if has_copy else 'no copy'}"
        yield Trial("an older workspace", f"layout {layout}", "the same tables, a copy", happened)


def newer_layouts(place: Path) -> Iterator[Trial]:
    """Open workspaces of a newer or an unknown layout. Isoplan refuses them and does not change them."""
    values = {"a newer layout": (str(migration.SCHEMA + 1), NEWER), "a layout that is text": ("abc", "is damaged")}
    for what, (value, words) in values.items():
        root = place / what
        stored(root)
        with duckdb.connect(str(root / FILE)) as connection:
            connection.execute(f"UPDATE meta SET value = '{value}' WHERE key = 'schema'")
        before = (root / FILE).read_bytes()
        message = sentence(lambda root=root: open_workspace(root).close(), root)  # type: ignore[misc]
        change = "unchanged" if (root / FILE).read_bytes() == before else "CHANGED"
        reason = words if words in message else message
        yield Trial("a newer workspace", what, f"refused: {words}; unchanged", f"refused: {reason}; {change}")


def trials(place: Path) -> list[Trial]:
    """Run all trials of this module. Their workspaces are below ``place``."""
    results = [odd_path(place / str(k), name) for k, name in enumerate(NAMES)]
    results += [two_servers(place / "servers"), two_runners(place / "runners"), server_and_train(place / "train")]
    return [*results, *older_layouts(place / "older"), *newer_layouts(place / "newer")]
