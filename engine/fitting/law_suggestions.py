"""The laws that the columns of a table allow, and the law that Isoplan suggests, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.estimators.threshold import is_label
from isoplan.engine.fitting.samples.sample import direction
from isoplan.engine.laws import LAWS, OF_CELLS, ONE_AXIS, Law, get_law
from isoplan.engine.laws.law import axis_words
from isoplan.engine.schema import Runs

TOGETHER = 0.99
"""If the correlation of log N and log D exceeds this number, runs do not separate the effects of N and D."""
LEVELS = 3
"""A law can describe the effect of a column only if the column has at least this number of distinct values."""
SWEPT = 4
"""A law with an optimum over a column is possible only if the column has at least this number of distinct values."""
GRID = 30
"""The reason for the law chinchilla states the numbers of sizes and of amounts of data if both are at most ``GRID``."""
REPEATED = 2.0
"""Smallest number of epochs at which samples count as repeated."""
SURFACE_RUNS, REPEATED_RUNS = 6, 10
"""SURFACE_RUNS: minimum number of runs for which a law over N and D is suggested.
REPEATED_RUNS: minimum number of runs for which a law of repeated samples is suggested.
"""


@dataclass(frozen=True)
class Suggestion:
    """A law that suits a table of runs. ``reason`` is the part of a sentence after "because"."""

    law: Law
    reason: str

    @property
    def sentence(self) -> str:
        """The suggestion in one sentence."""
        return f"Suggested: {self.law.title}, because {self.reason}."


def offered_laws(runs: Runs, y: str) -> tuple[list[Law], list[tuple[Law, str]]]:
    """Return the laws that can be fitted to ``runs``, and the other laws, each with the reason why it cannot be fitted.

    An example of a reason is "D is not mapped". A law over one column that the user chooses (``ONE_AXIS``) is never in
    the first list. It is in the second list if no column can be its axis.
    """
    laws: list[Law] = []
    others: list[tuple[Law, str]] = []
    for law in (*LAWS, *(OF_CELLS if is_label(runs, y) else ())):
        needed = (*law.axes, *law.extra_columns, y)
        missing = [name for name in dict.fromkeys(needed) if runs.lacks(name)]
        if missing:
            why = [runs.withheld[name].rstrip(".") for name in missing if name in runs.withheld]
            lack = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not mapped"
            others.append((law, "; ".join([lack, *why])))
        else:
            laws.append(law)
    for law in ONE_AXIS:
        if not columns_for(law, runs, y):
            others.append((law, f"no column of the role {' or '.join(law.axis_roles)} is mapped"))
    return laws, others


def columns_for(law: Law, runs: Runs, y: str) -> list[str]:
    """Return the columns of ``runs`` that can be the axis of ``law``, a law over one column.

    The columns of the first role in ``law.axis_roles`` come first.
    """
    roles = runs.roles
    by_role = {"hyperparameter": list(roles.hyper), "metric": [m.column for m in roles.metrics]}
    columns = [name for role in law.axis_roles for name in by_role.get(role, [role])]
    own = {other.axis for other in LAWS if other.name == law.name}  # axes with a separate law, such as N with power-N
    return [name for name in dict.fromkeys(columns) if name in runs and name != y and name not in own]


def suggest_law(runs: Runs, y: str) -> Suggestion | None:
    """Return the law that suits the columns that vary in ``runs``, with the reason; None if no law is possible."""
    measured = runs.take(np.isfinite(runs[y])) if y in runs else runs
    return next(_candidates(measured, y), None) if y in measured and len(measured) else None


def _candidates(runs: Runs, y: str) -> Iterator[Suggestion]:
    """Yield the laws that suit ``runs``, the best first."""
    if is_label(runs, y):
        yield from _if_allowed(runs, y, get_law("threshold"), f"{y} marks the runs that overfit")
        return
    if y != "loss" and _levels(runs, "loss") > LEVELS and len(runs) > LEVELS:
        yield Suggestion(get_law("metric-map", "loss"), f"the same runs have {y} and the loss")
    yield from _surfaces(runs, y)
    yield from _sweeps(runs, y)
    yield from _single_axes(runs, y)


def _surfaces(runs: Runs, y: str) -> Iterator[Suggestion]:
    sizes, amounts = _levels(runs, "N"), _levels(runs, "D")
    if min(sizes, amounts) < LEVELS or len(runs) < SURFACE_RUNS:
        return
    if _grow_together(runs):
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        epochs = float(np.nanmax(runs["D"] / runs["U"])) if _levels(runs, "U") else 1.0
    if epochs >= REPEATED and _levels(runs, "U") >= LEVELS and len(runs) >= REPEATED_RUNS:
        reason = f"the runs vary N and D independently and repeat samples up to {epochs:,.0f} times"
        yield from _if_allowed(runs, y, get_law("data-constrained"), reason)
    grid = f" ({sizes} sizes, {amounts} amounts of data)" if max(sizes, amounts) <= GRID else ""
    reason = f"the runs vary N and D independently{grid}"
    yield from _if_allowed(runs, y, get_law("chinchilla"), reason)


def _sweeps(runs: Runs, y: str) -> Iterator[Suggestion]:
    """Yield laws with an optimum over a hyperparameter that has more distinct values than each of N, D and C."""
    for name in sorted(runs.roles.hyper, key=lambda column: -_levels(runs, column)):
        levels = _levels(runs, name)
        if levels < SWEPT or levels <= max(_levels(runs, "N"), _levels(runs, "D"), _levels(runs, "C")):
            continue
        if not (runs[name][np.isfinite(runs[name])] > 0).all():
            continue
        law = "starvation" if levels >= SWEPT + 1 and len(runs) >= SURFACE_RUNS else "log-parabola"
        yield Suggestion(get_law(law, name), f"the runs sweep {name} over {levels} values")


def _single_axes(runs: Runs, y: str) -> Iterator[Suggestion]:
    levels = {axis: _levels(runs, axis) for axis in ("C", "D", "N")}
    both = min(levels["N"], levels["D"]) >= LEVELS
    for axis in sorted(levels, key=lambda axis: -levels[axis]):
        if levels[axis] < LEVELS:
            continue
        reason = f"the runs vary {axis_words(axis)} ({levels[axis]} values)"
        if both:
            reason = "N and D grow together" if _grow_together(runs) else f"{len(runs)} runs are too few for N and D"
        yield from _if_allowed(runs, y, get_law("power", axis), reason)


def _grow_together(runs: Runs) -> bool:
    """Return whether log N and log D are so strongly correlated that the effects of N and D cannot be separated."""
    N, D = runs["N"], runs["D"]
    known = np.isfinite(N) & np.isfinite(D) & (N > 0) & (D > 0)
    return bool(known.any() and abs(direction(N[known], D[known])[1]) > TOGETHER)


def _if_allowed(runs: Runs, y: str, law: Law, reason: str) -> Iterator[Suggestion]:
    if not any(runs.lacks(name) for name in (*law.axes, *law.extra_columns, y)):
        yield Suggestion(law, reason)


def _levels(runs: Runs, name: str) -> int:
    """Return the number of distinct finite values of the column ``name``; 0 if ``runs`` has no such column."""
    if runs.lacks(name):
        return 0
    values: Floats = runs[name]
    return len(np.unique(values[np.isfinite(values)]))
