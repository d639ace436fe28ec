"""Warnings about a fit whose runs belong to different datasets, splits or groups, or are flagged.

A stratified permutation test shows whether the residuals differ between the values (labels) of a column. Runs that are
close to each other on the axes of the law form a stratum. Under the null hypothesis, the labels can be exchanged among
the runs of a stratum. The mean and the covariance of the sum of the residuals of each label are then known exactly, and
the quadratic form of the sums is nearly chi squared (the generalised Cochran-Mantel-Haenszel statistic; Landis, Heyman
and Koch, Int. Stat. Rev. 46, 1978). No random permutations are necessary. The result is therefore deterministic, and
p-values far below 1e-3 can be computed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.diagnostics.residuals import compare
from isoplan.engine.fitting.samples.sample import Sample, sample
from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.mixtures import Question, ask, condition, option, pooled, questions, ways
from isoplan.engine.schema import Category, Runs

FEWEST_RUNS = 5
"""Minimum number of runs with the same value of a column. Values with fewer runs are not compared."""
MOST_GROUPS = 8
LEVEL = 1e-3
"""Largest p-value at which residuals count as different, after Bonferroni's correction for the number of columns."""
SMALLER = 0.2
"""A column is reported only if subtraction of the offsets lowers the residual scatter by at least this fraction."""
STRATUM, STRATUM_OF_FEW = 12, 18
"""Maximum numbers of runs in a stratum. The second number is for tables with fewer than ``FEW`` runs.

In a small table, larger strata detect smaller offsets.
"""
FEW = 50
"""Number of runs below which a stratum may have ``STRATUM_OF_FEW`` instead of ``STRATUM`` runs."""
MIXED = 0.5
"""Minimum fraction of runs in strata with several column values.

Below this fraction, the values do not overlap on the axes, and the column is not tested.
"""
CAP = 5.0
"""Limit to which residuals are clipped, in robust standard deviations. Outliers could otherwise dominate the test."""
MOST_RUNS = 4000
"""Maximum number of runs in the test. From a larger table, a fixed random selection is tested."""


@dataclass(frozen=True)
class Offset:
    """Differences of the residuals between the values of ``column``.

    ``by_value`` is the offset of each value: the mean residual of its runs minus the mean residual of all runs. ``p``
    is the p-value of the test, with Bonferroni's correction. ``smaller`` is the fraction by which the scatter of the
    residuals decreases if the offsets are subtracted.
    """

    column: str
    by_value: Mapping[str, float]
    p: float
    smaller: float

    @property
    def found(self) -> bool:
        return self.p < LEVEL and self.smaller >= SMALLER


def offsets(
    residual: Floats, axes: Sequence[Floats], categories: Mapping[str, Category], sizes: Sequence[Floats] = ()
) -> tuple[Offset, ...]:
    """Test for each column in ``categories`` whether ``residual`` (n,) differs between the values of the column.

    The results are sorted by p-value, lowest first. ``axes`` contains the logarithm (n,) of each axis of the law. A
    column is not tested in four cases:

    - Fewer than two values of the column have ``FEWEST_RUNS`` runs.
    - The column is a function of one of the ``sizes`` (n,).
    - The column divides the runs in the same way as an earlier column.
    - The values of the column do not overlap on the axes.
    """
    some = _sampled(residual)
    residual, axes, sizes = residual[some], [x[some] for x in axes], [x[some] for x in sizes]
    tested: list[tuple[str, Category, Ints, Ints]] = []
    seen: set[bytes] = set()
    for name, category in categories.items():
        codes = category.codes[some].astype(np.int64)
        kept, groups = _groups(codes)
        partition = _canonical(codes).tobytes()
        if not 2 <= len(kept) <= MOST_GROUPS or partition in seen or any(_follows(codes, x) for x in sizes):
            continue
        seen.add(partition)
        tested.append((name, category, kept, groups))
    found = []
    for name, category, kept, groups in tested:
        rows = groups >= 0
        one = _test(residual[rows], [x[rows] for x in axes], groups[rows], len(kept))
        if one is not None:
            p, beta, smaller = one
            words = (*category.values, "")
            by_value = {words[k]: float(b) for k, b in zip(kept, beta, strict=True)}
            found.append(Offset(name, by_value, min(1.0, p * len(tested)), smaller))
    return tuple(sorted(found, key=lambda o: o.p))


def strata(axes: Sequence[Floats]) -> Ints:
    """Return the stratum number (n,) of each run.

    The runs are repeatedly divided in halves along the widest of ``axes`` until each stratum is small enough. Runs with
    equal values on all axes are in the same stratum.
    """
    places = np.stack(axes, axis=1)
    most = STRATUM_OF_FEW if len(places) < FEW else STRATUM
    spread = np.ptp(places, axis=0)
    places = places / np.where(spread > 0, spread, 1.0)
    out, waiting, number = np.zeros(len(places), np.int64), [np.arange(len(places))], 0
    while waiting:
        rows = waiting.pop()
        part = _halves(places[rows]) if len(rows) > most else None
        if part is None:
            out[rows], number = number, number + 1
        else:
            waiting += [rows[part], rows[~part]]
    return out


def _halves(places: Floats) -> NDArray[np.bool_] | None:
    """Return a mask of the runs in the lower half along the widest axis; None if all runs have equal axes."""
    axis = int(np.argmax(np.ptp(places, axis=0)))
    x = places[:, axis]
    if np.ptp(x) == 0:
        return None
    middle = np.median(x)
    low = x <= middle
    return low if not low.all() else x < middle


def _sampled(residual: Floats) -> Ints:
    known = np.flatnonzero(np.isfinite(residual))
    if len(known) <= MOST_RUNS:
        return known
    return np.sort(np.random.default_rng(0).choice(known, MOST_RUNS, replace=False))


def _groups(codes: Ints) -> tuple[Ints, Ints]:
    """Return the codes with at least FEWEST_RUNS runs, and for each run the index of its code in this list, or -1."""
    counts = np.bincount(codes + 1)
    kept = np.flatnonzero(counts >= FEWEST_RUNS) - 1
    place = np.full(len(counts), -1)
    place[kept + 1] = np.arange(len(kept))
    return kept, place[codes + 1]


def _canonical(codes: Ints) -> Ints:
    """Return ``codes`` renumbered by first appearance, so that equal partitions of the runs have equal codes."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _follows(codes: Ints, x: Floats) -> bool:
    """Return whether the label is a function of the size ``x``; False if most values of ``x`` occur only once."""
    place = np.unique(x, return_inverse=True)[1].astype(np.int64)
    values = int(place.max(initial=-1)) + 1
    pairs = len(np.unique(place * 128 + codes + 1))
    return pairs == values and 2 * values <= len(x)


def _test(residual: Floats, axes: Sequence[Floats], group: Ints, k: int) -> tuple[float, Floats, float] | None:
    """Return the p-value, the offset of each of the ``k`` groups, and the relative decrease of the scatter.

    The result is None if the groups do not overlap on the axes.
    """
    stratum = strata(axes)
    m = np.zeros((int(stratum.max()) + 1, k))
    np.add.at(m, (stratum, group), 1)
    n = m.sum(axis=1)
    if n[(m > 0).sum(axis=1) > 1].sum() < MIXED * len(residual):
        return None
    middle = np.median(residual)
    cap = CAP * _robust(residual - middle)
    r = np.clip(residual - middle, -cap, cap)
    r = r - (np.bincount(stratum, r) / n)[stratum]
    total = np.bincount(group, r, k)
    variance = np.bincount(stratum, r**2) / np.maximum(n - 1, 1)
    inner = np.einsum("sg,gh->sgh", m, np.eye(k)) - m[:, :, None] * m[:, None, :] / n[:, None, None]
    design, spread = inner.sum(axis=0), np.einsum("s,sgh->gh", variance, inner)
    if not np.any(spread > 0):
        return None
    p = float(chdtrc(np.linalg.matrix_rank(design), total @ np.linalg.pinv(spread, hermitian=True) @ total))
    beta: Floats = np.asarray(np.linalg.pinv(design, hermitian=True) @ total, np.float64)
    beta = beta - np.mean(beta[group])
    return p, beta, 1 - _scale(residual, beta[group], k) / _scale(residual, np.zeros(len(group)), 1, beta[group])


def _scale(residual: Floats, offset: Floats, parameters: int, best: Floats | None = None) -> float:
    """Return the root mean square of ``residual`` - ``offset``, clipped at CAP robust standard deviations.

    The robust standard deviation is computed from ``residual`` - ``best``, or from ``residual`` - ``offset`` if
    ``best`` is None.
    """
    around = residual - (offset if best is None else best)
    cap = CAP * _robust(around - np.median(around))
    left = residual - offset
    squares = np.minimum((left - np.median(left)) ** 2, cap**2)
    return float(np.sqrt(np.sum(squares) / max(len(residual) - parameters, 1)))


def _robust(x: Floats) -> float:
    """Return the robust standard deviation of ``x``: 1.4826 times the median absolute value.

    If more than half of the values are zero, it is the root mean square.
    """
    typical = 1.4826 * float(np.median(np.abs(x)))
    return typical if typical > 0 else float(np.sqrt(np.mean(x**2))) or 1.0


POOLED, FLAGGED, OFFSETS = "pooled", "flagged", "offsets"
SIZES = ("N", "D", "C", "U", "budget")
SHOWN = 3
"""Maximum number of columns that warnings name."""


def mixed(s: Sample, theta: Floats) -> Iterator[FitWarning]:
    """Yield a warning for each open question about mixed runs, and for each column with an effect on the residuals."""
    found = {o.column: o for o in residual_offsets(s, theta)} if s.law.is_pointwise else {}
    for question in questions(s.runs):
        if question.column in s.law.axes:
            continue
        yield _unanswered(question, found.pop(question.column, None), s.spec.log_residuals)
    for o in list(found.values())[:SHOWN]:
        yield FitWarning(OFFSETS, _differ(o, s.spec.log_residuals, s.runs))


def residual_offsets(s: Sample, theta: Floats) -> tuple[Offset, ...]:
    """Return the columns with residuals that differ between the column's values, the most significant first.

    If the user has decided to fit all values of a column together, the column is not tested.
    """
    names = [name for name in pooled(s.runs) if name not in s.law.axes]
    if not names:
        return ()
    with np.errstate(all="ignore"):  # a formula may overflow
        predicted = s.law.predict(theta, s.columns)
    if not np.any(np.isfinite(predicted)):
        return ()
    residual = compare(predicted, s.y, s.spec.log_residuals).residual
    axes = [np.log(x) if np.all(x > 0) else x for x in (s.columns[axis] for axis in s.law.axes)]
    sizes = [s.runs[role] for role in dict.fromkeys((*SIZES, *s.law.axes)) if role in s.runs]
    every = offsets(residual, axes, {name: s.runs.categories[name] for name in names}, sizes)
    return tuple(o for o in every if o.found)


def differing(fit: Fit, runs: Runs) -> tuple[Question, ...]:
    """Return a question for each column of ``runs`` with residuals of ``fit`` that differ between the column's values.

    Columns that already have a question to the user are omitted.
    """
    if not fit.law.is_pointwise or fit.data.curves:
        return ()
    asked, s = {q.column for q in questions(runs)}, sample(fit.spec, runs)
    found = [o.column for o in residual_offsets(s, fit.theta) if o.column not in asked]
    return tuple(ask(name, runs.categories[name], "dataset") for name in found[:SHOWN])


def _unanswered(question: Question, offset: Offset | None, log: bool) -> FitWarning:
    evidence = f" Residuals differ: {_values(offset, log)}." if offset else ""
    if question.kind == "dataset":
        what = f"{question.text} One law is fitted to all runs.{evidence}"
        todo = "On the Data page, choose one law for each value, only one value, or one law for all values"
    elif question.kind in ("split", "setting"):
        what = f"{question.text} All runs are fitted.{evidence}"
        todo = f"On the Data page, fit only {question.column} = {question.keep[0]}, or keep all"
    else:
        one = question.left_out == 1
        what = f"{question.text} {'It is' if one else 'They are'} fitted.{evidence}"
        todo = f"Leave {'it' if one else 'them'} out on the Data page, or keep {'it' if one else 'them'}"
    code = POOLED if question.kind == "dataset" else FLAGGED
    return FitWarning(code, f"{what} {todo} ({ways(question)} in the terminal).")


def _differ(o: Offset, log: bool, runs: Runs) -> str:
    kind = runs.categories[o.column].typed
    best = min(o.by_value, key=o.by_value.__getitem__)
    name, only = shlex.quote(o.column), option(condition(o.column, (best,), kind))
    return (
        f"Residuals differ by column {o.column!r}: {_values(o, log)}; with one offset per value, the scatter is "
        f"{o.smaller:.0%} smaller (p = {o.p:.1g}). Fit a separate law to each value, or fit only one value (--group "
        f"{name} --each, {only} or --pool {name} in the terminal)."
    )


def _values(o: Offset, log: bool) -> str:
    """Return the offset of each value as text, in percent of the loss if residuals are logarithms."""
    shown = sorted(o.by_value.items(), key=lambda item: item[1])
    text = (f"{name or 'empty'} {np.expm1(b):+.1%}" if log else f"{name or 'empty'} {b:+.3g}" for name, b in shown)
    return ", ".join(part.replace("-", "\N{MINUS SIGN}") for part in text)
