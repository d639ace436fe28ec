"""Recognition of sweeps in a run table. A sweep is a group of runs that differ in one setting and are otherwise equal.

All runs of a sweep belong to one dataset. If several datasets have a sweep of the same setting, one sweep is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.mixtures import Question, ask, questions
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Runs

Swept = Literal["N", "s", "K", "B", "lr", "depth"]
SAID: Mapping[Swept, str] = {
    "N": "N and D", "s": "the embedder share", "K": "K", "B": "the batch size", "lr": "the learning rate",
    "depth": "the depth",
}  # fmt: skip
REST: tuple[tuple[Swept, tuple[str, ...]], ...] = (
    ("K", ("context", "budget", "N", "s", "B", "depth")),
    ("N", ("context", "budget", "s", "B", "K")),
    ("s", ("context", "budget", "N", "B", "K")),
    ("B", ("context", "budget", "N", "s", "K", "depth")),
    ("lr", ("context", "budget", "N", "D", "s", "B", "K", "depth")),
    ("depth", ("context", "budget", "N", "s", "B", "K")),
)
"""Settings, each with the columns that must be equal among the runs of its sweep. ``context`` means labels and training
stages. D and the learning rate may differ, because they follow from the budget and N. In a sweep of N, the depth may
differ for the same reason.
"""
ORDER: tuple[Swept, ...] = ("K", "s", "B", "N", "lr", "depth")
"""Order of precedence of sweeps. A run that could belong to several sweeps counts for the first of these sweeps."""
LEAST = 3
"""Smallest number of values of a setting for which a group of runs is clearly a sweep of this setting."""

UNEVEN = 1.5
"""A run is excluded from the sweep of K if it makes the log steps of K more uneven by more than this factor."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """Sweep of one setting: masks (n,) of its runs, and ``remarks`` on excluded budgets and runs.

    ``rows`` are the runs that are used. ``counted`` also includes the runs of excluded budgets.
    """

    rows: Bools
    counted: Bools
    remarks: tuple[str, ...] = ()


Sort = Callable[[Ints], Mapping[Swept, Sweep]]
"""Function that returns the sweeps among the rows at the given indices. The masks have one element per index."""


def sort_runs(values: Mapping[str, Floats], context: Sequence[NDArray[np.generic]] = ()) -> dict[Swept, Sweep]:
    """Return the sweeps among runs, by setting.

    ``values`` (n,) are the columns N, D, budget, s, B, K, lr and depth; missing values are NaN. ``context`` are further
    arrays (n,) that must be equal within a sweep. At each budget, the sweep of a setting is the largest group of runs
    that are equal in the other settings. If s and N vary together, the group is a sweep of s if s varies more than
    N and the planned share (``nominal``) varies too. Otherwise it is a sweep of N.
    """
    n = len(next(iter(values.values()), np.empty(0)))
    keys = {name: _key(x) for name, x in values.items()}
    keys["context"] = _joined([np.unique(x, return_inverse=True)[1] for x in context], n)
    groups: dict[Swept, list[Ints]] = {}
    for swept, rest in REST:
        if swept in values:
            groups.setdefault(swept, []).extend(
                _varying(values[swept], _joined([keys[r] for r in rest if r in keys], n))
            )
    _add_joint(values, keys, groups, n)
    budgets = values.get("budget", np.full(n, np.nan))
    used = {swept: _largest(values[swept], budgets, found) for swept, found in groups.items() if found}
    if "K" in used and "N" in used:
        rows, others = used["K"]
        used["K"] = rows & ~_allocation_only(values, budgets, used["N"][0], groups["K"]), others
    taken = np.any([rows for rows, _ in used.values()], axis=0) if used else np.zeros(n, bool)
    return dict(_with_left_out(values, budgets, used, taken))


def one_sweep(swept: Swept, x: Floats, budgets: Floats) -> Sweep:
    """Return all runs that have a value in ``x`` (n,) as one sweep.

    ``x`` is the column of the setting ``swept``. Budgets with only one value of ``x`` are excluded.
    """
    rows = np.isfinite(x)
    single = [C for C in np.unique(budgets[rows & np.isfinite(budgets)]) if _count(x[rows & (budgets == C)]) == 1]
    kept = rows & ~np.isin(budgets, single)
    if not kept.any():
        return Sweep(rows, rows)
    return Sweep(kept, rows, tuple(_one_value(float(C), swept) for C in single))


def _one_value(C: float, swept: Swept) -> str:
    return f"Budget {power10(C)} left out: {swept} has only one value."


def count_runs(sweeps: Mapping[Swept, Sweep], n: int) -> tuple[dict[Swept, int], Bools]:
    """Return the number of runs of each sweep, and a mask (n,) of the runs that belong to any sweep.

    A run that belongs to two sweeps is counted only for the first of these sweeps in ``ORDER``.
    """
    counts, seen = dict[Swept, int](), np.zeros(n, bool)
    for swept in (swept for swept in ORDER if swept in sweeps):
        counts[swept] = int(np.sum(sweeps[swept].counted & ~seen))
        seen |= sweeps[swept].counted
    return counts, seen


def describe(sweeps: Mapping[Swept, Sweep], n: int, elsewhere: Bools | None = None) -> str:
    """Return a summary of the sweeps of ``n`` runs, such as ``32 runs: 20 vary N and D, 12 vary K.``

    ``elsewhere`` (n,) marks runs of datasets that are not used.
    """
    counts, _ = count_runs(sweeps, n)
    parts = [f"{counts[swept]} vary {SAID[swept]}" for swept in SAID if counts.get(swept)]
    parts += unused(sweeps, n, elsewhere)
    return ": ".join(filter(None, (f"{n} {'run' if n == 1 else 'runs'}", ", ".join(parts)))) + "."


def unused(sweeps: Mapping[Swept, Sweep], n: int, elsewhere: Bools | None = None) -> tuple[str, ...]:
    """Return clauses on runs that belong to no sweep, and on runs of datasets that are not used (``elsewhere``)."""
    _, seen = count_runs(sweeps, n)
    others = 0 if elsewhere is None else int(np.sum(elsewhere & ~seen))
    rest = n - int(seen.sum()) - others
    clauses = [f"{others} {'is' if others == 1 else 'are'} of another dataset"] if others else []
    clauses += [f"{rest} {'belongs' if rest == 1 else 'belong'} to no sweep"] if rest else []
    return tuple(clauses)


def _key(x: Floats, digits: int = 6) -> Ints:
    """Return integers (n,) that are equal for rows in which ``x`` agrees to ``digits`` digits.

    All missing values have the same integer.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.where(x == 0, 0.0, np.floor(np.log10(np.abs(x))))
        rounded = np.round(x / 10.0**power, digits - 1) * 10.0**power
    return np.asarray(np.unique(rounded, return_inverse=True)[1], np.int64)


def _joined(keys: Sequence[Ints], n: int) -> Ints:
    """Return a group number (n,) for each row. Rows that are equal in all of ``keys`` have the same number."""
    group = np.zeros(n, np.int64)
    for key in keys:
        group = np.unique(group * (int(key.max(initial=0)) + 1) + key, return_inverse=True)[1]
    return group


def _varying(x: Floats, group: Ints) -> list[Ints]:
    """Split the rows by ``group`` and return each group in which ``x`` has at least two values, as an array of rows."""
    there = np.flatnonzero(np.isfinite(x))
    order = there[np.argsort(group[there], kind="stable")]
    parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else []
    return [part for part in parts if _count(x[part]) > 1]


def _count(x: Floats) -> int:
    return len(np.unique(_key(x)))


def _add_joint(values: Mapping[str, Floats], keys: Mapping[str, Ints], groups: dict[Swept, list[Ints]], n: int) -> None:
    """Add to ``groups`` the groups in which s and N vary together. Each is added as a sweep of s or as a sweep of N."""
    if "s" not in values or "N" not in values:
        return
    taken = np.zeros(n, bool)
    for swept in ("N", "s", "K", "B"):
        for part in groups.get(swept, []):
            taken[part] |= _count(values[swept][part]) >= LEAST
    rest = _joined([keys[r] for r in ("context", "budget", "B", "K") if r in keys], n)
    both = np.where(taken, np.nan, values["s"] * values["N"])
    for part in _varying(both, rest):
        if len(part) < LEAST or min(_count(values["s"][part]), _count(values["N"][part])) < 2:
            continue
        planned = values.get("nominal", values["s"])[part]
        share = _count(planned) > 1 and _span(values["s"][part]) > _span(values["N"][part])
        groups.setdefault("s" if share else "N", []).append(part)


def _span(x: Floats) -> float:
    above = x[x > 0]
    return float(np.log(above.max() / above.min())) if above.size else 0.0


def _largest(x: Floats, budgets: Floats, groups: Sequence[Ints]) -> tuple[Bools, dict[float, int]]:
    """Return a mask of the runs in the largest group at each budget.

    The second value is the number of runs in the other groups, by budget.
    """
    rows, others = np.zeros(len(x), bool), np.zeros(len(x), bool)
    best: dict[float, Ints] = {}  # the key is 0 if the budget is not known
    for part in sorted(groups, key=lambda part: (_count(x[part]), len(part))):
        others[part] = True
        best[float(np.nan_to_num(budgets[part[0]]))] = part
    for part in best.values():
        rows[part] = True
    left = others & ~rows
    at = np.nan_to_num(budgets)
    return rows, {C: int(k) for C in best if (k := np.sum(left & (at == C)))}


def _allocation_only(values: Mapping[str, Floats], budgets: Floats, sizes: Bools, groups: Sequence[Ints]) -> Bools:
    """Return a mask (n,) of runs in the sweep of N (``sizes``) that do not also count for the sweep of K.

    Such a run has the N of a sweep of K, but its K lies between the evenly spaced K of that sweep. In a grid, several N
    have a sweep of K at the same budget. There every run counts for both sweeps.
    """
    at, mask = np.nan_to_num(budgets), np.zeros(len(sizes), bool)
    swept = [part for part in groups if _count(values["K"][part]) >= LEAST]
    for part in swept:
        own = part[~sizes[part]]
        alone = sum(at[other[0]] == at[part[0]] for other in swept) == 1
        if alone and _count(values["K"][own]) >= LEAST:
            mask[part[sizes[part]]] = _unevenness(values["K"][part]) > UNEVEN * _unevenness(values["K"][own])
    return mask


def _unevenness(x: Floats) -> float:
    """Return the largest step divided by the smallest step between distinct positive values of ``x``, in log x."""
    steps = np.diff(np.log(np.unique(x[x > 0])))
    return float(steps.max() / steps.min()) if steps.size else 1.0


def _with_left_out(
    values: Mapping[str, Floats], budgets: Floats, used: Mapping[Swept, tuple[Bools, dict[float, int]]], taken: Bools
) -> Iterator[tuple[Swept, Sweep]]:
    """Yield each sweep with remarks on excluded runs and budgets.

    A run that belongs to no sweep is counted for the first setting in ``ORDER`` for which it has a value.
    """
    free = ~taken
    for swept in (swept for swept in ORDER if swept in used):
        rows, others = used[swept]
        counted, remarks = rows.copy(), []
        for C, k in sorted(others.items()):
            remarks.append(f"{k} {'run' if k == 1 else 'runs'}{_named(C)} left out: they differ in other settings.")
        swept_at = np.unique(budgets[rows])
        for C in np.unique(budgets[free & np.isfinite(budgets) & np.isfinite(values[swept])]):
            alone = free & (budgets == C) & np.isfinite(values[swept])
            if C not in swept_at and _count(values[swept][alone]) == 1:
                remarks.append(_one_value(float(C), swept))
                counted |= alone
                free = free & ~alone
        yield swept, Sweep(rows, counted, tuple(remarks))


def _named(C: float) -> str:
    return f" at {power10(C)} FLOPs" if C else ""


@dataclass(frozen=True)
class Rivals:
    """Several datasets with a sweep of one setting. ``question`` asks which dataset to use; ``used`` is in use."""

    question: Question
    used: str

    @property
    def sentence(self) -> str:
        """Sentence that states that the table mixes datasets, and names the dataset in use."""
        return f"{self.question.text} Only {self.used or 'empty'} is used."


def data_sets(runs: Runs) -> tuple[Question, ...]:
    """Return the columns that distinguish datasets, as questions. Columns that the user pooled are skipped.

    The user chooses a dataset in the first question.
    """
    group = runs.roles.group if runs.roles.each else None
    each = [ask(group, runs.categories[group], "dataset")] if group is not None and group in runs.categories else []
    return (*(q for q in each if len(q.counts) > 1), *(q for q in questions(runs) if q.kind == "dataset"))


def labels_of(runs: Runs, question: Question) -> NDArray[np.str_]:
    """Return the value of the question's column for each run, (n,); empty text for a missing value."""
    category = runs.categories[question.column]
    return np.array([*category.values, ""])[category.codes]


def sort_each(
    runs: Runs, question: Question | None, sort: Sort, wanted: str | None = None
) -> tuple[dict[Swept, Sweep], Rivals | None, Bools]:
    """Return the sweeps among ``runs``, each within one dataset.

    The second value is the choice between datasets, the third a mask of unused runs. For each setting, the sweep of the
    dataset ``wanted`` is used if this dataset has such a sweep. Otherwise the dataset with most runs in sweeps is used.
    The choice is None if no setting is varied in several datasets.
    """
    n = len(runs)
    if question is None:
        return dict(sort(np.arange(n))), None, np.zeros(n, bool)
    labels = labels_of(runs, question)
    found = {
        value: _spread(sort(rows), rows, n) for value in question.counts for rows in [np.flatnonzero(labels == value)]
    }
    order = sorted(found, key=lambda value: (value != wanted, -_size(found[value]), -question.counts[value]))
    sweeps, rivals, used = dict[Swept, Sweep](), None, set[str]()
    for swept in dict.fromkeys(swept for value in order for swept in found[value]):
        having = [value for value in order if swept in found[value]]
        sweep = found[having[0]][swept]
        used.add(having[0])
        if len(having) > 1:
            rivals = rivals or Rivals(question, having[0])
            said = f"Only runs with {question.column} = {having[0] or 'empty'} are used"
            sweep = replace(sweep, remarks=(said, *sweep.remarks))
        sweeps[swept] = sweep
    return sweeps, rivals, ~np.isin(labels, list(used))


def _spread(sweeps: Mapping[Swept, Sweep], rows: Ints, n: int) -> dict[Swept, Sweep]:
    """Convert sweeps among the runs at ``rows`` to sweeps with masks over all ``n`` runs."""

    def over_all(mask: Bools) -> Bools:
        whole = np.zeros(n, bool)
        whole[rows] = mask
        return whole

    return {
        swept: replace(sweep, rows=over_all(sweep.rows), counted=over_all(sweep.counted))
        for swept, sweep in sweeps.items()
        if sweep.counted.any()
    }


def _size(sweeps: Mapping[Swept, Sweep]) -> int:
    return int(np.any([sweep.rows for sweep in sweeps.values()], axis=0).sum()) if sweeps else 0
