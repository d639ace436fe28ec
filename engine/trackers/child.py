"""Read the runs of a store in a process with limited time and memory, and write them as two Parquet files.

``isoplan.engine.limited`` runs this file as a script: ``child.py SECONDS MEGABYTES PLACE NAME FOLDER``. NAME is a
source, or empty. Standard input is a JSON object with the marks of runs that are known already. The script writes
``rows.parquet`` and ``points.parquet`` to FOLDER, if there are runs to read, and prints a JSON object with the source,
its title and the marks of all runs. Its error output contains lines ``read K of N``. For an error that the user can
correct, the last line is the error message and the exit status is 1. For any other error, the exit status is 2.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoplan.engine.trackers.run import TrackedRun

EVERY = 20
"""Number of runs between two lines of progress."""


def main(arguments: list[str]) -> None:
    """Read the runs that are new or changed; the docstring of this module describes the arguments."""
    from isoplan.engine.errors import PlannerError
    from isoplan.engine.limited import limit

    limit(int(arguments[0]), int(arguments[1]))
    try:
        result = write_tables(json.load(sys.stdin), *arguments[2:])
    except PlannerError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        raise SystemExit(1) from None
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    print(json.dumps(result))


def write_tables(known: dict[str, str], place: str, name: str, folder: str) -> dict[str, object]:
    """Write the tables of the runs whose marks differ from ``known``, and return the JSON object to print."""
    from isoplan.engine.trackers.catalogue import find_source

    source = find_source(place, name)
    marks = source.marks(place)
    wanted = [key for key, mark in marks.items() if known.get(key) != mark]
    if wanted:
        _write(source.read(place, wanted), len(wanted), Path(folder))
    return {"source": source.name, "title": source.title, "marks": marks}


def _write(runs: Iterator[TrackedRun], count: int, folder: Path) -> None:
    """Write the tables of ``count`` runs. Without runs, the imports of this function would take half of the time."""
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
