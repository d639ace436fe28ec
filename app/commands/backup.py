"""`isoplan backup`: a checked copy of a workspace in one file, also while the app runs."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoplan.app.commands.shared.output import note, say, say_json
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import si

if TYPE_CHECKING:
    from isoplan.app.backups.writing import Backup
    from isoplan.engine.store.database.archive import Tell

INTERRUPTED = 130
"""Exit code after Ctrl+C, the convention of shells."""
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
    from isoplan.app.backups.writing import back_up, put_new, put_over, refuse_existing
    from isoplan.app.workspace import existing_folder

    if str(file) == "-":
        raise PlannerError(
            "FILE: standard output is not possible, because the command reads the backup again. Name a file."
        )
    root = (workspace or existing_folder()).expanduser().resolve()
    if not force:
        refuse_existing(file)
    with progress("Nothing was written.") as tell:
        made = back_up(root, file, tell, put_over if force else put_new)
    note(made.notes)
    if as_json:
        say_json({"schema": 1, "file": str(made.file), "workspace": str(root), **document(made)})
    else:
        say(f"The backup {made.file} contains {text(made)}. Its rows were compared with the workspace.")


@contextmanager
def progress(interrupted: str) -> Iterator[Tell]:
    """Show the number of bytes on a terminal. Ctrl+C and SIGTERM end the command with one sentence."""
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


def text(made: Backup) -> str:
    """Return the contents of a backup as text."""
    contents, cells = made.manifest.contents, made.manifest.cells
    states = ", ".join(f"{n:,} {state}" for state, n in cells.items())
    return (
        f"{_many(contents.run_tables, 'table')} with {_many(contents.rows, 'row')}, {_many(contents.fits, 'fit')} and "
        f"{_many(sum(cells.values()), 'cell')}{f' ({states})' if states else ''}, {si(made.size, 3)}B"
    )


def document(made: Backup) -> dict[str, Any]:
    """Return the same as an object for scripts."""
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
