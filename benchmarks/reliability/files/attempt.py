"""Import of one file in this process, with the command ``isoplan fit`` or on the page Data."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from benchmarks.reliability.files.case import Row, Rows
from isoplan import app
from isoplan.app import workspace
from isoplan.app.cli import main
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Role, Runs
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.tables import snapshots, tables

MAIN = Path(app.__file__).with_name("main.py")
SECONDS = 600.0
SHOWN = ("Columns", "Runs", "Rows")
MOST_ROWS = 10_000
"""Maximum number of runs that the JSON of a fit lists in full."""


@dataclass(frozen=True)
class Outcome:
    """Result of one import.

    ``rows`` are the runs that were read, or None. If there are more than ``MOST_ROWS`` runs, ``rows`` contains only the
    smallest and the largest value of each column. ``n`` is the number of runs, and ``said`` contains all messages.
    ``asked`` is true if the user must still select the column of a role, or a part of the file (such as a sheet).
    ``refused`` is true if Isoplan rejected the file. ``labels`` are the groups of the runs. ``broke`` is the last line
    of a traceback.
    """

    rows: Rows | None = None
    n: int = 0
    said: str = ""
    asked: bool = False
    refused: bool = False
    labels: tuple[str, ...] = ()
    broke: str = ""


@dataclass
class Clock:
    """Stopwatch that adds up the processor seconds of imports, including the seconds of child processes."""

    seconds: float = 0.0

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``call`` as a function that also adds its processor seconds to ``seconds``."""

        def wrapped(*arguments: Any, **options: Any) -> Any:
            start = _processor_seconds()
            try:
                return call(*arguments, **options)
            finally:
                self.seconds += _processor_seconds() - start

        return wrapped


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def imported(
    way: str, path: Path, asked: bool, readable: bool, answers: tuple[str, ...], clock: Clock | None = None
) -> tuple[Outcome, Outcome]:
    """Import a file and return two outcomes: before and after Isoplan receives ``answers`` to its questions.

    In the terminal, a question is expected if ``asked`` is true. The command then first runs without ``answers``. If
    the file is ``readable``, the command runs again with ``answers``. If no question is expected, the command runs
    once, with ``answers``. The page always receives ``answers`` after its first run. ``clock`` measures the time to
    read and store the file, without fits and pages.
    """
    clock = clock or Clock()
    try:
        with mock.patch.multiple(tables, add=clock.timed(tables.add), parts=clock.timed(tables.parts)):
            return _run_import(way, path, asked, readable, answers)
    except BaseException as error:
        broken = Outcome(broke=last_line(error))
        return broken, broken


def _run_import(way: str, path: Path, asked: bool, readable: bool, answers: tuple[str, ...]) -> tuple[Outcome, Outcome]:
    if way == "page":
        return on_page(path, answers)
    first = in_terminal(path, () if asked else answers)
    return first, in_terminal(path, answers) if asked and readable else first


def in_terminal(path: Path, options: tuple[str, ...]) -> Outcome:
    """Run ``isoplan fit`` on a file with ``options``, and return the outcome with the runs that the command read."""
    command = ["isoplan", "fit", str(path), "--law", "chinchilla", "--bootstrap", "0", "--json", *options]
    code, out, err = _run(command)
    if not isinstance(code, int):
        return Outcome(said=err, broke=code)
    if code == 2 and _is_sentence(err):
        return Outcome(said=err, refused=True)
    if code != 0 or "Traceback" in err:
        return Outcome(said=err, broke=f"exit code {code}: {err.strip()[-200:]}")
    found = json.loads(out)
    n = int(found["n"])
    if "groups" in found:
        return Outcome(None, n, err, labels=tuple(found["groups"]))
    if "runs" not in found:
        low, high = (tuple(found["data"]["ranges"][name][end] for name in ("N", "D", "loss")) for end in (0, 1))
        return Outcome((_row(*low), _row(*high)), n, err)
    columns = found["runs"]["columns"]
    rows = tuple(_row(*row) for row in zip(columns["N"], columns["D"], found["runs"]["y"], strict=True))
    return Outcome(rows, n, err)


def _run(command: list[str]) -> tuple[int | str, str, str]:
    """Run a command in this process; return its exit code, its standard output and its standard error.

    After an exception, the exit code is a text with the last line of the traceback.
    """
    bytes_out, bytes_err = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(raw, encoding="utf-8", write_through=True) for raw in (bytes_out, bytes_err))
    code: int | str = 0
    with mock.patch.object(sys, "argv", command), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else str(end.code)
        except BaseException as error:
            code = last_line(error)
    return code, bytes_out.getvalue().decode(), bytes_err.getvalue().decode()


def _is_sentence(err: str) -> bool:
    last = err.strip().splitlines()[-1] if err.strip() else ""
    return last.startswith("isoplan: ") and last.endswith((".", "?", ")"))


def last_line(error: BaseException) -> str:
    """Return the type, the message and the code line of an exception as one line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = next(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames) if "site-packages" not in f.filename)
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]} ({place})"


def on_page(path: Path, options: tuple[str, ...]) -> tuple[Outcome, Outcome]:
    """Upload a file on the page Data of a new workspace, open all tabs, and then give the answers in ``options``.

    Returns the outcomes before and after the answers.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        db = stack.enter_context(open_workspace(folder / "workspace"))
        stack.enter_context(workspace.registered(db))
        # This patch saves time. Without it, each AppTest searches all installed packages for components. Isoplan's
        # pages do not use components.
        stack.enter_context(mock.patch.object(manifest_scanner, "scan_component_manifests", return_value=[]))
        return _uploaded(db, path, options)


def _uploaded(db: Database, path: Path, options: tuple[str, ...]) -> tuple[Outcome, Outcome]:
    at = AppTest.from_file(MAIN, default_timeout=SECONDS)
    at.switch_page("views/data.py")
    at.run()
    at.file_uploader[0].upload(path.name, path.read_bytes()).run()
    if at.exception and "Invalid file extension" in str(at.exception[0].value):
        refused = Outcome(said=str(at.exception[0].value), refused=True)
        return refused, refused
    answers = list(zip(options[0::2], options[1::2], strict=True))
    part = next((value for option, value in answers if option in ("--sheet", "--inner")), "")
    choice = [box for box in at.selectbox if str(box.key).startswith("part_")]
    if choice and not at.error:
        asked = Outcome(said=choice[0].label, asked=True)
        if part and part not in choice[0].options:
            return asked, Outcome(said=f"there is no {part}", refused=True)
        choice[0].set_value(part or choice[0].options[0]).run()
        next(b for b in at.button if str(b.key).startswith("add_")).click().run()
        return asked, _answered(db, at, answers)
    before = _seen(db, at)
    return before, before if before.broke or not answers else _answered(db, at, answers)


def _answered(db: Database, at: AppTest, answers: list[tuple[str, str]]) -> Outcome:
    """Select the conversions and roles in ``answers`` on the page, and return the outcome."""
    stored = tables.all(db)
    at.session_state["show"] = SHOWN[0]
    at.run()
    for option, value in answers if stored else ():
        table_id = stored[0].id
        if option == "--convert":
            column, _, how = value.rpartition(":") if value not in _names(db, table_id) else (value, "", "")
            _convert(at, f"{table_id}_{column}", how)
        elif option == "--map":
            for entry in value.split(","):
                role, _, column = entry.partition("=")
                at.selectbox(key=f"role_{table_id}_{role}").set_value(column or None).run()
    return _seen(db, at)


def _names(db: Database, table_id: str) -> list[str]:
    return [column.name for column in tables.columns(db, table_id)]


def _convert(at: AppTest, key: str, how: str) -> None:
    """Select the conversion ``how`` of a column.

    The page shows a checkbox, a button that leaves out cells without a number, a choice between two interpretations,
    or a list of units.
    """
    if any(box.key == f"convert_{key}" for box in at.checkbox):
        at.checkbox(key=f"convert_{key}").check().run()
    elif any(box.key == f"leave_{key}" for box in at.button):
        at.button(key=f"leave_{key}").click().run()
    elif any(box.key == f"convert_{key}" for box in at.button_group):
        at.button_group(key=f"convert_{key}").set_value(how).run()
    elif any(box.key == f"unit_{key}" for box in at.selectbox):
        box = at.selectbox(key=f"unit_{key}")
        box.set_value(how or next(text for text in box.options if text)).run()


def _seen(db: Database, at: AppTest) -> Outcome:
    """Return the outcome of an import on the page: the texts of all tabs, and the runs of the imported table."""
    if broken := _broken(at):
        return Outcome(broke=broken)
    if not (stored := tables.all(db)):
        errors = "\n".join(str(e.value) for e in at.error)
        return Outcome(said=errors, refused=bool(errors), broke="" if errors else "neither a table nor a sentence")
    said: list[str] = []
    for show in SHOWN:
        at.session_state["show"] = show
        at.run()
        if broken := _broken(at):
            return Outcome(said="\n".join(said), broke=f"{show}: {broken}")
        said += [str(e.value) for group in (at.error, at.warning, at.info, at.markdown, at.caption) for e in group]
    try:
        runs = snapshots.runs(db, snapshots.take(db, stored[0].id))
    except PlannerError as error:
        return Outcome(said="\n".join([*said, str(error)]), asked=True)
    return _of_runs(runs, "\n".join([*said, *stored[0].notes, *runs.notes]))


def _broken(at: AppTest) -> str:
    if at.exception:
        return str(at.exception[0].value).strip()[-200:]
    wrong = [str(e.value) for e in at.error if "Something went wrong" in str(e.value)]
    return " ".join([*wrong, *(str(c.value) for c in at.code)])[-300:] if wrong else ""


def _of_runs(runs: Runs, said: str) -> Outcome:
    """Return the outcome with N, D and loss of the runs.

    If there are more than ``MOST_ROWS`` runs, the outcome contains only the smallest and largest value of each column.
    """
    labels = tuple(str(x) for x in runs.labels.get("group", ())) if len(runs) <= MOST_ROWS else ()
    wanted = (Role.N, Role.D, Role.LOSS)
    columns = [runs[role] for role in wanted if runs.roles.column(role) or role in runs.roles.derived]
    if len(columns) < len(wanted):
        return Outcome(None, len(runs), said, asked=True, labels=labels)
    if len(runs) > MOST_ROWS:
        columns = [np.array([x.min(), x.max()]) for x in columns]
    rows = tuple(_row(*row) for row in zip(*columns, strict=True))
    return Outcome(rows, len(runs), said, labels=labels)


def _row(n: float, d: float, loss: float) -> Row:
    return float(n), float(d), float(loss)
