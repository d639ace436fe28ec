"""Import, list, map and withdraw run tables. Rows are added or marked as withdrawn, but never changed.

The rows of a table are in the SQL table ``t_<id>`` with the column names ``c0``, ``c1``, ... The column names in the
file are stored separately, so any name is allowed. The id of a table is computed from the bytes of the file (and the
name of the sheet), so a file has the same id in every workspace.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import LayoutOption, Roles, RowsOfRun
from isoplan.engine.store.columns.column import TableKind
from isoplan.engine.store.columns.guess import guess_curve_roles, guess_roles
from isoplan.engine.store.columns.histories import with_history
from isoplan.engine.store.columns.mapping import check_roles, like
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.damage import disk_full
from isoplan.engine.store.database.database import Cursor, Database
from isoplan.engine.store.files import sources
from isoplan.engine.store.files.uploads import received
from isoplan.engine.store.saved.saved_items import now
from isoplan.engine.store.tables.catalog import INFO, find, info_of, insert, rows_frame
from isoplan.engine.store.tables.catalog import TableInfo as TableInfo
from isoplan.engine.store.tables.catalog import columns as columns
from isoplan.engine.store.tables.catalog import get as get
from isoplan.engine.store.tables.catalog import roles as roles
from isoplan.engine.store.tables.loading import Loaded, load

if TYPE_CHECKING:
    import pandas as pd

COPIES, SPARE = 4, 1e6
"""Disk space in bytes that an import needs: ``COPIES`` * (size of the file) + ``SPARE``."""
_GUESS = {"runs": guess_roles, "curves": guess_curve_roles}


def parts(source: Path | bytes, name: str) -> tuple[str, ...]:
    """Return the sheets of an Excel file or the base tables of a DuckDB file; empty for other formats."""
    with received(source, name, None) as upload:
        return sources.parts(upload)


def add(
    db: Database,
    source: Path | bytes,
    name: str,
    *,
    sheet: str | None = None,
    inner: str | None = None,
    read_only: bool = False,
    provenance: str = "",
    curves_of: str = "",
    layout: LayoutOption = "auto",
) -> TableInfo:
    """Import a table under the name ``name`` and return it.

    ``source`` is a file, or the bytes of an upload or of a paste. If the same bytes were imported before, the existing
    table is returned. ``curves_of`` is empty for a table of runs. For a file of training curves, it is the id of the
    run table to which the curves belong. ``sheet`` selects a sheet of an Excel file, and ``inner`` a base table of a
    DuckDB file. A table in a layout such as a pivot table is read as one row per run, unless ``layout`` is "plain".
    Raises PlannerError if the file cannot be read as a table or exceeds ``MAX_UPLOAD_BYTES`` or
    ``MAX_COLUMNS``. Also raises PlannerError if the file contains several tables and none is selected, or if the disk
    of the workspace is full.
    """
    _need_room(db.folder, source)
    with received(source, name, db.folder) as upload:
        option = "--sheet" if upload.format == "excel" else "--inner"
        part = sources.choose(upload, sheet if upload.format == "excel" else inner, option)
        table_id = _id(upload.sha256, part, layout)
        if table_id == curves_of:  # The run table and its curves are the same file, so the curves need another id.
            table_id = _id(upload.sha256, part, layout, "/curves")
        if (known := _known(db, table_id)) is not None:
            return known if known.runs_id == curves_of else tie(db, known, curves_of)
        label = f"{Path(name).name} · {part}" if part else Path(name).name
        details = (upload.sha256, name, now(), read_only, False, provenance, ())
        fresh = TableInfo(
            table_id, label, 0, *details, _kind(curves_of), curves_of, "plain" if layout == "plain" else ""
        )
        load(db, upload, part, sql.data(table_id), partial(_register, info=fresh), layout)
    return get(db, table_id)


def _need_room(folder: Path | None, source: Path | bytes) -> None:
    """Raise PlannerError if the disk of ``folder`` does not have enough space for an import of ``source``."""
    with suppress(OSError):  # If the file cannot be read, the import raises the error.
        size = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
        if folder is not None and shutil.disk_usage(folder).free < COPIES * size + SPARE:
            raise disk_full(folder)


def curves_within(db: Database, table_id: str) -> TableInfo:
    """Import the file of a run table a second time, as training curves of the same runs.

    Raises PlannerError if the workspace does not have the bytes of the file.
    """
    info = get(db, table_id)
    kept = _original(db, info, "Upload the file again, in the box Add training curves.")
    part, layout = _part(kept, info), _layout(info)
    table = add(db, kept, info.source, sheet=part, inner=part, curves_of=table_id, layout=layout)
    known = columns(db, table.id)
    set_roles(db, table.id, like(known, guess_curve_roles(known), roles(db, table_id)))
    return table


def reread(db: Database, table_id: str, layout: LayoutOption) -> TableInfo:
    """Import the file of a table again with another ``layout``, mark the table as deleted, and return the new table.

    Raises PlannerError if the workspace does not have the bytes of the file, or if the file cannot be read.
    """
    info = _changeable(db, table_id)
    kept = _original(db, info, "Upload the file again.")
    part = _part(kept, info)
    table = add(db, kept, info.source, sheet=part, inner=part, curves_of=info.runs_id, layout=layout)
    delete(db, table_id)
    return table if table.name == info.name else rename(db, table.id, info.name)


def _original(db: Database, info: TableInfo, todo: str) -> Path:
    """Return the path of the file that was imported as a table; raises PlannerError with ``todo`` if it is missing."""
    kept = db.folder / "uploads" / info.sha256 if db.folder else None
    if kept is None or not kept.is_file():
        raise PlannerError(f"The original file of {info.name} is not in this workspace. {todo}")
    return kept


def _part(file: Path, info: TableInfo) -> str | None:
    """Return the sheet or base table of ``file`` that was imported as a table; None for a file without such parts."""
    found = parts(file, info.source)
    ids = {_id(info.sha256, part, _layout(info), ending): part for part in found for ending in ("", "/curves")}
    return ids.get(info.id)


def _layout(info: TableInfo) -> LayoutOption:
    return "plain" if info.layout == "plain" else "auto"


def all(db: Database, deleted: bool = False) -> list[TableInfo]:
    """Return the run tables of the store, newest first.

    With ``deleted``, return the deleted tables instead, including those of training curves.
    """
    return _listed(db, "deleted" if deleted else "NOT deleted AND kind = 'runs'")


def curves_of(db: Database, table_id: str) -> list[TableInfo]:
    """Return the tables of training curves that are linked to a run table, newest first."""
    return _listed(db, "NOT deleted AND kind = 'curves' AND runs_id = ?", table_id)


def tie(db: Database, table: TableInfo, runs_id: str) -> TableInfo:
    """Link ``table`` as training curves to the run table ``runs_id``, and return ``table``.

    If ``runs_id`` is empty, ``table`` becomes a table of runs. If the kind of ``table`` changes, its mapping is
    replaced by the mapping that its columns suggest for the new kind.
    """
    if table.id == runs_id:
        raise PlannerError(f"{table.name} is the run table itself: choose the file with its training curves.")
    _changeable(db, table.id)
    if runs_id:
        get(db, runs_id)
    kind, known = _kind(runs_id), columns(db, table.id)
    mapping = roles(db, table.id) if table.kind == kind else _GUESS[kind](known)
    values = [kind, runs_id, mapping.model_dump_json(), table.id]
    query = "UPDATE tables SET kind = ?, runs_id = ?, roles = ? WHERE id = ?"
    db.write(lambda cursor: cursor.execute(query, values).fetchall())
    return replace(get(db, table.id), known=table.known)


def _id(sha256: str, part: str, layout: LayoutOption, ending: str = "") -> str:
    plain = "/plain" if layout == "plain" else ""
    return hashlib.sha256(f"{sha256}/{part}{plain}{ending}".encode()).hexdigest()[:12]


def _kind(runs_id: str) -> TableKind:
    return "curves" if runs_id else "runs"


def _listed(db: Database, where: str, *parameters: object) -> list[TableInfo]:
    with db.read() as cursor:
        query = f"SELECT {INFO} FROM tables WHERE {where} ORDER BY created DESC, id"
        return [info_of(row) for row in cursor.execute(query, list(parameters)).fetchall()]


def by_name(db: Database, name: str) -> TableInfo:
    """Return the newest run table called ``name``; raises PlannerError if there is none."""
    found = next((info for info in all(db) if info.name == name), None)
    if found is None:
        raise PlannerError(f"No table is called {name!r}: import it first.")
    return found


def rename(db: Database, table_id: str, name: str) -> TableInfo:
    """Rename a table and return it. Raises PlannerError for an empty name or a read-only table."""
    if not name.strip():
        raise PlannerError("A table needs a name: type at least one letter.")
    _changeable(db, table_id)
    return _update(db, table_id, "name", name.strip())


def delete(db: Database, table_id: str) -> TableInfo:
    """Mark a table as deleted and return it. Its rows stay stored, so ``restore`` and existing fits still work."""
    _changeable(db, table_id)
    return _update(db, table_id, "deleted", True)


def retire(db: Database, kept: Collection[str]) -> None:
    """Mark each read-only table as deleted if its id is not in ``kept``.

    Such a table is a demo table that an earlier version of Isoplan added and that the current version does not add.
    """
    for info in all(db):
        if info.read_only and info.id not in kept:
            _update(db, info.id, "deleted", True)


def restore(db: Database, table_id: str) -> TableInfo:
    """Restore a deleted table and return it."""
    return _update(db, table_id, "deleted", False)


def set_roles(db: Database, table_id: str, roles: Roles) -> None:
    """Set the mapping (role -> column) of a table. This is also allowed for a read-only table: its rows do not change.

    Raises PlannerError if a column does not exist or has two roles, or if a column of text has a role that needs
    numbers.
    """
    check_roles(columns(db, table_id), roles, get(db, table_id).kind)
    _update(db, table_id, "roles", roles.model_dump_json())


def history(db: Database, table_id: str, roles: Roles, rows: RowsOfRun | None = None) -> Roles:
    """Return the mapping with ``rows`` set. This setting selects one of several rows of a run, such as the last row.

    If ``rows`` is None, the table determines the setting: it becomes "last" if the rows of the table look like points
    of training curves. If they do not, the mapping is unchanged.
    """
    with db.read() as cursor:
        found = with_history(cursor, sql.data(table_id), columns(db, table_id), roles)
    return found if rows is None else (found if found.rows != "all" else roles).model_copy(update={"rows": rows})


def withdraw(db: Database, table_id: str, row_ids: Sequence[int], reason: str) -> None:
    """Mark rows as withdrawn, with a reason. New snapshots leave out these rows; existing snapshots do not change."""
    info = _changeable(db, table_id)
    if not reason.strip():
        raise PlannerError("Withdrawing a run needs a reason: type a few words.")
    outside = next((i for i in row_ids if not 0 <= i < info.rows), None)
    if outside is not None:
        raise PlannerError(f"Row {outside} is not in {info.name}: its rows are 0 to {info.rows - 1}.")
    marked = {row for row, _, _ in withdrawn(db, table_id)}
    fresh = [int(i) for i in dict.fromkeys(row_ids) if int(i) not in marked]
    query = "INSERT INTO withdrawn SELECT ?, unnest(?::BIGINT[]), ?, ?"
    db.write(lambda cursor: cursor.execute(query, [table_id, fresh, reason.strip(), now()]).fetchall())


def bring_back(db: Database, table_id: str, row_ids: Sequence[int]) -> None:
    """Undo ``withdraw`` for some rows; a row that is not withdrawn is unchanged."""
    _changeable(db, table_id)
    chosen = [int(i) for i in row_ids]
    query = "DELETE FROM withdrawn WHERE table_id = ? AND list_contains(?::BIGINT[], row_id)"
    db.write(lambda cursor: cursor.execute(query, [table_id, chosen]).fetchall())


def withdrawn(db: Database, table_id: str) -> list[tuple[int, str, datetime]]:
    """Return (row id, reason, time) for each withdrawn row of a table."""
    with db.read() as cursor:
        query = "SELECT row_id, reason, moment FROM withdrawn WHERE table_id = ? ORDER BY row_id"
        return [(row[0], row[1], row[2]) for row in cursor.execute(query, [table_id]).fetchall()]


def frame(db: Database, table_id: str, *, limit: int = 1000, offset: int = 0, where: str | None = None) -> pd.DataFrame:
    """Return rows of a table for display, with the column names of the file and a first column ``row id``.

    If at least one row of the table is withdrawn, the second column, ``withdrawn``, contains the reasons. ``where`` is
    an SQL condition, which is checked and evaluated by :mod:`isoplan.engine.store.tables.condition`.
    """
    conversions = roles(db, table_id).conversions
    chosen = None
    if where and where.strip():
        from isoplan.engine.store.tables.condition import matching_rows  # imported here because this import takes 0.1 s

        chosen = matching_rows(db, table_id, where, conversions)
    return rows_frame(db, table_id, chosen, limit, offset)


def _register(cursor: Cursor, loaded: Loaded, info: TableInfo) -> None:
    mapping = _GUESS[info.kind](loaded.columns)
    if info.kind == "runs":
        mapping = with_history(cursor, sql.data(info.id), loaded.columns, mapping)
    layout = info.layout or ", ".join(loaded.layouts)
    insert(cursor, replace(info, rows=loaded.rows, notes=loaded.notes, layout=layout), loaded.columns, mapping)


def _known(db: Database, table_id: str) -> TableInfo | None:
    """Return the table with this id, with ``known`` set to true, or None if it does not exist.

    If the table is deleted, it is restored.
    """
    found = find(db, table_id)
    if found is not None and found.deleted:
        found = restore(db, table_id)
    return replace(found, known=True) if found else None


def _changeable(db: Database, table_id: str) -> TableInfo:
    info = get(db, table_id)
    if info.read_only:
        raise PlannerError(f"{info.name} is a demo table and cannot be changed: import your own copy to change it.")
    return info


def _update(db: Database, table_id: str, field: str, value: object) -> TableInfo:
    query = f"UPDATE tables SET {field} = ? WHERE id = ?"
    db.write(lambda cursor: cursor.execute(query, [value, table_id]).fetchall())
    return get(db, table_id)
