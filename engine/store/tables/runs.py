"""Convert columns of a run table to the runs of a fit (:class:`isoplan.engine.schema.Runs`).

Missing values are derived if possible: D (samples seen) from C (compute) and N (parameters), C from the compute rule,
and budgets from C. Rows that no fit can use are left out. ``notes`` of the runs reports these steps in sentences. This
module does not read the database: the caller passes the columns as arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.costs import ComputeRule
from isoplan.engine.mixtures import COPIED, is_yes
from isoplan.engine.schema import NOT_TRAINED, Category, LeftOut, Roles, Runs
from isoplan.engine.store.columns.categories import UNTRAINED, find_budgets, totals
from isoplan.engine.store.columns.names import plain
from isoplan.engine.store.columns.units import below_a_sample, reading_notes, unit_notes, unknown_compute

Labels = Mapping[str, NDArray[np.str_]]
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))
_POSITIVE = ("N", "D", "U", "C")
USABLE = 0
REPEATED = "that repeat another row exactly"
"""Reason why a copy is left out if only one row of each set of copies is used."""
DIVERGED = ("diverged", "divergence", "nan", "inf", "exploded")
UNFINISHED = (
    *("unfinished", "incomplete", "running", "pending", "queued", "crashed", "failed", "killed", "error", "stopped"),
    *("preempted", "aborted", "interrupted", "cancelled", "canceled", "timeout", "oom", "out_of_memory"),
    *("pruned", "fail", "scheduled", "waiting", "crash", "preempting", "evicted", "paused", "suspended", "requeued"),
    *("node_fail", "boot_fail", "deadline", "revoked", "resizing", "out_of_me"),
)
"""Lower-case status values of runs that did not finish. Isoplan, W&B, MLflow, Optuna, Ray and Slurm use these values.
No fit uses such runs.
"""
FINISHED = ("finished", "finish", "complete", "completed", "done", "success", "succeeded", "ok", "converged", "")
TERMINATED = "terminated"
"""Status with two meanings. In Ray Tune, it is the only status of a finished run. In a table that contains another
status for finished runs, it means that the run was stopped.
"""


@dataclass(frozen=True)
class RepeatSpread:
    """Spread of repeated runs.

    ``groups`` is the number of groups of repeated runs, and ``runs`` is the number of runs in these groups. ``sd`` is
    the pooled standard deviation of the target. ``relative`` is computed like ``sd``, but each target is first divided
    by the absolute value of the mean of its group.
    """

    groups: int
    runs: int
    sd: float
    relative: float


def build(
    ids: Ints,
    cells: Mapping[str, Floats],
    labels: Labels,
    roles: Roles,
    source: str,
    sha256: str,
    others: Mapping[str, Floats] | None = None,
    categories: Mapping[str, Category] | None = None,
    seconds: tuple[str, Floats] | None = None,
    waiting: Mapping[str, str] | None = None,
) -> Runs:
    """Return the runs of a table, with missing values derived and unusable rows left out.

    ``cells`` are columns (n,) by role; metrics and hyperparameters are by column name. ``others`` are further columns
    that the compute formula needs; the runs do not contain them. ``categories`` are the columns with few values.
    ``seconds`` is a pair: the name of the column of run durations, and the durations (n,) in seconds. ``waiting``
    (role -> reason) states why a role has no column in ``cells``, for example because a unit is not confirmed.
    """
    values = dict(cells)
    missing = unknown_compute(values, roles)
    notes = [*reading_notes(roles), *_derive(ids, values, roles.compute, others or {}, bool(missing))]
    reasons = {"D": missing, "C": below_a_sample(cells, roles)}
    withheld = {role: text for role, text in reasons.items() if text} | dict(waiting or {})
    reason, why = _usable(values, labels, roles, categories or {}, len(ids))
    column, times = seconds or ("", None)
    every = Runs(ids, values, roles, dict(labels), source, sha256, categories=categories or {}, seconds=times,
                 seconds_from=column, withheld=withheld)  # fmt: skip
    if roles.repeats == "once":
        why = [*why, REPEATED]
        usable = np.flatnonzero(reason == USABLE)
        reason[usable[copies(every.take(usable))]] = len(why)
    runs = every.take(reason == USABLE)
    gone = np.flatnonzero(reason)
    names = labels["run"][gone] if "run" in labels else np.zeros(len(gone), dtype=np.str_)
    left_out = LeftOut(ids[gone], names, np.array(["", *why])[reason[gone]], len(ids))
    counted = [_left_out(int(np.sum(reason == k)), text) for k, text in enumerate(why, 1)]
    merged, merging = _merge(runs) if roles.repeats == "mean" else (runs, _duplicates(runs))
    values = {**merged.values, **_budgets(merged.values)}
    notes = [*notes, *counted, *_unknown_states(labels), *_spread(runs), *merging, *unit_notes(merged)]
    return replace(merged, values=values, notes=tuple(notes), left_out=left_out)


def with_target(runs: Runs, y: str) -> Runs:
    """Return the runs whose target ``y`` is finite, with a note on the number of runs that are left out.

    ``y`` is ``loss`` or the column of a metric.
    """
    finite = np.isfinite(runs[y])
    if finite.all():
        return runs
    kept = runs.take(finite)
    note = _left_out(int((~finite).sum()), f"without a finite {y}")
    return replace(kept, notes=(*kept.notes, note))


def repeat_spread(runs: Runs, y: str = "loss") -> RepeatSpread | None:
    """Return the spread of ``y`` among runs that differ only in seed, name and targets; None if no run is repeated.

    ``sd`` is sqrt(sum r^2 / sum (group size - 1)) in the unit of ``y``, with the residual r = y - group mean.
    ``relative`` is this formula with r / |group mean| instead of r.
    """
    if y not in runs or len(runs) < 2:
        return None
    group, sizes = _repeats(runs)
    finite = np.isfinite(runs[y])
    group, target = group[finite], runs[y][finite]
    sizes = np.bincount(group, minlength=len(sizes))
    mean = np.bincount(group, target, len(sizes)) / np.maximum(sizes, 1)
    repeated = sizes[group] > 1
    freedom = int((sizes[sizes > 1] - 1).sum())
    if freedom == 0:
        return None
    off = (target - mean[group])[repeated]
    share = off / np.where(mean[group] == 0, np.nan, np.abs(mean[group]))[repeated]
    pooled = [float(np.sqrt(np.sum(d**2) / freedom)) for d in (off, share)]
    return RepeatSpread(int((sizes > 1).sum()), int(repeated.sum()), *pooled)


def _spread(runs: Runs) -> list[str]:
    """Return a note on the spread of the loss of repeated runs; empty without a column of seeds or without repeats."""
    found = repeat_spread(runs) if "seed" in runs.labels else None
    if found is None:
        return []
    return [
        f"{_rows(found.runs)} are repeats of {found.groups:,} runs; their loss varies by {found.sd:.2g} "
        f"({100 * found.relative:.2g} %, standard deviation)."
    ]


def _derive(
    ids: Ints, values: dict[str, Floats], rule: ComputeRule, others: Mapping[str, Floats], unknown: bool
) -> list[str]:
    """Fill missing values of D, epochs, U and C in ``values`` from its other columns, and return notes.

    D is the samples seen, U the unique samples, C the compute. If a whole column is derived, there is a note only
    for the column D. If ``unknown`` is true, the unit of C is unknown, and D is not derived from C.
    """
    notes = []
    if {"C", "N"} <= values.keys() and not unknown:
        notes += _fill(
            values, "D", lambda: rule.samples(values["C"], _positive(values["N"]), values), f"C and N by {rule.text}"
        )
    if {"D", "U"} <= values.keys():
        notes += _fill(values, "epochs", lambda: values["D"] / _positive(values["U"]), "D / U")
    elif {"D", "epochs"} <= values.keys():
        notes += _fill(values, "U", lambda: values["D"] / _positive(values["epochs"]), "D / epochs")
    if {"N", "D"} <= values.keys():
        columns = {**others, **values}
        notes += _fill(values, "C", lambda: rule.flops(values["N"], values["D"], columns, ids), rule.text)
    return notes


def _fill(values: dict[str, Floats], role: str, derive: Callable[[], Floats], how: str) -> list[str]:
    """Compute the missing values of ``role`` with ``derive``, store them in ``values``, and return notes.

    If ``role`` has no column, the whole column is computed; otherwise only its empty cells. ``how`` describes the
    derivation in the note.
    """
    if role not in values:
        values[role] = derive()
        return [f"{role} follows from {how}."] if role == "D" else []
    empty = np.isnan(values[role])
    if not empty.any():
        return []
    derived = derive()
    filled = int((empty & np.isfinite(derived)).sum())
    values[role] = np.where(empty, derived, values[role])
    return [f"{role} of {_rows(filled)} without a value follows from {how}."] if filled else []


def _positive(x: Floats) -> Floats:
    return np.where(x > 0, x, np.nan)


def _usable(
    values: Mapping[str, Floats], labels: Labels, roles: Roles, categories: Mapping[str, Category], n: int
) -> tuple[NDArray[np.int8], list[str]]:
    """Return the reason why a fit cannot use a row: an array (n,) of reason numbers, and the texts of the reasons.

    The number is USABLE (0) if a fit can use the row. Otherwise it is the position of the reason, counted from 1.
    """
    reason, why = np.zeros(n, dtype=np.int8), []

    def leave(bad: NDArray[np.bool_], text: str) -> None:
        fresh = bad & (reason == USABLE)
        if fresh.any():
            why.append(text)
            reason[fresh] = len(why)

    if "status" in labels:
        status = _states(labels)
        leave(np.isin(status, DIVERGED), "that diverged")
        leave(_unfinished(status), "that did not finish")
    for role in ("N", "D", "C", "loss"):
        if role not in values:
            continue
        x, article = values[role], "a loss" if role == "loss" else role
        leave(np.isnan(x), f"without {article}")
        leave(np.isinf(x), "that diverged (infinite loss)" if role == "loss" else f"with an infinite {role}")
        if role in _POSITIVE:
            leave(x <= 0, f"with {role} at or below zero")
    if "loss" not in values and roles.metrics:
        every = np.all([~np.isfinite(values[m.column]) for m in roles.metrics], axis=0)
        leave(every, "without any metric")
    for name, category in categories.items():
        if plain(name) in UNTRAINED and name not in values and name not in roles.pooled:
            leave(is_yes(category), f"{NOT_TRAINED} (column {name!r})")
    if "weight" in values:
        leave(~np.isfinite(values["weight"]), "without a weight")
        leave(values["weight"] <= 0, "with zero weight")
    leave(*totals(labels, n))
    return reason, why


def _states(labels: Labels) -> NDArray[np.str_]:
    """Return the status of each run in lower case, without prefixes and suffixes that some programs add.

    "TrialState.PRUNED" becomes "pruned", and "CANCELLED by 1000" becomes "cancelled".
    """
    status = np.char.lower(np.char.strip(labels["status"]))
    if not len(status):
        return np.asarray(status, dtype=np.str_)
    last = np.char.partition(np.char.rpartition(status, ".")[:, 2], " by ")[:, 0]
    return np.asarray(np.char.rstrip(last, "+"), dtype=np.str_)


def _unfinished(states: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return a mask (n,): true for the states of runs that did not finish."""
    ended = states == TERMINATED
    return np.isin(states, UNFINISHED) | (ended & np.isin(states, [s for s in FINISHED if s]).any())


def _unknown_states(labels: Labels) -> list[str]:
    """Return a note on states that Isoplan does not know. Runs with such a state count as finished.

    There is no note if no run has a state that means finished.
    """
    if "status" not in labels:
        return []
    found, counts = np.unique(_states(labels), return_counts=True)
    known = np.isin(found, (*FINISHED, *DIVERGED, *UNFINISHED, TERMINATED))
    if known.all() or not np.isin(found, FINISHED).any():
        return []
    listed = ", ".join(repr(str(state)) for state in found[~known][:3])
    return [f"{_rows(int(counts[~known].sum()))} with the unknown state {listed} count as finished."]


def _budgets(values: Mapping[str, Floats]) -> dict[str, Floats]:
    if "budget" in values:
        return {"budget": np.where(np.isfinite(values["budget"]), _positive(values["budget"]), np.nan)}
    return {"budget": find_budgets(values["C"])} if "C" in values else {}


def _repeats(runs: Runs) -> tuple[Ints, Ints]:
    """Return the index of the group of each run, and the size of each group.

    The runs of a group are repeats: they differ only in seed, name and targets.
    """
    targets = {"loss", *(m.column for m in runs.roles.metrics)}
    numbers = [x for name, x in runs.values.items() if name not in targets]
    return _groups(len(runs), numbers, [x for role, x in runs.labels.items() if role == "group"])


def _groups(n: int, numbers: Iterable[Floats], labels: Iterable[NDArray[np.str_]]) -> tuple[Ints, Ints]:
    """Return the index of the group of each of ``n`` rows, and the size of each group.

    Rows of the same group are equal in every column. To compare rows, a 64-bit hash of each row is computed.
    """
    mixed = np.zeros(n, dtype=np.uint64)
    for x in numbers:
        mixed = _mix(mixed, np.where(np.isnan(x), np.nan, x + 0.0).view(np.uint64))
    for text in labels:
        for letters in text.view(np.uint32).reshape(n, -1).T if n else ():
            mixed = _mix(mixed, letters.astype(np.uint64))
    in_order = np.sort(mixed)
    if n == 0 or not (in_order[1:] == in_order[:-1]).any():
        return np.arange(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    _, group, sizes = np.unique(mixed, return_inverse=True, return_counts=True)
    return group.astype(np.int64), sizes.astype(np.int64)


def _mix(mixed: NDArray[np.uint64], bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (mixed ^ (bits + _MIX[0])) * _MIX[1]
    return mixed ^ (mixed >> np.uint64(29))


def _merge(runs: Runs) -> tuple[Runs, list[str]]:
    """Replace each group of repeated runs by one run; return the resulting runs and a note.

    The targets of the new run are the means of its group. Its other values are those of the first run of the group.
    """
    group, sizes = _repeats(runs)
    if len(sizes) == len(runs):
        return runs, []
    first = np.full(len(sizes), len(runs), dtype=np.int64)
    np.minimum.at(first, group, np.arange(len(runs)))
    order = np.argsort(first)
    values = {}
    for name, x in runs.values.items():
        varies = name == "loss" or any(m.column == name for m in runs.roles.metrics)
        values[name] = (np.bincount(group, x) / sizes)[order] if varies else x[first[order]]
    labels = {name: x[first[order]] for name, x in runs.labels.items() if name != "seed"}
    merged = int(sizes[sizes > 1].sum())
    note = f"{_rows(merged)} that differ only in their seed became {int((sizes > 1).sum()):,} means."
    return replace(runs.take(first[order]), values=values, labels=labels), [note]


def copies(runs: Runs) -> NDArray[np.bool_]:
    """Return a mask (n,): true for each run that equals an earlier run in the seed and in every mapped number.

    If each group has its own law, runs of different groups are never copies. If the sizes N, D and C are unknown, no
    run counts as a copy, because different runs may have equal rows.
    """
    known = {"N", "D", "C"} & runs.values.keys()
    if not known or (len(known) == 1 and {"N", "D"} & runs.withheld.keys()):
        return np.zeros(len(runs), bool)
    labels = [x for role, x in runs.labels.items() if role == "seed" or (role == "group" and runs.roles.each)]
    group, sizes = _groups(len(runs), runs.values.values(), labels)
    repeated = np.ones(len(runs), bool)
    repeated[np.unique(group, return_index=True)[1] if len(sizes) else []] = False
    return repeated


def _duplicates(runs: Runs) -> list[str]:
    """Return a note if some rows are copies of an earlier row."""
    extra = int(copies(runs).sum())
    if not extra:
        return []
    repeat = "repeats" if extra == 1 else "repeat"
    return [
        f"{_rows(extra)} {repeat} {COPIED}; each counts as a run. If they are copies of a run and not separate runs, "
        "leave them out on the Data page (--repeats once in the terminal): copies make the intervals too narrow."
    ]


def _left_out(count: int, why: str) -> str:
    return f"{_rows(count)} {why} {'was' if count == 1 else 'were'} left out."


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
