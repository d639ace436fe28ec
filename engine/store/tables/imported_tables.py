"""Run tables that are imported from a tracker. A later import adds only runs that are new or changed.

A table is identified by its place and its source. For a changed run, a new row is added and the previous row is marked
as withdrawn, so earlier fits stay valid. The table of training curves is replaced by a new one with all points.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from io import BytesIO
from pathlib import PurePath

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, Database, first
from isoplan.engine.store.files import export
from isoplan.engine.store.tables import grown, tables
from isoplan.engine.store.tables.catalog import TableInfo
from isoplan.engine.store.tables.updated_runs import Growing, grow
from isoplan.engine.trackers.catalogue import SOURCES
from isoplan.engine.trackers.export import as_parquet
from isoplan.engine.trackers.reading import Imported, full_place, import_runs
from isoplan.engine.trackers.tables import ID, RUN


class ImportRecord(BaseModel):
    """The record of an imported table, which a later import reads.

    ``place`` is the imported store, and ``source`` is the name of its source. ``marks`` (run id -> mark) shows which
    runs have changed. Columns in ``left_out`` are not imported. ``curves`` is the id of the curve table, or empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    place: str
    source: str
    marks: dict[str, str] = {}
    left_out: tuple[str, ...] = ()
    curves: str = ""


def read_record(db: Database, table_id: str) -> ImportRecord | None:
    """Return the record of an imported table; None if the table is not imported."""
    with db.read() as cursor:
        row = first(cursor, "SELECT record FROM imports WHERE table_id = ?", [table_id])
    return None if row is None else ImportRecord.model_validate_json(row[0])


def find_record(db: Database, place: str, source: str = "") -> ImportRecord | None:
    """Return the record of the table imported from ``place`` by ``source``. An empty ``source`` means any source."""
    with db.read() as cursor:
        rows = cursor.execute("SELECT record FROM imports ORDER BY table_id").fetchall()
    records = (ImportRecord.model_validate_json(row[0]) for row in rows)
    return next((one for one in records if one.place == place and source in ("", one.source)), None)


def is_imported(table: TableInfo) -> bool:
    """Return whether ``table`` is imported from a tracker."""
    return table.provenance.endswith(f": {table.source}") and table.id in {
        imported_id(table.source, source.name) for source in SOURCES
    }


def renew(
    db: Database, place: str, source: str = "", follow: Callable[[int, int], None] = lambda done, whole: None
) -> tuple[TableInfo, int]:
    """Import the new and changed runs at ``place``; return their table, and the number of these runs.

    The first import creates the table. The arguments are the same as in ``import_runs``. Raises PlannerError if the
    place cannot be read, or if it contains no runs.
    """
    full = full_place(place)
    record = find_record(db, full, source)
    imported = import_runs(place, record.source if record else source, record.marks if record else {}, follow)
    many = len(imported.tables.rows)
    if many:
        return add_runs(db, full, imported), many
    if record is None:
        raise PlannerError(f"{place} contains no runs: import it again when a run has begun.")
    return tables.get(db, imported_id(full, record.source)), 0


def imported_id(place: str, source: str) -> str:
    """Return the id of the table that is imported from ``place`` by the source called ``source``."""
    return _digest(place, source)[:12]


def add_runs(db: Database, place: str, imported: Imported, left_out: Collection[str] | None = None) -> TableInfo:
    """Add the runs of ``imported`` to the table of ``place``, and return the table. It is created if needed.

    ``imported`` contains all runs, or only the runs that are new or changed since the last import. Columns in
    ``left_out`` are not imported; the default is the value of the last import. Raises PlannerError if the table
    has too many rows, or if the disk is full.
    """
    key = imported_id(place, imported.source)
    record = read_record(db, key) or ImportRecord(place=place, source=imported.source)
    if left_out is not None:
        record = record.model_copy(update={"left_out": tuple(left_out)})
    about, name = f"{imported.title}: {place}", f"{imported.title} {PurePath(place).name or place}"
    growing = Growing(key, name, place, _digest(place, imported.source), about, by=ID)
    rows = imported.tables.rows.drop_columns([x for x in imported.tables.rows.column_names if x in record.left_out])

    def change(cursor: Cursor) -> dict[str, str]:
        names = _unused_names(_stored_names(cursor, key), rows)
        grow(cursor, growing, [row | {RUN: names[row[ID]]} for row in rows.to_pylist()])
        return dict(zip(rows[RUN].to_pylist(), names.values(), strict=True))

    renamed = db.write(change)
    points = _renamed(imported.tables.points, renamed)
    record = record.model_copy(
        update={"marks": dict(imported.marks), "curves": _renew_curves(db, key, record.curves, points, name)}
    )
    values = [key, record.model_dump_json()]
    db.write(lambda cursor: cursor.execute("INSERT OR REPLACE INTO imports VALUES (?, ?)", values).fetchall())
    return tables.get(db, key)


def _digest(place: str, source: str) -> str:
    return hashlib.sha256(f"import/{source}/{place}".encode()).hexdigest()


def _stored_names(cursor: Cursor, key: str) -> dict[str, str]:
    """Return the names of the runs of a table, by run id. The last row of a run determines its name."""
    names = [column.name for column in grown.stored(cursor, key)[0]]
    if ID not in names or RUN not in names:
        return {}
    query = f"SELECT c{names.index(ID)}, c{names.index(RUN)} FROM {sql.data(key)} ORDER BY rid"
    return dict(cursor.execute(query).fetchall())


def _unused_names(known: Mapping[str, str], rows: pa.Table) -> dict[str, str]:
    """Return a name for each run of ``rows``, by run id. A stored run keeps its name.

    If another stored run already has the name, the run id is added to it.
    """
    owner = {name: key for key, name in known.items()}
    found = {}
    for key, name in zip(rows[ID].to_pylist(), rows[RUN].to_pylist(), strict=True):
        found[key] = known.get(key) or (name if owner.get(name, key) == key else f"{name} {key}")
    return found


def _renamed(points: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Rename the runs of ``points``. ``names`` is old name -> new name."""
    texts = points[RUN].cast(pa.string()).to_pylist()
    return points.set_column(0, RUN, pa.array([names.get(text, text) for text in texts], pa.string()))


def _renew_curves(db: Database, key: str, old: str, points: pa.Table, name: str) -> str:
    """Replace the stored training curves of the runs in ``points``; return the id of the new curve table."""
    if not len(points):
        return old
    if old:
        before = pq.read_table(BytesIO(export.table(db, old, "parquet")))
        changed = pa.array(sorted(set(points[RUN].to_pylist())))
        kept = before.filter(pc.invert(pc.is_in(before[RUN], changed)))
        points = pa.concat_tables([kept.drop_columns("row id"), points], promote_options="permissive")
    fresh = tables.add(db, as_parquet(points), f"{name} curves", curves_of=key)
    if old and old != fresh.id:
        tables.delete(db, old)
    return fresh.id
