"""Access to bundled files by name, wherever the package is installed."""

from __future__ import annotations

import csv
from importlib.resources import files
from importlib.resources.abc import Traversable

from isoplan.engine.errors import PlannerError


def path(name: str) -> Traversable:
    """Return the bundled file ``name``, a path relative to ``data``; raises PlannerError if the file does not exist."""
    parts = name.split("/")
    found = files("isoplan.data").joinpath(*parts)
    if ".." in parts or not found.is_file():
        raise PlannerError(f"There is no bundled file {name!r}: the files are listed in data/README.md.")
    return found


def is_there(name: str) -> bool:
    """Return whether the bundled file ``name`` exists. A grid without trained cells has no table."""
    return files("isoplan.data").joinpath(*name.split("/")).is_file()


def listed(folder: str, start: str, end: str) -> tuple[str, ...]:
    """Return the sorted names of the bundled files in ``folder`` that begin with ``start`` and end with ``end``."""
    names = sorted(one.name for one in files("isoplan.data").joinpath(folder).iterdir())
    return tuple(f"{folder}/{name}" for name in names if name.startswith(start) and name.endswith(end))


def records(name: str) -> list[dict[str, str]]:
    """Return the rows of a bundled CSV file as dictionaries from column to text; an empty entry is the empty string."""
    return list(csv.DictReader(path(name).read_text(encoding="utf-8").splitlines()))
