"""Read the runs of a store in a process with limited time and memory, and write them as two Parquet files.

``isoplan.engine.limited`` runs this file as a script: ``child.py SECONDS MEGABYTES PLACE NAME FOLDER``. NAME is a
source, or empty. Standard input is a JSON object with the marks of runs that are known already. The script writes
``rows.parquet`` and ``points.parquet`` to FOLDER, if there are runs to read, and prints a JSON object with the source,
its title and the marks of all runs. Its error output contains lines ``read K of N``. For an error that the user can
correct, the last line is the error message and the exit status is 1. For any other error, the exit status is 2.

An archive is unpacked in FOLDER, which the caller removes even if this process is killed.
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
"""Number of runs between two lines of progress."""
MAX_MESSAGE = 2000
"""Largest number of characters of an error message."""


def main(arguments: list[str]) -> None:
    """Read the runs that are new or changed; the docstring of this module describes the arguments."""
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
    """Return a message as one line without control characters, which names in the store can contain."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[:MAX_MESSAGE]).split())


def write_tables(known: dict[str, str], place: str, name: str, folder: str) -> dict[str, object]:
    """Write the tables of the runs whose marks differ from ``known``, and return the JSON object to print."""
    from isoplan.engine.errors import PlannerError
    from isoplan.engine.trackers.archives import is_archive, unpacked

    with unpacked(Path(place), Path(folder)) if is_archive(place) else nullcontext(place) as inside:
        try:
            return _write_store(known, str(inside), name, folder)
        except PlannerError as error:
            raise PlannerError(str(error).replace(str(inside), place)) from None


def _write_store(known: dict[str, str], place: str, name: str, folder: str) -> dict[str, object]:
    """Write the tables and return the JSON object as ``write_tables`` does, for a place that is no archive."""
    from isoplan.engine.trackers.catalogue import find_source

    source = find_source(place, name)
    marks = source.marks(place)
    stored = {key: key.encode(errors="replace").decode() for key in marks}
    wanted = [key for key, mark in marks.items() if known.get(stored[key]) != mark]
    if wanted:
        _write(source.read(place, wanted), len(wanted), Path(folder))
    return {"source": source.name, "title": source.title, "marks": {stored[key]: mark for key, mark in marks.items()}}


def _write(runs: Iterator[TrackedRun], count: int, folder: Path) -> None:
    """Write the tables of ``count`` runs.

    The imports are here because they would take half of the time of a call that finds no new runs.
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
