"""Preparation of training curves for a law: removal of unusable curves, smoothing, and classification of their ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Curves

LOST = 0.5
"""Largest fraction of its total gain that a curve may have lost at its end; beyond it the curve has diverged."""
STRETCHES = 20
"""Number of parts into which a curve is cut to distinguish a rise from noise."""
SIGNIFICANT = 4.0
"""Standard errors by which the end of a curve must exceed its minimum to count as a rise."""
RISE = 0.01
"""Fraction of the total gain by which the end must exceed the minimum as well."""
GROWTH = 1.05
"""Ratio of training steps over which ``smoothing`` is the weight of the past, for batch-size curves."""


def measured(curves: Curves, y: str) -> Curves:
    """Return the valid curves at the points where ``y`` was measured, without those that diverged (NaN, infinity).

    Raises PlannerError if ``y`` is not a column of the curves or no curve remains.
    """
    if y not in curves:
        known = ", ".join(["loss"] * ("loss" in curves) + [m.column for m in curves.roles.metrics])
        raise PlannerError(f"The curves have no column for {y}: they hold {known or 'neither loss nor metrics'}.")
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
    """Return ``curves`` without those whose last three points are far above their own minimum.

    Raises PlannerError if no curve remains.
    """
    loss, starts = down(curves, y), curves.starts
    first, least = loss[starts[:-1]], np.minimum.reduceat(loss, starts[:-1])
    last = np.array([loss[max(b - 3, a) : b].min() for a, b in pairwise(starts.tolist())])
    lost = last - least > LOST * (first - least)
    notes = (*curves.notes, *left_out(lost, "that diverged (ended far above its minimum)"))
    kept = replace(curves.take(~lost), notes=notes)
    if len(kept) == 0:
        raise PlannerError(f"Every training curve ends far above its own minimum of {y}: look at the curves.")
    return kept


def smoothed(x: Floats, starts: Ints, smoothing: float) -> Floats:
    """Return the exponentially weighted mean of ``x`` (n,) along each curve, as in TensorBoard; 0 for none.

    m_t = sum_k s^k x_(t-k) / sum_k s^k, so that the first points are not biased towards zero.
    """
    if smoothing == 0:
        return x
    from scipy.signal import lfilter  # takes 0.3 s to import, and few fits need it

    out = np.empty_like(x)
    for a, b in pairwise(starts.tolist()):
        weight = -np.expm1(np.arange(1, b - a + 1) * np.log(smoothing))
        out[a:b] = lfilter([1 - smoothing], [1, -smoothing], x[a:b]) / weight
    return out


def smoothed_by_updates(x: Floats, step: Floats, starts: Ints, smoothing: float) -> Floats:
    """Return the mean of ``x`` (n,) up to each point of a curve, weighted by a power of the training steps.

    m_k = sum_j x_j t_j^a / sum_j t_j^a over points j up to k, at training steps t, with a = -ln s / ln 1.05. The weight
    is multiplied by ``smoothing`` for every factor 1.05 fewer steps. At every point the mean covers the same fraction
    of the steps, for any number of points and any length of the run.
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
    """The end of a validation curve: ``overfits`` if the loss rose after its minimum, ``falling`` if it still
    decreased.
    """

    overfits: bool
    falling: bool


def end_of(loss: Floats) -> End:
    """Return whether a loss curve (t,) rises after its minimum by more than noise, or still decreases.

    The curve is cut into 20 stretches. It overfits if the mean of the last stretch exceeds the least mean by more than
    four standard errors, from the scatter of second differences, and by more than 1 % of its total gain (jets, Fig. 3).
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
    """Return -1 if a larger ``y`` is better, else 1."""
    return -1.0 if curves.roles.direction(y) == "max" else 1.0


def down(curves: Curves, y: str) -> Floats:
    """Return ``y`` at the points (n,), with its sign such that smaller is better."""
    return sign(curves, y) * curves[y]


def left_out(out: Bools, why: str) -> list[str]:
    """Return a sentence about the curves that are ``out`` (m,); empty if none is."""
    count = int(out.sum())
    if not count:
        return []
    return [f"{count:,} {'curve' if count == 1 else 'curves'} {why} {'is' if count == 1 else 'are'} left out."]


def _any(curves: Curves, points: Bools) -> Bools:
    """Return which curves (m,) have at least one of the ``points`` (n,)."""
    return np.asarray(np.bincount(curves.of[points], minlength=len(curves)) > 0)
