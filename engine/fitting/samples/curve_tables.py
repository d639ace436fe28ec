"""Tables of runs that are made from training curves, for laws that use curves.

The content of a row depends on the law. For envelope, it is a point of an interpolated curve. For critical-batch, it is
the number of training steps of a run to a target. For threshold, it shows whether a run overfits. Unusable curves are
removed, and the remaining curves are smoothed. The table is then fitted like a table of runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.schema import Curves, Metric, Runs

LOST = 0.5
"""A curve diverged if (rise of the loss after its minimum) / (decrease before the minimum) exceeds this number."""
STRETCHES = 20
"""Number of segments into which a curve is divided. Their mean losses show whether the loss rises at the end."""
SIGNIFICANT = 4.0
"""A rise of the loss at the end of a curve counts as overfitting if it exceeds this number of standard errors.

The rise is the mean loss of the last segment minus the lowest mean loss of a segment.
"""
RISE = 0.01
"""A rise counts as overfitting only if it also exceeds this fraction of the total decrease of the loss."""
GROWTH = 1.05
"""Ratio of training steps that defines ``smoothing`` for the law critical-batch.

If a point has GROWTH times the training steps of an earlier point, the running mean gives the earlier point
``smoothing`` times the weight of the later point. See ``smoothed_by_updates``.
"""


def measured(curves: Curves, y: str) -> Curves:
    """Return the valid curves that do not diverge to infinity, at the points where ``y`` was measured.

    Raises PlannerError if ``y`` is not a column of the curves or if no curve remains.
    """
    if y not in curves:
        known = ", ".join(["loss"] * ("loss" in curves) + [m.column for m in curves.roles.metrics])
        raise PlannerError(f"The curves have no column for {y}: they contain {known or 'neither loss nor metrics'}.")
    infinite, seen = _any(curves, np.isinf(curves[y])), _any(curves, np.isfinite(curves[y]))
    sound = curves.marks == ""
    kept = curves.take(sound & ~infinite & seen)
    notes = [*curves.notes, *left_out(sound & infinite, "that diverged (NaN or infinity)")]
    notes += left_out(sound & ~infinite & ~seen, f"without {y}")
    if len(kept) == 0:
        raise PlannerError(f"No training curve is left: {' '.join(notes) or 'the curve table is empty.'}")
    points = np.isfinite(kept[y])
    values = {name: x[points] for name, x in kept.values.items()}
    return replace(kept, of=kept.of[points], values=values, notes=tuple(notes))


def steady(curves: Curves, y: str) -> Curves:
    """Return the curves that have not diverged. A diverged curve ends far above its minimum.

    The value at the end is the lowest of the last three points. Raises PlannerError if no curve remains.
    """
    loss, starts = down(curves, y), curves.starts
    first, least = loss[starts[:-1]], np.minimum.reduceat(loss, starts[:-1])
    last = np.array([loss[max(b - 3, a) : b].min() for a, b in pairwise(starts.tolist())])
    lost = last - least > LOST * (first - least)
    notes = (*curves.notes, *left_out(lost, "that diverged (ended far above its minimum)"))
    kept = replace(curves.take(~lost), notes=notes)
    if len(kept) == 0:
        raise PlannerError(f"Every training curve ends far above its own minimum of {y}: check the curves.")
    return kept


def smoothed(x: Floats, starts: Ints, smoothing: float) -> Floats:
    """Return the exponentially weighted running mean of ``x`` (n,) along each curve, as in TensorBoard.

    m_t = sum_k s^k x_(t-k) / sum_k s^k, with s = ``smoothing``. The denominator prevents a bias of the first points
    towards zero. If s is 0, ``x`` is returned.
    """
    if smoothing == 0:
        return x
    from scipy.signal import lfilter  # This import takes 0.3 s, and few fits need it.

    out = np.empty_like(x)
    for a, b in pairwise(starts.tolist()):
        weight = -np.expm1(np.arange(1, b - a + 1) * np.log(smoothing))
        out[a:b] = lfilter([1 - smoothing], [1, -smoothing], x[a:b]) / weight
    return out


def smoothed_by_updates(x: Floats, step: Floats, starts: Ints, smoothing: float) -> Floats:
    """Return the running mean of ``x`` (n,) along each curve, weighted by a power of the training steps.

    m_k = sum_j x_j t_j^a / sum_j t_j^a over all points j up to k. t_j is the number of training steps, and a = -ln s /
    ln 1.05 with s = ``smoothing``. If the number of steps is divided by 1.05, the weight is multiplied by s. The mean
    at a point covers a fixed fraction of the earlier steps. This fraction does not depend on the spacing of the points
    or the length of the run.
    """
    if smoothing == 0:
        return x
    power, out = -np.log(smoothing) / np.log(GROWTH), np.array(x, float)
    for a, b in pairwise(starts.tolist()):
        weight = (step[a:b] / max(float(step[a:b].max()), 1.0)) ** power
        total = np.cumsum(weight)
        there = total > 0
        out[a:b][there] = np.cumsum(weight * x[a:b])[there] / total[there]
    return out


@dataclass(frozen=True)
class End:
    """The end of a validation curve.

    ``overfits`` is True if the loss rose after its minimum. ``falling`` is True if the loss still decreased at the end.
    """

    overfits: bool
    falling: bool


def end_of(loss: Floats) -> End:
    """Return whether the loss (t,) rises at the end by more than noise, and whether it still decreases at the end.

    The curve is divided into 20 segments. The run overfits if the mean loss of the last segment exceeds the lowest mean
    loss by more than four standard errors, and by more than 1 % of the total decrease (paper ``jets``, Fig. 3). The
    standard error is computed from the scatter of the second differences of the loss.
    """
    width = max(len(loss) // STRETCHES, 1)
    means = np.array([part.mean() for part in np.array_split(loss, len(loss) // width)])
    bends = np.abs(np.diff(loss, 2))
    scatter = 1.4826 * float(np.median(bends)) / np.sqrt(6) if len(bends) else 0.0
    gain = float(means[0] - means.min())
    clear = max(SIGNIFICANT * scatter * np.sqrt(2 / width), RISE * gain, 1e-12 * float(np.max(np.abs(means))))
    falling = len(means) > 1 and bool(means[-2] - means[-1] > clear)
    return End(bool(means[-1] - means.min() > clear), falling)


def sign(curves: Curves, y: str) -> float:
    """Return -1 if larger ``y`` is better, and otherwise 1."""
    return -1.0 if curves.roles.direction(y) == "max" else 1.0


def down(curves: Curves, y: str) -> Floats:
    """Return ``y`` at all points (n,), multiplied by -1 if larger values are better."""
    return sign(curves, y) * curves[y]


def left_out(out: Bools, why: str) -> list[str]:
    """Return a list with one sentence: the number of curves in the mask ``out`` (m,), and the reason ``why``.

    The list is empty if the mask contains no curve.
    """
    count = int(out.sum())
    if not count:
        return []
    return [f"{count:,} {'curve' if count == 1 else 'curves'} {why} {'is' if count == 1 else 'are'} left out."]


def _any(curves: Curves, points: Bools) -> Bools:
    """Return a mask (m,) of the curves with at least one point in the mask ``points`` (n,)."""
    return np.asarray(np.bincount(curves.of[points], minlength=len(curves)) > 0)


BUDGETS = 500
"""Number of budgets at which curves are compared (Hoffmann et al. 2022, sec. 3.1, use 1,500). The budgets are evenly
spaced in log C.
"""
RIVALS = 30
"""Number of best curves stored for each budget. The envelope of a resample rarely contains any other curve."""


def shaped(spec: FitSpec, runs: Runs, curves: Curves | None) -> Runs:
    """Return the runs to which the law of ``spec`` is fitted: ``runs``, or a table that is made from ``curves``.

    Raises PlannerError if the law does not use curves, or if the curves lack a column that the law needs.
    """
    if curves is None:
        return _of_unique(runs) if spec.law == "threshold" else runs
    if spec.law not in SHAPES:
        raise PlannerError(
            f"Law {spec.law} uses one row for each run and no training curves: leave the curves out, "
            f"or use one of {', '.join(SHAPES)}."
        )
    made = SHAPES[spec.law](spec, measured(curves, spec.y))
    roles = made.roles.model_copy(update={"compute": runs.roles.compute})
    return replace(made, roles=roles, source=runs.source, sha256=runs.sha256)


def whole(spec: FitSpec, curves: Curves) -> Runs:
    """Return the points of the smoothed curves at 500 common budgets, for the law envelope.

    The curves are interpolated linearly in log C. For each budget, the 30 best curves are stored. log C and log D are
    smoothed like the loss. A mean of several losses is therefore assigned to the mean of their log C, and not to the
    last log C.
    """
    curves = steady(curves, spec.y)
    _need(curves, ("N", "D", "C"), spec)
    used = (curves["C"] > 0) & (curves["D"] > 0)
    loss = down(curves, spec.y)
    budgets = np.geomspace(curves["C"][used].min(), curves["C"][used].max(), BUDGETS) if used.any() else np.empty(0)
    y, D = np.full((2, len(curves), len(budgets)), np.inf)
    for i, (a, b) in enumerate(pairwise(curves.starts.tolist())):
        part = np.flatnonzero(used[a:b]) + a
        if len(part) > 1:
            own = np.array([0, len(part)])
            at, seen, low = (
                smoothed(x, own, spec.smoothing)
                for x in (np.log(curves["C"][part]), np.log(curves["D"][part]), loss[part])
            )
            y[i] = np.interp(np.log(budgets), at, low, left=np.inf, right=np.inf)
            D[i] = np.exp(np.interp(np.log(budgets), at, seen))
    y[np.argsort(np.argsort(y, axis=0), axis=0) >= RIVALS] = np.inf
    of, place = np.nonzero(np.isfinite(y))
    if not len(of):
        raise PlannerError("No training curve has two points with compute above zero: an envelope needs whole curves.")
    values = {"N": curves["N"][curves.starts[:-1]][of], "D": D[of, place], "C": budgets[place]}
    values[spec.y] = sign(curves, spec.y) * y[of, place]
    return _runs(curves, values, of, curves.roles.metrics)


def updates(spec: FitSpec, curves: Curves) -> Runs:
    """Return one row per run: its batch size and, in the column of the metric, the training steps to the target.

    The target is ``spec.target``. If it is None, the target is the best loss that every run reaches. The step at which
    a curve reaches the target is interpolated between points. The running mean of the loss covers a fixed fraction of
    the steps, because the distance between points is larger in longer runs. The steps are smoothed like the loss. A
    mean of several losses is therefore assigned to the mean of their steps.
    """
    curves = steady(curves, spec.y)
    axis = spec.find_law().axes[0]
    _need(curves, ("step", axis), spec)
    smooth = partial(smoothed_by_updates, step=curves["step"], starts=curves.starts, smoothing=spec.smoothing)
    loss, turn = smooth(down(curves, spec.y)), sign(curves, spec.y)
    best = np.minimum.reduceat(loss, curves.starts[:-1])
    target = float(np.max(best)) if spec.target is None else turn * spec.target
    there = best <= target
    if not there.any():
        raise PlannerError(
            f"No run reaches {spec.y} = {turn * target:g}: the best smoothed value is {turn * best.min():.4g}; "
            "choose an easier target."
        )
    spans = [span for span, reaches in zip(pairwise(curves.starts.tolist()), there, strict=True) if reaches]
    seen = smooth(curves["step"])
    steps = np.array([_crossing(seen[a:b], loss[a:b], target) for a, b in spans])
    values = {axis: curves[axis][curves.starts[:-1]][there], spec.y: steps}
    rows = _runs(curves, values, np.flatnonzero(there), _less(spec.y))
    notes = (
        f"Training steps until the smoothed {spec.y} is {turn * target:.4g}.",
        *left_out(~there, "that do not reach this value"),
    )
    return replace(rows, notes=(*rows.notes, *notes))


def cells(spec: FitSpec, curves: Curves) -> Runs:
    """Return one row per run: model size N, unique samples as D, and a label in the column of the metric.

    The label is 1 if the run overfits, and 0 otherwise.
    """
    if "U" in curves:
        curves = replace(curves, values={**curves.values, "D": curves["U"]})
    _need(curves, ("N", "D"), spec)
    loss, last = down(curves, spec.y), curves.starts[1:] - 1
    ends = [end_of(loss[a:b]) for a, b in pairwise(curves.starts.tolist())]
    values = {name: curves[name][last] for name in ("N", "D")}
    values[spec.y] = np.array([float(end.overfits) for end in ends])
    rows = _runs(curves, values, np.arange(len(curves)), _less(spec.y))
    falling = sum(end.falling for end in ends)
    if not falling:
        return rows
    note = (
        f"{falling:,} of {len(curves):,} curves {'was' if falling == 1 else 'were'} still falling at the end and "
        f"{'counts' if falling == 1 else 'count'} as underfitting: train longer to be sure."
    )
    return replace(rows, notes=(*rows.notes, note))


SHAPES: dict[str, Callable[[FitSpec, Curves], Runs]] = {
    "envelope": whole,
    "critical-batch": updates,
    "threshold": cells,
}
"""For each law that uses training curves: the function that computes its table of runs."""


def _of_unique(runs: Runs) -> Runs:
    """Return the runs with the column D replaced by the unique samples U, if there is a column U."""
    return replace(runs, values={**runs.values, "D": runs["U"]}) if "U" in runs else runs


def _need(curves: Curves, roles: tuple[str, ...], spec: FitSpec) -> None:
    for role in roles:
        if role not in curves or not np.isfinite(curves[role]).all():
            known = "is not known along the curves" if role not in curves else "is missing at some points of the curves"
            raise PlannerError(
                f"Law {spec.law} needs {role}, which {known}: map a column to {role} in the curve table, or in "
                "the run table with the same run names."
            )


def _crossing(step: Floats, loss: Floats, target: float) -> float:
    """Return the first step at which ``loss`` is at or below ``target``, interpolated linearly between points."""
    i = int(np.argmax(loss <= target))
    if i == 0:
        return float(step[0])
    share = (loss[i - 1] - target) / (loss[i - 1] - loss[i])
    return float(step[i - 1] + share * (step[i] - step[i - 1]))


def _runs(curves: Curves, values: dict[str, Floats], of: Ints, metrics: tuple[Metric, ...]) -> Runs:
    roles = curves.roles.model_copy(update={"metrics": metrics})
    return Runs(np.arange(len(of)), values, roles, {"run": curves.names[of]}, notes=curves.notes)


def _less(y: str) -> tuple[Metric, ...]:
    """Return the metrics of a table in which smaller ``y`` is better; empty if ``y`` is the loss."""
    return () if y == "loss" else (Metric(column=y, direction="min"),)
