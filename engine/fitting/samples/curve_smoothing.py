"""Training curves before a law reads them: which are sound, smoothed, and how each of them ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Curves

LOST = 0.5
"""A curve that ends with more than this share of its whole gain lost has diverged."""
STRETCHES = 20
"""Parts that a curve is cut into to tell a rise from noise."""
SIGNIFICANT = 4.0
"""Standard errors by which the end of a curve must lie above its minimum to be a rise."""
RISE = 0.01
"""And the share of the whole gain."""
GROWTH = 1.05
"""The growth of the updates over which ``smoothing`` is the weight of the past in the curve of a batch size."""


def measured(curves: Curves, y: str) -> Curves:
    """The sound curves at the points where ``y`` was measured; those that diverged to NaN or infinity are left out.

    Raises PlannerError where ``y`` is no column of the curves or no curve remains.
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
    """``curves`` without those whose last three points lie far above their own minimum.

    Raises PlannerError where none remains.
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
    """The exponentially weighted mean of ``x`` (n,) along each curve, as TensorBoard's: 0 leaves it as it is.

    m_t = sum_k s^k x_(t-k) / sum_k s^k, so that the first points are not pulled towards zero.
    """
    if smoothing == 0:
        return x
    from scipy.signal import lfilter  # 0.3 s to import, and few fits need it

    out = np.empty_like(x)
    for a, b in pairwise(starts.tolist()):
        weight = -np.expm1(np.arange(1, b - a + 1) * np.log(smoothing))
        out[a:b] = lfilter([1 - smoothing], [1, -smoothing], x[a:b]) / weight
    return out


def smoothed_by_updates(x: Floats, step: Floats, starts: Ints, smoothing: float) -> Floats:
    """The weighted mean of ``x`` (n,) up to each point of a curve; the past weighs ``smoothing`` at 5 % fewer updates.

    m_k = sum_j x_j t_j^a / sum_j t_j^a over points j up to k, at updates t, with a = -ln s / ln 1.05: at every point
    the mean reaches back over the same share of the updates, however many points there are and however long the run is.
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
    """How a validation curve ends: it rose again after its minimum, or it was still falling."""

    overfits: bool
    falling: bool


def end_of(loss: Floats) -> End:
    """Does a curve (t,) of a loss turn up after its minimum by more than noise (jets, Fig. 3)?

    The curve is cut into 20 stretches. It overfits where the mean of the last lies above the least mean by more than
    four standard errors, from the scatter of second differences, and by more than 1 % of its whole gain.
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
    """-1 where a larger ``y`` is better."""
    return -1.0 if curves.roles.direction(y) == "max" else 1.0


def down(curves: Curves, y: str) -> Floats:
    """``y`` at the points (n,), turned so that smaller is better."""
    return sign(curves, y) * curves[y]


def left_out(out: Bools, why: str) -> list[str]:
    """A sentence about the curves that are ``out`` (m,); none where no curve is."""
    count = int(out.sum())
    if not count:
        return []
    return [f"{count:,} {'curve' if count == 1 else 'curves'} {why} {'is' if count == 1 else 'are'} left out."]


def _any(curves: Curves, points: Bools) -> Bools:
    """Which curves (m,) have one of the ``points`` (n,)."""
    return np.asarray(np.bincount(curves.of[points], minlength=len(curves)) > 0)
