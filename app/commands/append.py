"""`isoplan append`: add rows to a run table of a workspace, with the app open or closed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from isoplan.app.commands.shared.output import note, say
from isoplan.engine.errors import PlannerError

SOON = 1.0
"""Seconds after which rows of standard input are written, although more rows may follow."""
AT_ONCE = 1000
"""Largest number of rows of standard input that are written together."""
SHOWN = 5
"""Largest number of invalid lines that a message names."""
Row = dict[str, Any]


def append(
    table: Annotated[str, typer.Argument(help="Name of the table. The first row creates it.")],
    rows: Annotated[str, typer.Argument(metavar="ROWS.jsonl", help="JSON lines; - for standard input.")],
    workspace: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the workspace; by default one in your data folder.")
    ] = None,
) -> None:
    """Add rows to a run table of a workspace."""
    from isoplan.app.logged_rows import ingest_if_free
    from isoplan.engine.store.folders import default_folder
    from isoplan.engine.trackers.logged_row import check_table

    name = check_table(table)
    root = (workspace or default_folder()).expanduser()
    stored, wrong = _from_input(root, name) if rows == "-" else _from_file(root, name, Path(rows))
    if stored:
        added = ingest_if_free(root)
        many = f"{stored:,} row{'s are' if stored != 1 else ' is'} {'added to' if added else 'stored for'}"
        later = "" if added else " The app that has the workspace open adds them to the table within a second."
        say(f"{many} table {name} in {root}.{later}")
    if wrong:
        lines = f"{wrong:,} line{'s are' if wrong != 1 else ' is'}"
        raise PlannerError(f"Standard input: {lines} not stored. Correct each line that is named above.")


def _from_file(root: Path, table: str, file: Path) -> tuple[int, int]:
    """Write all rows of ``file`` together; return their number, and 0 as the number of invalid lines.

    Raises PlannerError if the file cannot be read or a line is invalid. No row is written then.
    """
    wrong, found = [], []
    try:
        with file.open(encoding="utf-8", errors="surrogateescape") as lines:
            for number, row in _rows(lines):
                if isinstance(row, PlannerError):
                    wrong.append(f"line {number}: {row}")
                else:
                    found.append(row)
    except OSError as error:
        raise PlannerError(f"{file} cannot be read ({error.strerror}): check the path.") from None
    if wrong:
        note(f"{file}, {text}" for text in wrong[:SHOWN])
        count = f"{len(wrong):,} line{'s' * (len(wrong) != 1)}"
        raise PlannerError(f"{file}: {count} cannot be read, so no row is stored. Correct the file and try again.")
    if not found:
        raise PlannerError(f"{file} contains no row. Write one JSON object on each line.")
    _write(root, table, found)
    return len(found), 0


def _from_input(root: Path, table: str) -> tuple[int, int]:
    """Write the rows of standard input as they arrive; return the numbers of rows and of invalid lines."""
    from isoplan.app.logged_rows import ingest_if_free

    kept: list[Row] = []
    stored = wrong = 0
    due = time.monotonic() + SOON
    for number, row in _rows(sys.stdin):
        if isinstance(row, PlannerError):
            wrong += 1
            note([f"standard input, line {number}: {row}"])
        else:
            kept.append(row)
        if kept and (len(kept) >= AT_ONCE or time.monotonic() >= due):
            _write(root, table, kept)
            ingest_if_free(root)
            stored, kept, due = stored + len(kept), [], time.monotonic() + SOON
    if kept:
        _write(root, table, kept)
    return stored + len(kept), wrong


def _rows(lines: IO[str]) -> Iterator[tuple[int, Row | PlannerError]]:
    """Yield the number of each line that is not empty, with its row or the reason why it is invalid."""
    from isoplan.engine.trackers.logged_row import MAX_LINE, read_line

    number = 0
    while line := lines.readline(MAX_LINE + 1):
        number += 1
        while not line.endswith("\n") and (rest := lines.readline(MAX_LINE)):  # the rest of a line that is too long
            line = line[: MAX_LINE + 1] + rest[-1:]
        if not line.strip():
            continue
        try:
            yield number, read_line(line)
        except PlannerError as error:
            yield number, error


def _write(root: Path, table: str, rows: list[Row]) -> None:
    from isoplan.trainers import logged_rows
    from isoplan.trainers.backend.store.files import writing

    with writing(root):
        logged_rows.write(root, table, rows)
