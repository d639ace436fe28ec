"""Interface of a source of runs: its name, and the functions that recognise a store and read its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from isoplan.engine.trackers.run import TrackedRun

MAX_DEPTH = 12
"""Largest depth of nested folders that a source searches."""
MAX_FILES = 200_000
"""Largest number of files that a source lists."""


@dataclass(frozen=True)
class Source:
    """A kind of store that contains runs.

    ``name`` is the value of ``--as``, and ``title`` the name on pages. A place is a path, or an address that begins
    with ``http://`` or ``https://``.

    - ``recognises(place)`` returns whether the place is such a store. It reads little data, and it raises no errors.
    - ``marks(place)`` returns a dictionary from run id to mark, in the order of creation of the runs. A mark is a text
      that changes when the stored run changes, for example when values are logged.
    - ``read(place, ids)`` yields the runs with these ids, in this order. A run that no longer exists is left out.

    ``marks`` and ``read`` raise PlannerError if the store is damaged, too large or not of this kind, or if a package is
    missing.
    """

    name: str
    title: str
    recognises: Callable[[str], bool]
    marks: Callable[[str], Mapping[str, str]]
    read: Callable[[str, Sequence[str]], Iterator[TrackedRun]]


def is_address(place: str) -> bool:
    """Return whether a place is the address of a server, not a path."""
    return place.lower().startswith(("http://", "https://"))
