"""Tables with several rows of one run: found by their names and steps, and reduced to one row of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.schema import Floats, Ints, Role, Roles
from engine.store import sql
from engine.store.columns import Column
from engine.store.database import Cursor, first
from engine.store.guess import RUN_IDS, STEPS
from engine.store.names import plain, untracked

TIMES = ("step", "epochs", "D", "C")
_NOW = ("step", "global_step", "update", "iteration", "iter", "epoch")
"""Names of how far a run has come; the plural mostly counts the steps of the whole run."""
RISING = 0.9
"""The least share of rows whose time differs from that of the other rows of their run."""


def with_history(cursor: Cursor, table: str, columns: Sequence[Column], roles: Roles) -> Roles:
    """``roles`` with the last row of each run chosen, where the rows of a data table are points of training curves.

    They are where a column of run names repeats, N does not change within a run and a step, an epoch, D or C does.
    """
    positions = {c.name: i for i, c in enumerate(columns)}
    run = next((c.name for c in columns if plain(untracked(c.name)) in RUN_IDS), roles.run)
    for time in _times(columns, roles, strict=run is not None and plain(untracked(run)) not in RUN_IDS):
        if run is None or time == run or not _repeats(cursor, table, columns, roles, positions, run, time):
            continue
        if time in {roles.column(role) for role in (Role.STEP, Role.EPOCHS, Role.D, Role.C)}:
            return roles.model_copy(update={"rows": "last", "run": run})
        hyper = tuple(h for h in roles.hyper if h != time)
        role = "epochs" if plain(time) == "epoch" else "step"
        return roles.model_copy(update={"rows": "last", "run": run, role: time, "hyper": hyper})
    return roles


def _times(columns: Sequence[Column], roles: Roles, strict: bool) -> list[str]:
    """The columns that may say how far a run has come, the finest first."""
    used = {roles.column(role) for role in (Role.N, Role.LOSS)}
    numbers = {plain(untracked(c.name)): c.name for c in columns if c.kind == "number" and c.name not in used}
    named = [numbers[name] for name in (_NOW if strict else (*STEPS, "epoch")) if name in numbers]
    roles_of_time = () if strict else (Role.STEP, Role.EPOCHS, Role.D, Role.C)
    return list(dict.fromkeys([*named, *(c for r in roles_of_time if (c := roles.column(r)) is not None)]))


def _repeats(
    cursor: Cursor,
    table: str,
    columns: Sequence[Column],
    roles: Roles,
    positions: Mapping[str, int],
    run: str,
    time: str,
) -> bool:
    size = f"c{positions[roles.N]}" if roles.N is not None and roles.N in positions else "1"
    name = sql.label(columns[positions[run]], positions[run])
    query = f"""SELECT count(*), sum(n), sum(k), max(sizes) FROM (
        SELECT count(*) AS n, count(DISTINCT c{positions[time]}) AS k, count(DISTINCT {size}) AS sizes
        FROM {table} WHERE {name} IS NOT NULL AND c{positions[time]} IS NOT NULL GROUP BY {name})"""
    runs, rows, different, sizes = first(cursor, query) or (0, 0, 0, 0)
    return bool(runs and rows >= 2 * runs and different >= RISING * rows and sizes <= 1)


def one_row_each(
    cells: Mapping[str, Floats], labels: Mapping[str, NDArray[np.str_]], roles: Roles, n: int
) -> tuple[Ints, list[str]]:
    """Positions of the row that counts of each run, ascending, and a note; all ``n`` rows where nothing repeats.

    The last row has the largest step, epoch, D or C; the best one the smallest loss. Rows without a loss count only
    for runs that have no other.
    """
    every = np.arange(n, dtype=np.int64)
    time = next((cells[t] for t in TIMES if t in cells and roles.column(Role(t)) is not None), None)
    if roles.rows == "all" or "run" not in labels or time is None or n == 0:
        return every, []
    of, names = pd.factorize(labels["run"])
    if len(names) == n:
        return every, []
    measured = [cells[y] for y in ("loss", *(m.column for m in roles.metrics)) if y in cells]
    known = np.any([~np.isnan(x) for x in measured], axis=0) if measured else np.ones(n, bool)
    rank = np.where(np.isnan(time), -np.inf, time)
    if roles.rows == "best" and "loss" in cells:
        rank = -np.where(np.isnan(cells["loss"]), np.inf, cells["loss"])
    order = np.lexsort((every, rank, known, of))
    last = np.r_[np.diff(of[order]) != 0, True]
    chosen = np.sort(order[last]).astype(np.int64)
    which = "with the smallest loss" if roles.rows == "best" and "loss" in cells else "that was logged last"
    return chosen, [
        f"{n:,} rows are points of {len(names):,} runs (column {roles.run!r}): the row of each run {which} is its run, "
        "the others are its curve. Choose other rows on the Data page (--rows in the terminal)."
    ]
