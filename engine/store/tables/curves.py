"""Convert columns of points to training curves (:class:`isoplan.engine.schema.Curves`).

Points are grouped by run and sorted in the order of training. The run table contains properties of whole runs, such as
N (parameters) and hyperparameters. They are repeated at each point of a curve. D (samples seen) and C (compute) at each
point are derived if possible. This module does not read the database: the caller passes the columns as arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import OVERFITS, Curves, Role, Roles, Runs

MAX_POINTS = 5_000_000
TIMES = ("step", "epochs", "D", "C")
"""Columns that measure the training progress. The finest measure is first."""
ALL_OF_IT = 0.95
"""Minimum length of the curve of a finished run, as a fraction of the training length that the run table states."""
UNKNOWN = "of runs that are not in the run table or are removed by its filter"
_OF_THE_END = {*TIMES, "loss", "budget", "weight"}


def build(
    cells: Mapping[str, Floats],
    labels: Mapping[str, NDArray[np.str_]],
    roles: Roles,
    runs: Runs,
    source: str = "",
    sha256: str = "",
) -> Curves:
    """Group the points by run and return the training curves.

    ``cells`` are columns (n,) by role; metrics and hyperparameters are by column name. Points with the same run name
    are one curve. Without a column of run names, points with equal N, U, group, seed and hyperparameters are one curve.
    Raises PlannerError if there are more than ``MAX_POINTS`` points, or if no column measures the training progress. If
    the curves have run names, also raises PlannerError if ``runs`` has no run names or has two rows with the name of
    one curve.
    """
    values, notes = dict(cells), []
    n = len(next(iter(values.values()), ()))
    if n > MAX_POINTS:
        raise PlannerError(f"{source} has {n:,} points: keep at most {MAX_POINTS:,}, for example every tenth step.")
    of, names = _who(values, labels, roles)
    if "D" in values and "U" not in values and _constant(values["D"], of):
        values["U"] = values.pop("D")
        notes.append("D does not change along the curves, so it is used as U, the unique samples of each run.")
    time = next((name for name in TIMES if name in values), None)
    if time is None:
        raise PlannerError(
            f"No column of {source or 'the curve table'} measures the training progress: "
            "map a column to step, epochs or D."
        )
    order, dropped = _order(values[time], of, time)
    values, of = {name: x[order] for name, x in values.items()}, of[order]
    known, of = np.unique(of, return_inverse=True)
    names = names[known]
    curves = Curves(names, of.astype(np.int64), values, roles, np.zeros(len(names), "<U80"), source, sha256)
    curves, of_run = _tied(curves, runs)
    derived, derivations = _derived(curves, of_run, runs)
    curves = replace(curves, values=derived)
    marks = _marks(curves, of_run, runs)
    return replace(curves, marks=marks, notes=(*notes, *dropped, *derivations, *_counted(marks)))


def _who(
    values: Mapping[str, Floats], labels: Mapping[str, NDArray[np.str_]], roles: Roles
) -> tuple[Ints, NDArray[np.str_]]:
    """Return the index of the curve of each point (n,), and the names of the curves."""
    import pandas as pd

    if "run" in labels:
        codes, names = pd.factorize(labels["run"])
        return codes.astype(np.int64), np.asarray(names, dtype=np.str_)
    same: dict[str, NDArray[Any]] = {name: values[name] for name in ("N", "U", *roles.hyper) if name in values}
    same |= {role: labels[role] for role in ("group", "seed") if role in labels}
    if "D" in values and "U" not in same and any(name in values for name in ("step", "epochs")):
        wider = pd.DataFrame(same | {"D": values["D"]})
        same |= {"D": values["D"]} if 2 * len(wider.drop_duplicates()) <= len(wider) else {}
    if not same:
        return np.zeros(len(next(iter(values.values()))), np.int64), np.array(["the only run"])
    table = pd.DataFrame(same)
    of = np.asarray(table.groupby(list(same), sort=False, dropna=False).ngroup(), dtype=np.int64)
    first = table[~table.duplicated()]
    named = [", ".join(f"{k} = {_shown(v)}" for k, v in row.items()) for row in first.to_dict("records")]
    return of, np.array(named, dtype=np.str_)


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _constant(x: Floats, of: Ints) -> bool:
    """Return whether a column is constant along every curve, and at least one curve has several points."""
    import pandas as pd

    groups = pd.Series(x).groupby(of)
    return len(x) > len(groups) and bool((groups.nunique() <= 1).all())


def _order(time: Floats, of: Ints, name: str) -> tuple[Ints, list[str]]:
    """Return the positions of the points, sorted by curve and time, and notes on the points that are left out.

    If a curve has several points at one time, only the last one in the file is used.
    """
    notes = []
    known = np.flatnonzero(np.isfinite(time))
    if len(known) < len(time):
        notes.append(f"{_points(len(time) - len(known))} left out, because the {name} is missing.")
    order = known[np.lexsort((known, time[known], of[known]))]
    last = np.r_[(np.diff(of[order]) != 0) | (np.diff(time[order]) != 0), np.ones(min(len(order), 1), bool)]
    if not last.all():
        notes.append(
            f"{_points(int((~last).sum()))} left out: if a run has several points at one {name}, only the last one is "
            "used."
        )
    return order[last].astype(np.int64), notes


def _tied(curves: Curves, runs: Runs) -> tuple[Curves, Ints]:
    """Find the run of each curve by name, and add the columns of ``runs`` to the curves.

    Also returns, for each curve, the position of its run in ``runs``, or -1 if ``runs`` does not contain this run.
    """
    import pandas as pd

    if curves.roles.run is None:
        return curves, np.full(len(curves), -1, dtype=np.int64)
    if "run" not in runs.labels:
        raise PlannerError(
            f"The curves have run names, but no column of {runs.source or 'the run table'} is mapped to run: map its "
            f"column of run names, or leave column {curves.roles.run} of the curve table unmapped."
        )
    mine = pd.Index(runs.labels["run"])
    twice = mine[mine.duplicated()].unique().intersection(pd.Index(curves.names))
    if len(twice):
        raise PlannerError(
            f"Run {str(twice[0])!r} is in more than one row of {runs.source or 'the run table'}: "
            "give every run its own name, or map another column to run."
        )
    of_run = mine.drop_duplicates().get_indexer(pd.Index(curves.names))
    at = np.flatnonzero(~mine.duplicated())[of_run]
    at = np.where(of_run < 0, -1, at).astype(np.int64)
    metrics = {m.column for m in (*runs.roles.metrics, *curves.roles.metrics)} - {OVERFITS}
    of_whole = [name for name in runs.values if name not in _OF_THE_END | metrics | set(curves.values)]
    along = {name: _along(runs[name], at)[curves.of] for name in of_whole}
    few = {
        name: replace(one, codes=np.where(at >= 0, one.codes[at], -1).astype(np.int8))
        for name, one in runs.categories.items()
        if len(runs)
    }
    return replace(curves, values={**curves.values, **along}, categories=few), at


def _along(x: Floats, at: Ints) -> Floats:
    """Return the values of ``x``, a column of the runs, at the positions ``at``; NaN where the position is -1."""
    return np.where(at >= 0, x[at], np.nan) if len(x) else np.full(len(at), np.nan)


def _derived(curves: Curves, of_run: Ints, runs: Runs) -> tuple[dict[str, Floats], list[str]]:
    """Return the values of the curves, with derived D and C at each point if possible, and notes on derived D."""
    values, notes = dict(curves.values), []
    rule = runs.roles.compute if curves.roles.run else curves.roles.compute
    if "D" not in values and {"C", "N"} <= values.keys():
        values["D"], how = rule.samples(values["C"], values["N"], values), f"C and N by {rule.text}"
        notes.append(f"D follows from {how}.")
    if "D" not in values and {"epochs", "U"} <= values.keys():
        values["D"] = values["epochs"] * values["U"]
        notes.append("D follows from epochs and U.")
    if "D" not in values and "step" in values and "D" in runs and curves.roles.run:
        ends = curves.values["step"][curves.starts[1:] - 1]
        last = _along(runs["step"], of_run) if "step" in runs else ends
        values["D"] = values["step"] * (_along(runs["D"], of_run) / np.where(last > 0, last, np.nan))[curves.of]
        notes.append(
            "D is proportional to step. At the "
            f"{'last step of a curve' if last is ends else 'step of a run'}, it equals the D of the run."
        )
    if "epochs" not in values and {"D", "U"} <= values.keys():
        values["epochs"] = values["D"] / np.where(values["U"] > 0, values["U"], np.nan)
    if "C" not in values and {"D", "N"} <= values.keys():
        values["C"] = rule.flops(values["N"], values["D"], values)
    return values, notes


def _marks(curves: Curves, of_run: Ints, runs: Runs) -> NDArray[np.str_]:
    """Return the reason why each curve is left out (m,); empty for a valid curve."""
    marks = np.zeros(len(curves), "<U80")
    ends = curves.starts[1:] - 1
    if curves.roles.run is not None:
        reasons = dict(zip(runs.left_out.names.tolist(), runs.left_out.why.tolist(), strict=True))
        gone = np.array([reasons.get(name, UNKNOWN) for name in curves.names])
        marks = np.where(of_run < 0, gone, marks)
        total = next((t for t in TIMES[:3] if _column(runs, t) and _column(curves, t)), None)
        if total is not None:
            short = curves[total][ends] < ALL_OF_IT * _along(runs[total], of_run)
            marks = np.where((marks == "") & short, "that did not finish", marks)
    if "weight" in curves:
        least = np.minimum.reduceat(np.nan_to_num(curves["weight"]), curves.starts[:-1])
        marks = np.where((marks == "") & (least <= 0), "with zero weight", marks)
    return marks.astype(np.str_)


def _column(of: Runs | Curves, role: str) -> bool:
    """Return whether the values of a role come from a mapped column instead of a derivation."""
    return role in of and of.roles.column(Role(role)) is not None


def _counted(marks: NDArray[np.str_]) -> Iterator[str]:
    for why, count in zip(*np.unique(marks[marks != ""], return_counts=True), strict=True):
        yield f"{count:,} {'curve' if count == 1 else 'curves'} {why} {'is' if count == 1 else 'are'} left out."


def _points(count: int) -> str:
    return "1 point was" if count == 1 else f"{count:,} points were"
