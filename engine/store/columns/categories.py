"""Columns and rows that divide a table: categories, iso-FLOP budgets derived from compute, and summary rows.

A summary row is a row such as "total" at the end of a table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.mixtures import FINE, OUT, YES
from isoplan.engine.schema import Category, CategoryKind, Role, Roles
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.mapping import uses
from isoplan.engine.store.columns.names import plain
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor

MOST_VALUES = 12
"""Maximum number of different values of a category. Most comparisons need 2 to 8 values. The maximum is larger because
some tables have many groups of few runs.
"""
MOST_COLUMNS = 24
"""Maximum number of category columns that are read. Columns of datasets, splits and flags are read first."""
LABEL_LENGTH = 80

DATASETS = {"dataset", "datasets", "data_set", "dataset_name", "dataset_id", "data_name", "train_dataset"}
DATASETS |= {"training_dataset", "train_data", "training_data", "data_source", "datasource", "source", "corpus"}
DATASETS |= {"corpora", "corpus_name", "train_corpus", "training_corpus", "data_mix", "data_mixture", "mixture"}
DATASETS |= {"split", "data_split", "dataset_split", "subset", "experiment", "experiment_name", "exp", "exp_name"}
DATASETS |= {"condition", "conditions", "table"}
OUT_NAMES = {"exclude", "discard", "drop", "ignore", "flagged", "nan", "oom"}
OUT_NAMES |= {"test", "is_test", "is_val", "is_validation", "is_eval", "holdout", "is_holdout", "held_out"}
UNTRAINED = ("untrained", "not_trained")
"""Names of a column that flags runs that learned nothing. Such runs are not fitted. Isoplan writes this column for its
own sweeps.
"""
KEEP = {"kept", "included", "best", "finished", "converged", "completed", "success", "succeeded", "trained"}
KEEP_NAMES = {"keep", "include", "valid", "use", "used", "usable", "train", "is_train", "is_training", "in_fit"}
REMARKS = {"flag", "flags", "quality", "note", "notes", "remark", "remarks", "comment", "comments", "tag", "tags"}
"""Names of columns that contain remarks. A remark such as "outlier" flags a run."""
TRAINED_ON = {"train", "training", "fit", "in_sample"}
TESTED_ON = {
    "test",
    "testing",
    "val",
    "valid",
    "validation",
    "dev",
    "eval",
    "evaluation",
    "holdout",
    "held_out",
    "heldout",
}
_NO = {"0", "false", "no", "n", "f", "none", ""}
_NOT_COMPARED = (
    *(Role.N, Role.D, Role.U, Role.C, Role.LOSS, Role.EPOCHS, Role.BUDGET, Role.STEP, Role.WEIGHT),
    *(Role.SEED, Role.STATUS, Role.METRIC),
)
_SQL_TYPES = {"text": "VARCHAR", "number": "DOUBLE", "bool": "BOOLEAN"}


def read(cursor: Cursor, table_id: str, known: Sequence[Column], roles: Roles, ids: Ints) -> dict[str, Category]:
    """Return column name -> category for each column of a table with 2 to ``MOST_VALUES`` different values.

    The codes of a category contain one number for each row in ``ids``: the index of the row's value, or -1 if the value
    is missing. Datasets, splits and flags come first. Columns of seeds, states and metrics are left out, and so are the
    numeric columns that a law uses.
    """
    used = {name for role, name in uses(roles) if role in _NOT_COMPARED}
    categories = [
        (i, column.name, cells, category_kind(column.name, [text for _, text in cells]))
        for i, column in enumerate(known)
        if column.name not in used and column.guess is not Role.SEED and _few(column)
        for cells in (_values(cursor, table_id, column, i),)
        if (2 <= len(cells) + (column.missing > 0) or _untrained(column)) and len(cells) <= MOST_VALUES
    ]
    categories = sorted(categories, key=lambda one: one[3] == "other")[:MOST_COLUMNS]
    if not categories or not len(ids):
        return {}
    fields = {f"k{i}": f"coalesce(list_position(?::{_SQL_TYPES[known[i].kind]}[], c{i}), 0)" for i, *_ in categories}
    parameters = [[raw for raw, _ in cells] for _, _, cells, _ in categories]
    rows = sql.read_columns(cursor, table_id, fields, ids, parameters)
    return {
        name: Category(
            tuple(text for _, text in cells), np.asarray(rows[f"k{i}"], np.int8) - np.int8(1), kind, known[i].kind
        )
        for i, name, cells, kind in categories
    }


def _few(column: Column) -> bool:
    """Return whether a column probably has few different values; ``column.distinct`` is only an estimate."""
    fewest = 1 if _untrained(column) else 2
    return column.kind in _SQL_TYPES and fewest <= column.distinct + (column.missing > 0) <= MOST_VALUES + 2


def _untrained(column: Column) -> bool:
    return plain(column.name) in UNTRAINED


def category_kind(name: str, values: Sequence[str]) -> CategoryKind:
    """Return the kind of category that the name and the values of a column suggest.

    A prefix such as ``config.`` is ignored.

    >>> category_kind("config.dataset", ["c4", "pile"]), category_kind("is_outlier", ["0", "1"])
    ('dataset', 'out')
    """
    words = {plain(value) for value in values}
    if words & TRAINED_ON and words & TESTED_ON and words <= TRAINED_ON | TESTED_ON:
        return "split"
    own = plain(re.split(r"[./:]", name.strip())[-1])
    tokens = set(own.split("_"))
    if words <= YES | _NO and words & YES and len(words) <= 2:
        if tokens & OUT or own in OUT_NAMES or (tokens & KEEP and "not" in tokens):
            return "out"
        if tokens & KEEP or own in KEEP_NAMES:
            return "keep"
    if own in REMARKS and words & OUT and words <= OUT | _NO | FINE:
        return "out"
    return "dataset" if own in DATASETS or plain(name) in DATASETS else "other"


def _values(cursor: Cursor, table_id: str, column: Column, i: int) -> list[tuple[object, str]]:
    """Return the different values of a column in ascending order, as pairs (value in its own type, value as text).

    At most ``MOST_VALUES`` + 1 pairs are returned.
    """
    number = f"AND NOT isnan(c{i})" if column.kind == "number" else ""
    blank = f"AND trim(c{i}) <> ''" if column.kind == "text" else ""
    few = f"SELECT DISTINCT c{i} FROM {sql.data(table_id)} WHERE c{i} IS NOT NULL {number} {blank}"
    query = f"SELECT c{i}, left({sql.label(column, i)}, {LABEL_LENGTH}) FROM ({few})"
    return [(row[0], row[1]) for row in cursor.execute(f"{query} ORDER BY c{i} LIMIT {MOST_VALUES + 1}").fetchall()]


MIN_RUNS = 3
_MAX_SPREAD = 0.15  # maximum width of a group, in decades of C
_MIN_GAP = 0.04  # minimum gap between two groups, in decades of C
_CLEAR = 3.0  # minimum of (smallest gap between groups) / (width of the widest group)
_MAX_GROUPS = 200


def find_budgets(C: Floats) -> Floats:
    """Group runs of similar compute; return the nominal budget of each run (n,) in FLOPs. Runs without a group get NaN.

    ``C`` is (n,) in FLOPs. The sorted values of log10 C are cut at the widest gaps. The number of cuts is chosen so
    that (smallest gap between groups) / (width of the widest group) is as large as possible. The groups are used if
    this ratio exceeds ``_CLEAR``, at least two groups have ``MIN_RUNS`` or more runs, and these groups contain at least
    half of all runs. If one of these conditions is not met, all budgets are NaN. The nominal budget of a group is the
    median of its C.
    """
    nominal = np.full(len(C), np.nan)
    usable = np.flatnonzero(np.isfinite(C) & (C > 0))
    order = usable[np.argsort(C[usable], kind="stable")]
    logs = np.log10(C[order])
    best: list[tuple[int, int]] = []
    clarity = _CLEAR
    gaps = np.diff(logs)
    wide = np.flatnonzero(gaps >= _MIN_GAP)
    widest = wide[np.argsort(-gaps[wide], kind="stable")][:_MAX_GROUPS]
    for cuts in range(1, len(widest) + 1):
        gap = gaps[widest[cuts - 1]]
        edges = [0, *(np.sort(widest[:cuts]) + 1).tolist(), len(logs)]
        groups = [(a, b) for a, b in pairwise(edges) if b - a >= MIN_RUNS]
        if len(groups) < 2 or sum(b - a for a, b in groups) * 2 < len(logs):
            continue
        spread = max(logs[b - 1] - logs[a] for a, b in groups)
        if spread <= _MAX_SPREAD and gap / (spread + 1e-6) > clarity:
            best, clarity = groups, gap / (spread + 1e-6)
    for a, b in best:
        nominal[order[a:b]] = np.median(C[order[a:b]])
    return nominal


SUMMARIES = frozenset(
    {"total", "totals", "grand total", "sum", "mean", "average", "avg", "median", "min", "max", "std"}
)
SUMMARIES |= {
    "minimum",
    "maximum",
    "stdev",
    "standard deviation",
    "summe",
    "gesamt",
    "gesamtsumme",
    "mittelwert",
    "mittel",
}
SUMMARIES |= {"durchschnitt", "somme", "moyenne", "suma", "totale", "somma", "media", "promedio"}
_AROUND = " :*=()Σ∑"


def is_summary(cell: str) -> bool:
    """Return whether a cell names a summary of rows, such as "Total" or "Mean:"."""
    return cell.lower().strip(_AROUND) in SUMMARIES


def totals(labels: Mapping[str, NDArray[np.str_]], n: int) -> tuple[NDArray[np.bool_], str]:
    """Return a mask (n,) of the summary rows, and a phrase with their names for a note (empty without such rows).

    Summary rows are the last rows of a table. Their names, such as "total" and "mean", are in ``SUMMARIES`` and all
    different. If any other row has a name in ``SUMMARIES``, there are no summary rows. If the runs have no names, the
    names of their groups are used.
    """
    names = labels.get("run", labels.get("group"))
    mask = np.zeros(n, dtype=bool)
    if names is None:
        return mask, ""
    sums = np.isin(np.char.strip(np.char.lower(names), _AROUND), list(SUMMARIES))
    count = n - int(np.flatnonzero(~sums)[-1]) - 1 if not sums.all() else n
    last = [str(name) for name in names[n - count :]]
    if not 0 < count < n - 1 or count < sums.sum() or len(set(last)) < count:
        return mask, ""
    mask[n - count :] = True
    return mask, f"called {' or '.join(repr(name) for name in last)} at the end of the table"
