"""Copy one base table out of a DuckDB file that a stranger sent, with every door of the engine locked.

Run as a script in a child process (``python -P duckfile.py list FILE``, or ``copy FILE SCHEMA TABLE TARGET``), so that
a damaged file can only end the child. It imports nothing of ours. Views are never opened.
"""

from __future__ import annotations

import json
import sys

import duckdb


def main(arguments: list[str]) -> None:
    """Print the base tables of a file as JSON, or copy one of them to a Parquet file."""
    command, file, *rest = arguments
    connection = duckdb.connect(":memory:", config={"autoload_known_extensions": False, "memory_limit": "1GB"})
    connection.execute(f"ATTACH {_text(file)} AS sent (READ_ONLY)")
    if rest:
        connection.execute(f"SET allowed_paths = [{_text(rest[2])}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    if command == "list":
        query = (
            "SELECT schema_name, table_name, column_count FROM duckdb_tables() "
            "WHERE database_name = 'sent' AND NOT internal ORDER BY table_oid"
        )
        print(json.dumps(connection.execute(query).fetchall()))
    else:
        schema, table, target = rest
        source = f"sent.{_name(schema)}.{_name(table)}"
        connection.execute(f"COPY (SELECT * FROM {source}) TO {_text(target)} (FORMAT parquet)")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


if __name__ == "__main__":
    main(sys.argv[1:])
