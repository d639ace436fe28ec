"""Grid of cells (training runs) that extends the runs of a law toward a plan that these runs do not support."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from pathlib import Path
from typing import Any

from isoplan.app.bundled import TASKS, opening, task_of
from isoplan.app.views.training.settings import FIELD
from isoplan.app.views.widgets.state import table_of_fit
from isoplan.data.catalogue import TRAINED
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.store.database.cell_index import family_of
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.trainers.cell import Family
from isoplan.trainers.families import families
from isoplan.trainers.placing import NAMES, nearest, size_axes

STEPS = 3
"""Maximum number of values per size (N or D). The values go from the edge of the runs to the plan."""


def nearer_cells(
    db: Database, fit_hash: str, spans: Mapping[str, Interval], wanted: Mapping[str, float]
) -> dict[str, str]:
    """Return the query that opens the page Train with cells between the runs of a fit and the sizes ``wanted``.

    The sizes are N and D. ``spans`` contains the ranges of N and D of the runs. The result is empty if no family of
    this workspace trains such runs, or if the fields of the family allow no cell that is nearer to ``wanted``.
    """
    family = family_of_table(db, table_of_fit(db, fit_hash))
    names = [name for name in NAMES if name in wanted and name in spans]
    axes = size_axes(family) if family is not None else {}
    if family is None or not names or any(name not in axes for name in names):
        return {}
    texts = {FIELD + axes[name].field: _values(axes[name].sizes, spans[name], wanted[name]) for name in names}
    return {"family": family.name, **texts} if all(texts.values()) else {}


def family_of_table(db: Database, table_id: str | None) -> Family[Any] | None:
    """Return the family that trains runs like those of a table.

    Returns None if the runs are simulated or uploaded, or if there is no such table.
    """
    table = next((one for one in tables.all(db) if one.id == table_id), None)
    if table is None or not (family_of(table) or opening(table) in TRAINED):
        return None
    task = task_of(db, table.id)
    known = families(db.folder or Path())
    return next((family for name, family in known.items() if TASKS.get(name, name) == task), None)


def _values(sizes: Mapping[int, float], span: Interval, wanted: float) -> str:
    """Return values of a field as text, with commas between the values.

    ``sizes`` maps values of the field to a size, N or D, and ``span`` is the range of this size in the runs. Cells with
    the returned values have sizes between ``wanted`` and the end of ``span`` that is nearest to ``wanted``. The result
    is "" if no possible size is nearer to ``wanted`` than this end.
    """
    edge = min(max(wanted, span[0]), span[1])
    steps = range(1, STEPS + 1) if edge != wanted else [STEPS]
    goals = [edge * (wanted / edge) ** (k / STEPS) for k in steps]
    found = dict.fromkeys(nearest(sizes, goal) for goal in goals)
    near = [x for x in found if edge == wanted or abs(log(sizes[x] / wanted)) < abs(log(edge / wanted))]
    return ", ".join(map(str, sorted(near)))
