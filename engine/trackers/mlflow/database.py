"""The SQLite database of MLflow, read with the standard library while MLflow may write to it."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from isoplan.engine.trackers.formats.folders import digest
from isoplan.engine.trackers.formats.sqlite import has_tables, opened
from isoplan.engine.trackers.mlflow.values import (
    NAME_TAG,
    STATES,
    SYSTEM_METRICS,
    SYSTEM_TAGS,
    created,
    history,
    labels,
    settings,
)
from isoplan.engine.trackers.run import History, TrackedRun

NAME = "mlflow.db"
TABLES = ("experiments", "runs", "params", "metrics", "latest_metrics", "tags")
_RUNS = """
    FROM runs JOIN experiments USING (experiment_id)
    WHERE coalesce(runs.lifecycle_stage, 'active') = 'active'
    AND coalesce(experiments.lifecycle_stage, 'active') = 'active'
"""
_TEXTS = "CAST(key AS TEXT), CAST(value AS TEXT)"
_IMPORTED_TAGS = f"(key NOT LIKE 'mlflow.%' OR key IN {(*SYSTEM_TAGS, NAME_TAG)})"


def recognises(place: str) -> bool:
    """Return whether ``place`` is a database of MLflow, or a folder that contains a database ``mlflow.db``."""
    return has_tables(_file(place), *TABLES)


def marks(place: str) -> Mapping[str, str]:
    """Return a mark for each run, by run id.

    The mark depends on the state, params, tags and number of logged values of the run. Deleted
    runs and runs of deleted experiments are left out.
    """
    with opened(_file(place)) as connection:
        runs = connection.execute(
            "SELECT CAST(run_uuid AS TEXT), runs.name, experiments.name, status, start_time, end_time"
            + _RUNS
            + "AND run_uuid IS NOT NULL ORDER BY 5, 1"
        ).fetchall()
        content: dict[str, list[Any]] = defaultdict(list)
        for table in ("params", "metrics"):
            count = f"SELECT run_uuid, count(*), max(rowid) FROM {table} GROUP BY run_uuid"
            for run, *rest in connection.execute(count):
                content[run].append(rest)
        tags = f"SELECT run_uuid, key, value FROM tags WHERE {_IMPORTED_TAGS} ORDER BY key"
        for run, *rest in connection.execute(tags):
            content[run].append(rest)
    return {run: digest((rest, content[run])) for run, *rest in runs}


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the runs whose ids are in ``ids``. Queries are short, so that MLflow can write between two runs."""
    with opened(_file(place)) as connection:
        for key in ids:
            row = connection.execute(
                "SELECT CAST(runs.name AS TEXT), CAST(coalesce(experiments.name, '') AS TEXT), status,"
                " CAST(start_time AS REAL)" + _RUNS + "AND run_uuid = ?",
                (key,),
            ).fetchone()
            if row is not None:
                yield _run(connection, key, *row)


def _run(
    connection: sqlite3.Connection, key: str, name: str | None, experiment: str, status: str, start: float
) -> TrackedRun:
    params, tags = (
        connection.execute(f"SELECT {_TEXTS} FROM {table} WHERE run_uuid = ? ORDER BY rowid", (key,)).fetchall()
        for table in ("params", f"(SELECT rowid, * FROM tags WHERE {_IMPORTED_TAGS})")
    )
    return TrackedRun(
        key,
        name or dict(tags).get(NAME_TAG) or key,
        STATES.get(status, "unknown"),
        created(start),
        settings(params),
        tags=labels(experiment, tags),
        histories=_histories(connection, key),
    )


def _histories(connection: sqlite3.Connection, run: str) -> dict[str, History]:
    """Return the logged values of a run by metric."""
    rows = connection.execute(
        "SELECT CAST(key AS TEXT), CAST(step AS REAL), CAST(timestamp AS REAL),"
        " CASE WHEN is_nan THEN NULL ELSE CAST(value AS REAL) END"
        " FROM metrics WHERE run_uuid = ? AND key NOT LIKE ? ORDER BY key",
        (run, f"{SYSTEM_METRICS}%"),
    ).fetchall()
    if not rows:
        return {}
    keys, *columns = zip(*rows, strict=True)
    steps, times, values = (np.array(column, float) for column in columns)
    names = np.array(keys, object)
    starts = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1), len(keys)]
    return {
        keys[first]: history(steps[first:end], times[first:end], values[first:end]) for first, end in pairwise(starts)
    }


def _file(place: str) -> Path:
    path = Path(place)
    return path / NAME if path.is_dir() else path
