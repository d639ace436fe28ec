"""The lower envelope of training curves (approach 1), the power laws through it, and its selection bias.

A point is on the envelope if no point of smaller or equal compute has a smaller or equal loss. Hoffmann et al. 2022,
arXiv:2203.15556, sec. 3.1. If the runs have whole curves, the power laws leave out the stretches along which the first
or the last model size of the envelope is best. These stretches show where the sweep ends and not what is optimal; they
would decrease the exponent of N* by a tenth. If whole curves lie on a smooth surface, the laws and their intervals are
corrected for selection bias. Otherwise resamples draw whole curves, which repeats the bias, and a
warning states this.

At each compute the curve with the most favourable noise is selected. Sizes with favourable noise stay on the envelope
too long, so that N* increases too slowly with compute; resampled curves repeat this bias. Envelopes are therefore
simulated from a smooth surface (a chinchilla law, used for this alone) through the same curves. Each curve is moved up
or down as a whole by the scatter of the curves about that surface, and along itself by the remaining residuals. The
difference between these envelopes and the frontier of the surface is the bias, including the effect of gaps between
trained sizes.
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
"""Smallest number of points of an envelope through which a power law is fitted."""
CHANCES = 200
"""Simulated envelopes for the mean selection bias. They are the same for any number of resamples."""
NARROW = (
    "The lowest of several noisy losses defines the envelope at each compute, so N* probably grows faster than stated. "
    "Resampled runs have the same bias: these intervals are too narrow. Compare the law chinchilla, or repeat the best "
    "runs."
)


def envelope(s: Sample, progress: Progress | None = None) -> Estimate:
    """Fit the power laws through the envelope, with one refit for each resample."""
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
        # Most resamples lack the best curves, so the best fit is at the edge of their distribution. A bias correction
        # would count that difference as bias.
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
    """The points on a lower envelope, (p,) each, in order of compute; the power laws use the points in ``used``.

    C in FLOPs, N in parameters, D in samples, y in its own unit and direction.
    """

    C: Floats
    N: Floats
    D: Floats
    y: Floats
    used: Bools

    def runs(self, y: str, most: int = 60) -> Runs:
        """Return the points, at most about ``most`` of them, as runs with their loss under the name ``y``."""
        values = {"N": self.N, "D": self.D, "C": self.C, y: self.y}
        some = slice(None, None, -(-len(self.C) // most))
        return Runs(np.arange(len(self.C[some])), {name: x[some] for name, x in values.items()}, Roles(), {})


def lower_envelope(spec: FitSpec, runs: Runs, curves: Curves | None = None) -> Envelope:
    """Return the envelope through which the law of ``spec`` is fitted; raises PlannerError as ``fit`` does."""
    s = sample(spec, shaped(spec, runs, curves))
    e = Points.of(s)
    found = e.records(e.y[None])
    at = found.at[0][found.all[0]]
    return Envelope(e.C[at], e.N[at], e.D[at], s.sign * e.y[at], found.on[0][found.all[0]])


def _resampled(s: Sample, e: Points, progress: Progress | None) -> Iterator[Records]:
    """Yield the envelopes of resampled curves; all points of a curve stay together."""
    for at in blocks(s.spec.bootstrap, MEMORY // len(e.y)):
        drawn = counts(int(e.curve.max()) + 1, s.spec.seed, at.start, at.stop)
        yield e.records(e.y[None], drawn[:, e.curve] > 0)
        if progress:
            progress(0.3 * at.stop / s.spec.bootstrap)


def _simulated_records(e: Points, bias: SelectionBias, seed: int, count: int) -> Records:
    """Return the envelopes of ``count`` simulated sets of curves with random offsets."""
    parts = [e.records(bias.draw(seed, at.start, at.stop)) for at in blocks(count, MEMORY // len(e.y))]
    return stacked(parts or [e.records(bias.smooth[None]).take(slice(0, 0))])


def _corrected(
    s: Sample, spec: FitSpec, e: Points, bias: SelectionBias, first: Records, progress: Progress | None
) -> tuple[Floats, float]:
    """Return the laws (1 + r, p) corrected for selection bias, on average and in each of r draws, and the objective.

    k, k_D and the loss are corrected by factors, a and b by differences. The loss is corrected point by point, so that
    the law through it stays in the same family.
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
    """Return ln k, a, ln k_D, b (r, 4), in which least squares of logs are linear."""
    return np.stack([np.log(powers[:, 0]), powers[:, 1], np.log(powers[:, 2]), powers[:, 3]], axis=1)


def _powers(spec: FitSpec, rows: Records) -> Floats:
    """Return k, a, k_D, b (r, 4) of the power laws through each envelope; NaN if it has too few points or one size."""
    N, D = (np.where(rows.on, x, np.nan) for x in (rows.N, rows.D))
    size = power_through(rows.C, N, scale=spec.fixed.get("k"), exponent=spec.fixed.get("a"))
    data = power_through(rows.C, D, scale=spec.fixed.get("k_D"), exponent=spec.fixed.get("b"))
    sound = fit_for_laws(rows.N, rows.on, FEWEST)
    return np.where(sound[:, None], np.concatenate([size, data], axis=1), np.nan)


def _laws(s: Sample, spec: FitSpec, rows: Records, powers: Floats, progress: Progress | None) -> tuple[Floats, float]:
    """Return all parameters (r, p), those of the loss fitted to each envelope, and the objective of the first."""
    kept = np.asarray(rows.on.any(axis=0))
    rows, few = rows.at_compute(kept), rows.on.sum(axis=1) < FEWEST
    loss, objective = _along(s, spec, rows, progress)
    loss = np.where((few | np.isnan(powers).any(axis=1))[:, None], np.nan, loss)
    return np.concatenate([powers, loss], axis=1), objective


def _along(s: Sample, spec: FitSpec, rows: Records, progress: Progress | None) -> tuple[Floats, float]:
    """Return E, C_L and gamma (r, 3) of the loss along each envelope, and the objective of the first."""
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
            f"The envelope of {len(e.y)} points has {points} of them, of {sizes} model size{'s' * (sizes != 1)}: "
            f"it needs {FEWEST} and two sizes that are best at different compute; add larger or smaller models."
        )


def _about(bias: SelectionBias, corrected: float, read: float) -> FitWarning:
    size = f"{bias.size:.2%}" if bias.log else f"{bias.size:.2g}"
    return FitWarning(
        "envelope-luck",
        f"The lowest of several noisy curves defines the envelope at each compute. The curves scatter by {size} "
        f"around a smooth surface. The resulting bias was simulated and subtracted: the exponent of N* is "
        f"{corrected:.4g}, without the correction {read:.4g}.",
    )


def _notes(found: Records, floor: bool) -> Iterator[FitWarning]:
    if found.trimmed[0]:
        low, high = (power10(float(x), 2) for x in (found.C[found.on[0]].min(), found.C[found.on[0]].max()))
        yield FitWarning(
            "envelope-ends",
            f"Below {low} and above {high} FLOPs the smallest or the largest model of the envelope is best, because "
            f"the sweep ends there. The power laws leave these ranges out.",
        )
    if not floor:
        yield FitWarning(
            "floor-fixed",
            f"With {int(found.on.sum())} points on the envelope the floor of the loss cannot be fitted and is taken as "
            f"zero: do not trust losses beyond the data; {FREE_FLOOR} points or more settle it.",
        )


MOST = 2000
"""Largest number of points of the curves to which the surface is fitted."""
SMOOTH = 0.98
"""Smallest fraction of the variance of the loss that the surface must explain to represent the curves."""
EVEN = 0.01
"""Largest relative variation of C / (N D) for a frontier in closed form."""
FEWEST_CURVES = 6
"""Number of curves below which their scatter is not estimated."""
FREE = 3
"""Degrees of freedom that the surface removes from the curve offsets: their mean and slopes in log N and log D."""


@dataclass(frozen=True, eq=False)
class SelectionBias:
    """The surface ``theta``, its ``smooth`` losses (n,) at all points, and the ``scatter`` of the whole curves.

    ``curve`` (n,) is the curve of each point, and ``members`` are the points of each curve in order of compute.
    ``within`` (n,) is the remaining residual of a curve; a draw flips its sign at random and shifts it along the curve.
    Offsets are of log loss if ``log``, else in the unit of the loss.
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
        """The scatter of the curves, one standard deviation."""
        return float(np.sqrt(np.sum(self.scatter.mean**2) / self.scatter.freedom))

    def without(self, e: Points, found: Records) -> Records:
        """Return the envelope ``found`` (one row) without selection bias: the frontier of the surface at its compute.

        It covers all sizes and not only the trained ones. If C is not proportional to N D, return the envelope of the
        smooth curves.
        """
        pairs = e.C / (e.N * e.D)
        k = float(np.median(pairs))
        if np.ptp(pairs) > EVEN * k:
            return e.records(self.smooth[None])
        rule = ComputeRule(rule="6npND", n_p=k / 6)
        best = CHINCHILLA.frontier(CHINCHILLA.values(self.theta), found.C, rule)  # type: ignore[misc]
        return replace(found, N=best.N[None], D=best.D[None], y=best.loss[None])

    def draw(self, seed: int, start: int, stop: int) -> Floats:
        """Return losses (stop - start, n) of curves with random offsets."""
        g = len(self.scatter.mean)
        off = self.scatter.draw(seed, start, stop)[:, self.curve]
        u = uniforms(seed, start, stop, 4 * g + 1)[:, 2 * g + 1 :]  # the offsets use the earlier numbers
        for i, own in enumerate(self.members):
            shift = (u[:, i : i + 1] * len(own)).astype(np.int64)
            sign = np.where(u[:, g + i] < 0.5, -1.0, 1.0)[:, None]
            off[:, own] += sign * self.within[own][(np.arange(len(own)) + shift) % len(own)]
        return np.asarray(self.smooth * np.exp(off) if self.log else self.smooth + off)


def estimate_selection_bias(e: Points) -> SelectionBias | None:
    """Return the noise model of the points ``e``; None without curves or without a surface that represents them."""
    y, curve, curves, log = e.y, e.curve, int(e.curve.max()) + 1, bool((e.y > 0).all())
    if curves < FEWEST_CURVES or not e.whole:
        return None
    some = slice(None, None, -(-len(y) // MOST))
    values = {"N": e.N[some], "D": e.D[some], "C": e.C[some], "loss": y[some]}  # sign such that smaller is better
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
