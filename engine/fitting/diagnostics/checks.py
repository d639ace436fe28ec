"""Warnings about a fit. Each warning is a text that states what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import stdtrit

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.diagnostics.pooling import mixed
from isoplan.engine.fitting.diagnostics.residuals import compare
from isoplan.engine.fitting.samples.sample import Sample, column, direction, row, stated_error
from isoplan.engine.fitting.solver.identifiability import directions, folds
from isoplan.engine.fitting.solver.problem import LOG_LIMIT, rate_limit
from isoplan.engine.fitting.types.intervals import EXCLUDED, FEWEST, SURE, FloorConfidence, leading_axis
from isoplan.engine.fitting.types.optimum_location import EDGE, FLAT, LEVEL, differs, locate_optimum, monotone_edge
from isoplan.engine.fitting.types.result import Estimate, FitWarning
from isoplan.engine.laws.law import Param, Values
from isoplan.engine.laws.terms import Const
from isoplan.engine.mixtures import COPIED

COLLINEAR = 0.99
BELOW = 3.0
"""Minimum distance below the law, in robust standard deviations, at which a single run can reject the floor."""
FALSE_ALARMS = 0.005
"""Probability that a test rejects a correct floor (false alarm)."""
FIRST = 5
"""Minimum number of runs whose mean loss is compared with the floor."""
REPEATS = "repeats"
RISES, HIGH = "rises", 1.5
"""RISES: code of the warning that the loss rises where the law falls. HIGH: loss ratio that triggers this warning.

The ratio is (median loss at the largest value on the axis) / (smallest median loss).
"""
SHOWN = 5
"""Maximum number of rows that a warning names. Further rows are only counted."""
PULL = {
    "huber-log": "Outliers hardly change a Huber fit",
    "lad": "Outliers hardly change a fit of absolute deviations",
    "ols": "Outliers change a least-squares fit",
    "ols-log": "Outliers change a least-squares fit",
    "asymmetric": "Outliers above the law hardly change the fit, but outliers below the law do",
}
"""Sentence about the effect of outliers on a fit, for each objective."""


def diagnose(s: Sample, found: Estimate) -> tuple[FitWarning, ...]:
    """Return all warnings about a fit. The warnings of the estimator come first."""
    values = s.law.values(found.theta)
    out = [*found.warnings, *_left_out(s), *_unplaced(s), *_unmeasured(s), *_few(s), *_repeats(s), *_failed(found)]
    out += [*_few_refits(found), *_floor(s, found), *folds(s.law, found.resamples), *mixed(s, found.theta)]
    if s.law.is_pointwise:
        out += [*_collinear(s), *_terms(s, values), *_rows(s, found.theta)]
        out += [*_optimum(s, found), *_rises(s, found), *_absent(s, values), *_rounded(s)]
    if s.law.estimator == "surface":
        out += directions(s, found.theta)
    return tuple(out)


def _left_out(s: Sample) -> Iterator[FitWarning]:
    if s.left_out:
        total, verbs = s.left_out + len(s), ("has", "is") if s.left_out == 1 else ("have", "are")
        yield FitWarning("left-out", f"{s.left_out} of {total} runs {verbs[0]} weight zero and {verbs[1]} left out.")


def _few(s: Sample) -> Iterator[FitWarning]:
    n, p = len(s), len(s.free)
    if s.law.is_pointwise and n < 3 * p:
        yield FitWarning(
            "few-runs",
            f"{n} runs for {p} free parameters: intervals are wide, and valid only if all runs have the same scatter "
            f"around the law. Use {3 * p} or more runs to test this.",
        )


def _repeats(s: Sample) -> Iterator[FitWarning]:
    table = np.column_stack([*s.columns.values(), s.y])
    repeated = _extra(table)
    if repeated and any(COPIED in note for note in s.runs.notes):
        repeated -= _extra(np.nan_to_num(np.column_stack(list(s.runs.values.values())), nan=-1.0))
    if repeated > 0:
        yield FitWarning(
            REPEATS,
            f"{repeated} of {len(s)} runs {'repeats' if repeated == 1 else 'repeat'} another run exactly, in "
            f"{', '.join(s.columns)} and "
            f"{column(s.runs, s.spec.y)}. If these are copies of a run and not separate runs, leave them out "
            "on the Data page (--repeats once in the terminal): copies make the intervals too narrow.",
        )


def _extra(table: Floats) -> int:
    """Return the number of rows in ``table`` (n, k) that equal an earlier row. Rows with NaN are not counted."""
    whole = table[~np.isnan(table).any(axis=1)]
    return len(whole) - len(np.unique(whole, axis=0))


def _failed(found: Estimate) -> Iterator[FitWarning]:
    total = len(found.resamples)
    failed = int(np.isnan(found.resamples).any(axis=1).sum())
    if failed:
        yield FitWarning(
            "resamples-failed",
            f"{failed} of {total} resamples gave no fit and are left out: "
            f"the intervals use the other {total - failed}.",
        )


def _few_refits(found: Estimate) -> Iterator[FitWarning]:
    made = int((~np.isnan(found.resamples).any(axis=1)).sum())
    if len(found.resamples) and made < FEWEST:
        refits = f"{made} refit{' is' if made == 1 else 's are'}"
        yield FitWarning("few-refits", f"{refits} too few for intervals: use {FEWEST} or more, better 1000.")


def _collinear(s: Sample) -> Iterator[FitWarning]:
    axes = [axis for axis in s.law.axes if np.all(s.columns[axis] > 0)]
    for i, one in enumerate(axes):
        for other in axes[i + 1 :]:
            slope, correlation = direction(s.columns[one], s.columns[other])
            if abs(correlation) > COLLINEAR:
                yield FitWarning(
                    "collinear",
                    f"{one} and {other} move together (log correlation {correlation:.4f}, {other} roughly "
                    f"proportional to {one}^{slope:.2f}): the runs do not separate the two effects. "
                    f"Add runs with different {one} at the same {other}.",
                )


def _floor(s: Sample, found: Estimate) -> Iterator[FitWarning]:
    """Warn of a floor that is zero or not resolved.

    The warning for an unresolved floor states the upper limit of the floor and two losses far beyond the runs: the loss
    with a floor and the loss without one.
    """
    floors = {t.amplitude for t in s.law.terms if isinstance(t, Const)} - set(found.held)
    for i, name in enumerate(s.law.names):
        if name not in floors or name not in s.free:
            continue
        zero = bool(found.theta[i] == s.law.param(name).low)
        if found.floorless is None:
            if zero:
                yield FitWarning(
                    "floor-zero",
                    f"The data do not require a floor: the best fit has {name} = {found.theta[i]:g}. "
                    f"Only an upper limit of {name} is known: do not trust losses far beyond the data.",
                )
            yield from _disputed(s, found, float(found.theta[i]))
            continue
        beyond = {axis: np.array(10 * float(np.max(s.columns[axis]))) for axis in s.law.axes}
        made = found.resamples[: len(found.resamples) - found.resampling.floorless]
        limit = limit_of(found.confidence, made[:, i])
        most = np.nanquantile(s.law.predict(made, beyond), SURE)
        without, best = (float(s.law.predict(theta, beyond)) for theta in (found.floorless, found.theta))
        say = "The data do not require a floor:" if zero else f"The floor {name} is not resolved:"
        with_one = f"at most {most:.3g}" if zero else f"{best:.3g} (at most {most:.3g})"
        ends = {axis: float(np.max(s.columns[axis])) for axis in s.law.axes}
        axis = leading_axis(s.law, s.law.values(found.theta), ends)
        yield FitWarning(
            "floor-zero" if zero else "floor-weak",
            f"{say} {name} is below {limit:.3g} (95 %); zero is not excluded. At ten times the "
            f"largest {' and '.join(s.law.axes)} of the runs, the {s.spec.y} is {without:.3g} without a floor and "
            f"{with_one} with a floor. Half of the resamples have no floor, and the intervals include both cases. "
            f"Add runs with larger {axis}.",
        )


def _disputed(s: Sample, found: Estimate, floor: float) -> Iterator[FitWarning]:
    """Warn if least squares gives another value of a resolved floor than the objective of the fit."""
    curve = found.confidence
    if curve is None or not curve.resolved or curve.agrees(floor):
        return
    yield FitWarning(
        "floor-objectives",
        f"The objective {s.spec.objective} gives {curve.name} = {floor:.4g}, and "
        f"least squares gives {curve.upper(0.5):.4g} "
        f"(95 %: {curve.upper(EXCLUDED):.4g} to {curve.upper(1 - EXCLUDED):.4g}). These methods weight runs far "
        "from the law differently. Therefore, no probability of reaching a target is stated. "
        "Check the runs with the largest residuals.",
    )


def limit_of(confidence: FloorConfidence | None, drawn: Floats) -> float:
    """Return the 95 % upper limit of an unresolved floor.

    The limit is computed from the confidence curve ``confidence``. If there is no curve, the limit is computed from the
    floors ``drawn`` (r,) of the resamples.
    """
    return confidence.upper(SURE) if confidence else float(np.nanquantile(drawn, SURE))


def _terms(s: Sample, values: Values) -> Iterator[FitWarning]:
    for term in s.law.terms:
        if term.exponent is None:
            continue
        amplitude, exponent = term.params()
        p, x = s.law.param(exponent), s.columns[term.axis]
        if values[amplitude] == 0 and amplitude not in s.spec.fixed:
            todo = (
                "fit a law without this term"
                if s.law.optimum
                else f"add runs with smaller {term.axis} or fit a law without this term"
            )
            yield FitWarning(
                "collapsed",
                f"The term {term.text()} is zero ({amplitude} = 0): these runs show no such effect of {term.axis}, "
                f"so {exponent} has no meaning; {todo}.",
            )
        elif exponent not in s.spec.fixed and not _resolved(values[exponent], p, term.spread(x), term.coordinate(x)):
            yield FitWarning(
                "at-bound",
                f"{exponent} = {values[exponent]:.3g} is at its bound: "
                f"the runs do not determine the curvature of {s.spec.y} in {term.axis}; "
                f"add runs over a wider range of {term.axis} or fix {exponent}.",
            )


def _resolved(value: Floats, p: Param, spread: float, along: Floats) -> bool:
    """Return whether the fitted exponent ``value`` is inside its bounds.

    For an exponential, ``value`` is a rate, which may be positive or negative. A rate is resolved only if it also
    differs clearly from zero, because with a rate near zero the term is a straight line.
    """
    if p.low < 0:
        return bool(LOG_LIMIT < abs(value) * spread < rate_limit(spread, float(np.mean(along))) * (1 - 1e-9))
    return bool(max(p.low, LOG_LIMIT) < value < p.high)


def _unplaced(s: Sample) -> Iterator[FitWarning]:
    if s.unplaced:
        runs = "run has" if s.unplaced == 1 else "runs have"
        yield FitWarning(
            "at-zero",
            f"{s.unplaced} {runs} {s.law.axis} = 0, which this law does not allow. Such runs are shown but not "
            f"fitted. To fit them, give a value of {s.law.axis} to use instead of zero.",
        )


def _unmeasured(s: Sample) -> Iterator[FitWarning]:
    if s.unmeasured:
        runs = "run has" if s.unmeasured == 1 else "runs have"
        yield FitWarning("unmeasured", f"{s.unmeasured} {runs} no {s.spec.y} and cannot be fitted.")


def _optimum(s: Sample, found: Estimate) -> Iterator[FitWarning]:
    """Warn of an optimum that is outside the sweep or that the runs do not determine."""
    law = s.law
    if law.optimum is None or law.axis is None:
        return
    predicted = law.predict(found.theta, s.columns)
    y, residual = (np.log(s.y), np.log(predicted / s.y)) if s.spec.log_residuals else (s.y, predicted - s.y)
    chance = differs(y, residual, s.weight, len(s.free))
    if chance > LEVEL:
        yield FitWarning(
            FLAT,
            f"The runs do not differ from a constant by more than their scatter (F test, p = {chance:.2g}): the best "
            f"{law.axis} is not determined. Repeat runs with other seeds, or widen the sweep.",
        )
        return
    at, x = law.optimum(law.values(found.resamples)), s.columns[law.axis]
    best = float(law.optimum(law.values(found.theta)))
    end = monotone_edge(x, s.y)
    said = locate_optimum(best, at[~np.isnan(found.resamples).any(axis=1)], float(x.min()), float(x.max()))
    if said.place == "inside" and end is not None:
        side = "larger" if end == x.max() else "smaller"
        yield FitWarning(
            EDGE,
            f"The runs improve up to {law.axis} = {end:.4g}, an end of the sweep: the optimum at {best:.4g} is "
            f"extrapolated. Add runs at {side} {law.axis}, or fit a law without an optimum, such as power.",
        )
    elif said.place != "inside":
        todo = {
            "outside left": f"lies to the left of the sweep: add runs at smaller {law.axis}",
            "outside right": f"lies to the right of the sweep: add runs at larger {law.axis}",
        }.get(said.place, "is not determined by these runs: add runs on both sides, and repeat runs with other seeds")
        yield FitWarning("optimum", f"The best {law.axis} {todo}.")


def _rises(s: Sample, found: Estimate) -> Iterator[FitWarning]:
    """Warn if the loss rises towards the largest values on an axis although the fitted law falls there."""
    law = s.law
    if law.axis is None or law.optimum is not None or s.y.min() <= 0:
        return
    x = s.columns[law.axis]
    places = np.unique(x)
    middles = np.array([np.median(s.y[x == place]) for place in places])
    least, last, predicted = middles.argmin(), len(places) - 1, law.predict(found.theta, s.columns)
    falls = predicted[x == places[last]][0] <= predicted[x == places[least]][0]
    if falls and middles[last] > HIGH * middles[least]:
        yield FitWarning(
            RISES,
            f"The values of the runs rise with {law.axis}, from {middles[least]:.4g} at {places[least]:.4g} to "
            f"{middles[last]:.4g} at the largest {law.axis}, but the law falls in this range: do not use the floor or "
            f"plateau of the law. Check the runs beyond {places[least]:.4g}.",
        )


def _absent(s: Sample, values: Values) -> Iterator[FitWarning]:
    """Warn of derived numbers that are not finite. For laws with an optimum, ``_optimum`` gives a warning instead."""
    if s.law.optimum is not None:
        return
    with np.errstate(all="ignore"):
        for d in s.law.derived:
            if not np.isfinite(d.value(values)):
                yield FitWarning("not-defined", f"{d.name} has no value for these runs: {d.absent} ({d.meaning}).")


def _rows(s: Sample, theta: Floats) -> Iterator[FitWarning]:
    predicted = s.law.predict(theta, s.columns)
    r = compare(predicted, s.y, s.spec.log_residuals, stated_error(s.spec, s.runs), len(s.free))
    far = np.flatnonzero(r.outlier)
    if far.size:
        largest = far[np.argsort(-np.abs(r.z[far]), kind="stable")]
        yield FitWarning(
            "outliers",
            f"{far.size} of {len(s)} runs {'lies' if far.size == 1 else 'lie'} more than {r.limit:.2g} robust standard "
            f"deviations from the law "
            f"({_named(s, largest)}). {PULL[s.spec.objective]}. Leave out runs that are wrong.",
        )
    floors = [float(s.law.values(theta)[t.amplitude]) for t in s.law.terms if isinstance(t, Const)]
    floor = sum(floors) if floors else -np.inf
    below = np.flatnonzero(s.y < floor)
    if below.size and (np.any(r.z[below] < -floor_limit(len(s), len(s.free))) or below_floor(s, predicted, floor)):
        lowest = below[np.argsort(s.y[below], kind="stable")]
        verb, whose, these = ("is", "its", "this run") if below.size == 1 else ("are", "their", "these runs")
        yield FitWarning(
            "below-floor",
            f"{below.size} of {len(s)} runs {verb} better than the fitted floor {s.sign * floor:.4g} by more than "
            f"{whose} scatter ({_named(s, lowest)}; best {s.sign * s.y[lowest[0]]:.4g}): the floor is wrong. "
            f"Leave {these} out if their values are of another quantity; otherwise fit another law.",
        )


def floor_limit(n: int, parameters: int) -> float:
    """Return how far below the law a run must be, in robust standard deviations, to reject a floor above the run.

    The law has ``parameters`` fitted parameters and is fitted to ``n`` runs.
    """
    freedom = n - parameters
    return max(BELOW, float(-stdtrit(freedom, FALSE_ALARMS / n))) if freedom > 0 else float("inf")


def below_floor(s: Sample, predicted: Floats, floor: float) -> bool:
    """Return whether the runs with the lowest predictions are on average below the floor (one-sided t tests).

    If the floor of the law is correct, the expected loss of every run is above the floor. The runs are sorted by
    ``predicted`` (n,) and not by their measured loss, so that noise does not select them. The first 5, 10, 20, ... runs
    are tested, up to half of all runs. The level FALSE_ALARMS is divided equally among the tests.
    """
    nearest = np.argsort(predicted, kind="stable")
    excess = (np.log(s.y / floor) if s.spec.log_residuals and floor > 0 else s.y - floor)[nearest]
    sizes = [FIRST * 2**k for k in range(20) if FIRST * 2**k <= len(s) / 2]
    for k in sizes:
        error = float(np.std(excess[:k], ddof=1)) / np.sqrt(k)
        if np.mean(excess[:k]) < error * stdtrit(k - 1, FALSE_ALARMS / len(sizes)):
            return True
    return False


def _rounded(s: Sample) -> Iterator[FitWarning]:
    levels, runs = np.unique(s.y), np.unique(np.column_stack([*s.columns.values(), s.y]), axis=0)
    if len(s) < 20 or len(levels) > 0.6 * len(runs) or s.spec.objective != "huber-log":
        return
    step = float(np.median(np.diff(np.log(levels))))
    if step > s.spec.delta:
        yield FitWarning(
            "rounded",
            f"The {len(s)} losses have only {len(levels)} different values, about {step:.1%} apart, which is more "
            f"than delta = {s.spec.delta:g}: they look rounded. Use unrounded losses, or a larger delta.",
        )


def _named(s: Sample, index: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    names = ", ".join(row(s.runs, int(i)) for i in index[:SHOWN])
    return names + (f" and {index.size - SHOWN} more" if index.size > SHOWN else "")
