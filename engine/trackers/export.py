"""Writing of imported tables to files."""

from __future__ import annotations

import io
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa

from isoplan.engine import escaping
from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.tables import ALWAYS

ENDINGS = (".parquet", ".csv")


def check_target(file: Path, option: str) -> None:
    """Raise PlannerError if the name of ``file`` has an unknown ending, or if its folder does not exist."""
    if file.suffix.lower() not in ENDINGS:
        raise PlannerError(f"{option} {file}: the name must end with .parquet or .csv.")
    if not file.resolve().parent.is_dir():
        raise PlannerError(f"{option} {file}: there is no folder {file.parent}. Make the folder first.")


def write_table(table: pa.Table, file: Path) -> None:
    """Write a table as Parquet or CSV, depending on the ending of ``file``.

    An existing file is replaced only when the new file is complete. Raises PlannerError if the file cannot be written.
    """
    import pyarrow.csv
    import pyarrow.parquet

    part = file.with_name(f".{file.name}.part")
    try:
        if file.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(_plain(table), part)
        else:
            pyarrow.parquet.write_table(table, part)
        part.replace(file)
    except OSError as error:
        raise PlannerError(f"{file} cannot be written ({error.strerror}): check the folder and the disk.") from None
    finally:
        part.unlink(missing_ok=True)


def as_parquet(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    import pyarrow.parquet

    target = io.BytesIO()
    pyarrow.parquet.write_table(table, target)
    return target.getvalue()


def selected(rows: pa.Table, columns: Collection[str]) -> pa.Table:
    """Return the table with the columns ``columns`` and those in ``ALWAYS``."""
    return rows.select([name for name in rows.column_names if name in ALWAYS or name in columns])


def _plain(table: pa.Table) -> pa.Table:
    """Return the table for a CSV file.

    Dictionary columns become text. Text is escaped, so that a spreadsheet does not execute it as a formula.
    """
    columns = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    inert = [
        pa.array([escaping.as_text(cell) for cell in column.to_pylist()], pa.string())
        if pa.types.is_string(column.type)
        else column
        for column in columns
    ]
    return pa.table(inert, names=[escaping.as_text(name) for name in table.column_names])
