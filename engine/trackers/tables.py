"""Tracked runs as two tables: one row per run, and one row per point of a training curve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.nested import as_text
from isoplan.engine.trackers.run import Scalar, TrackedRun

RUN, ID, STATUS, CREATED, STEP = "run", "run_id", "status", "created", "step"
ALWAYS = (ID, RUN, STATUS, CREATED)
"""Columns that every table of runs has."""
MAX_COLUMNS = 20_000
"""Largest number of columns of a table of runs. More columns would need much time and memory on a page."""


@dataclass(frozen=True, eq=False)
class RunTables:
    """Two tables: the rows of runs, and the points of their training curves.

    ``points`` is empty if nothing was logged during training.

    Columns of ``rows`` are ``run_id``, ``run``, ``status``, ``created``, ``config.*``, ``summary.*`` and ``tags.*``.
    Columns of ``points`` are ``run``, ``step`` and the metrics.
    """

    rows: pa.Table
    points: pa.Table


def as_tables(runs: Sequence[TrackedRun]) -> RunTables:
    """Return the tables of ``runs``.

    If several runs have the same name, the run id is appended to the name. If the summary of a run does not contain a
    metric, the last logged value of this metric is used. Raises PlannerError if the runs have more than
    ``MAX_COLUMNS`` columns.
    """
    names = unique_names(runs)
    rows: dict[str, Any] = {
        ID: pa.array([utf8(run.id) for run in runs], pa.string()),
        RUN: pa.array(names, pa.string()),
        STATUS: pa.array([run.state for run in runs], pa.string()),
        CREATED: pa.array([run.created for run in runs], pa.timestamp("us")),
    }
    parts: dict[str, list[Mapping[str, Scalar]]] = {
        "config": [run.config for run in runs],
        "summary": [last_values(run) | dict(run.summary) for run in runs],
        "tags": [run.tags for run in runs],
    }
    if (count := len(rows) + sum(len(keys(values)) for values in parts.values())) > MAX_COLUMNS:
        raise PlannerError(f"The runs have {count:,} columns and the limit is {MAX_COLUMNS:,}: import fewer runs.")
    for prefix, values in parts.items():
        rows |= {utf8(f"{prefix}.{key}"): column(values, key) for key in keys(values)}
    return RunTables(pa.table(rows), _points(runs, names))


def count_states(rows: pa.Table) -> str:
    """Return the number of runs in each state, as text such as ``37 finished, 3 failed``."""
    counts = Counter(rows[STATUS].to_pylist()).most_common()
    if [state for state, _ in counts] == ["unknown"]:
        return "no recorded states"
    return ", ".join(f"{many:,} {state}" for state, many in counts)


def unique_names(runs: Sequence[TrackedRun]) -> list[str]:
    """Return a unique name for each run. The run id is appended to a name that is empty or not unique."""
    often = Counter(run.name for run in runs)
    names = (run.name if often[run.name] == 1 and run.name else f"{run.name} {run.id}".strip() for run in runs)
    return [utf8(name) for name in names]


def last_values(run: TrackedRun) -> dict[str, Scalar]:
    """Return the last logged value of each metric, even if this value is not finite."""
    return {
        name: float(history.values[np.argmax(history.steps)])
        for name, history in run.histories.items()
        if len(history.values)
    }


def keys(values: Iterable[Mapping[str, Scalar]]) -> list[str]:
    """Return all keys of the mappings, in the order of their first use."""
    return list(dict.fromkeys(key for one in values for key in one))


def column(values: Sequence[Mapping[str, Scalar]], key: str) -> pa.Array:
    """Return the values of ``key`` as a column of numbers, truth values or text."""
    cells = [one.get(key) for one in values]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {float}:
        return pa.array(cells, pa.float64())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    return pa.array([None if cell is None else utf8(as_text(cell)) for cell in cells], pa.string())


def utf8(text: str) -> str:
    """Return a text in which each character that UTF-8 cannot encode is replaced by a question mark.

    Damaged file names can contain such characters.
    """
    return text.encode(errors="replace").decode()


def metric_column(name: str) -> str:
    """Return the column name of a metric in the table of points.

    A metric called ``run`` or ``step`` gets another name, because the table already has columns with these names.
    """
    return f"{name} (logged)" if name in (RUN, STEP) else utf8(name)


def _points(runs: Sequence[TrackedRun], names: Sequence[str]) -> pa.Table:
    """Return the table of points. It has one row for each run and each step at which a metric was logged."""
    metrics = keys(run.histories for run in runs)  # type: ignore[misc]
    parts: dict[str, list[Any]] = {name: [] for name in metrics}
    steps, counts = [], []
    for run in runs:
        logged = [history.steps for history in run.histories.values()]
        at = np.unique(np.concatenate(logged)) if logged else np.zeros(0)
        at = at[np.isfinite(at)]
        for name in metrics:
            values = np.full(len(at), np.nan)
            if (history := run.histories.get(name)) is not None:
                known = np.isfinite(history.steps)
                values[np.searchsorted(at, history.steps[known])] = history.values[known]
            parts[name].append(values)
        steps.append(at)
        counts.append(len(at))
    repeated = np.repeat(np.arange(len(runs)), counts)
    labels = pa.DictionaryArray.from_arrays(pa.array(repeated, pa.int32()), pa.array(list(names), pa.string()))
    joined = {metric_column(name): np.concatenate(found) if found else np.zeros(0) for name, found in parts.items()}
    return pa.table({RUN: labels, STEP: np.concatenate(steps) if steps else np.zeros(0), **joined})
