"""Writing of imported tables to files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from isoplan.engine.errors import PlannerError

ENDINGS = (".parquet", ".csv")


def check_target(file: Path, option: str) -> None:
    """Raise PlannerError if the name of ``file`` has an unknown ending, or if its folder does not exist."""
    if file.suffix.lower() not in ENDINGS:
        raise PlannerError(f"{option} {file}: the name must end with .parquet or .csv.")
    if not file.resolve().parent.is_dir():
        raise PlannerError(f"{option} {file}: there is no folder {file.parent}. Make the folder first.")


def write_table(table: pa.Table, file: Path) -> None:
    """Write a table as Parquet or CSV, by the ending of ``file``. An existing file is replaced when all is written."""
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


def _plain(table: pa.Table) -> pa.Table:
    """Return the table with text in place of dictionary columns, which CSV files cannot contain."""
    columns = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    return pa.table(dict(zip(table.column_names, columns, strict=True)))
