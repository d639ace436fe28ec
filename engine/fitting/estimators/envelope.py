"""Approach 1: the lower envelope of training curves, power laws through its points, and its selection bias.

A point is on the envelope if all other points of smaller or equal compute have a larger loss (Hoffmann et al. 2022,
arXiv:2203.15556, sec. 3.1). If runs have whole curves, the power laws do not use the points of the envelope's first and
last model size. At these ends, the sweep limits the best trained size, so this size differs from the optimal size N*.
If these ends were used, the exponent of N* would be too small.

The envelope has a selection bias: at each compute, it selects the curve with the most favourable noise. A model size
with favourable noise is on the envelope over a range of compute that is too long, so N* increases too slowly. Resamples
of the curves have the same bias. To estimate the bias, envelopes are simulated from a smooth surface through the same
curves (a chinchilla law that is used only for this purpose). In a simulation, each whole curve is moved up or down by
the scatter of the curves about the surface. The remaining residuals are shifted along the curve. The bias is the
difference between the simulated envelopes and the frontier of the surface. This difference includes the effect of gaps
between the trained model sizes.

If the curves are close to a smooth surface, the laws and their intervals are corrected for this bias. Otherwise, the
resamples draw whole curves, the bias remains, and a warning reports the bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.estimators.isoflop import FREE_FLOOR, MEMORY, power_through
from isoplan.engine.fitting.resampling.bootstrap import Noise, counts, uniforms
from isoplan.engine.fitting.samples.curve_records import Points, Records, fit_for_laws, stacked
from isoplan.engine.fitting.samples.curve_tables import shaped
from isoplan.engine.fitting.samples.sample import Sample, sample
from isoplan.engine.fitting.solver.multistart import best_fit, refits
from isoplan.engine.fitting.solver.problem import blocks, problem
from isoplan.engine.fitting.solver.threads import Progress
from isoplan.engine.fitting.types.intervals import Method, Resampling, pairs_only
from isoplan.engine.fitting.types.result import Estimate, FitWarning
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Curves, Roles, Runs

FEWEST = 3
"""Minimum number of points of an envelope for the fit of a power law."""
CHANCES = 200
"""Number of simulated envelopes for the mean selection bias. It does not depend on the number of resamples."""
NARROW = (
    "The lowest of several noisy losses defines the envelope at each compute, so N* probably grows faster than stated. "
    "Resampled runs have the same bias: these intervals are too narrow. Compare with the law chinchilla, or repeat the "
    "best runs."
)


def envelope(s: Sample, progress: Progress | None = None) -> Estimate:
    """Return the fit of the power laws through the envelope, with one refit for each resample."""
    e = Points.of(s)
    first = e.records(e.y[None])
    _enough(e, first)
    floor = "E" in s.spec.fixed or int(first.on.sum()) >= FREE_FLOOR
    spec = s.spec if floor else s.spec.model_copy(update={"fixed": {**s.spec.fixed, "E": 0.0}})
    ask = s.spec.interval
    bias = estimate_selection_bias(e) if ask in ("auto", "residual") else None
    late = progress and (lambda share: progress(0.3 + 0.7 * share))
    notes = list(_notes(first, floor))
    if bias is None:
        # Most resamples do not contain the best curves. The best fit is therefore at the edge of the distribution of
        # the resamples. A bias-corrected interval would wrongly treat the distance between the best fit and the median
        # of the resamples as bias.
        method: Method = "percentile" if ask == "auto" else pairs_only(ask, "Law envelope")
        every = stacked([first, *_resampled(s, e, progress)])
        theta, objective = _laws(s, spec, every, _powers(spec, every), late)
        notes.append(FitWarning("envelope-narrow", NARROW))
    else:
        method = "residual"
        theta, objective = _corrected(s, spec, e, bias, first, late)
        notes.append(_about(bias, float(theta[0, 1]), float(_powers(spec, first)[0, 1])))
    held = () if floor else ("E",)
    return Estimate(theta[0], objective, theta[1:], tuple(notes), held=held, resampling=Resampling(method))


@dataclass(frozen=True, eq=False)
class Envelope:
    """The points (p,) of a lower envelope in order of compute.

    ``used`` marks the points to which the power laws are fitted. C is in FLOPs, N in parameters and D in samples. y has
    the unit and the sign of the measured values.
    """

    C: Floats
    N: Floats
    D: Floats
    y: Floats
    used: Bools

    def runs(self, y: str, most: int = 60) -> Runs:
        """Return the points as runs with the loss in the column ``y``. At most ``most`` points are selected."""
        values = {"N": self.N, "D": self.D, "C": self.C, y: self.y}
        some = slice(None, None, -(-len(self.C) // most))
        return Runs(np.arange(len(self.C[some])), {name: x[some] for name, x in values.items()}, Roles(), {})


def lower_envelope(spec: FitSpec, runs: Runs, curves: Curves | None = None) -> Envelope:
    """Return the envelope to which the law of ``spec`` is fitted. Raises PlannerError in the same cases as ``fit``."""
    s = sample(spec, shaped(spec, runs, curves))
    e = Points.of(s)
    found = e.records(e.y[None])
    at = found.at[0][found.all[0]]
    return Envelope(e.C[at], e.N[at], e.D[at], s.sign * e.y[at], found.on[0][found.all[0]])


def _resampled(s: Sample, e: Points, progress: Progress | None) -> Iterator[Records]:
    """Yield the envelopes of resamples. A resample draws whole curves with all their points."""
    for at in blocks(s.spec.bootstrap, MEMORY // len(e.y)):
        drawn = counts(int(e.curve.max()) + 1, s.spec.seed, at.start, at.stop)
        yield e.records(e.y[None], drawn[:, e.curve] > 0)
        if progress:
            progress(0.3 * at.stop / s.spec.bootstrap)


def _simulated_records(e: Points, bias: SelectionBias, seed: int, count: int) -> Records:
    """Return the envelopes of ``count`` simulated sets of curves with losses drawn by ``bias``."""
    parts = [e.records(bias.draw(seed, at.start, at.stop)) for at in blocks(count, MEMORY // len(e.y))]
    return stacked(parts or [e.records(bias.smooth[None]).take(slice(0, 0))])


def _corrected(
    s: Sample, spec: FitSpec, e: Points, bias: SelectionBias, first: Records, progress: Progress | None
) -> tuple[Floats, float]:
    """Return the corrected parameters (1 + r, p), and the objective of the first row.

    The first row is corrected for the mean selection bias, and each further row for the bias of one simulation. The
    power laws are N* = k C^a and D* = k_D C^b. ``k`` and ``k_D`` are corrected by factors, ``a`` and ``b`` by
    differences. The loss is corrected at each point before its law is fitted, so the form of this law does not change.
    """
    still, mean = bias.without(e, first), _simulated_records(e, bias, 0, CHANCES)
    drawn = _simulated_records(e, bias, s.spec.seed, spec.bootstrap)
    straight = [_straight(_powers(spec, one)) for one in (first, still, mean, drawn)]
    base = straight[0] + straight[1]
    powers = np.concatenate([base - np.nanmean(straight[2], axis=0), base - straight[3]])
    powers[:, [0, 2]] = np.exp(powers[:, [0, 2]])
    seen = [np.where(one.on, np.log(one.y) if bias.log else one.y, np.nan) for one in (first, still, mean, drawn)]
    level = seen[0] + seen[1]
    often = mean.on.sum(axis=0) > CHANCES / 2
    usual = np.where(often, np.nansum(seen[2], axis=0) / np.maximum(mean.on.sum(axis=0), 1), np.nan)
    moved = np.concatenate([level - usual, level - seen[3]])
    y = np.exp(moved) if bias.log else moved
    on = np.isfinite(y)
    filled = np.where(on, y, first.y)
    return _laws(s, spec, replace(stacked([first, drawn]), y=filled, on=on), powers, progress)


def _straight(powers: Floats) -> Floats:
    """Return ``ln k``, ``a``, ``ln k_D`` and ``b`` (r, 4) of the power laws N* = k C^a and D* = k_D C^b.

    Least squares of logs is linear in these numbers, so biases can be subtracted from them.
    """
    return np.stack([np.log(powers[:, 0]), powers[:, 1], np.log(powers[:, 2]), powers[:, 3]], axis=1)


def _powers(spec: FitSpec, rows: Records) -> Floats:
    """Return ``k``, ``a``, ``k_D`` and ``b`` (r, 4) of power laws N* = k C^a and D* = k_D C^b through each envelope.

    They are NaN for an envelope with too few points or only one model size.
    """
    N, D = (np.where(rows.on, x, np.nan) for x in (rows.N, rows.D))
    size = power_through(rows.C, N, scale=spec.fixed.get("k"), exponent=spec.fixed.get("a"))
    data = power_through(rows.C, D, scale=spec.fixed.get("k_D"), exponent=spec.fixed.get("b"))
    sound = fit_for_laws(rows.N, rows.on, FEWEST)
    return np.where(sound[:, None], np.concatenate([size, data], axis=1), np.nan)


def _laws(s: Sample, spec: FitSpec, rows: Records, powers: Floats, progress: Progress | None) -> tuple[Floats, float]:
    """Return all parameters (r, p) of each envelope: ``powers``, and the fitted parameters of the loss.

    The second result is the objective of the first envelope.
    """
    kept = np.asarray(rows.on.any(axis=0))
    rows, few = rows.at_compute(kept), rows.on.sum(axis=1) < FEWEST
    loss, objective = _along(s, spec, rows, progress)
    loss = np.where((few | np.isnan(powers).any(axis=1))[:, None], np.nan, loss)
    return np.concatenate([powers, loss], axis=1), objective


def _along(s: Sample, spec: FitSpec, rows: Records, progress: Progress | None) -> tuple[Floats, float]:
    """Return E, C_L and gamma (r, 3) of the loss along each envelope, and the objective of the first envelope."""
    y = np.where(rows.on, rows.y, np.nanmax(np.where(rows.on, rows.y, np.nan), axis=0))
    p = problem(s.law, spec, {"C": rows.C}, y, np.ones(len(rows.C)))
    if (p.low == p.high).all():
        held = [spec.fixed[name] for name in ("E", "C_L", "gamma")]
        return np.repeat([held], len(y), axis=0), 0.0
    weight = rows.on.astype(float)
    best = best_fit(replace(p, y=y[:1], weight=weight[0]))
    theta = best.theta[None]
    if len(y) > 1:
        others = replace(p, y=y[1:])
        found = refits(others, best, lambda i, j: weight[i + 1 : j + 1], len(y) - 1, progress)
        theta = np.concatenate([theta, found])
    return p.external(theta), best.value


def _enough(e: Points, found: Records) -> None:
    points, sizes = int(found.on.sum()), len(np.unique(found.N[found.on]))
    if points < FEWEST or sizes < 2:
        raise PlannerError(
            f"{points} of {len(e.y)} points are on the envelope, with {sizes} model size{'s' * (sizes != 1)}. The law "
            f"needs an envelope of at least {FEWEST} points with two model sizes: add larger or smaller models."
        )


def _about(bias: SelectionBias, corrected: float, read: float) -> FitWarning:
    size = f"{bias.size:.2%}" if bias.log else f"{bias.size:.2g}"
    return FitWarning(
        "envelope-luck",
        f"The lowest of several noisy curves defines the envelope at each compute. The curves scatter by {size} "
        f"around a smooth surface. The resulting bias was simulated and subtracted: the exponent of N* is "
        f"{corrected:.4g}; without the correction it is {read:.4g}.",
    )


def _notes(found: Records, floor: bool) -> Iterator[FitWarning]:
    if found.trimmed[0]:
        low, high = (power10(float(x), 2) for x in (found.C[found.on[0]].min(), found.C[found.on[0]].max()))
        yield FitWarning(
            "envelope-ends",
            f"Below {low} and above {high} FLOPs, the smallest or the largest model of the envelope is best "
            f"only because the sweep has no other sizes. The power laws do not use these ranges.",
        )
    if not floor:
        yield FitWarning(
            "floor-fixed",
            f"With {int(found.on.sum())} points on the envelope the floor of the loss cannot be fitted and is taken as "
            f"zero: do not trust losses beyond the data. The floor is fitted with {FREE_FLOOR} points or more.",
        )


MOST = 2000
"""Maximum number of points of the curves to which the surface is fitted."""
SMOOTH = 0.98
"""The bias is simulated only if the surface explains at least this fraction of the variance of the loss."""
EVEN = 0.01
"""The closed form of the frontier is used only if C / (N D) varies over the points by at most this fraction."""
FEWEST_CURVES = 6
"""Minimum number of curves for an estimate of the scatter of the curves about the surface."""
FREE = 3
"""Degrees of freedom that the fitted surface removes from the offsets of the curves about the surface.

These are the mean of the offsets, and their slopes in log N and log D.
"""


@dataclass(frozen=True, eq=False)
class SelectionBias:
    """A noise model of training curves, to simulate the selection bias of their envelope.

    ``theta`` are the parameters of the surface, and ``smooth`` (n,) are the losses of the surface at all points.
    ``scatter`` is the noise of whole curves. ``within`` (n,) are the remaining residuals of the points. A draw changes
    their sign at random and shifts them along their curve. ``curve`` (n,) is the curve of each point, and ``members``
    contains the points of each curve in order of compute. Residuals are differences of log loss if ``log`` is True, and
    otherwise differences of the loss.
    """

    theta: Floats
    smooth: Floats
    scatter: Noise
    within: Floats
    curve: Ints
    members: tuple[Ints, ...]
    log: bool

    @property
    def size(self) -> float:
        """Standard deviation of the curves about the surface."""
        return float(np.sqrt(np.sum(self.scatter.mean**2) / self.scatter.freedom))

    def without(self, e: Points, found: Records) -> Records:
        """Return an envelope without selection bias: the frontier of the surface at the computes of ``found``.

        The frontier is a minimum over all model sizes, not only over the trained sizes. If C is not proportional to
        N D, the result is the envelope of the smooth curves instead.
        """
        pairs = e.C / (e.N * e.D)
        k = float(np.median(pairs))
        if np.ptp(pairs) > EVEN * k:
            return e.records(self.smooth[None])
        rule = ComputeRule(rule="6npND", n_p=k / 6)
        best = CHINCHILLA.frontier(CHINCHILLA.values(self.theta), found.C, rule)  # type: ignore[misc]
        return replace(found, N=best.N[None], D=best.D[None], y=best.loss[None])

    def draw(self, seed: int, start: int, stop: int) -> Floats:
        """Return losses (stop - start, n) of simulated curves."""
        g = len(self.scatter.mean)
        off = self.scatter.draw(seed, start, stop)[:, self.curve]
        u = uniforms(seed, start, stop, 4 * g + 1)[:, 2 * g + 1 :]  # skip the numbers that ``scatter.draw`` uses
        for i, own in enumerate(self.members):
            shift = (u[:, i : i + 1] * len(own)).astype(np.int64)
            sign = np.where(u[:, g + i] < 0.5, -1.0, 1.0)[:, None]
            off[:, own] += sign * self.within[own][(np.arange(len(own)) + shift) % len(own)]
        return np.asarray(self.smooth * np.exp(off) if self.log else self.smooth + off)


def estimate_selection_bias(e: Points) -> SelectionBias | None:
    """Return the noise model of the points ``e``; None if there are few curves or no surface fits the points."""
    y, curve, curves, log = e.y, e.curve, int(e.curve.max()) + 1, bool((e.y > 0).all())
    if curves < FEWEST_CURVES or not e.whole:
        return None
    some = slice(None, None, -(-len(y) // MOST))
    # In ``e``, a smaller y is always better, so y can be fitted as a loss.
    values = {"N": e.N[some], "D": e.D[some], "C": e.C[some], "loss": y[some]}
    spec = FitSpec(objective="ols-log" if log else "ols", bootstrap=0)
    try:
        s = sample(spec, Runs(np.arange(len(values["N"])), values, Roles(loss="loss"), {}))
        p = problem(s.law, spec, s.columns, s.y, s.weight)
        theta = p.external(best_fit(p).theta)
    except PlannerError:
        return None
    smooth = CHINCHILLA.predict(theta, {"N": e.N, "D": e.D})
    off = np.log(y / smooth) if log else y - smooth
    if np.var(off) > (1 - SMOOTH) * np.var(np.log(y) if log else y):
        return None
    mean = np.bincount(curve, off) / np.bincount(curve)
    scatter = Noise(mean - mean.mean(), np.zeros(curves), np.arange(curves), FREE)
    members = tuple(np.flatnonzero(curve == i) for i in range(curves))
    return SelectionBias(theta, smooth, scatter, off - mean[curve], curve, members, log)
