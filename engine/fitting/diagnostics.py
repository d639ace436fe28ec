"""Soft problems: each travels with the fit as a sentence that says what it means and what to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.fitting.checks import Sample, column, direction, row
from engine.fitting.estimate import Estimate
from engine.fitting.intervals import FEWEST
from engine.fitting.problem import LOG_LIMIT
from engine.fitting.residuals import FAR, compare
from engine.fitting.result import FitWarning
from engine.laws.law import Floats, Values
from engine.laws.terms import Const

COLLINEAR = 0.99
BELOW = 3.0
"""Robust standard deviations below the law beyond which a run under the floor is no longer noise around it."""
SHOWN = 5
"""Rows that a sentence names before it says how many more there are."""
PULL = {
    "huber-log": "they hardly move a Huber fit",
    "lad": "they hardly move a fit of absolute deviations",
    "ols": "they pull a least-squares fit",
    "ols-log": "they pull a least-squares fit",
    "asymmetric": "those above the law hardly move it, those below pull it hard",
}
"""What outliers do to a fit, by objective."""


def diagnose(s: Sample, found: Estimate) -> tuple[FitWarning, ...]:
    """Every soft problem of a fit, the estimator's own first."""
    values = s.law.values(found.theta)
    out = [*found.warnings, *_left_out(s), *_few(s), *_repeats(s), *_failed(found), *_few_refits(found)]
    if s.law.every_run:
        out += [*_collinear(s), *_floor(s, values, found.resamples), *_terms(s, values), *_rows(s, found.theta)]
        out += _rounded(s)
    return tuple(out)


def _left_out(s: Sample) -> Iterator[FitWarning]:
    if s.left_out:
        total = s.left_out + len(s)
        yield FitWarning("left-out", f"{s.left_out} of {total} runs have weight zero and are left out.")


def _few(s: Sample) -> Iterator[FitWarning]:
    n, p = len(s), len(s.free)
    if s.law.every_run and n < 3 * p:
        yield FitWarning(
            "few-runs",
            f"{n} runs for {p} free parameters: intervals from so few runs are too narrow; "
            f"select at least {3 * p} runs or fix a parameter before trusting them.",
        )


def _repeats(s: Sample) -> Iterator[FitWarning]:
    table = np.column_stack([*s.columns.values(), s.y])
    table = table[~np.isnan(table).any(axis=1)]
    repeated = len(table) - len(np.unique(table, axis=0))
    if repeated > 0:
        yield FitWarning(
            "repeats",
            f"{repeated} of {len(s)} runs repeat another run exactly, in {', '.join(s.columns)} and "
            f"{column(s.runs, s.spec.y)}: if they are copies and not repeats, leave them out, "
            "or the intervals are too narrow.",
        )


def _failed(found: Estimate) -> Iterator[FitWarning]:
    total = len(found.resamples)
    failed = int(np.isnan(found.resamples).any(axis=1).sum())
    if failed:
        yield FitWarning(
            "resamples-failed",
            f"{failed} of {total} resamples gave no fit and are left out: "
            f"the intervals stand on the other {total - failed}.",
        )


def _few_refits(found: Estimate) -> Iterator[FitWarning]:
    made = int((~np.isnan(found.resamples).any(axis=1)).sum())
    if len(found.resamples) and made < FEWEST:
        refits = f"{made} refit{' is' if made == 1 else 's are'}"
        yield FitWarning("few-refits", f"{refits} too few for intervals: ask for {FEWEST} or more, better 1000.")


def _collinear(s: Sample) -> Iterator[FitWarning]:
    axes = [axis for axis in s.law.axes if np.all(s.columns[axis] > 0)]
    for i, one in enumerate(axes):
        for other in axes[i + 1 :]:
            slope, correlation = direction(s.columns[one], s.columns[other])
            if abs(correlation) > COLLINEAR:
                yield FitWarning(
                    "collinear",
                    f"{one} and {other} move together (log correlation {correlation:.4f}, {other} roughly "
                    f"proportional to {one}^{slope:.2f}): along that line the law is known, across it hardly; "
                    f"add runs where {one} changes at the same {other}.",
                )


def _floor(s: Sample, values: Values, resamples: Floats) -> Iterator[FitWarning]:
    for term in s.law.terms:
        if not isinstance(term, Const) or term.amplitude in s.spec.fixed:
            continue
        name, low = term.amplitude, s.law.param(term.amplitude).low
        at = resamples[:, s.law.names.index(name)] if len(resamples) else np.empty(0)
        share = float(np.mean(at <= low)) if at.size else 0.0
        if values[name] == low:
            limit = f" (below {np.quantile(at, 0.95):.3g} in 95 % of resamples)" if at.size else ""
            yield FitWarning(
                "floor-zero",
                f"The data do not require a floor: the best fit has {name} = {low:g}. "
                f"Read {name} as an upper limit{limit} and do not trust losses far beyond the data.",
            )
        elif share > 0.025:
            yield FitWarning(
                "floor-weak",
                f"{name} is {low:g} in {share:.0%} of the resamples: the data hardly require a floor; "
                "larger runs would settle it.",
            )


def _terms(s: Sample, values: Values) -> Iterator[FitWarning]:
    for term in s.law.terms:
        if isinstance(term, Const):
            continue
        amplitude, exponent = term.params()
        p = s.law.param(exponent)
        if values[amplitude] == 0 and amplitude not in s.spec.fixed:
            yield FitWarning(
                "collapsed",
                f"The term of {term.axis} vanished ({amplitude} = 0): these runs show no effect of {term.axis}, and "
                f"{exponent} means nothing; add runs with smaller {term.axis} or fit without it.",
            )
        elif exponent not in s.spec.fixed and not (max(p.low, LOG_LIMIT) < values[exponent] < p.high):
            yield FitWarning(
                "at-bound",
                f"{exponent} ended at {values[exponent]:.3g}, the edge of what is allowed: "
                f"the runs do not show how the loss falls with {term.axis}; "
                f"add runs over a wider range of {term.axis} or fix {exponent}.",
            )


def _rows(s: Sample, theta: Floats) -> Iterator[FitWarning]:
    r = compare(s.law.predict(theta, s.columns), s.y, s.spec.logs)
    far = np.flatnonzero(r.outlier)
    if far.size:
        largest = far[np.argsort(-np.abs(r.z[far]), kind="stable")]
        yield FitWarning(
            "outliers",
            f"{far.size} of {len(s)} runs lie more than {FAR:g} robust standard deviations from the law "
            f"({_named(s, largest)}): {PULL[s.spec.objective]}; look at them and leave out only what is wrong.",
        )
    floor = sum(float(s.law.values(theta)[t.amplitude]) for t in s.law.terms if isinstance(t, Const))
    below = np.flatnonzero((s.y < floor) & (r.z < -BELOW))
    if below.size:
        yield FitWarning(
            "below-floor",
            f"{below.size} of {len(s)} runs lie beyond the fitted floor {s.sign * floor:.4g} "
            f"({_named(s, below)}): the floor is too high for them, "
            "or their values are of another kind; check these runs.",
        )


def _rounded(s: Sample) -> Iterator[FitWarning]:
    levels = np.unique(s.y)
    if len(s) < 20 or len(levels) > 0.6 * len(s) or s.spec.objective != "huber-log":
        return
    step = float(np.median(np.diff(np.log(levels))))
    if step > s.spec.delta:
        yield FitWarning(
            "rounded",
            f"The {len(s)} losses take only {len(levels)} values, about {step:.1%} apart, more than delta = "
            f"{s.spec.delta:g}: they look rounded; use unrounded losses, or a larger delta.",
        )


def _named(s: Sample, index: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    names = ", ".join(row(s.runs, int(i)) for i in index[:SHOWN])
    return names + (f" and {index.size - SHOWN} more" if index.size > SHOWN else "")
