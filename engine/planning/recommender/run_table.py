"""Run table of a recipe: all its rows, the sweeps among them, and the columns that are not used.

Laws are fitted without runs marked as untrained: runs that are no better than counts of items. The column ``untrained``
contains the mark. For its own runs, Isoplan computes the mark from the unigram cross-entropy of the event log and from
the recall of the most popular items (trainers/behavior/scores/baselines.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.mixtures import Kind, Question, questions
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.columns import SIZES, Columns, Field
from isoplan.engine.planning.recommender.sorting import (
    Rivals,
    Sweep,
    Swept,
    count_runs,
    data_sets,
    describe,
    labels_of,
    one_sweep,
    sort_each,
    sort_runs,
    unused,
)
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Role, Roles, Runs

Reader = Callable[[Roles], Runs]
"""Function that reads a run table with a given column mapping. The ids of the runs identify the rows of the table."""
SWEPT: tuple[Field, ...] = ("s", "B", "K", "lr", "depth")
"""Settings other than N that a sweep can vary."""
ASKED: tuple[Kind, ...] = ("split", "flag")
"""Kinds of columns about which the page asks the user. Sweeps of different settings are separated without asking."""
MOST = 0.5
"""If more than this fraction of the runs at a budget are untrained, the other runs at this budget are not fitted
either, because they are selected by their results, which biases a fit.
"""


@dataclass(frozen=True, eq=False)
class Table:
    """All rows of a table as ``runs`` (missing values are NaN), and the sweeps among these runs.

    ``rows`` are masks (n,) of the runs of each sweep, by setting. ``remarks`` describe the runs excluded from each
    sweep. ``sentence`` counts the runs of all sweeps. ``waiting`` gives, by role, the reason why a column with a
    matching name is not read.

    ``counts`` is the number of runs of each sweep; a run of two sweeps is counted once. ``unused`` are clauses on the
    runs that belong to none of the used sweeps. ``rivals`` is set if several datasets have a sweep of the same setting.
    ``questions`` are about columns of splits and flags. The runs of all values of such a column are used.
    """

    runs: Runs
    columns: Columns
    rows: Mapping[Swept, Bools]
    remarks: Mapping[Swept, tuple[str, ...]]
    sentence: str
    waiting: Mapping[str, str] = field(default_factory=dict)
    rivals: Rivals | None = None
    questions: tuple[Question, ...] = ()
    counts: Mapping[Swept, int] = field(default_factory=dict)
    unused: tuple[str, ...] = ()


def read_sweeps(
    read: Reader,
    columns: Columns,
    only: Setting | None = None,
    *,
    waiting: Mapping[str, str] | None = None,
    data_set: str | None = None,
) -> Table:
    """Return the rows of a table and the sweeps among them, before any fit.

    If ``only`` is a setting, all rows form its sweep. ``waiting`` gives, by role, the reason why a column with a
    matching name is not used. A sweep never mixes datasets. If several datasets have a sweep of one setting, the sweep
    of ``data_set`` is used, by default that of the largest dataset.

    Raises PlannerError if the table lacks the column of ``only``, or if a column must be converted before runs can be
    sorted correctly.
    """
    waiting = dict(waiting or {})
    runs = replace(_assemble(read, columns), withheld=waiting)
    values: dict[str, Floats] = {name: runs[columns.settings[name]] for name in SWEPT if name in columns.settings}
    values |= {name: runs[name] for name in ("N", "D", "budget") if name in runs}
    if columns.nominal and "s" in values:
        values["nominal"] = runs[columns.nominal[0]]
    if only is not None and only not in values and only not in waiting:
        raise PlannerError(f"{only}: the table has no column with this name. Name the column that contains it.")
    _refuse_waiting(runs, waiting, only)
    sets = data_sets(runs)
    context = _context(runs, columns, sets[1:])

    def sort(rows: Ints) -> Mapping[Swept, Sweep]:
        part = {name: x[rows] for name, x in values.items()}
        if only is None:
            return sort_runs(part, [labels[rows] for labels in context])
        swept: Swept = only  # type: ignore[assignment]
        return {swept: one_sweep(swept, part[only], part.get("budget", np.full(len(rows), np.nan)))}

    sweeps, rivals, elsewhere = sort_each(runs, sets[0] if sets else None, sort, data_set)
    return Table(
        runs,
        columns,
        {name: found.rows for name, found in sweeps.items()},
        {name: found.remarks for name, found in sweeps.items()},
        describe(sweeps, len(runs), elsewhere),
        waiting,
        rivals,
        tuple(q for q in questions(runs) if q.kind in ASKED and q.column != columns.settings.get("untrained")),
        count_runs(sweeps, len(runs))[0],
        unused(sweeps, len(runs), elsewhere),
    )


def _context(runs: Runs, columns: Columns, others: Sequence[Question]) -> list[NDArray[np.generic]]:
    """Return the labels that must be equal for all runs of a sweep: groups, training stages and columns of datasets.

    ``others`` are the questions about these columns of datasets. Each element of the list is an array (n,).
    """
    grouped = "group" in runs.labels and not columns.label and runs.roles.group not in runs.roles.pooled
    labels = [runs.labels["group"]] if grouped else []
    stages = [runs[columns.settings["stage"]]] if "stage" in columns.settings else []
    return [*labels, *stages, *(labels_of(runs, question) for question in others)]


def _refuse_waiting(runs: Runs, waiting: Mapping[str, str], only: Setting | None) -> None:
    """Raise PlannerError if a size column must be converted first, because runs would be sorted incorrectly."""
    sizes = [name for name in SIZES if name in waiting]
    unsized = "N" in sizes and only in (None, "N")
    pooled = "budget" not in runs and ("budget" in sizes or ("C" not in runs and bool({"D", "C"} & {*sizes})))
    if unsized or pooled:
        raise PlannerError("; ".join(f"{name}: {waiting[name]}" for name in sizes) + ".")


def _assemble(read: Reader, columns: Columns) -> Runs:
    """Read all rows with all columns that are needed.

    Missing values are NaN. Rows with missing values are included.
    """
    roles, settings = columns.roles, columns.settings
    names: list[str] = [settings[name] for name in settings if name not in SIZES]
    names += [*columns.nominal, *columns.references, *(m.column for m in columns.metrics.values())]
    names = [name for name in dict.fromkeys(names) if name not in _sizes(settings).values()]
    by_role = [name for name in names if name in set(Role)]
    bare = roles.model_copy(
        update={**dict.fromkeys((*_SIZED, "U", "loss", "epochs", "step")), "metrics": (), "derived": {}, "rows": "all"}
    )
    plain = tuple(name for name in names if name not in by_role)
    labels = {role: column for role in LABELS if (column := getattr(roles, role)) not in (*plain, *settings.values())}
    labels |= {"group": columns.label} if columns.label else {}
    nothing = dict.fromkeys(LABELS)
    nominal: dict[str, object] = {"budget": settings.get("budget")}
    if "budget" in roles.derived:
        nominal = {"budget": None, "derived": {"budget": roles.derived["budget"]}}
    base = read(bare.model_copy(update={"hyper": plain, **nominal, **nothing, **labels}))
    # The reader skips runs that are marked as untrained, unless it also reads the column with this mark.
    mark = tuple(settings[name] for name in ("untrained",) if name in settings)
    only = bare.model_copy(update={**nothing, "hyper": mark, "budget": None})
    if roles.rows != "all":
        base = base.take(np.isin(base.ids, read(_of_history(roles, only)).ids))
    values = {name: base[name] for name in (*plain, "budget", "weight") if name in base}
    for name in by_role:
        values[name] = _placed(read(only.model_copy(update={name: name})), base, name)
    sizes, derived = _sizes(settings), {role: how for role, how in roles.derived.items() if role in _SIZED}
    if sizes or derived:
        sized = read(only.model_copy(update={**sizes, "derived": derived}))
        values |= {name: _placed(sized, base, name) for name in _SIZED if name in sized}
        if "budget" not in values and "budget" in sized:
            values["budget"] = _placed(sized, base, "budget")
    if "C" in sizes and "budget" not in base:
        values["budget"] = _placed(read(only.model_copy(update={"C": sizes["C"]})), base, "budget")
    kept = base.roles.model_copy(update={**sizes, "metrics": tuple(columns.metrics.values())})
    return replace(base, values=values, roles=kept)


def _of_history(roles: Roles, only: Roles) -> Roles:
    """Return the column mapping that reads one row per run from a table with training curves.

    The mapping includes the columns of run, time and loss of ``roles``.
    """
    times = {name: column for name in ("step", "epochs") if (column := getattr(roles, name))}
    times = times or {name: column for name in ("D", "C") if (column := getattr(roles, name))}
    loss = roles.loss if roles.rows == "best" else None
    return only.model_copy(update={**times, "run": roles.run, "loss": loss, "rows": roles.rows})


_SIZED = ("N", "D", "C")
LABELS = ("group", "seed", "run", "status", "weight")
"""Roles of columns that describe a row. They are read in the same call as the settings of the row."""


def _sizes(settings: Mapping[Field, str]) -> dict[str, str]:
    return {name: column for name, column in settings.items() if name in _SIZED}


def _placed(part: Runs, base: Runs, name: str) -> Floats:
    """Return the column ``name`` of ``part``, aligned with the rows of ``base``: (n,).

    Rows of ``base`` that ``part`` lacks have NaN.
    """
    out = np.full(len(base), np.nan)
    there = np.isin(part.ids, base.ids)
    out[np.searchsorted(base.ids, part.ids[there])] = part[name][there]
    return out


def trained(runs: Runs, columns: Columns) -> tuple[Runs, tuple[str, ...]]:
    """Return the runs that are not marked as untrained, and sentences on the excluded runs.

    All runs are returned if the table has no such mark. Raises PlannerError if all runs are excluded.
    """
    column = columns.settings.get("untrained")
    if column is None or column not in runs:
        return runs, ()
    lost = np.nan_to_num(runs[column]) > 0
    budgets = runs["budget"] if "budget" in runs else np.full(len(runs), np.nan)
    kept, said = ~lost, []
    for C in np.unique(budgets[lost]):
        here = np.isnan(budgets) if np.isnan(C) else budgets == C
        n, all_of_it = int(np.sum(lost & here)), int(np.sum(here))
        if n == all_of_it:
            what = f"{'its' if n == 1 else 'all'} {n} {'run' if n == 1 else 'runs'}"
            said.append(f"{_budget(C)} left out: {what} did no better than item counts (column {column}).")
        elif n > MOST * all_of_it:
            kept &= ~here
            said.append(f"{_budget(C)} left out: {n} of {all_of_it} runs did no better than item counts ({column}).")
        else:
            said.append(f"{n} of {all_of_it} runs{_at(C)} left out: no better than item counts ({column}).")
    if not kept.any():
        raise PlannerError(f"{column}: no run of this sweep did better than item counts. Train longer or larger cells.")
    return runs.take(kept), tuple(said)


def _budget(C: float) -> str:
    return "The sweep is" if np.isnan(C) else f"Budget {power10(C)}"


def _at(C: float) -> str:
    return "" if np.isnan(C) else f" at {power10(C)} FLOPs"
