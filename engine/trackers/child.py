"""Read the runs of a store in a process with limited time and memory, and write them as two Parquet files.

``isoplan.engine.limited`` runs this file as a script: ``child.py SECONDS MEGABYTES PLACE NAME FOLDER``. NAME is a
source, or empty. Standard input is a JSON object with the marks of the runs that were imported before, by run id. If
there are new or changed runs, the script writes ``rows.parquet`` and ``points.parquet`` to FOLDER. It prints a JSON
object with the source, its title and the marks of all runs. It reports progress on standard error with lines such as
``read 20 of 50``. If an error occurs, the last line of standard error is the error message. The exit status is 1 for an
error that the user can correct, and 2 for any other error.

An archive is unpacked in FOLDER. The caller removes FOLDER, even if this process is killed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoplan.engine.trackers.run import TrackedRun

EVERY = 20
"""Number of runs between two progress lines."""
MAX_MESSAGE = 2000
"""Largest length of an error message, in characters."""


def main(arguments: list[str]) -> None:
    """Read the new or changed runs. The docstring of this module describes the arguments."""
    from isoplan.engine.errors import PlannerError
    from isoplan.engine.limited import limit

    limit(int(arguments[0]), int(arguments[1]))
    try:
        result = json.dumps(write_tables(json.load(sys.stdin), *arguments[2:]))
    except PlannerError as error:
        print(_one_line(str(error)), file=sys.stderr)
        raise SystemExit(1) from None
    except Exception as error:
        print(_one_line(f"{type(error).__name__}: {error}"), file=sys.stderr)
        raise SystemExit(2) from None
    print(result)


def _one_line(text: str) -> str:
    """Return a message as one line without control characters. Names in a store can contain control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[:MAX_MESSAGE]).split())


def write_tables(known: dict[str, str], place: str, name: str, folder: str) -> dict[str, object]:
    """Write the tables of the new or changed runs, and return the JSON object to print.

    A run is new or changed if its mark differs from its mark in ``known``. An archive is unpacked first.
    """
    from isoplan.engine.errors import PlannerError
    from isoplan.engine.trackers.archives import is_archive, unpacked

    with unpacked(Path(place), Path(folder)) if is_archive(place) else nullcontext(place) as inside:
        try:
            return _write_store(known, str(inside), name, folder)
        except PlannerError as error:
            raise PlannerError(str(error).replace(str(inside), place)) from None


def _write_store(known: dict[str, str], place: str, name: str, folder: str) -> dict[str, object]:
    """Do the work of ``write_tables`` for a place that is not an archive."""
    from isoplan.engine.trackers.catalogue import find_source

    source = find_source(place, name)
    marks = source.marks(place)
    stored = {key: key.encode(errors="replace").decode() for key in marks}
    wanted = [key for key, mark in marks.items() if known.get(stored[key]) != mark]
    if wanted:
        _write(source.read(place, wanted), len(wanted), Path(folder))
    return {"source": source.name, "title": source.title, "marks": {stored[key]: mark for key, mark in marks.items()}}


def _write(runs: Iterator[TrackedRun], count: int, folder: Path) -> None:
    """Write the tables of ``runs`` to ``folder``, and report progress. ``count`` is the number of runs.

    The imports are inside the function because they are slow: at the top of the module, they would take half of the
    time of an import without new runs.
    """
    import pyarrow.parquet as pq

    from isoplan.engine.trackers.tables import as_tables

    read = []
    for run in runs:
        read.append(run)
        if len(read) % EVERY == 0:
            print(f"read {len(read)} of {count}", file=sys.stderr, flush=True)
    tables = as_tables(read)
    pq.write_table(tables.rows, folder / "rows.parquet")
    pq.write_table(tables.points, folder / "points.parquet")


if __name__ == "__main__":
    main(sys.argv[1:])
