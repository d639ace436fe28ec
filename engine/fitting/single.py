"""Fit of one law to runs. This module also chooses the objective and the smoothing of training curves.

For a law of training steps, training curves are smoothed by a running mean. The window of the mean is arbitrary, but it
affects the number of training steps to a target, especially for noisy curves. The law is therefore fitted with several
windows. The resamples contain the same number of refits for each window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError, UndeterminedLawError
from isoplan.engine.fitting.diagnostics.checks import diagnose
from isoplan.engine.fitting.estimators.envelope import envelope
from isoplan.engine.fitting.estimators.formula import nonlinear
from isoplan.engine.fitting.estimators.isoflop import parabola
from isoplan.engine.fitting.estimators.surface import surface
from isoplan.engine.fitting.estimators.threshold import threshold
from isoplan.engine.fitting.samples.curve_tables import shaped
from isoplan.engine.fitting.samples.sample import Sample, clusters, sample
from isoplan.engine.fitting.solver.threads import Progress
from isoplan.engine.fitting.types.intervals import FEW
from isoplan.engine.fitting.types.parameters import floors, parameters
from isoplan.engine.fitting.types.possible_values import levelled
from isoplan.engine.fitting.types.result import MOST_RUNS, Estimate, Fit, FitData, FittedRuns, FitWarning
from isoplan.engine.fitting.types.runtime import Runtime, fit_runtime
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.types.unfitted import UnfittedRuns
from isoplan.engine.schema import Curves, Role, Runs

CHOICES = (0.0, 0.3, 0.6, 0.8)
"""Values of ``smoothing`` that are compared: running means over 0, 4, 10 and 22 % of the training steps."""
CODE = "curves"


def over_smoothings(made: Fit, refit: Callable[[float, int], Fit]) -> Fit:
    """Return the fit ``made`` with equal numbers of resamples from several smoothings of the training curves.

    ``refit(smoothing, resamples)`` returns a fit with another smoothing. ``made`` is returned unchanged if it has no
    resamples, if its smoothing is 0, or if no other smoothing gives a fit.
    """
    r, own = len(made.resamples), made.spec.smoothing
    if not r or not own:
        return made
    others = [found for s in CHOICES if s != own and (found := _or_none(refit, s, r)) is not None]
    if not others:
        return made
    fits = [made, *others]
    parts = [fit.resamples[: max(r // len(fits), 1)] for fit in fits]
    resamples, how = np.vstack(parts), replace(made.resampling, method="percentile", floorless=0)
    return replace(
        made,
        resamples=resamples,
        resampling=how,
        parameters=parameters(made.spec, made.theta, resamples, tuple(made.spec.fixed), how),
        warnings=(*made.warnings, FitWarning(CODE, _said(fits))),
    )


def _or_none(refit: Callable[[float, int], Fit], smoothing: float, r: int) -> Fit | None:
    try:
        found = refit(smoothing, r)
    except PlannerError:
        return None
    return found if len(found.resamples) else None


def _said(fits: Sequence[Fit]) -> str:
    shown = ", ".join(f"{s:g}" for s in sorted(fit.spec.smoothing for fit in fits))
    return f"The intervals include the choice of smoothing: each of {shown} is used for the same number of resamples."


OBJECTIVE = "objective"
"""Code of the note that explains which objective was chosen."""


def suggest(spec: FitSpec, runs: Runs) -> tuple[FitSpec, tuple[FitWarning, ...]]:
    """Return ``spec`` with an objective that suits ``runs``, and a note if this objective is not the Huber loss.

    A fit of p free parameters with the Huber loss (delta 1e-3) to few runs passes exactly through p runs, and the other
    runs have almost no influence. With fewer than ``FEW`` runs per free parameter, the objective is therefore least
    squares of log residuals, which uses all runs. ``spec`` is not changed for a law without a residual for each run, or
    if a value of y is not positive.
    """
    law = spec.read_from(runs).find_law()
    if not law.is_pointwise or spec.y not in runs or spec.share:
        return spec, ()
    y = runs[spec.y][np.isfinite(runs[spec.y])]
    free = sum(name not in spec.fixed for name in law.names)
    turned = runs.roles.direction(spec.y) == "max" and law.minimised
    if not len(y) < FEW * free or turned or not (y > 0).all():
        return spec, ()
    why = f"{len(y)} runs are few for {free} free parameters"
    text = f"The objective is least squares of logs (ols-log), because {why}."
    return spec.model_copy(update={"objective": "ols-log"}), (FitWarning(OBJECTIVE, text),)


ESTIMATORS = {
    "surface": surface,
    "parabola": parabola,
    "formula": nonlinear,
    "envelope": envelope,
    "threshold": threshold,
}


def fit(
    spec: FitSpec,
    runs: Runs,
    *,
    curves: Curves | None = None,
    snapshot: str = "",
    where: str = "",
    progress: Progress | None = None,
    suggested: bool = False,
) -> Fit:
    """Fit the law of ``spec`` to ``runs``. Equal inputs give identical results.

    ``curves`` are the training curves of the runs, for laws that use them. ``snapshot`` and ``where`` (the filter) are
    stored in the result. ``progress`` is called with the completed fraction of the resamples. If ``suggested`` is true
    and there are no curves, ``suggest`` selects the objective. Raises PlannerError if the runs cannot determine the
    law. Less severe problems are in ``Fit.warnings``.
    """
    if spec.share:
        raise PlannerError("Parameters are shared over groups: ask for the fits of all groups together.")
    if suggested and curves is None:
        spec, chosen = suggest(spec, runs)
        made = _fitted(spec, runs, None, snapshot, where, progress)
        return replace(made, warnings=(*chosen, *made.warnings))
    made = _fitted(spec, runs, curves, snapshot, where, progress)
    if curves is None or not made.law.counts_updates:
        return made

    def refit(smoothing: float, r: int) -> Fit:
        changed = {"smoothing": smoothing, "bootstrap": r}
        return _fitted(spec.model_copy(update=changed), runs, curves, snapshot, where, None)

    return over_smoothings(made, refit)


def fit_if_determined(spec: FitSpec, runs: Runs, where: str = "") -> Fit | UnfittedRuns:
    """Fit the law of ``spec`` with a suggested objective, or return the runs with the reason if they are too few.

    Raises PlannerError if the fit fails for any other reason.
    """
    try:
        return fit(spec, runs, where=where, suggested=True)
    except UndeterminedLawError as error:
        return UnfittedRuns(spec, runs, str(error))


def find_undetermined(spec: FitSpec, runs: Runs) -> UnfittedRuns | None:
    """Return the runs with the reason if they do not determine the law of ``spec``; otherwise None.

    No law is fitted. Raises PlannerError if a fit is impossible for any other reason.
    """
    spec, _ = suggest(spec, runs)
    try:
        sample(spec, shaped(spec, runs, None))
    except UndeterminedLawError as error:
        return UnfittedRuns(spec, runs, str(error))
    return None


def _fitted(
    spec: FitSpec, runs: Runs, curves: Curves | None, snapshot: str, where: str, progress: Progress | None
) -> Fit:
    shape = shaped(spec, runs, curves)
    s = sample(spec, shape)
    made = finished(s.spec, s, ESTIMATORS[s.law.estimator](s, progress), snapshot, where)
    return made if curves is None else _with_curves(made, shape, curves)


def _with_curves(made: Fit, shape: Runs, curves: Curves) -> Fit:
    """Return the fit with the hash of its training curves, and with notes about omitted curves."""
    return replace(
        made,
        n=len(np.unique(shape.labels["run"])),
        data=replace(made.data, curves=curves.snapshot or curves.sha256),
        warnings=(*(FitWarning("curves", note) for note in shape.notes), *made.warnings),
    )


def finished(spec: FitSpec, s: Sample, found: Estimate, snapshot: str, where: str, group: str = "") -> Fit:
    """Return the fit of a sample from its estimate; ``group`` is the name of the group if there are several groups."""
    _check_bounds(s, found.theta)
    whole = np.flatnonzero(~np.isnan(found.resamples).any(axis=1))
    resamples, how = found.resamples[whole], found.resampling
    how = replace(how, floorless=int(np.sum(whole >= len(found.resamples) - how.floorless)))
    made = Fit(
        spec=spec,
        n=len(s),
        theta=found.theta,
        objective=found.objective,
        resamples=resamples,
        parameters=parameters(spec, found.theta, resamples, (*spec.fixed, *found.held), how, found.confidence),
        data=_data(s, snapshot, where, group),
        compute=s.runs.roles.compute,
        warnings=diagnose(s, found),
        resampling=how,
        confidence=found.confidence,
        runs=_runs(s) if takes_runs(spec, len(s)) else None,
    )
    return levelled(made)


def takes_runs(spec: FitSpec, n: int) -> bool:
    """Return whether a fit of ``n`` runs stores the runs.

    Runs are stored if the law predicts the loss of every run and ``n`` is at most ``MOST_RUNS``.
    """
    return n <= MOST_RUNS and spec.find_law().is_pointwise


def fitted_runs(spec: FitSpec, runs: Runs) -> FittedRuns:
    """Return the fitted runs of a fit that was saved without them.

    ``runs`` are the runs, read again from the table. For the fit of a group, they are the runs of this group.
    """
    return _runs(sample(spec, runs, spec.share))


def _runs(s: Sample) -> FittedRuns:
    return FittedRuns(s.columns, s.y, s.weight, clusters(s.runs))


def _check_bounds(s: Sample, theta: Floats) -> None:
    """Raise PlannerError if a fitted parameter, such as the exponent of N*, is outside its bounds.

    This can happen only for laws that are fitted to minima (isoflop, envelope). Other fits respect the bounds.
    """
    if s.law.is_pointwise:
        return
    for name, value in zip(s.law.names, theta, strict=True):
        p = s.law.param(name)
        if name in s.free and name not in floors(s.law) and not p.low <= value <= p.high:
            raise PlannerError(
                f"{name}: the fit gives {value:.3g} for the {p.meaning}, which must be between {p.low:g} and "
                f"{p.high:g}. Add budgets, or sizes on both sides of each minimum, or fit the law 'chinchilla'."
            )


def _data(s: Sample, snapshot: str, where: str, group: str) -> FitData:
    roles = {role.value: s.runs.roles.column(role) for role in (Role.N, Role.D, Role.C, Role.U, Role.BUDGET)}
    if group:
        roles["group"] = s.runs.roles.column(Role.GROUP)
    named = {role: name for role, name in roles.items() if name}
    if s.runs.roles.reading:
        named["reading"] = s.runs.roles.reading
    used = (*dict.fromkeys(("N", "D", "C", "U", *s.law.axes, s.spec.y)),)
    return FitData(
        source=s.runs.source,
        sha256=s.runs.sha256,
        roles=named | {s.spec.y: s.runs.roles.loss or "loss" if s.spec.y == "loss" else s.spec.y},
        ranges={role: (float(np.min(s.runs[role])), float(np.max(s.runs[role]))) for role in used if role in s.runs},
        snapshot=snapshot,
        where=where,
        group=group,
        direction=s.runs.roles.direction(s.spec.y),
        runtime=runtime_of(s.runs),
    )


def runtime_of(runs: Runs) -> Runtime | None:
    """Return the fitted runtime of the runs; None if the runs have no measured times, no N or no D."""
    if runs.seconds is None or "N" not in runs or "D" not in runs:
        return None
    return fit_runtime(runs["N"], runs["D"], runs.seconds, runs.seconds_from)
