"""`isoplan backup` copies a workspace to one checked file. `isoplan restore` restores the workspace from this file.

The app can run during a backup.
"""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoplan.app.commands.shared.output import INTERRUPTED, note, say, say_json
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import si

if TYPE_CHECKING:
    from isoplan.app.backups.archives import Backup
    from isoplan.engine.store.database.archive import Tell

STEP = 64e6
"""Bytes between two progress updates on a terminal."""


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archive to write, for example workspace.zip.")],
    workspace: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder of the workspace; by default the one in your data folder."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a checked copy of a workspace to one file."""
    from isoplan.app.backups.archives import back_up, put_new, put_over, refuse_existing
    from isoplan.engine.store.folders import existing_folder

    if str(file) == "-":
        raise PlannerError(
            "FILE: standard output is not possible, because the command reads the backup again to check it. "
            "Name a file."
        )
    root = (workspace or existing_folder()).expanduser().resolve()
    if not force:
        refuse_existing(file)
    with _progress("Nothing was written.") as tell:
        made = back_up(root, file, tell, put_over if force else put_new)
    note(made.notes)
    if as_json:
        say_json({"schema": 1, "file": str(made.file), "workspace": str(root), **_document(made)})
    else:
        say(f"The backup {made.file} contains {_text(made)}. Its rows were compared with the workspace.")


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Archive that `isoplan backup` wrote; use - for standard input.")
    ],
    workspace: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="New or empty folder; by default the one in your data folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a workspace from a backup."""
    from isoplan.app.backups.archives import restore_from
    from isoplan.engine.store.folders import usual_folder

    root = (workspace or usual_folder()).expanduser().resolve()
    with _progress("Nothing was restored.") as tell, _on_disk(file.expanduser()) as (place, origin):
        made = restore_from(place, root, tell, origin)
    if as_json:
        say_json({"schema": 1, "file": str(made.file), "workspace": str(root), **_document(made)})
    else:
        moment = f"{made.manifest.created:%Y-%m-%d %H:%M} UTC"
        say(f"The workspace {root} is restored to its state of {moment}: {_text(made)}.")


@contextmanager
def _on_disk(file: Path) -> Iterator[tuple[Path, Path | None]]:
    """Yield two paths: the archive on disk, and the permanent path of the archive.

    Data from standard input or a pipe are copied to a temporary file; the permanent path is then None.
    """
    standard = str(file) == "-"
    if not (standard or file.is_fifo() or file.is_char_device()):
        yield file, file.resolve()
        return
    with TemporaryDirectory(prefix="isoplan-") as folder:
        copy = Path(folder) / "standard-input.zip"
        with sys.stdin.buffer if standard else file.open("rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield copy, None


@contextmanager
def _progress(interrupted: str) -> Iterator[Tell]:
    """Yield a function that adds a number of bytes to the progress shown on a terminal.

    Ctrl+C and SIGTERM end the command with the sentence ``interrupted``.
    """
    done, shown, seen = 0, 0.0, sys.stderr.isatty()

    def tell(size: int) -> None:
        nonlocal done, shown
        done += size
        if seen and done - shown >= STEP:
            shown = done
            print(f"\r{si(done, 3)}B ", end="", file=sys.stderr, flush=True)

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield tell
    except KeyboardInterrupt:
        note([interrupted])
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
        if shown:
            print(file=sys.stderr)


def _text(made: Backup) -> str:
    """Return the number of tables, rows, fits and cells in a backup, and its size, as text."""
    contents, cells = made.manifest.contents, made.manifest.cells
    states = ", ".join(f"{n:,} {state}" for state, n in cells.items())
    return (
        f"{_many(contents.run_tables, 'table')} with {_many(contents.rows, 'row')}, {_many(contents.fits, 'fit')} and "
        f"{_many(sum(cells.values()), 'cell')}{f' ({states})' if states else ''}, {si(made.size, 3)}B"
    )


def _document(made: Backup) -> dict[str, Any]:
    """Return the contents of a backup as a JSON object for scripts."""
    manifest = made.manifest
    return {
        "created": manifest.created.isoformat(timespec="seconds"),
        "bytes": made.size,
        "files": len(manifest.files),
        "tables": manifest.contents.run_tables,
        "rows": manifest.contents.rows,
        "fits": manifest.contents.fits,
        "cells": manifest.cells,
        "left_out": list(manifest.left_out),
    }


def _many(n: int, word: str) -> str:
    return f"{n:,} {word}{'s' * (n != 1)}"
