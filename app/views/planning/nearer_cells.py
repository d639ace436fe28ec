"""Grid of cells (training runs) that extends the runs of a law toward a plan that these runs do not support."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from isoplan.app.bundled import TASKS, opening, task_of
from isoplan.app.views.training.settings import FIELD, main_fields
from isoplan.app.views.widgets.state import table_of_fit
from isoplan.data.catalogue import TRAINED
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.store.database.cell_index import family_of
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.trainers.cell import Family
from isoplan.trainers.families import families, read_cell
from isoplan.trainers.ranges import kind_of

STEPS = 3
"""Maximum number of values per size (N or D). The values go from the edge of the runs to the plan."""
LARGEST = 10**9
"""Largest value that is tried for a field without a maximum."""


def nearer_cells(
    db: Database, fit_hash: str, spans: Mapping[str, Interval], wanted: Mapping[str, float]
) -> dict[str, str]:
    """Return the query that opens the page Train with cells between the runs of a fit and the sizes ``wanted``.

    The sizes are N and D. ``spans`` contains the ranges of N and D of the runs. The result is empty if no family of
    this workspace trains such runs, or if the fields of the family allow no cell that is nearer to ``wanted``.
    """
    family = _family_of_runs(db, fit_hash)
    if family is None or len(fields := main_fields(family)) != 2:
        return {}
    texts = {}
    for field, name in zip(fields, ("N", "D"), strict=True):
        if name in wanted and name in spans:
            texts[FIELD + field] = _values(family, field, name, spans[name], wanted[name])
    return {"family": family.name, **texts} if texts and all(texts.values()) else {}


def _family_of_runs(db: Database, fit_hash: str) -> Family[Any] | None:
    """Return the family that trains runs like those of a fit; None for simulated, published and uploaded runs."""
    key = table_of_fit(db, fit_hash)
    table = next((one for one in tables.all(db) if one.id == key), None)
    if table is None or not (family_of(table) or opening(table) in TRAINED):
        return None
    task = task_of(db, table.id)
    known = families(db.folder or Path())
    return next((family for name, family in known.items() if TASKS.get(name, name) == task), None)


def _values(family: Family[Any], field: str, name: str, span: Interval, wanted: float) -> str:
    """Return values of ``field`` as text, with commas between the values.

    ``name`` is a size, N or D, and ``span`` is the range of this size in the runs. Cells with the returned
    values have sizes between ``wanted`` and the end of ``span`` that is nearest to ``wanted``. The result is "" if no
    possible size is nearer to ``wanted`` than this end.
    """
    sizes = _sizes(family, field, name)
    edge = min(max(wanted, span[0]), span[1])
    steps = range(1, STEPS + 1) if edge != wanted else [STEPS]
    goals = [edge * (wanted / edge) ** (k / STEPS) for k in steps]
    found = dict.fromkeys(min(sizes, key=lambda x: abs(log(sizes[x] / goal))) for goal in goals) if sizes else {}
    near = [x for x in found if edge == wanted or abs(log(sizes[x] / wanted)) < abs(log(edge / wanted))]
    return ", ".join(map(str, sorted(near)))


def _sizes(family: Family[Any], field: str, name: str) -> dict[int, float]:
    """Return the size ``name`` (N or D) of a cell for each value of ``field``.

    The values are the lowest and the highest allowed value, and values between them with at most two significant
    digits. The result is empty if ``field`` is not an integer, or if a larger value gives a smaller size.
    """
    about = family.cell.model_fields[field]
    if kind_of(about) != "integer":
        return {}
    bounds = {key: getattr(part, key) for part in about.metadata for key in ("ge", "le") if hasattr(part, key)}
    low, high = bounds.get("ge", 1), bounds.get("le", LARGEST)
    digits = [*range(1, 10), *(n * 10**k for k in range(9) for n in range(10, 100))]
    found = {}
    for value in dict.fromkeys([low, *(x for x in digits if low < x < high), high]):
        try:
            size = getattr(family.sizes(read_cell(family, {field: value})), name)
        except (PlannerError, ValidationError):
            continue
        if size:
            found[value] = float(size)
    return found if all(a <= b for a, b in pairwise(found.values())) else {}
