"""Fit of a formula law from 64 starts. The best minimum is returned, with the number of starts that ended there.

The best minimum may differ from the global minimum. The fit therefore reports how many starts ended in the best
minimum, and how much worse the next minimum is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.resampling.bootstrap import counts, targets
from isoplan.engine.fitting.resampling.priors import moved, noise, normals, penalty
from isoplan.engine.fitting.samples.sample import Sample, clusters
from isoplan.engine.fitting.solver.formula_problem import Expression, expression, local, refine
from isoplan.engine.fitting.solver.formula_starts import starts
from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.solver.penalty import DIRECT, Forms
from isoplan.engine.fitting.solver.problem import blocks
from isoplan.engine.fitting.solver.threads import Progress, over_blocks
from isoplan.engine.fitting.types.intervals import Resampling, choose
from isoplan.engine.fitting.types.result import Estimate, FitWarning, empty_resamples
from isoplan.engine.laws.expression import FormulaLaw

SAME = 1e-6
"""Two objectives belong to the same minimum if their relative difference is not larger than this number."""
NEAR, KEPT = 1.25, 2
"""Refits start from the best minimum and from up to ``KEPT`` other minima.

The objective of the other minima is at most ``NEAR`` times the best objective.
"""
LEADING, AGAIN = 16, 4
"""LEADING: number of starts with the lowest objectives that get further descents. AGAIN: number of these descents.

In a narrow valley, several descents are needed.
"""
MEMORY = 1_000_000
"""Maximum number of weights (resamples x runs) in a block."""
AT_ONCE = 250
"""Maximum number of resamples in a block. A smaller block takes almost the same time.

The slowest starts of a block determine its time, and even a small block contains a few of them.
"""
FLAT = 1e-9
"""A direction is unconstrained if (its curvature) / (curvature along single parameters) is below this number."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Minima (s, p) in which the s starts ended, with the objectives (s,) of the minima, the best first.

    ``ladder`` contains the softer loss functions that were minimised before the loss function of the objective.
    """

    theta: Floats
    value: Floats
    ladder: tuple[Loss, ...]

    @property
    def reached(self) -> int:
        """Number of starts that ended in the best minimum."""
        return int(np.sum(_same(self.value, self.value[0])))

    @property
    def roots(self) -> Floats:
        """Starting points (k, p) of refits: the best minimum and other distinct minima with a similar objective."""
        kept = [0]
        for i, value in enumerate(self.value):
            if len(kept) <= KEPT and value <= NEAR * self.value[0] and not _same(value, self.value[kept[-1]]):
                kept.append(i)
        return self.theta[kept]


def nonlinear(s: Sample, progress: Progress | None = None) -> Estimate:
    """Return the fit of a formula law: the best of 64 starts, and one refit for each resample."""
    assert isinstance(s.law, FormulaLaw)
    e = _informed(s, expression(s, s.law))
    found = best_of(e, s.spec.seed)
    member = clusters(s.runs)
    groups = int(member.max()) + 1
    how = Resampling(choose(s.spec.interval, groups, len(s.free)), runs=groups, parameters=len(s.free))
    resamples = empty_resamples(len(e.names))
    if s.spec.bootstrap:
        resamples = refits(e, found, s, how, member, progress)
    warnings = (_spread(found), *_edges(e, found), *_flat(e, found))
    value = float(found.value[0]) - (e.penalty.value(found.theta[0]) if e.penalty else 0.0)  # without priors
    return Estimate(found.theta[0], value, resamples, warnings, resampling=how)


def _informed(s: Sample, e: Expression) -> Expression:
    """Return the problem ``e`` with the priors of the specification, or ``e`` itself if there are no priors."""
    if not s.spec.prior:
        return e
    per = noise(s.spec, e.objective.loss, lambda: float(best_of(e, s.spec.seed).value[0]) / (e.n - len(s.free)))
    places = [e.names.index(name) for name in s.spec.prior]
    forms = Forms.of((DIRECT, i, i, 1.0, 0.0) for i in places)
    return replace(e, penalty=penalty(forms, s.spec.prior, per))


def best_of(e: Expression, seed: int) -> Spread:
    """Return the minima of all starts; raises PlannerError if no start has a finite objective."""
    theta = starts(e, seed)
    weight, owner = e.weight[None], np.zeros(len(theta), np.int64)
    ladder = e.objective.loss.softer(_residual(e, theta[0]))
    for loss in (*ladder, e.objective.loss):
        theta, value = refine(e, theta, weight, owner, loss, short=1.0)
    for _ in range(AGAIN):
        first = np.argsort(value, kind="stable")[:LEADING]
        theta[first], value[first] = refine(e, theta[first], weight, owner[first], e.objective.loss)
    order = np.argsort(value, kind="stable")
    if not np.isfinite(value[order[0]]):
        raise PlannerError("The formula cannot be fitted from any start: give bounds to its parameters.")
    return Spread(theta[order], value[order], ladder)


def refits(
    e: Expression, found: Spread, s: Sample, how: Resampling, member: Ints, progress: Progress | None = None
) -> Floats:
    """Return the best minimum (r, p) of each resample, or NaN if no minimum is finite.

    Each refit starts from the best distinct minima of the fit to all runs.
    """
    if how.method == "profile":
        raise PlannerError(f"Law {s.law.name} has no interval profile: choose auto, residual, bc or percentile.")
    total, roots, fitted = s.spec.bootstrap, found.roots, e.predict(found.theta[0])
    normal = normals(s.spec.seed, total, len(s.spec.prior))
    out = np.full((total, len(e.names)), np.nan)

    def block(at: slice) -> None:
        part = replace(e, penalty=e.penalty and moved(e.penalty, s.spec.prior, normal[at]))
        weight = np.tile(e.weight, (at.stop - at.start, 1))
        if how.method == "residual":
            part = replace(part, redrawn=targets(s.spec, e.y, e.weight, fitted, member, how.parameters, at))
        else:
            weight *= counts(how.runs, s.spec.seed, at.start, at.stop)[:, member]
        theta, owner = np.tile(roots, (len(weight), 1)), np.repeat(np.arange(len(weight)), len(roots))
        for loss in (*found.ladder[-1:], e.objective.loss):  # near the minimum, one softer loss is enough
            theta, value = refine(part, theta, weight, owner, loss)
            kept = _distinct(value, owner)
            theta, value, owner = theta[kept], value[kept], owner[kept]
        best = np.searchsorted(owner, np.arange(len(weight)))
        out[at] = np.where(np.isfinite(value[best])[:, None], theta[best], np.nan)

    over_blocks(block, blocks(total, min(MEMORY // e.n, AT_ONCE)), total, progress)
    return out


def _distinct(value: Floats, owner: Ints) -> Ints:
    """Return the indices of starts with distinct minima, sorted by owner (a resample) and then by objective."""
    order = np.lexsort((value, owner))
    value, owner = value[order], owner[order]
    repeated = (owner[1:] == owner[:-1]) & _same(value[1:], value[:-1])
    return order[np.concatenate([[True], ~repeated])]


def _same(value: Floats, best: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.asarray(value <= best * (1 + SAME) + 1e-24)


def _residual(e: Expression, theta: Floats) -> float:
    """Return the median absolute residual of the runs for the parameters ``theta`` (p,)."""
    with np.errstate(all="ignore"):
        size = np.abs(e.residual(e.predict(theta), slice(None)))
    return float(np.median(size[np.isfinite(size)])) if np.isfinite(size).any() else 0.0


def _spread(found: Spread) -> FitWarning:
    """Return a note on the number of starts that ended in the best minimum, and on the excess of the next minimum."""
    total, reached = len(found.value), found.reached
    others = found.value[~_same(found.value, found.value[0]) & np.isfinite(found.value)]
    if others.size == 0:
        return FitWarning("starts-agree", f"All {total} starts that gave a fit reach the same optimum.")
    worse = others[0] / found.value[0] - 1 if found.value[0] > 0 else np.inf
    text = f"{reached} of {total} starts reach the best optimum; the next distinct optimum is {_percent(worse)} worse."
    if reached == 1:
        text += " A better optimum may exist: give bounds to the parameters, or fit with another seed."
    return FitWarning("starts", text)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 10 else "more than ten times"


def _edges(e: Expression, found: Spread) -> Iterator[FitWarning]:
    """Yield a warning for each parameter that ended at a bound."""
    for name, value, low, high in zip(e.names, found.theta[0], e.low, e.high, strict=True):
        if low < high and value in (low, high):
            yield FitWarning(
                "at-bound",
                f"{name} = {value:g} is at its bound: the runs do not determine it. "
                "Use it as a limit, widen its bounds, or fix it.",
            )


def _flat(e: Expression, found: Spread) -> Iterator[FitWarning]:
    """Yield a warning if the runs do not constrain a combination of parameters at the best minimum."""
    theta = found.theta[0]
    gauss = local(e, theta[None], e.weight[None], np.zeros(1, np.int64), e.objective.loss).gauss[0]
    size = np.sqrt(np.diagonal(gauss))
    free = np.flatnonzero((e.low < theta) & (theta < e.high) & (size > 0) & np.isfinite(size))
    if free.size < 2:
        return
    values, vectors = np.linalg.eigh(gauss[np.ix_(free, free)] / np.outer(size[free], size[free]))
    if values[0] < FLAT:
        joined = [e.names[i] for i, part in zip(free, vectors[:, 0], strict=True) if abs(part) > 0.1]
        yield FitWarning(
            "unconstrained",
            f"The runs constrain only a combination of {' and '.join(joined)}, but not each of them: fix one "
            "of them, or write the formula with fewer parameters.",
        )
