"""Training times in seconds of the cells that are part of Isoplan, by family."""

from __future__ import annotations

from functools import cache

from isoplan.data.files import listed, records
from isoplan.trainers.backend.estimate.calibration import Earlier

FOLDERS = ("grids", "grids/games")


@cache
def bundled_cells(family: str) -> tuple[Earlier, ...]:
    """Return the bundled cells of a family with their N, C and seconds; empty if there are none."""
    prefix = f"{family.replace('-', '_')}_"
    rows = [row for folder in FOLDERS for name in listed(folder, prefix, ".csv") for row in records(name)]
    found = [[_number(row.get(key)) for key in ("N", "C", "seconds")] for row in rows]
    return tuple(Earlier(*values) for values in found if all(value > 0 for value in values))


def _number(text: object) -> float:
    """Return a table cell as a number; 0 if it is empty or not a number."""
    try:
        return float(str(text))
    except ValueError:
        return 0.0
