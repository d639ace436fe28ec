"""Copy one base table out of a DuckDB file that a stranger sent, with every door of the engine locked.

Run as a script in a child process (``python -P duckfile.py list FILE``, or ``copy FILE TABLE TARGET``), so that a
damaged file can only end the child. It imports nothing of ours. Views are never opened.
"""

from __future__ import annotations

import json
import sys

import duckdb

BASE_TABLES = """
    SELECT CASE schema_name WHEN 'main' THEN table_name ELSE schema_name || '.' || table_name END,
        schema_name, table_name
    FROM duckdb_tables() WHERE database_name = 'sent' AND NOT internal ORDER BY table_oid
"""


def main(arguments: list[str]) -> None:
    """Print the names of the base tables as JSON, or copy one of them to a Parquet file."""
    command, file, *rest = arguments
    connection = duckdb.connect(":memory:", config={"autoload_known_extensions": False, "memory_limit": "1GB"})
    connection.execute(f"ATTACH {_text(file)} AS sent (READ_ONLY)")
    if command == "copy":
        connection.execute(f"SET allowed_paths = [{_text(rest[1])}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    found = {shown: (schema, table) for shown, schema, table in connection.execute(BASE_TABLES).fetchall()}
    if command == "list":
        print(json.dumps(list(found)))
    else:
        schema, table = found[rest[0]]
        rows = f"SELECT * FROM sent.{_name(schema)}.{_name(table)}"
        connection.execute(f"COPY ({rows}) TO {_text(rest[1])} (FORMAT parquet)").fetchall()


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


if __name__ == "__main__":
    main(sys.argv[1:])
