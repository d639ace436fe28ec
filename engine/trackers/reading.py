"""Import of the runs of a store.

A child process with limited time and memory reads the store. If a damaged store causes a crash, only the child process
ends.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from isoplan.engine import limited
from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.catalogue import as_path
from isoplan.engine.trackers.source import is_address
from isoplan.engine.trackers.tables import RunTables, as_tables

SECONDS, MEGABYTES = 600, 3000
"""Limits for reading a store: processor time in seconds, and address space in MB."""
CHILD = Path(__file__).with_name("child.py")
_PROGRESS = re.compile(r"read (\d+) of (\d+)")


@dataclass(frozen=True, eq=False)
class Imported:
    """The new or changed runs of a store: the name and the title of its source, and its tables.

    ``marks`` contains a mark for each run of the store, by the id of the run. A mark changes when the run changes.
    """

    source: str
    title: str
    tables: RunTables
    marks: Mapping[str, str]


def import_runs(
    place: str,
    name: str = "",
    known: Mapping[str, str] | None = None,
    follow: Callable[[int, int], None] = lambda done, whole: None,
) -> Imported:
    """Read the runs of the store at ``place``: a folder, a file, an archive (zip or tar), or the address of a server.

    The path of a file can have the form ``sqlite:///runs.db``. ``name`` is the name of a source. If it is empty, the
    first source that recognises the place is used. ``known`` maps run ids to the marks of earlier imports: a run in
    ``known`` is read only if its mark has changed. ``follow`` is called with the number of runs read so far, and the
    total number of runs to read. If ``follow`` raises an error, the import ends with this error.

    Raises PlannerError if the store cannot be read.
    """
    path = place if is_address(place) else str(Path(as_path(place)).expanduser())
    return _read(path, name, known or {}, follow)


def full_place(place: str) -> str:
    """Return the address of a server unchanged, and a path as an absolute path."""
    return place if is_address(place) else str(Path(as_path(place)).expanduser().resolve())


def _read(place: str, name: str, known: Mapping[str, str], follow: Callable[[int, int], None]) -> Imported:
    """Read the store at ``place``."""

    def hear(line: str) -> None:
        if found := _PROGRESS.fullmatch(line):
            follow(int(found[1]), int(found[2]))

    with tempfile.TemporaryDirectory() as folder:
        words = (place, name, folder)
        given = json.dumps(dict(known)).encode()
        try:
            output = limited.run(CHILD, words, given=given, seconds=SECONDS, megabytes=MEGABYTES, follow=hear)
        except limited.Exceeded:
            raise PlannerError(
                f"{place} takes more than {SECONDS} s to read: import a part of it, for example one experiment."
            ) from None
        except limited.Failed as error:
            raise PlannerError(
                str(error) or f"{place} cannot be read: it is damaged, or too large for memory. Import a part of it."
            ) from None
        result = json.loads(output)
        files = [Path(folder) / f"{part}.parquet" for part in ("rows", "points")]
        tables = RunTables(*map(pq.read_table, files)) if files[0].exists() else as_tables(())
    return Imported(result["source"], result["title"], tables, result["marks"])
