"""Arrays for figures of the surface, iso-FLOP curves, the frontier and laws of one axis.

The figures only draw these arrays. Bands use at most 400 resamples, evenly spaced over all resamples, because sliders
must respond at once. Under a compute formula typed by the user, which is solved numerically, bands use 100 resamples.
The numbers of a plan use all resamples. ``inside`` states for each point whether its values of all axes lie in the
range of the runs. Values have the sign of their column: if larger values of a metric are better, its curve rises.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.estimators.envelope import Envelope
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer.quantity import BAND_DRAWS, thin
from isoplan.engine.planning.drawing.contours import contour_levels
from isoplan.engine.planning.optimum.frontier import frontier, paid
from isoplan.engine.planning.plan.answer import spans
from isoplan.engine.planning.plan.feasibility import bound_symbol
from isoplan.engine.planning.plan.support import UNKNOWN_C

FORMULA_DRAWS = 100
POINTS = 60


@dataclass(frozen=True, eq=False)
class Band:
    """Ends of the 68 % and 95 % intervals at each point of a line, each (s,).

    The ends are NaN if there is no interval, and infinite if the interval is unbounded.
    """

    low68: Floats
    high68: Floats
    low95: Floats
    high95: Floats


@dataclass(frozen=True, eq=False)
class IsoFlop:
    """Line of the points (N, D) at which training costs ``C`` FLOPs."""

    C: float
    N: Floats
    D: Floats


@dataclass(frozen=True, eq=False)
class Curve:
    """Loss against N at a fixed compute ``C`` in FLOPs, as arrays (s,), and the minimum of the loss."""

    C: float
    N: Floats
    D: Floats
    loss: Floats
    band: Band
    inside: Bools
    N_best: float
    D_best: float
    loss_best: float


@dataclass(frozen=True, eq=False)
class Frontier:
    """Compute-optimal frontier: loss, N and D over C, as arrays (s,).

    N and D are NaN if the law does not determine them. ``limit`` is the symbol of the floor of the law; it is empty if
    the law has no floor.
    """

    C: Floats
    N: Floats
    D: Floats
    loss: Floats
    N_band: Band
    D_band: Band
    loss_band: Band
    inside: Bools
    limit: str = ""


@dataclass(frozen=True, eq=False)
class Ribbon:
    """Uncertainty of the frontier in the (N, D) plane.

    The arrays contain the lower and the upper end of the interval of N* at each C. For each of these N, they also
    contain the D at which training costs C.
    """

    N_low: Floats
    D_low: Floats
    N_high: Floats
    D_high: Floats


@dataclass(frozen=True, eq=False)
class Surface:
    """Loss over the (N, D) plane: ``loss`` and ``inside`` have the shape (len(N), len(D)).

    ``region`` contains the ranges of N, D and C in the runs.
    """

    N: Floats
    D: Floats
    loss: Floats
    inside: Bools
    levels: tuple[float, ...]
    isoflops: tuple[IsoFlop, ...]
    path: Frontier
    ribbon68: Ribbon
    ribbon95: Ribbon
    region: Mapping[str, Interval]


def surface(
    fit: Fit, ranges: Mapping[str, Interval] | None = None, *, rule: ComputeRule | None = None, n: int = POINTS
) -> Surface:
    """Compute the loss over (N, D) on a grid of about n x n points.

    The grid extends one decade beyond ``ranges`` on each side. By default, ``ranges`` are those of the runs. Raises
    PlannerError if the axes of the law are not N and D.
    """
    _needs_plane(fit)
    rule, region = rule or fit.compute, region_of(fit, ranges, rule or fit.compute)
    N, D = grid(region["N"], n), grid(region["D"], n)
    loss = fit.predict({"N": N[:, None], "D": D[None, :]})
    inside = within(N, region["N"])[:, None] & within(D, region["D"])[None, :]
    corners = (float(rule.flops(N[0], D[0])), float(rule.flops(N[-1], D[-1])))
    path = frontier_curve(fit, budgets_over(fit, corners, n, rule, decades=0.0), rule=rule)
    return Surface(
        N,
        D,
        loss,
        inside,
        contour_levels(loss),
        tuple(_isoflop(C, N, D, rule) for C in nice_budgets(*corners)),
        path,
        _ribbon(path.C, path.N_band.low68, path.N_band.high68, rule),
        _ribbon(path.C, path.N_band.low95, path.N_band.high95, rule),
        region,
    )


def isoflop_curves(
    fit: Fit, budgets: tuple[float, ...] | None = None, *, rule: ComputeRule | None = None, n: int = POINTS // 2
) -> tuple[Curve, ...]:
    """Compute the curve of loss against N, with its band and minimum, for each compute in ``budgets``.

    By default, ``budgets`` are round numbers within the range of the runs. Raises PlannerError if the axes of the law
    are not N and D.
    """
    _needs_plane(fit)
    rule = rule or fit.compute
    region = region_of(fit, None, rule)
    budgets = budgets or nice_budgets(*region["C"], most=6)
    return tuple(curve_at(fit, C, region, rule, n) for C in budgets)


def frontier_curve(fit: Fit, C: Floats | None = None, *, rule: ComputeRule | None = None, n: int = POINTS) -> Frontier:
    """Compute loss, N* and D* with bands at each compute ``C``.

    By default, ``C`` extends from one decade below to one decade above the range of the runs. Raises PlannerError for a
    law without a frontier.
    """
    rule = rule or fit.compute
    C = budgets_over(fit, region_of(fit, None, rule)["C"], n, rule) if C is None else np.asarray(C, float)
    best = paid(fit, frontier(fit.law, fit.values, C, rule), rule)
    few = thin(fit, BAND_DRAWS if rule.proportional else FORMULA_DRAWS)
    draws = paid(few, frontier(fit.law, fit.law.values(few.resamples[:, None, :]), C, rule), rule)
    known = spans(fit)
    inside = np.ones(C.shape, bool)
    for name in ("N", "D", "C"):
        at = getattr(best, name)
        inside &= np.isnan(at) | within(at, known.get(name))
    return Frontier(
        C,
        best.N,
        best.D,
        fit.sign * best.loss,
        _band(few, best.N, draws.N),
        _band(few, best.D, draws.D),
        _band(few, fit.sign * best.loss, fit.sign * draws.loss),
        inside,
        bound_symbol(fit),
    )


def envelope_curve(fit: Fit, found: Envelope) -> Frontier:
    """Compute the frontier of a law fitted to the points of an envelope, over the compute range of these points."""
    return frontier_curve(fit, np.geomspace(found.C.min(), found.C.max(), 2 * POINTS))


def _needs_plane(fit: Fit) -> None:
    if set(fit.law.axes) != {"N", "D"}:
        raise PlannerError(
            f"The law {fit.law.name} is not a surface over N and D: fit the law 'chinchilla' to see a surface."
        )


def region_of(fit: Fit, ranges: Mapping[str, Interval] | None, rule: ComputeRule) -> dict[str, Interval]:
    """Return the ranges of N, D and C in the runs, by name.

    Without runs, they are the ranges of the frontier between 1e15 and 1e21 FLOPs.
    """
    known = {name: span for name, span in (ranges or spans(fit)).items() if 0 < span[0] <= span[1]}
    if "C" not in known and {"N", "D"} <= set(known):
        known["C"] = (float(rule.flops(known["N"][0], known["D"][0])), float(rule.flops(known["N"][1], known["D"][1])))
    known.setdefault("C", UNKNOWN_C)
    ends = paid(fit, frontier(fit.law, fit.values, np.array(known["C"]), rule), rule)
    for name, at in (("N", ends.N), ("D", ends.D)):
        if name not in known and np.all(np.isfinite(at)):
            known[name] = (float(at.min()), float(at.max()))
    return known


def nice_budgets(low: float, high: float, most: int = 8) -> tuple[float, ...]:
    """Return at most ``most`` round budgets between ``low`` and ``high``.

    The budgets are 1, 2 and 5 times powers of ten. If these are too many, 1 and 3 times powers of ten are used. If
    these are also too many, powers of ten alone are used.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        found = [s * 10.0**k for k in range(first, last + 1) for s in steps if low <= s * 10.0**k <= high]
        if len(found) <= most:
            return tuple(found) or (float(f"{math.sqrt(low * high):.2e}"),)
    every = math.ceil(len(found) / most)
    return tuple(found[::every])


def grid(span: Interval, n: int, decades: float = 1.0) -> Floats:
    """Return about ``n`` points, evenly spaced in the logarithm.

    The points cover ``span`` and extend beyond it by ``decades`` on each side. They include the ends of ``span``.
    """
    return with_points(np.logspace(np.log10(span[0]) - decades, np.log10(span[1]) + decades, n), *span)


def with_points(x: Floats, *points: float) -> Floats:
    """Return ``x`` in increasing order, after inserting those of ``points`` that lie in the range of ``x``.

    A line then changes from solid to dashed exactly at an inserted point.
    """
    return np.unique(np.r_[x, [p for p in points if x[0] < p < x[-1]]])


def stretch(span: Interval, value: float | None) -> Interval:
    """Return ``span``, extended to contain ``value``."""
    return span if value is None else (min(span[0], value), max(span[1], value))


def within(x: Floats, span: Interval | None) -> Bools:
    """Return for each of ``x`` whether it lies in ``span``, up to rounding; always True if ``span`` is None."""
    if span is None:
        return np.ones(np.shape(x), bool)
    return np.asarray((x >= span[0] * (1 - 1e-9)) & (x <= span[1] * (1 + 1e-9)))


def _isoflop(C: float, N: Floats, D: Floats, rule: ComputeRule) -> IsoFlop:
    """Return the line of constant compute ``C`` within the ranges of ``N`` and ``D``."""
    line = np.logspace(np.log10(N[0]), np.log10(N[-1]), 4 * len(N))
    at = rule.samples(C, line)
    seen = (at >= D[0]) & (at <= D[-1])
    return IsoFlop(C, line[seen], at[seen])


def curve_at(fit: Fit, C: float, region: Mapping[str, Interval], rule: ComputeRule, n: int) -> Curve:
    """Compute the loss against N at compute ``C``, over the range of N in the runs and one decade on each side.

    The points are denser near the minimum of the loss.
    """
    best: Point = frontier(fit.law, fit.values, np.asarray(C), rule)
    around = np.geomspace(best.N / 5, best.N * 5, n // 2)
    N = with_points(grid(stretch(region["N"], float(best.N)), n), *around, *_crossings(C, region["D"], rule))
    D = rule.samples(C, N)
    N, D = N[np.isfinite(D)], D[np.isfinite(D)]
    loss = fit.predict({"N": N, "D": D})
    inside = within(N, region["N"]) & within(D, region["D"])
    at_best = (float(best.N), float(best.D), fit.sign * float(best.loss))
    return Curve(C, N, D, loss, loss_band(fit, {"N": N, "D": D}, loss), inside, *at_best)


def budgets_over(fit: Fit, span: Interval, n: int, rule: ComputeRule, decades: float = 1.0) -> Floats:
    """Return budgets over ``span``, including those at which N* or D* enters or leaves the range of the runs."""
    C = grid(span, n, decades)
    at = paid(fit, frontier(fit.law, fit.values, C, rule), rule)
    edges = [
        np.exp(np.interp(np.log(spans(fit)[name]), np.log(line), np.log(C), left=np.nan, right=np.nan))
        for name, line in (("N", at.N), ("D", at.D))
        if name in spans(fit) and np.all(np.isfinite(line)) and np.all(np.diff(line) > 0)
    ]
    return with_points(C, *np.ravel(edges))


def _crossings(C: float, span: Interval, rule: ComputeRule) -> tuple[float, ...]:
    """Return the values of N at which the line of compute ``C`` enters or leaves the range ``span`` of D.

    The result is empty if C is not proportional to ``N * D``.
    """
    return tuple(C / (rule.per_pair * D) for D in span) if rule.proportional else ()


def _ribbon(C: Floats, low: Floats, high: Floats, rule: ComputeRule) -> Ribbon:
    return Ribbon(low, rule.samples(C, low), high, rule.samples(C, high))


def loss_band(fit: Fit, columns: Mapping[str, Floats], loss: Floats) -> Band:
    few = thin(fit)
    return _band(few, loss, few.predict_draws(columns))


def _band(fit: Fit, centre: Floats, draws: Floats) -> Band:
    """Return the 68 % and 95 % intervals along a line.

    ``centre`` (s,) is the line of the best fit, and ``draws`` (r, s) are the lines of the resamples.
    """
    ends = [fit.resampling.band(centre, draws, level) for level in (0.68, 0.95)]
    return Band(*ends[0], *ends[1])
