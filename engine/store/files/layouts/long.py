"""Long tables: each row contains one value, with the run and the name of the metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isoplan.engine.schema import Role
from isoplan.engine.store.columns.guess import RUN_IDS, STEPS
from isoplan.engine.store.columns.names import plain
from isoplan.engine.store.files.layouts.grid import Grid, Layout, is_number, is_text, refuse, roles_of

MAX_METRICS = 500
"""Maximum number of different metrics."""
_METRICS: tuple[str, ...] = (
    "tag",
    "tags",
    "metric",
    "metrics",
    "metric_name",
    "key",
    "variable",
    "quantity",
    "measure",
    "scalar",
)
_METRICS += ("metric_key", "name", "parameter")
_VALUES = ("value", "values", "val", "metric_value", "scalar_value", "number")
_TIMES = ("wall_time", "walltime", "timestamp", "time", "date", "datetime", "created", "logged_at", "relative_time")
_RUNS = (*RUN_IDS, "experiment", "model", "name", "dir_name", "log_name", "job", "cell")


def read_long(grid: Grid) -> tuple[Grid, str] | None:
    """Convert a long table to one column per metric, and one row per run and step.

    If a metric has only one value in a run, such as the number of parameters, all rows of the run contain this value.
    Columns of logging times are left out.
    """
    named = {plain(name): i for i, name in reversed(list(enumerate(grid.header)))}
    value = next((named[name] for name in _VALUES if name in named), None)
    metric = next((named[name] for name in _METRICS if name in named), None)
    if value is None or metric is None or {Role.N, Role.D} <= roles_of(grid.header).keys():
        return None
    names = list(dict.fromkeys(cell for cell in grid.column(metric) if cell))
    if len(names) < 2 or not all(map(is_text, names)) or not any(map(is_number, grid.column(value))):
        return None
    if len(names) > MAX_METRICS:
        raise refuse(grid, f"a long table with more than {MAX_METRICS:,} metrics", "Keep those that a law needs.")
    step = next((named[name] for name in (*STEPS, "epoch") if name in named), None)
    run = next((named[name] for name in _RUNS if name in named and named[name] != metric), None)
    if run is None and step is None:
        return None
    if run is None:
        raise refuse(
            grid, "a long table of one run", "Add a column of run names, with the rows of all runs, to fit a law."
        )
    times = {named[name] for name in _TIMES if name in named}
    others = [i for i in range(len(grid.header)) if i not in {run, step, metric, value, *times}]
    made = [[grid.header[i] for i in (run, *others, *([step] if step is not None else []))] + names]
    for rows in _by(grid.body, run).values():
        made += _run(rows, (run, *others), step, metric, value, names)
    which = f"{grid.header[run]!r}" + (f" and {grid.header[step]!r}" if step is not None else "")
    return grid.with_rows(made), f"each value of {grid.header[metric]!r} is a column, with one row for each {which}"


def _by(rows: Sequence[list[str]], column: int | None) -> Mapping[str, list[list[str]]]:
    """Group rows by the value of ``column``, in order of appearance; return one group if ``column`` is None."""
    groups: dict[str, list[list[str]]] = {}
    for row in rows:
        groups.setdefault(row[column] if column is not None else "", []).append(row)
    return groups


def _run(
    rows: Sequence[list[str]], same: Sequence[int], step: int | None, metric: int, value: int, names: Sequence[str]
) -> list[list[str]]:
    """Return the rows of one run, one for each step."""
    every: dict[str, set[str]] = {}
    for row in rows:
        every.setdefault(row[metric], set()).add(row[value])
    fixed = {name: next(iter(values)) for name, values in every.items() if len(values) == 1}
    points = {at: {row[metric]: row[value] for row in logged} for at, logged in _by(rows, step).items()}
    varying = {at: logged for at, logged in points.items() if logged.keys() - fixed.keys()}
    if not varying:  # each metric was logged once
        last = list(points)[-1]
        varying = {last: points[last]}
    lead = [next((row[i] for row in rows if row[i]), "") for i in same]
    middle = [] if step is None else [""]
    made = []
    for at, logged in varying.items():
        steps = [at] if middle else []
        made.append([*lead, *steps, *(logged.get(name, fixed.get(name, "")) for name in names)])
    return made


LONG = Layout("a long table", read_long)
