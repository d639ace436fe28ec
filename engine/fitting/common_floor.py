"""Joint fit of two laws to two tables of one task. Both laws have the same floor; all other parameters differ.

The objective is the sum over both tables. Each joint resample draws runs from both tables, with the method of the
separate fits. Row i of the resamples of both laws therefore belongs to the same joint refit. This refit depends only on
the seed and on i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.estimators.joint import Joint, best_joint_fit, joint_refits
from isoplan.engine.fitting.resampling.bootstrap import counts, targets
from isoplan.engine.fitting.resampling.priors import noise, normals, posed
from isoplan.engine.fitting.solver.identifiability import LIKELY, margin, others
from isoplan.engine.fitting.solver.multistart import Optimum, best_fit, predict
from isoplan.engine.fitting.solver.newton import plain_objective
from isoplan.engine.fitting.solver.objectives import scale
from isoplan.engine.fitting.solver.problem import Problem, problem
from isoplan.engine.fitting.types.intervals import EXCLUDED, Method, Resampling, choose
from isoplan.engine.fitting.types.parameters import parameters
from isoplan.engine.fitting.types.result import MOST_RUNS, Fit, FittedRuns, FitWarning
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws import Law
from isoplan.engine.laws.terms import Const

FLOORS = 13
"""Number of starting values of the floor in the joint fit. They range from zero to the smallest loss."""
ROUNDING = 1e-9
"""Smallest residual in the noise estimate of a table. It prevents a noise of zero for an exact fit."""
OTHER_STREAM = 1 << 63
"""Number that is combined with the seed of the second table, so that the two tables have different random numbers.

It is larger than any seed in a specification.
"""


@dataclass(frozen=True, eq=False)
class OneFloor:
    """Result of a joint fit with one floor: the fits of both tables, with the joint parameters and resamples.

    ``objective`` is the sum over both tables. ``rejected`` is True if a likelihood-ratio test at 95 % rejects the
    common floor.
    """

    one: Fit
    other: Fit
    objective: float
    rejected: bool


def why_apart(one: Fit, other: Fit) -> str:
    """Return why the two fits cannot have a common floor, and what to do. The text is empty if they can."""
    for fit in (one, other):
        if why := _no_runs(fit):
            return why
    assert one.runs is not None
    assert other.runs is not None
    stated = [fit.spec.relative_error is not None for fit in (one, other)]
    if any(stated) and (not all(stated) or one.spec.objective != other.spec.objective):
        return (
            "only one fit uses errors of the runs, or the objectives of the fits differ; "
            "fit both tables with the same options"
        )
    if one.spec.log_residuals and bool(np.any(other.runs.y <= 0)):
        return f"the objective {one.spec.objective} needs losses above zero; fit both tables with ols"
    fixed = [fit.spec.fixed.get(fit.law.terms[_floor(fit.law)].amplitude) for fit in (one, other)]
    if None not in fixed and fixed[0] != fixed[1]:
        return "the floors are fixed at different values; fix both at the same value"
    return ""


def _no_runs(fit: Fit) -> str:
    law = fit.law.key
    if fit.spec.share:
        return f"the fit of {law} shares parameters with the fits of other groups; fit this group alone"
    if fit.runs is not None and fit.law.estimator == "surface":
        return ""
    if fit.objective is None:
        return f"the published fit of {law} contains no runs; fit your own runs"
    if fit.law.estimator != "surface":
        return f"law {law} cannot be fitted jointly with another law; use chinchilla"
    if fit.n > MOST_RUNS:
        return f"the fit of {law} has more than {MOST_RUNS:,} runs; select fewer"
    return f"the fit of {law} does not contain its runs; fit its table again"


def _floor(law: Law) -> int:
    return next(j for j, term in enumerate(law.terms) if isinstance(term, Const))


def fit_one_floor(one: Fit, other: Fit) -> OneFloor:
    """Fit the laws of ``one`` and ``other`` to their tables with a common floor, with the objective of ``one``.

    Call this function only if ``why_apart(one, other)`` is empty.
    """
    specs = (one.spec, _alike(other.spec, one.spec))
    j, alone = _joint((one.runs, other.runs), specs)
    best = best_joint_fit(j, _candidates(j))
    resamples, how = _resamples(j, best, (one, other), specs)
    sound = np.flatnonzero(~np.isnan(resamples).any(axis=1))
    how = replace(how, floorless=int(np.sum(sound >= len(resamples) - how.floorless)))
    near = margin(j.parts[0].objective.loss, best.value, j.n - int(np.sum(np.less(*j.bounds))))
    made = [
        _fit(fit, p, best, at, resamples[sound], how, near)
        for fit, p, at in zip((one, other), j.parts, j.place, strict=True)
    ]
    return OneFloor(made[0], made[1], best.value, _worse(j, alone) > LIKELY)


def _worse(j: Joint, alone: list[tuple[float, float]]) -> float:
    """Return ln(likelihood with separate floors / likelihood with one common floor).

    ``alone`` contains a pair (minimum of the objective, noise) for the separate fit of each table. The joint fit sums
    the objectives without dividing them by the noise. If one table is noisier than the other, the optimum of this sum
    is not the optimum of the likelihood. Both tables are therefore fitted again in units of their noise.
    """
    least = min(s for _, s in alone)
    parts = tuple(
        replace(
            p,
            weight=p.weight * least / s,
            penalty=p.penalty and replace(p.penalty, weight=p.penalty.weight * least / s),
        )
        for p, (_, s) in zip(j.parts, alone, strict=True)
    )
    scaled = replace(j, parts=parts)
    return best_joint_fit(scaled, _candidates(j)).value / least - sum(own / s for own, s in alone)


def _alike(spec: FitSpec, first: FitSpec) -> FitSpec:
    return spec.model_copy(update={"objective": first.objective, "delta": first.delta, "skew": first.skew})


def _joint(runs: tuple[FittedRuns | None, ...], specs: tuple[FitSpec, ...]) -> tuple[Joint, list[tuple[float, float]]]:
    """Return the joint problem of both tables, and a pair (minimum of the objective, noise) for each table alone.

    In the joint problem, one entry of the parameter vector is the floor of both laws.
    """
    parts: list[Problem] = []
    places: list[Ints] = []
    rows: list[Ints] = []
    floors = [_floor(spec.find_law()) for spec in specs]
    alone, size, first = [], 0, 0
    for own, spec, floor in zip(runs, specs, floors, strict=True):
        assert own is not None
        p = problem(spec.find_law(), spec, dict(own.columns), own.y, own.weight)
        freedom, loss = max(p.n - p.n_free, 1), p.objective.loss
        if spec.prior:
            p = posed(p, spec.prior, noise(spec, loss, lambda p=p, f=freedom: best_fit(p).value / f))  # type: ignore[misc]
        least = best_fit(p).value
        perfect = float(loss.value(np.array(ROUNDING))) * p.n
        alone.append((least, scale(loss, max(least, perfect) / freedom)))
        place = np.arange(size, size + len(p.low))
        if parts:
            place[floor] = places[0][floors[0]]
            place[place > size + floor] -= 1
        parts.append(p)
        places.append(place)
        rows.append(np.arange(first, first + p.n))
        size, first = 1 + int(place.max()), first + p.n
    shared = tuple(np.array([floor]) for floor in floors)
    return Joint(tuple(parts), tuple(rows), tuple(places), shared, tuple(s.prior for s in specs)), alone


def _candidates(j: Joint) -> Floats:
    """Return starting values (c, 1) of the common floor, within its bounds."""
    at = int(j.place[0][j.shared[0][0]])
    low, high = (float(ends[at]) for ends in j.bounds)
    least = min(float(p.y.min()) for p in j.parts)
    bottom = low if np.isfinite(low) else least - abs(least)
    return np.clip(np.linspace(bottom, max(least, bottom), FLOORS), low, high)[:, None]


def _resamples(j: Joint, best: Optimum, fits: tuple[Fit, Fit], specs: tuple[FitSpec, ...]) -> tuple[Floats, Resampling]:
    """Return the parameter vectors (r, Q) of the joint resamples. A failed refit is a row of NaN.

    The first half of the resamples shows whether the runs resolve the floor. If the runs do not resolve it, the second
    half are fits of the laws without a floor.
    """
    total, how = min(spec.bootstrap for spec in specs), _reading(j, fits)
    if not total:
        return np.empty((0, j.size)), how
    half, rest = slice(0, total // 2), slice(total // 2, total)
    found = _draw(j, best, fits, specs, how.method, half)
    floor = int(j.place[0][j.shared[0][0]])
    names = {fit.law.terms[int(at[0])].amplitude for fit, at in zip(fits, j.shared, strict=True)}
    unaided = not any(names & {*spec.fixed, *spec.prior} for spec in specs)
    if not unaided or j.bounds[0][floor] != 0 or not np.mean(found[:, floor] <= 0) > EXCLUDED:
        return np.concatenate([found, _draw(j, best, fits, specs, how.method, rest)]), how
    parts = tuple(p.holding(int(at[0]), 0.0) for p, at in zip(j.parts, j.shared, strict=True))
    bare = replace(j, parts=parts)
    without = _draw(bare, best_joint_fit(bare), fits, specs, how.method, rest)
    return np.concatenate([found, without]), replace(how, floorless=len(without))


def _reading(j: Joint, fits: tuple[Fit, Fit]) -> Resampling:
    """Return the resampling method of the joint fit, with the numbers of independent runs and free parameters.

    Both numbers refer to the table with fewer degrees of freedom (runs minus parameters).
    """
    tables = []
    for fit, p in zip(fits, j.parts, strict=True):
        assert fit.runs is not None
        groups, free = int(fit.runs.cluster.max()) + 1, p.n_free
        asked = "auto" if fit.spec.interval == "profile" else fit.spec.interval
        tables.append(Resampling(choose(asked, groups, free), runs=groups, parameters=free))
    methods = {how.method for how in tables}
    method: Method = "residual" if "residual" in methods else "bc" if "bc" in methods else "percentile"
    return replace(min(tables, key=lambda how: how.runs - how.parameters), method=method)


def _draw(
    j: Joint, best: Optimum, fits: tuple[Fit, Fit], specs: tuple[FitSpec, ...], method: Method, which: slice
) -> Floats:
    """Return the parameter vectors (r, Q) of the joint resamples that the slice ``which`` selects.

    With the method "residual", a resample draws noise around the joint fit. With other methods, it draws runs from each
    table.
    """
    seed, first, total = specs[0].seed, which.start, which.stop - which.start
    own = j.redrawn(normals(seed, which.stop, sum(map(len, j.priors)))[which])
    member = [fit.runs.cluster for fit in fits if fit.runs is not None]
    if method != "residual":
        return joint_refits(own, best, _runs_drawn(seed, first, member), total)
    parts = []
    for i, (p, at, spec, cluster) in enumerate(zip(own.parts, j.place, specs, member, strict=True)):
        seeded = spec.model_copy(update={"seed": seed ^ (i * OTHER_STREAM)})
        fitted, free = predict(p, best.theta[None, at])[0], p.n_free
        parts.append(replace(p, y=targets(seeded, p.y[0], p.weight, fitted, cluster, free, which)))
    return joint_refits(replace(own, parts=tuple(parts)), best, lambda a, b: np.ones((b - a, j.n)), total)


def _runs_drawn(seed: int, first: int, member: list[np.ndarray]) -> Callable[[int, int], Floats]:
    """Return a function of (a, b) that counts how often each run of both tables is drawn in the resamples a to b.

    Each resample draws from each table as many clusters as the table has.
    """
    groups = [int(cluster.max()) + 1 for cluster in member]
    strata = np.repeat(np.arange(len(groups)), groups)
    place = np.concatenate([cluster + before for cluster, before in zip(member, (0, groups[0]), strict=True)])
    return lambda a, b: counts(len(strata), seed, first + a, first + b, strata)[:, place]


def _fit(fit: Fit, p: Problem, best: Optimum, at: Ints, resamples: Floats, how: Resampling, near: float) -> Fit:
    """Return ``fit`` with three results of the joint fit: parameters, resamples, and a warning about other optima."""
    theta, draws = p.external(best.theta[at]), p.external(resamples[:, at])
    view = replace(best, theta=best.theta[at], others=best.others[:, at])
    notes: tuple[FitWarning, ...] = others(fit.law, p, view, near)
    return replace(
        fit,
        theta=theta,
        objective=plain_objective(p, best.theta[at]),
        resamples=draws,
        parameters=parameters(fit.spec, theta, draws, tuple(fit.spec.fixed), how),
        warnings=notes,
        resampling=how,
        confidence=None,
    )
