"""Approach 2, iso-FLOP minima: a parabola in log N for each budget, then power laws through the minima.

Sources: Hoffmann et al. 2022, arXiv:2203.15556, sec. 3.2; the behavioural paper, eqs. 4 and 5. A minimum is used under
three conditions:

- The parabola opens upward in the loss.
- The distance of the vertex from the sweep is not larger than the width of the sweep.
- The lowest measured loss exceeds the loss at the vertex by at most twice the range of the measured losses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.resampling.bootstrap import counts, curve_noise, expected_scatter
from isoplan.engine.fitting.samples.sample import Sample, sample
from isoplan.engine.fitting.solver.linear import solve_definite
from isoplan.engine.fitting.solver.multistart import best_fit, refits
from isoplan.engine.fitting.solver.objectives import Objective
from isoplan.engine.fitting.solver.problem import blocks, objective, problem
from isoplan.engine.fitting.solver.threads import Progress
from isoplan.engine.fitting.types.intervals import Method, Resampling
from isoplan.engine.fitting.types.result import Estimate, FitWarning
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.schema import Role, Runs

Draw = Callable[[slice], "tuple[list[Budget], Floats]"]
"""Function of a slice of resamples. It returns the budgets, and the weights (r, n) of the runs."""
REWEIGHTINGS = 100
MEMORY = 1_000_000
"""Maximum number of weights (resamples x runs) in memory."""
FREE_FLOOR = 4
"""Minimum number of budgets to fit the floor of the loss along the minima. With fewer budgets, the floor is zero."""


@dataclass(frozen=True)
class Parabola:
    """The parabola of one budget: y (or log y) = c0 + c1 u + c2 u^2, with u = ln N - centre.

    ``C`` in FLOPs is the geometric mean over the runs of the budget. ``loss_star`` has the unit and direction of y.
    ``located`` is True if the minimum fulfils the conditions for use (see the module). ``inside`` is True if the
    minimum is within the sweep. N*, D* and loss* are NaN if the parabola has no minimum.
    """

    budget: float
    C: float
    coefficients: tuple[float, float, float]
    centre: float
    log: bool
    N_star: float
    D_star: float
    loss_star: float
    inside: bool
    located: bool
    N_low: float
    N_high: float
    n: int

    def predict(self, N: Floats) -> Floats:
        """Return y as predicted by the parabola at the model sizes ``N``, an array of any shape."""
        u = np.log(N) - self.centre
        y = self.coefficients[0] + u * (self.coefficients[1] + u * self.coefficients[2])
        return np.exp(y) if self.log else y


@dataclass(frozen=True, eq=False)
class Budget:
    """The runs of one compute budget (an iso-FLOP group), and D as a function of N for this budget."""

    nominal: float
    index: Ints  # positions of the runs in the sample
    centre: float
    half: float  # half the width of the sweep in ln N
    u: Floats  # (ln N - centre) / half
    y: Floats  # y or log y: (n_b,), or (r, n_b) if each resample has its own y
    log_c: float
    log_d: tuple[float, float, float]  # ln D = d0 + d1 u + d2 u^2

    @property
    def basis(self) -> Floats:
        return np.stack([np.ones_like(self.u), self.u, self.u**2])


@dataclass(frozen=True, eq=False)
class Minima:
    """Vertices (r, b) and coefficients (r, b, 3) of the parabolas in u, for r resamples and b budgets."""

    u: Floats
    y: Floats  # y at the vertices (not log y, even if the parabolas are fitted to log y)
    coefficients: Floats
    opens: Bools
    located: Bools


def parabolas(runs: Runs, spec: FitSpec) -> tuple[Parabola, ...]:
    """Return the parabola of each budget of ``runs``, the lowest budget first.

    Raises PlannerError in the same cases as ``fit``.
    """
    s = sample(spec, runs)
    groups = budgets(s)
    found = vertices(groups, s.weight[None], objective(spec, s.y))
    return tuple(_parabola(s, b, found, i) for i, b in enumerate(groups))


def parabola(s: Sample, progress: Progress | None = None) -> Estimate:
    """Return the fit of the iso-FLOP law, with one refit for each resample.

    A resample draws noise around the parabolas, or it draws runs within each budget.
    """
    groups, how = budgets(s), objective(s.spec, s.y)
    centre = vertices(groups, s.weight[None], how)
    _enough(s, groups, centre)
    floor = "E" in s.spec.fixed or int(centre.located.sum()) >= FREE_FLOOR
    spec = s.spec if floor else s.spec.model_copy(update={"fixed": {**s.spec.fixed, "E": 0.0}})
    drawn = Resampling(_method(s.spec), runs=len(s), parameters=len(s.free))
    draw = _noise_drawn(s, groups, centre) if drawn.method == "residual" else _runs_drawn(s, groups)
    return Estimate(
        _laws(s, spec, groups, centre)[0],
        _objective(groups, how, s.weight, centre),
        _resamples(s, spec, groups, draw, progress),
        tuple(_notes(s, groups, centre, floor)),
        held=() if floor else ("E",),
        resampling=drawn,
    )


def power_through(x: Floats, y: Floats, *, scale: float | None = None, exponent: float | None = None) -> Floats:
    """Return ``scale`` and ``exponent`` (..., 2) of y = scale x^exponent, by least squares of logs.

    ``x`` and ``y`` have the shape (..., b). Points with NaN in ``y`` are omitted. If ``scale`` or ``exponent`` is
    given, this parameter is not fitted.
    """
    lx, ly = np.log(x) + 0 * y, np.log(y)
    seen = np.isfinite(ly)
    count = np.maximum(seen.sum(axis=-1), 1)
    lx, ly = np.where(seen, lx, 0.0), np.where(seen, ly, 0.0)
    mx, my = lx.sum(axis=-1) / count, ly.sum(axis=-1) / count
    with np.errstate(invalid="ignore", divide="ignore"):
        if scale is not None:
            free = np.sum(lx * (ly - np.log(scale) * seen), axis=-1) / np.sum(lx * lx, axis=-1)
            slope = free if exponent is None else np.full_like(mx, exponent)
            return np.stack([np.full_like(mx, scale), slope], axis=-1)
        dx = np.where(seen, lx - mx[..., None], 0.0)
        slope = np.sum(dx * ly, axis=-1) / np.sum(dx * dx, axis=-1)
        slope = slope if exponent is None else np.full_like(mx, exponent)
        return np.stack([np.exp(my - slope * mx), slope], axis=-1)


def budgets(s: Sample) -> list[Budget]:
    """Return the budgets with at least three model sizes, lowest first; raises PlannerError for fewer than two."""
    nominal, log = s.columns["budget"], s.spec.log_residuals
    out = []
    for b in np.unique(nominal[~np.isnan(nominal)]):
        index = np.flatnonzero(nominal == b)
        x = np.log(s.columns["N"][index])
        if len(np.unique(x)) < 3:
            continue
        centre, half = float(x.max() + x.min()) / 2, float(np.ptp(x)) / 2
        u, log_c = (x - centre) / half, float(np.mean(np.log(s.columns["C"][index])))
        y = np.log(s.y[index]) if log else s.y[index]
        out.append(Budget(float(b), index, centre, half, u, y, log_c, _samples(s, index, u, log_c, centre, half)))
    if len(out) < 2:
        total = len(np.unique(nominal[~np.isnan(nominal)]))
        raise PlannerError(
            f"Law isoflop needs at least two budgets with three model sizes each: {len(out)} of {total} "
            f"{'budget has' if total == 1 else 'budgets have'} three sizes; map the budget column, or "
            f"use the law chinchilla."
        )
    return out


def _samples(s: Sample, index: Ints, u: Floats, log_c: float, centre: float, half: float) -> tuple[float, float, float]:
    """Return the coefficients of ln D as a quadratic in u for one budget.

    If C or D was computed from a rule with C proportional to N D, this rule gives ln D. Otherwise, ln D is fitted to
    the D of the runs.
    """
    rule = s.runs.roles.compute
    derived = s.runs.roles.column(Role.C) is None or s.runs.roles.column(Role.D) is None
    if derived and rule.proportional:
        return log_c - float(np.log(rule.per_pair)) - centre, -half, 0.0
    d2, d1, d0 = np.polyfit(u, np.log(s.columns["D"][index]), 2)
    return float(d0), float(d1), float(d2)


def vertices(groups: list[Budget], weight: Floats, how: Objective) -> Minima:
    """Return the vertices of the parabolas of all budgets in r resamples, with run weights ``weight`` (r, n)."""
    c = np.stack([_coefficients(b, how, weight[:, b.index]) for b in groups], axis=1)
    opens = c[..., 2] > 1e-9 * np.abs(c).max(axis=-1)
    with np.errstate(all="ignore"):
        u = np.where(opens, -c[..., 1] / (2 * c[..., 2]), np.nan)
        y = c[..., 0] + u * (c[..., 1] + u * c[..., 2])
        lowest = np.array([b.y.min(axis=-1) - 2 * np.ptp(b.y, axis=-1) for b in groups]).T
        near = opens & (np.abs(u) <= 3.0) & (y >= lowest)
        y = np.where(near, np.exp(y), np.nan) if how.log else y
    return Minima(u, y, c, opens, near)


def _coefficients(b: Budget, how: Objective, weight: Floats) -> Floats:
    """Return the coefficients (r, 3) of the parabola of a budget, by iteratively reweighted least squares.

    ``weight`` (r, n_b) contains the weights of the n_b runs of this budget. The result is NaN if a resample has fewer
    than three model sizes.
    """
    basis = b.basis
    squares = (basis[:, None] * basis).reshape(9, -1)
    c, w, y = np.zeros((len(weight), 3)), weight, np.broadcast_to(b.y, weight.shape)
    going = np.arange(len(weight))
    for _ in range(REWEIGHTINGS):
        new, ok = solve_definite((w @ squares.T).reshape(-1, 3, 3), (w * y[going]) @ basis.T)
        new[~ok] = np.nan
        moves = np.abs(new - c[going]).max(axis=1) > 1e-12 * np.maximum(np.abs(new).max(axis=1), 1.0)
        c[going] = new
        going = going[moves]  # A failed fit (NaN) compares as False and stops.
        if not going.size:
            break
        w = weight[going] * how.loss.slopes(c[going] @ basis - y[going])[2]
    return c


def _laws(s: Sample, spec: FitSpec, groups: list[Budget], found: Minima, *, progress: Progress | None = None) -> Floats:
    """Return the parameters (r, p) of the law from the minima of r resamples; NaN if too few minima are located."""
    C = np.exp([b.log_c for b in groups])
    at = np.where(found.located, found.u, np.nan)
    N = np.exp([b.centre for b in groups] + at * [b.half for b in groups])
    d = np.array([b.log_d for b in groups])
    D = np.exp(d[:, 0] + at * (d[:, 1] + at * d[:, 2]))
    fixed = spec.fixed
    size = power_through(C, N, scale=fixed.get("k"), exponent=fixed.get("a"))
    data = power_through(C, D, scale=fixed.get("k_D"), exponent=fixed.get("b"))
    loss = _along(s, spec, C, found, progress)
    few = found.located.sum(axis=1) < max(2, sum(name not in fixed for name in ("E", "C_L", "gamma")))
    return np.where(few[:, None], np.nan, np.concatenate([size, data, loss], axis=1))


def _along(s: Sample, spec: FitSpec, C: Floats, found: Minima, progress: Progress | None) -> Floats:
    """Return E, C_L and gamma (r, 3) of the loss along the minima of each resample."""
    usable = np.any(found.located, axis=1, keepdims=True)
    y = np.where(found.located, found.y, 1.0)
    p = problem(s.law, spec, {"C": C}, y, np.ones(len(C)))
    if (p.low == p.high).all():
        return np.repeat([[spec.fixed[name] for name in ("E", "C_L", "gamma")]], len(y), axis=0)
    weight = np.where(usable, found.located, 1.0)
    best = best_fit(replace(p, y=y[:1], weight=weight[0]))
    if len(y) == 1:
        return p.external(best.theta[None])
    return p.external(refits(p, best, lambda i, j: weight[i:j], len(y), progress))


def strata(n: int, groups: list[Budget]) -> Ints:
    """Return the budget index of each of ``n`` runs. Runs without a budget have the index ``len(groups)``."""
    out = np.full(n, len(groups))
    for i, b in enumerate(groups):
        out[b.index] = i
    return out


def _method(spec: FitSpec) -> Method:
    if spec.interval == "profile":
        raise PlannerError("Law isoflop has no interval profile: choose auto, residual, bc or percentile.")
    return "residual" if spec.interval == "auto" else spec.interval


def _resamples(s: Sample, spec: FitSpec, groups: list[Budget], draw: Draw, progress: Progress | None) -> Floats:
    how, out = objective(spec, s.y), np.full((spec.bootstrap, len(s.law.params)), np.nan)
    for at in blocks(spec.bootstrap, MEMORY // len(s)):
        out[at] = _laws(s, spec, groups, vertices(*draw(at), how))
        if progress:
            progress(at.stop / spec.bootstrap)
    return out


def _runs_drawn(s: Sample, groups: list[Budget]) -> Draw:
    """Return a ``Draw`` function that draws runs: from each budget, as many runs as the budget contains."""
    within = strata(len(s), groups)
    return lambda at: (groups, s.weight * counts(len(s), s.spec.seed, at.start, at.stop, within))


def _noise_drawn(s: Sample, groups: list[Budget], found: Minima) -> Draw:
    """Return a ``Draw`` function that adds new noise to the parabola of each budget."""
    fitted = [found.coefficients[0, i] @ b.basis for i, b in enumerate(groups)]
    scatter = [expected_scatter(s.spec, s.weight[b.index]) for b in groups]
    noise = curve_noise([(b.y - f) / x for b, f, x in zip(groups, fitted, scatter, strict=True)])
    sizes = [len(b.index) for b in groups]
    curve, ends = np.repeat(np.arange(len(groups)), sizes), np.cumsum(sizes)[:-1]

    def draw(at: slice) -> tuple[list[Budget], Floats]:
        parts = np.split(noise.draw(s.spec.seed, at.start, at.stop, curve), ends, axis=1)
        moved = [replace(b, y=f + x * d) for b, f, x, d in zip(groups, fitted, scatter, parts, strict=True)]
        return moved, np.repeat(s.weight[None], at.stop - at.start, axis=0)

    return draw


def _enough(s: Sample, groups: list[Budget], found: Minima) -> None:
    located = int(found.located.sum())
    need = 3 if s.sign < 0 or np.any(s.y <= 0) else 2
    if located < need:
        raise PlannerError(
            f"Only {located} of {len(groups)} budgets have an optimum near their sweep of N, and power laws "
            f"need {need}: sweep N wider, or use the law chinchilla."
        )


def _objective(groups: list[Budget], how: Objective, weight: Floats, found: Minima) -> float:
    """Return the sum of weight * rho(residual) over the runs of all budgets with a located optimum.

    Residuals are deviations from the parabolas; rho is the loss function of the objective.
    """
    parts = (
        weight[b.index] @ how.loss.value(found.coefficients[0, i] @ b.basis - b.y)
        for i, b in enumerate(groups)
        if found.located[0, i]
    )
    return float(sum(parts))


def _parabola(s: Sample, b: Budget, found: Minima, i: int) -> Parabola:
    u, c = float(found.u[0, i]), found.coefficients[0, i] * s.sign / [1.0, b.half, b.half**2]
    D = np.exp(b.log_d[0] + u * (b.log_d[1] + u * b.log_d[2]))
    return Parabola(
        budget=b.nominal,
        C=float(np.exp(b.log_c)),
        coefficients=(float(c[0]), float(c[1]), float(c[2])),
        centre=b.centre,
        log=s.spec.log_residuals,
        N_star=float(np.exp(b.centre + u * b.half)),
        D_star=float(D),
        loss_star=s.sign * float(found.y[0, i]),
        inside=abs(u) <= 1.0,
        located=bool(found.located[0, i]),
        N_low=float(np.exp(b.centre - b.half)),
        N_high=float(np.exp(b.centre + b.half)),
        n=len(b.index),
    )


def _notes(s: Sample, groups: list[Budget], found: Minima, floor: bool) -> Iterator[FitWarning]:
    named, used = np.array([f"{b.nominal:.3g}" for b in groups]), [b.nominal for b in groups]
    outside = found.located[0] & (np.abs(found.u[0]) > 1)
    alone = int(np.isnan(s.columns["budget"]).sum())
    if alone:
        yield FitWarning("no-budget", f"{alone} of {len(s)} runs belong to no budget and are not used by this law.")
    nominal = s.columns["budget"]
    thin = [f"{b:.3g} ({np.sum(nominal == b)})" for b in np.unique(nominal[~np.isnan(nominal)]) if b not in used]
    if thin:
        yield FitWarning(
            "thin-budget",
            "Budgets with fewer than three model sizes have no parabola and are left out (number of runs in "
            f"parentheses): {', '.join(thin)}.",
        )
    if not found.located.all():
        yield FitWarning(
            "not-located",
            f"The curve of budget {_join(named[~found.located[0]])} has no optimum near its sweep of N and is left "
            "out: sweep a wider range of N.",
        )
    if outside.any():
        yield FitWarning(
            "outside-sweep",
            f"The optimum of budget {_join(named[outside])} lies outside its sweep of N, so it is extrapolated: "
            "add model sizes on that side.",
        )
    if not floor:
        yield FitWarning(
            "floor-fixed",
            f"With {int(found.located.sum())} budgets the floor of the loss cannot be fitted and is taken as zero: "
            f"do not trust losses beyond the data. The floor is fitted with {FREE_FLOOR} budgets or more.",
        )


def _join(names: NDArray[np.str_]) -> str:
    return ", ".join(names.tolist())
