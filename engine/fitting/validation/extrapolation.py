"""Validation of a law by extrapolation, compared with baselines that use no law.

A cut excludes the largest runs. The law is fitted to the other runs and predicts the excluded runs. The first cut
excludes the largest budget, the second cut the two largest budgets, and the third cut the three largest budgets. At
most half of the budgets are excluded. If a table has no budgets, the three cuts exclude the runs in the top 15, 30 and
45 % of the range of log C.

The error of a prediction is |prediction - y| / |y|, which does not depend on whether larger or smaller y is better. If
y has both signs, the error is relative to the range of y. The error of a method is the mean over the runs of each cut,
and then the mean over the cuts.

Laws of training curves are validated as follows. The envelope is fitted to the points of all curves up to a limit of
compute, and predicts the envelope beyond this limit. The law of the critical batch size predicts the training steps to
the target for the largest batches. A threshold predicts no number and cannot be validated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.estimators.envelope import lower_envelope
from isoplan.engine.fitting.samples.sample import column, placed
from isoplan.engine.fitting.single import fit
from isoplan.engine.fitting.solver.threads import Progress
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws import get_law
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.schema import Runs


@dataclass(frozen=True, eq=False)
class Points:
    """n runs: the size (n,) of each run, the logarithms of the axes (n, k), and y (n,)."""

    size: Floats
    x: Floats
    y: Floats


def last_point(known: Points, new: Points) -> Floats:
    """Predict no further improvement: the y of the largest known run, averaged over all known runs of this size."""
    return np.full(len(new.size), np.mean(known.y[known.size == np.max(known.size)]))


def log_linear(known: Points, new: Points) -> Floats:
    """Predict y by a power law without a floor: log y is linear in the logs of all axes, by least squares.

    If a known y is zero or negative, y instead of log y is linear in these logs.
    """
    log = bool(np.all(known.y > 0))
    centre = known.x.mean(axis=0)
    line, *_ = np.linalg.lstsq(_with_one(known.x - centre), np.log(known.y) if log else known.y, rcond=None)
    out: Floats = _with_one(new.x - centre) @ line
    return np.exp(out) if log else out


def nearest_cell(known: Points, new: Points) -> Floats:
    """Predict y of the known run that is nearest in the logs of the axes. Known runs with equal axes are averaged."""
    cells, of = np.unique(known.x, axis=0, return_inverse=True)
    mean = np.bincount(of.ravel(), known.y) / np.bincount(of.ravel())
    from scipy.spatial import cKDTree  # This import takes 0.1 s, and a fit does not need it.

    return np.asarray(mean[cKDTree(cells).query(new.x)[1]], float)


def _with_one(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])


BASELINES: dict[str, Callable[[Points, Points], Floats]] = {
    "last point": last_point,
    "log-linear": log_linear,
    "nearest cell": nearest_cell,
}
BASELINES_IN_WORDS = {
    "last point": "no further improvement",
    "log-linear": "power law without floor",
    "nearest cell": "nearest run",
}
"""Description of the prediction of each baseline."""


MOST_CUTS = 3
SHARES = (0.15, 0.3, 0.45)
"""Fractions of the range of log C that the three cuts exclude if a table has no budgets."""
RIVALS = ("isoflop", "chinchilla")
"""Laws of approaches 2 and 3, which are compared with each other if the table allows both."""

MOST_POINTS = 2000
"""Maximum number of points of training curves to which a law of single runs is fitted."""
NOT_OF_CELLS = (
    "A threshold separates cells and predicts no loss, so its extrapolation cannot be tested. See how many cells are "
    "on its wrong side."
)

Targets = Literal["runs", "best"]
"""Runs over which errors are averaged: all excluded runs ("runs"), or the best run of each excluded budget ("best")."""


@dataclass(frozen=True, eq=False)
class Cut:
    """One cut of a validation: the excluded runs, which are larger than ``limit``, and their predictions.

    ``held`` (h,) are the positions of the excluded runs. ``beyond`` (h,) is their distance from the largest fitted run,
    in decades. ``best`` (h,) marks the best run of each budget. ``predicted`` contains predictions (h,) by method. A
    prediction is NaN if a method does not predict a run: a law of minima predicts only the best run of each budget.
    """

    limit: float
    held: NDArray[np.int64]
    beyond: Floats
    best: NDArray[np.bool_]
    predicted: Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class Validation:
    """Predictions of the excluded runs, by several laws and by the baselines.

    ``size`` is the role of the column that orders runs by size. ``relative_to`` (n,) is the divisor of the error of
    each run. ``missing`` contains the reason why a method could not predict a cut.
    """

    y: str
    size: str
    runs: Runs
    laws: tuple[str, ...]
    cuts: tuple[Cut, ...]
    relative_to: Floats
    missing: Mapping[str, str]

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the laws, followed by the names of the baselines."""
        return (*self.laws, *BASELINES)

    def errors(self, cut: Cut, method: str) -> Floats:
        """Return the relative errors (h,) of a method for the runs of a cut; NaN where there is no prediction."""
        if method not in cut.predicted:
            return np.full(len(cut.held), np.nan)
        return np.abs(cut.predicted[method] - self.runs[self.y][cut.held]) / self.relative_to[cut.held]

    def cut_error(self, cut: Cut, method: str, targets: Targets = "runs") -> float:
        """Return the mean relative error of a method for one cut.

        It is NaN if the method does not predict all targets, and infinite if one of the predictions is infinite.
        """
        found = self.errors(cut, method)[cut.best if targets == "best" else slice(None)]
        return float(np.mean(found)) if found.size else float("nan")

    def error(self, method: str, targets: Targets = "runs") -> float:
        """Return the mean relative error of a method, averaged over the cuts with equal weight.

        It is NaN if the method does not predict all targets.
        """
        return float(np.mean([self.cut_error(cut, method, targets) for cut in self.cuts]))

    @property
    def furthest(self) -> float:
        """Largest distance of an excluded run from the fitted runs over all cuts, in decades."""
        return max(float(np.max(cut.beyond)) for cut in self.cuts)

    @property
    def sentence(self) -> str:
        """Text with the errors of the first law and of the best baseline, over the runs that the law predicts."""
        law, targets = self.laws[0], self.targets((self.laws[0],))
        error = self.error(law, targets)
        what = "runs" if targets == "runs" else "best runs"
        counts = ", ".join(str(len(c.held) if targets == "runs" else int(c.best.sum())) for c in self.cuts)
        said = (
            f"{counts} {what} are left out in turn. They lie up to {self.furthest:.1f} decades beyond the fitted runs. "
        )
        baseline = min(BASELINES, key=lambda m: np.nan_to_num(self.error(m, targets), nan=np.inf))
        return f"{said}The mean error of {law} is {error:.2%}. The best baseline ({baseline}) has an error of " + (
            f"{self.error(baseline, targets):.2%}."
        )

    def targets(self, methods: Sequence[str]) -> Targets:
        """Return the targets that all ``methods`` predict: all excluded runs, or the best run of each budget.

        Methods without any prediction are ignored.
        """
        for cut in self.cuts:
            for method in methods:
                values = cut.predicted.get(method)
                if values is not None and cut.best.any() and np.isnan(values[~cut.best]).all():
                    return "best"
        return "runs"


def validate(spec: FitSpec, runs: Runs, progress: Progress | None = None) -> Validation:
    """Return the validation of the law of ``spec`` on ``runs``, with baselines.

    If the table has budgets, the laws isoflop and chinchilla (approaches 2 and 3) are included. A cut is skipped if too
    few runs remain to fit the law. Raises PlannerError if the table has too few sizes for a cut, or if all cuts are
    skipped.
    """
    spec = spec.read_from(runs)
    sweep = "N" in runs and "D" in runs and _size(runs, spec.find_law().axes)[0] == "budget"
    others = [spec.for_law(get_law(name)) for name in RIVALS if sweep and name != spec.law]
    out = leave_out((spec, *others), runs, progress)
    law = out.laws[0]
    cuts = tuple(cut for cut in out.cuts if law in cut.predicted)
    if not cuts:
        raise PlannerError(f"The largest runs of this table cannot be predicted from the others: {out.missing[law]}")
    return replace(out, cuts=cuts)


def leave_out(specs: Sequence[FitSpec], runs: Runs, progress: Progress | None = None) -> Validation:
    """Return predictions of the largest runs by each law of ``specs`` (with the same y) and by the baselines.

    The laws are fitted without resamples. Equal tables give identical results. Raises PlannerError if the table has too
    few sizes for a cut.
    """
    y, weight = specs[0].y, runs.values.get("weight")
    if y not in runs:
        raise PlannerError(f"There is no {y} to predict: map a column to it.")
    measured = ~np.isnan(runs[y])
    kept = runs.take(measured if weight is None else measured & (weight > 0))
    specs = [spec.read_from(kept) for spec in specs]
    law = specs[0].find_law()
    role, size = _size(kept, law.axes)
    limits = _limits(kept, role, size)
    axes = ("N", "D") if {"N", "D"} <= set(kept.values) else law.axes
    logs = [np.log(kept[a]) for a in axes if a in kept and np.all(kept[a] > 0)]
    points = Points(size, np.column_stack(logs or [np.log(size)]), kept[y])
    best = _best(kept, y)
    missing: dict[str, str] = {}
    cuts = []
    for i, limit in enumerate(limits):
        held = np.flatnonzero(size > limit)
        known, new = (Points(size[at], points.x[at], points.y[at]) for at in (size <= limit, held))
        predicted = {name: baseline(known, new) for name, baseline in BASELINES.items()}
        train, test = kept.take(size <= limit), kept.take(held)
        for j, spec in enumerate(specs):
            key = spec.find_law().key
            try:
                if not (spec.find_law().is_pointwise or best[held].any()):
                    raise PlannerError(f"{key} predicts only the best run of a budget, and these runs have no budgets.")
                predicted[key] = _predict(fit(spec.without_refits(), train), test, best[held])
            except PlannerError as error:
                missing.setdefault(key, str(error))
            if progress:
                progress((i + (j + 1) / len(specs)) / len(limits))
        beyond = np.log10(size[held] / np.max(size[size <= limit]))
        cuts.append(Cut(float(limit), held, beyond, best[held], predicted))
    keys = tuple(spec.find_law().key for spec in specs)
    return Validation(y, role, kept, keys, tuple(cuts), relative_to(kept[y]), missing)


def _predict(made: Fit, runs: Runs, best: NDArray[np.bool_]) -> Floats:
    """Return y as the fit predicts it at ``runs``; NaN for runs that the law does not predict.

    A law of minima predicts only the runs in ``best``, the best run of each budget.
    """
    out = made.predict(placed(made.spec, runs))
    return out if made.law.is_pointwise else np.where(best, out, np.nan)


def _size(runs: Runs, axes: tuple[str, ...]) -> tuple[str, Floats]:
    """Return the role of the column that orders runs by size, and the size (n,) of each run.

    If the table has budgets, the size is the budget, or C for a run without a budget. Otherwise, the size is C, or the
    first axis if there is no C.
    """
    budget = runs.values.get("budget")
    if budget is not None and "C" in runs:
        some = budget[~np.isnan(budget)]
        if len(np.unique(some)) > 2 or len(some) == len(budget):
            return "budget", np.where(np.isnan(budget), runs["C"], budget)
    role = next((name for name in ("C", *axes) if name in runs), None)
    if role is None:
        raise PlannerError("The size of the runs is not known. Map a column to C, or columns to N and D.")
    return role, runs[role]


def _limits(runs: Runs, role: str, size: Floats) -> list[float]:
    """Return for each cut the largest size that is fitted. The first cut excludes the fewest runs."""
    sound = np.isfinite(size) & (size > 0)
    if not sound.all():
        raise PlannerError(f"{column(runs, role)} is not positive in {np.sum(~sound)} runs: leave them out.")
    levels = np.unique(size)
    if len(levels) < 3:
        raise PlannerError(
            f"Leaving out the largest runs requires three values of {column(runs, role)}, but these runs have "
            f"{len(levels)}: add a budget, or map the column with the size of the runs."
        )
    if role == "budget":
        levels = np.unique(runs["budget"][~np.isnan(runs["budget"])])
        return [float(x) for x in levels[::-1][1 : 1 + min(MOST_CUTS, len(levels) // 2)]]
    low, high = levels[0], levels[-1]
    ends = [levels[levels <= high * (low / high) ** share][-1] for share in SHARES]
    return [float(x) for x in dict.fromkeys(ends)]


def _best(runs: Runs, y: str) -> NDArray[np.bool_]:
    """Return a mask (n,) of the best run of each budget, or of several best runs with equal y."""
    out = np.zeros(len(runs), bool)
    budget = runs.values.get("budget")
    if budget is None:
        return out
    value = runs[y] if runs.roles.direction(y) == "min" else -runs[y]
    groups, of = np.unique(budget, return_inverse=True)
    least = np.full(len(groups), np.inf)
    np.minimum.at(least, of, value)
    return (value == least[of]) & ~np.isnan(budget)


def relative_to(y: Floats) -> Floats:
    """Return the divisor (n,) for errors of ``y``: |y|, or the range of y if y has both signs or contains zero."""
    one_sign = bool(np.all(y > 0) or np.all(y < 0))
    return np.abs(y) if one_sign else np.full(len(y), np.ptp(y) or 1.0)


def validate_read_off(spec: FitSpec, runs: Runs, progress: Progress | None = None) -> Validation:
    """Return the validation of the law of ``spec`` on ``runs``, which are points of training curves.

    ``validate`` is called for a law of single runs, and also for an envelope if the table has budgets. Raises
    PlannerError in the same cases as ``validate``, and for the law threshold.
    """
    law = spec.find_law()
    if law.estimator == "threshold":
        raise PlannerError(NOT_OF_CELLS)
    if law.estimator != "envelope" or "budget" in runs:
        return validate(spec, runs, progress)
    found = lower_envelope(spec, runs)
    best, C = found.runs(spec.y), runs["C"]
    best = Runs(best.ids, best.values, runs.roles, {}, runs.source, runs.sha256)
    size = best["C"]
    limits = [float(size[-1] * (size[0] / size[-1]) ** share) for share in SHARES]
    specs = (spec.without_refits(), spec.for_law(CHINCHILLA))
    keys = tuple(one.find_law().key for one in specs)
    missing: dict[str, str] = {}
    cuts = []
    for i, limit in enumerate(limits):
        held, train = np.flatnonzero(size > limit), runs.take(C <= limit)
        known, new = (Points(size[at], np.log(size[at])[:, None], best[spec.y][at]) for at in (size <= limit, held))
        predicted = {name: baseline(known, new) for name, baseline in BASELINES.items()}
        for key, one in zip(keys, specs, strict=True):
            try:
                predicted[key] = _predict_read_off(one, train, best.take(held))
            except PlannerError as error:
                missing.setdefault(key, str(error))
        cuts.append(Cut(limit, held, np.log10(size[held] / limit), np.zeros(len(held), bool), predicted))
        if progress:
            progress((i + 1) / len(limits))
    cuts = [cut for cut in cuts if keys[0] in cut.predicted]
    if not cuts:
        raise PlannerError(f"The envelope at the largest compute cannot be predicted from the rest: {missing[keys[0]]}")
    return Validation(spec.y, "C", best, keys, tuple(cuts), relative_to(best[spec.y]), missing)


def _predict_read_off(spec: FitSpec, train: Runs, new: Runs) -> Floats:
    """Return y at ``new`` as predicted by the law of ``spec`` after a fit to ``train``.

    A law of single runs is fitted to at most ``MOST_POINTS`` points.
    """
    every = spec.find_law().is_pointwise
    part = (
        train.take(np.arange(0, len(train), -(-len(train) // MOST_POINTS)))
        if every and len(train) > MOST_POINTS
        else train
    )
    made = fit(spec, part)
    return made.predict({axis: new[axis] for axis in made.law.axes})
