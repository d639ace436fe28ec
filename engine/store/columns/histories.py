"""Tables with several rows per run: detection of such tables, and selection of one row of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.schema import Role, Roles
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.guess import RUN_IDS, STEPS
from isoplan.engine.store.columns.names import plain, untracked, words
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, first

TIMES = ("step", "epochs", "D", "C")
NOW = ("step", "global_step", "update", "iteration", "iter", "epoch")
"""Names of columns that count the progress within a run. A plural name usually counts the steps of a whole run."""
RISING = 0.9
"""Rows are points of training curves only if, for at least this fraction of the rows, the time of the row occurs only
once in its run. If the names of the columns are not conclusive, the loss must also fall in at least this fraction of
the runs.
"""
SHARED = 1.5
"""All runs are assumed to have the same times if (number of different times in the table) / (mean number of rows per
run) is at most this number.
"""
_IDS = frozenset({"id", "uid", "uuid", "job", "trial", "config", "sweep"})
"""Words in the name of a numeric column that probably identifies runs."""
LOOKED_AT = 20_000
"""Number of rows, from the start of the table, that are searched for repeated names."""
MOST_NAMES = 20
"""Maximum number of columns that are tested as run names."""
MANY = 1.8
"""The exact counts are computed only if the estimated number of rows per run name is at least this number."""
_OF_RUN = frozenset({"seed", "batch", "bsz", "width", "depth", "layers", "heads", "hidden", "vocab", "dim"})
"""Words in the names of settings. A setting is constant within a run."""


@dataclass(frozen=True)
class _Groups:
    """Counts over rows that are grouped by run name. They show whether the rows are points of training curves.

    All counts are 0 if the names do not repeat, or if one name has several model sizes.
    """

    runs: int = 0
    rows: int = 0
    times: int = 0
    falling: int = 0
    fixed: bool = False
    every_time: int = 0
    every_size: int = 0

    @property
    def repeat(self) -> bool:
        """Whether names repeat, and nearly all rows of the same name have different times."""
        return self.runs > 0 and self.times >= RISING * self.rows

    @property
    def curves(self) -> bool:
        """Whether the rows are points of training curves, and not the runs of a grid.

        They are points of curves if two conditions are met: the loss falls and the settings are constant within the
        rows of each name, and there are more names than model sizes. (In a grid, each model name has its own size.)
        This test is used if the names of the run column and the time column are not conclusive.
        """
        return self.repeat and self.falling >= RISING * self.runs and self.fixed and self.runs > max(self.every_size, 1)

    @property
    def own_times(self) -> bool:
        """Whether different runs have different times. In a grid over N and D, all runs have the same times (D)."""
        return self.every_time > SHARED * self.rows / max(self.runs, 1)


def with_history(cursor: Cursor, table: str, columns: Sequence[Column], roles: Roles) -> Roles:
    """Return the mapping ``roles`` with ``rows`` set to "last" if the rows are points of training curves.

    Rows are points of curves if run names repeat, N is constant within a run, and a step or an epoch differs within a
    run. If there is no step or epoch, D or C may differ instead. If there are no run names, the runs may be identified
    by another text column or by the pair of N and D. In both cases (neither step nor epoch, or no run names), rows
    are points of curves only if the loss also falls within runs and the rows do not look like a grid. If the rows are
    not points of curves, ``roles`` is returned unchanged.
    """
    named = next((c.name for c in columns if plain(untracked(c.name)) in RUN_IDS), roles.run)
    strict = named is None or plain(untracked(named)) not in RUN_IDS
    for time in _times(columns, roles, strict):
        if time == named or named is None:
            continue
        word, groups = plain(untracked(time)), _grouped(cursor, table, columns, roles, (named,), time)
        if groups.repeat if word in NOW else groups.curves and (word in STEPS or groups.own_times):
            return _last(roles, named, time)
    for time in _times(columns, roles, strict=True):
        for name in _other_names(cursor, table, columns, roles, (named, time)):
            if _grouped(cursor, table, columns, roles, (name,), time).curves:
                return _last(roles, name, time)
        if roles.N and roles.D and _grouped(cursor, table, columns, roles, (roles.N, roles.D), time).curves:
            return _last(roles, None, time)
    return roles


def _last(roles: Roles, run: str | None, time: str) -> Roles:
    """Return the mapping that selects the last row of each run.

    ``run`` is the column of run names; if it is None, N and D identify a run. ``time`` is the column that orders the
    rows of a run.
    """
    free: dict[str, object] = {"group": None} if run is not None and roles.group == run else {}
    changes = free | {"rows": "last", "run": run}
    if time in {roles.column(role) for role in (Role.STEP, Role.EPOCHS, Role.D, Role.C)}:
        return roles.model_copy(update=changes)
    hyper = tuple(h for h in roles.hyper if h != time)
    role = "epochs" if plain(time) == "epoch" else "step"
    return roles.model_copy(update=changes | {role: time, "hyper": hyper})


def _times(columns: Sequence[Column], roles: Roles, strict: bool) -> list[str]:
    """Return the names of columns that may measure the progress of a run, the finest measure first.

    With ``strict``, only columns with a name such as "step" or "epoch" are returned. Otherwise, the columns with the
    roles step, epochs, D and C are also returned.
    """
    used = {roles.column(role) for role in (Role.N, Role.LOSS)}
    numbers = {plain(untracked(c.name)): c.name for c in columns if c.kind == "number" and c.name not in used}
    named = [numbers[name] for name in (NOW if strict else (*STEPS, "epoch")) if name in numbers]
    roles_of_time = () if strict else (Role.STEP, Role.EPOCHS, Role.D, Role.C)
    return list(dict.fromkeys([*named, *(c for r in roles_of_time if (c := roles.column(r)) is not None)]))


def _other_names(
    cursor: Cursor, table: str, columns: Sequence[Column], roles: Roles, tried: Sequence[str | None]
) -> list[str]:
    """Return further columns that may identify runs: text, and whole numbers whose name contains a word such as "id".

    Their values must repeat: (different values) / (rows) must be below 0.7. The number of different values is an
    estimate.
    """
    used = {*tried, roles.N, roles.D, roles.loss, roles.status, roles.seed}
    names = [c for c in columns if c.kind == "text" or (c.kind == "number" and c.whole and words(c.name) & _IDS)]
    rows = (first(cursor, f"SELECT count(*) FROM {table}") or (0,))[0]
    return [c.name for c in names if c.name not in used and 1 < c.distinct < 0.7 * rows][:MOST_NAMES]


def _grouped(
    cursor: Cursor, table: str, columns: Sequence[Column], roles: Roles, names: Sequence[str], time: str
) -> _Groups:
    """Count the rows of a data table, grouped by the columns ``names`` (at least one).

    The slow counts are computed only if the names repeat and each name has one model size.
    """
    at = {c.name: i for i, c in enumerate(columns)}
    keys = [sql.label(columns[at[name]], at[name]) for name in names]
    t, size = f"c{at[time]}", f"c{at[roles.N]}" if roles.N in at else "1"
    rows = f"FROM {table} WHERE {' AND '.join(f'{x} IS NOT NULL' for x in (*keys, t))}"
    total, different = first(cursor, f"SELECT count(*), approx_count_distinct([{', '.join(keys)}]) {rows}") or (0, 0)
    if total < MANY * different:
        return _Groups()
    known = roles.loss in at and columns[at[str(roles.loss)]].kind == "number"
    loss = f"c{at[str(roles.loss)]}" if known else "NULL"
    kept = [f"c{i}" for i, c in enumerate(columns) if c.kind == "number" and words(c.name) & _OF_RUN]
    fixed = " AND ".join(["true", *(f"coalesce(min({c}) = max({c}), true)" for c in kept)])
    query = f"""SELECT count(*), sum(n), bool_and(one), sum(falls::INTEGER), bool_and(fixed) FROM (
        SELECT count(*) AS n, coalesce(min({size}) = max({size}), true) AS one, {fixed} AS fixed,
            coalesce(arg_max({loss}, {t}) < arg_min({loss}, {t}), true) AS falls
        {rows} GROUP BY {", ".join(keys)})"""
    runs, count, one_size, falling, settings = first(cursor, query) or (0, 0, False, 0, False)
    if not one_size or count < 2 * runs:
        return _Groups()
    pairs = f"SELECT count(*) FROM (SELECT DISTINCT {', '.join((*keys, t))} {rows})"
    times, every_time, every_size = first(
        cursor, f"SELECT ({pairs}), count(DISTINCT {t}), count(DISTINCT {size}) {rows}"
    ) or (0, 0, 0)
    return _Groups(runs, count, times, int(falling), bool(settings), every_time, every_size)


def one_row_each(
    cells: Mapping[str, Floats], labels: Mapping[str, NDArray[np.str_]], roles: Roles, n: int
) -> tuple[Ints, list[str]]:
    """Select one row per run, and return the positions of the selected rows in ascending order, and notes.

    ``roles.rows`` determines the row: "last" is the row with the largest step, epoch, D or C, and "best" is the row
    with the smallest loss. A row with neither a loss nor a metric is not selected if another row of its run has a loss
    or a metric. Without a column of run names, rows with equal N and D are one run. If no run has several rows, or if
    ``roles.rows`` is "all", all ``n`` rows are selected.
    """
    every = np.arange(n, dtype=np.int64)
    time = next((cells[t] for t in TIMES if t in cells and roles.column(Role(t)) is not None), None)
    if roles.rows == "all":
        return every, _perhaps_curves(cells, labels, roles)
    if ("run" not in labels and not {"N", "D"} <= cells.keys()) or time is None or n == 0:
        return every, []
    if "run" not in labels and _all_differ(cells["N"], cells["D"]):
        return every, []
    import pandas as pd  # the import takes 0.4 s, and few tables have several rows per run

    same = labels["run"] if "run" in labels else pd.MultiIndex.from_arrays([cells["N"], cells["D"]])
    of, names = pd.factorize(same)
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
    by = f"column {roles.run!r}" if "run" in labels else "equal N and D"
    which = "with the smallest loss" if roles.rows == "best" and "loss" in cells else "that was logged last"
    return chosen, [
        f"{n:,} rows are points of {len(names):,} runs ({by}). For each run, the row {which} is fitted; the other "
        "rows are the training curve of the run. Choose other rows on the Data page (--rows in the terminal)."
    ]


def _all_differ(N: Floats, D: Floats) -> bool:
    """Return whether all N and D are finite and no two rows have the same N and D."""
    pairs = N + 1j * D
    return bool(np.isfinite(pairs).all()) and len(np.unique(pairs)) == len(pairs)


def _perhaps_curves(cells: Mapping[str, Floats], labels: Mapping[str, NDArray[np.str_]], roles: Roles) -> list[str]:
    """Return a note if every row counts as a run, but the rows are probably points of training curves.

    Rows are probably points of curves if run names or N repeat while a step changes.
    """
    names = labels.get("run")
    if "N" not in cells or (names is not None and _unique(names)):
        return []
    times = {str(roles.column(Role(t))): cells[t] for t in TIMES if t in cells and roles.column(Role(t))}
    times |= {name: cells[name] for name in roles.hyper if name in cells and plain(untracked(name)) in NOW}
    if names is None or plain(untracked(str(roles.run))) not in RUN_IDS:
        times = {name: x for name, x in times.items() if plain(untracked(name)) in NOW}
    of, least = (names, RISING) if names is not None else (cells["N"], 0.0)
    found = next((name for name, x in times.items() if _repeat(of, cells["N"], x, least)), None)
    how, todo = (
        f"several rows have the same name (column {roles.run!r})",
        "use only the last row of each run, on the Data page (--rows last",
    )
    if names is None:
        how, todo = (
            "several rows without run names have the same N",
            "map the column of run names to the role run (--map run=COLUMN",
        )
    if found is None:
        return []
    return [
        f"Each row counts as a run, although {how} while {found!r} changes. If the rows are points of training curves, "
        f"{todo} in the terminal)."
    ]


def _unique(names: NDArray[np.str_]) -> bool:
    """Return whether the first ``LOOKED_AT`` names are all different. Each run then probably has one row."""
    return len(np.unique(names[:LOOKED_AT])) == len(names[:LOOKED_AT])


def _repeat(of: NDArray[Any], N: Floats, time: Floats, least: float) -> bool:
    """Return whether names repeat in rows with different times, as in training curves.

    ``of`` (n,) are the names. Each name must have one N, and most names must have several times. For at least the
    fraction ``least`` of all rows, the time of the row must occur only once among the rows of its name.
    """
    import pandas as pd

    rows = pd.DataFrame({"of": of, "N": N, "t": time}).dropna()
    if not len(rows):
        return False
    found = rows.groupby("of").agg(rows=("t", "size"), times=("t", "nunique"), sizes=("N", "nunique"))
    several = found["rows"][found["times"] > 1].sum() >= RISING * len(rows)
    different = found["times"].sum() >= least * len(rows)
    return bool(2 * len(found) <= len(rows) and found["sizes"].max() == 1 and several and different)
