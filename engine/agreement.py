"""Rank agreement of metrics: Spearman's correlation of every pair, per budget and per group.

Behavioural models, sec. 7, Tables 16 and 17, Figs. 7 and 20. If budgets are pooled, metrics agree because compute
changes all of them. Therefore the correlations are computed within each budget and regime, and a sign that differs
between them is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Runs

FEWEST = 4
"""Minimum number of runs for a rank correlation. With three runs it takes only a few discrete values."""
TIED = 0.25
"""Share of runs with tied values of a metric above which a note is added."""
By = Literal["all", "budget", "group"]


@dataclass(frozen=True, eq=False)
class Agreement:
    """Rank correlations of the metrics over the runs of one budget or group.

    ``rho`` (k, k) is Spearman's correlation of the metrics, oriented so that larger is better: 1 if two metrics rank
    all runs alike, -1 if their rankings are reversed, NaN if it is not defined. ``counts`` (k, k) is the number of runs
    with both metrics. ``notes`` state the limitations.
    """

    name: str
    n: int
    metrics: tuple[str, ...]
    rho: Floats
    counts: Ints
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Flip:
    """A pair of metrics that agrees in some parts of the table and disagrees in others.

    ``clear``: for each sign, the correlation of at least one part exceeds 1 / sqrt(n - 1), its standard error if the
    metrics are uncorrelated.
    """

    one: str
    other: str
    agree: tuple[str, ...]
    disagree: tuple[str, ...]
    clear: bool

    @property
    def sentence(self) -> str:
        """The sentence that reports the flip to the user."""
        doubt = "" if self.clear else ", within what chance gives"
        return (
            f"{self.one} and {self.other} agree at {', '.join(self.agree)} and disagree at "
            f"{', '.join(self.disagree)}{doubt}."
        )


def usual(runs: Runs) -> By:
    """Return the default division of the runs: by budget if any run has a budget, else all runs together."""
    return "budget" if "budget" in runs and bool(np.isfinite(runs["budget"]).any()) else "all"


def agreement(runs: Runs, by: By = "all") -> tuple[Agreement, ...]:
    """Compute the rank correlations of the loss and all metrics, for all runs or for each budget or group.

    Raises PlannerError if the table has fewer than two of these columns, or no budgets or groups to divide it by.
    """
    names = (*(["loss"] if "loss" in runs else []), *(m.column for m in runs.roles.metrics if m.column in runs))
    if len(names) < 2:
        raise PlannerError(
            f"Agreement needs two measures of quality and this table has {', '.join(names) or 'none'}: "
            "map columns to the loss and to metrics."
        )
    turn = np.array([1.0 if runs.roles.direction(name) == "max" else -1.0 for name in names])
    table = turn * np.stack([runs[name] for name in names], axis=1)
    return tuple(_within(part, names, table[rows]) for part, rows in _parts(runs, by))


def flips(found: Sequence[Agreement]) -> tuple[Flip, ...]:
    """Return the pairs of metrics whose correlation has both signs among the parts, the clear ones first."""
    out = []
    for i, j in combinations(range(len(found[0].metrics)), 2) if found else ():
        signs = {side: [a for a in found if a.rho[i, j] * side > 0] for side in (1, -1)}
        if signs[1] and signs[-1]:
            clear = all(any(_clear(a, i, j) for a in side) for side in signs.values())
            agree, disagree = (tuple(a.name for a in signs[side]) for side in (1, -1))
            out.append(Flip(found[0].metrics[i], found[0].metrics[j], agree, disagree, clear))
    return tuple(sorted(out, key=lambda flip: not flip.clear))


@dataclass(frozen=True)
class Across:
    """Rank correlation of one metric in two regimes, batch-local (``local``) and full catalogue (``full``).

    ``rho`` is Spearman's correlation in each of the ``parts``, NaN if it is not defined.
    """

    local: str
    full: str
    parts: tuple[str, ...]
    rho: tuple[float, ...]

    @property
    def flips(self) -> bool:
        """Whether the two regimes agree in some parts and disagree in others."""
        return any(x > 0 for x in self.rho) and any(x < 0 for x in self.rho)


def across(found: Sequence[Agreement], pairs: Sequence[tuple[str, str]]) -> tuple[Across, ...]:
    """Collect the correlation of each pair of columns (batch-local, full-catalogue) over the parts.

    The parts are those of ``agreement``; behavioural, Sec. 7 (d). Raises PlannerError if a column is not among the
    metrics.
    """
    metrics = found[0].metrics if found else ()
    for name in (name for pair in pairs for name in pair):
        if name not in metrics:
            raise PlannerError(f"There is no metric {name!r} to compare: choose among {', '.join(metrics) or 'none'}.")
    parts = tuple(a.name for a in found)
    at = {name: i for i, name in enumerate(metrics)}
    return tuple(
        Across(local, full, parts, tuple(float(a.rho[at[local], at[full]]) for a in found)) for local, full in pairs
    )


def _clear(a: Agreement, i: int, j: int) -> bool:
    return bool(abs(a.rho[i, j]) > 1 / np.sqrt(a.counts[i, j] - 1))


def _parts(runs: Runs, by: By) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the name and the row mask (n,) of each part."""
    if by == "all":
        return [("all runs", np.ones(len(runs), bool))]
    if by == "group":
        if "group" not in runs.labels:
            raise PlannerError("No column says the group of a run: map one to group, or look at all runs together.")
        label = runs.labels["group"]
        return [(str(name), label == name) for name in np.unique(label)]
    nominal = runs["budget"] if "budget" in runs else np.full(len(runs), np.nan)
    budgets = np.unique(nominal[np.isfinite(nominal)])
    if not len(budgets):
        raise PlannerError("No run belongs to a budget: map a column to budget, or look at all runs together.")
    return [(power10(float(C)), nominal == C) for C in budgets]


def _within(name: str, metrics: tuple[str, ...], table: Floats) -> Agreement:
    k, n = len(metrics), len(table)
    rho, counts = np.full((k, k), np.nan), np.zeros((k, k), np.int64)
    seen = np.isfinite(table)
    for i in range(k):
        counts[i, i] = seen[:, i].sum()
        rho[i, i] = 1.0 if counts[i, i] else np.nan
    for i, j in combinations(range(k), 2):
        both = seen[:, i] & seen[:, j]
        counts[i, j] = counts[j, i] = both.sum()
        rho[i, j] = rho[j, i] = _spearman(table[both, i], table[both, j])
    return Agreement(name, n, metrics, rho, counts, tuple(_notes(metrics, table, seen, counts)))


def _spearman(x: Floats, y: Floats) -> float:
    """Compute Spearman's correlation with ties at their mean rank; NaN for fewer than four runs or a constant
    column.
    """
    if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    from scipy.stats import spearmanr  # 0.5 s to import

    return float(spearmanr(x, y).statistic)


def _notes(metrics: tuple[str, ...], table: Floats, seen: NDArray[np.bool_], counts: Ints) -> list[str]:
    """Return notes on what limits the correlations: too few runs, or metrics with one value or many ties."""
    if len(table) < FEWEST:
        return [f"{len(table)} {'run is' if len(table) == 1 else 'runs are'} too few to rank: it takes {FEWEST}."]
    notes = []
    for i, metric in enumerate(metrics):
        x = table[seen[:, i], i]
        tied = len(x) - int(np.sum(np.unique(x, return_counts=True)[1] == 1))
        if len(x) < FEWEST:
            notes.append(f"{metric} is known for {len(x)} of {len(table)} runs, too few to rank.")
        elif np.ptp(x) == 0:
            notes.append(f"{metric} has the same value in all {len(x)} runs and ranks nothing.")
        elif tied > TIED * len(x):
            notes.append(f"{tied} of {len(x)} runs share their {metric} with another; ties count at their mean rank.")
    return notes
