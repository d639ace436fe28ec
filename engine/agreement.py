"""Rank agreement of metrics: Spearman's correlation of every pair of metrics, per budget or per group.

Source: Behavioural models, Sec. 7, Tables 16 and 17, Figs. 7 and 20. If runs of several budgets are pooled, all metrics
agree, because compute improves all of them. Therefore the correlations can be computed within each budget or each
group. A pair of metrics is marked if the sign of its correlation differs between budgets or groups.
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
"""Minimum number of runs for a rank correlation. The rank correlation of three runs has only a few possible values."""
TIED = 0.25
"""A note is added to a metric if more than this fraction of its runs have tied values."""
By = Literal["all", "budget", "group"]


@dataclass(frozen=True, eq=False)
class Agreement:
    """Rank correlations of the metrics over the runs of one part of the table (one budget, one group or all runs).

    ``rho`` (k, k) contains Spearman's correlations of the k metrics. Every metric is oriented so that larger is better.
    A correlation is 1 if two metrics rank all runs equally, -1 if their rankings are reversed, and NaN if it is not
    defined. ``counts`` (k, k) is the number of runs that have values of both metrics. ``notes`` state the limitations.
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

    ``clear`` is True if both signs are significant: for each sign, ``abs(rho)`` exceeds ``1 / sqrt(n - 1)`` in at least
    one part. This threshold is the standard error of the correlation of two uncorrelated metrics over n runs.
    """

    one: str
    other: str
    agree: tuple[str, ...]
    disagree: tuple[str, ...]
    clear: bool

    @property
    def sentence(self) -> str:
        """One sentence that lists the parts in which the two metrics agree, and those in which they disagree."""
        doubt = "" if self.clear else "; at least one of the two signs may be due to chance"
        return (
            f"{self.one} and {self.other} agree at {', '.join(self.agree)} and disagree at "
            f"{', '.join(self.disagree)}{doubt}."
        )


def usual(runs: Runs) -> By:
    """Return the default of ``by`` for the runs: "budget" if at least one run has a budget, otherwise "all"."""
    return "budget" if "budget" in runs and bool(np.isfinite(runs["budget"]).any()) else "all"


def agreement(runs: Runs, by: By = "all") -> tuple[Agreement, ...]:
    """Compute the rank correlations of the loss and all metrics, with one result per part of the table.

    ``by`` selects the parts: budgets, groups, or all runs together. Raises PlannerError if the table has fewer than two
    columns of quality (loss and metrics), or if ``by`` selects budgets or groups and the table has none.
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
    """Return the pairs of metrics with a positive correlation in some parts and a negative one in others.

    Pairs with a clear difference come first.
    """
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
    """Rank correlation between two variants of one metric: batch-local (``local``) and full-catalogue (``full``).

    ``rho`` is Spearman's correlation of the two columns in each of the ``parts``, NaN if it is not defined.
    """

    local: str
    full: str
    parts: tuple[str, ...]
    rho: tuple[float, ...]

    @property
    def flips(self) -> bool:
        """Whether the two variants agree in some parts of the table and disagree in others."""
        return any(x > 0 for x in self.rho) and any(x < 0 for x in self.rho)


def across(found: Sequence[Agreement], pairs: Sequence[tuple[str, str]]) -> tuple[Across, ...]:
    """Collect the correlation of each pair of columns (batch-local, full-catalogue) in every part of the table.

    ``found`` is the result of ``agreement``. Source: Behavioural models, Sec. 7 (d). Raises PlannerError if a column in
    ``pairs`` is not a metric of ``found``.
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
    """Divide the runs into parts and return the name and the row mask (n,) of each part."""
    if by == "all":
        return [("all runs", np.ones(len(runs), bool))]
    if by == "group":
        if "group" not in runs.labels:
            raise PlannerError(
                "No column gives the group of a run: map a column to group, or compare all runs together."
            )
        label = runs.labels["group"]
        return [(str(name), label == name) for name in np.unique(label)]
    nominal = runs["budget"] if "budget" in runs else np.full(len(runs), np.nan)
    budgets = np.unique(nominal[np.isfinite(nominal)])
    if not len(budgets):
        raise PlannerError("No run belongs to a budget: map a column to budget, or compare all runs together.")
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
    """Compute Spearman's correlation; tied values get their mean rank.

    The result is NaN for fewer than four runs, or if ``x`` or ``y`` is constant.
    """
    if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    from scipy.stats import spearmanr  # imported here because this import takes 0.5 s

    return float(spearmanr(x, y).statistic)


def _notes(metrics: tuple[str, ...], table: Floats, seen: NDArray[np.bool_], counts: Ints) -> list[str]:
    """Return notes on the limits of the correlations: too few runs, or metrics with one value or many ties."""
    if len(table) < FEWEST:
        return [
            f"{len(table)} {'run is' if len(table) == 1 else 'runs are'} too few to rank: at least {FEWEST} are needed."
        ]
    notes = []
    for i, metric in enumerate(metrics):
        x = table[seen[:, i], i]
        tied = len(x) - int(np.sum(np.unique(x, return_counts=True)[1] == 1))
        if len(x) < FEWEST:
            notes.append(f"{metric} is measured for {len(x)} of {len(table)} runs, too few to rank.")
        elif np.ptp(x) == 0:
            notes.append(f"{metric} has the same value in all {len(x)} runs and cannot rank them.")
        elif tied > TIED * len(x):
            notes.append(
                f"{tied} of {len(x)} runs have the same {metric} as another run; tied runs get their mean rank."
            )
    return notes
