"""From a specification and runs to a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from engine.errors import PlannerError
from engine.fitting.checks import Sample, sample
from engine.fitting.diagnostics import diagnose
from engine.fitting.envelope import envelope
from engine.fitting.estimate import Estimate, Progress
from engine.fitting.nonlinear import nonlinear
from engine.fitting.parabola import parabola
from engine.fitting.resampling import Resampling
from engine.fitting.result import Fit, FitData, FitWarning, Interval, Parameter
from engine.fitting.shapes import shaped
from engine.fitting.spec import FitSpec
from engine.fitting.surface import surface
from engine.fitting.threshold import threshold
from engine.laws.law import Floats
from engine.laws.terms import Const
from engine.schema import Curves, Role, Runs

Reading = Callable[[float, Floats, float], Interval | None]
"""The interval of a number from its value, its draws (r,) and the level."""
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
) -> Fit:
    """Fit the law of ``spec`` to ``runs``; the same two give the same digits.

    ``curves`` are the training curves of the runs, for the laws that read them. ``snapshot`` and ``where`` name the
    data in the result, ``progress`` hears the share of resamples that are done. Raises PlannerError where the runs
    cannot support the law; softer problems travel as ``Fit.warnings``.
    """
    if spec.share:
        raise PlannerError("Parameters are shared over groups: ask for the fits of all groups together.")
    shape = shaped(spec, runs, curves)
    s = sample(spec, shape)
    made = finished(s.spec, s, ESTIMATORS[s.law.estimator](s, progress), snapshot, where)
    return made if curves is None else _with_curves(made, shape, curves)


def _with_curves(made: Fit, shape: Runs, curves: Curves) -> Fit:
    """The fit with what its training curves were and what became of them."""
    return replace(
        made,
        n=len(np.unique(shape.labels["run"])),
        data=replace(made.data, curves=curves.snapshot or curves.sha256),
        warnings=(*(FitWarning("curves", note) for note in shape.notes), *made.warnings),
    )


def finished(spec: FitSpec, s: Sample, found: Estimate, snapshot: str, where: str, group: str = "") -> Fit:
    """The fit of a sample from what the estimator found; ``group`` names the runs where they are one of several."""
    made = np.flatnonzero(~np.isnan(found.resamples).any(axis=1))
    resamples, how = found.resamples[made], found.resampling
    how = replace(how, floorless=int(np.sum(made >= len(found.resamples) - how.floorless)))
    return Fit(
        spec=spec,
        n=len(s),
        theta=found.theta,
        objective=found.objective,
        resamples=resamples,
        parameters=parameters(spec, found.theta, resamples, (*spec.fixed, *found.held), how),
        data=_data(s, snapshot, where, group),
        compute=s.runs.roles.compute,
        warnings=diagnose(s, found),
        resampling=how,
    )


def parameters(
    spec: FitSpec, theta: Floats, resamples: Floats, held: tuple[str, ...], how: Resampling
) -> tuple[Parameter, ...]:
    """Best fit, standard error and intervals of every parameter that is not ``held``, from (p,) and (r, p) values.

    A floor that is not resolved has one-sided intervals: zero and an upper limit.
    """
    law = spec.find_law()
    floors = [t.amplitude for t in law.terms if isinstance(t, Const)] if how.floorless else []
    return tuple(
        Parameter(name, float(value), fixed=True)
        if name in held
        else parameter(name, float(value), draws, how.limit if name in floors else how.interval)
        for name, value, draws in zip(law.names, theta, resamples.T, strict=True)
    )


def parameter(name: str, value: float, draws: Floats, read: Reading) -> Parameter:
    """One number with its standard error and intervals from its ``draws`` (r,), by a reading of ``Resampling``."""
    return Parameter(name, value, spread(draws), read(value, draws, 0.68), read(value, draws, 0.95))


def spread(draws: Floats) -> float | None:
    """The standard deviation of the finite draws; None where it has no finite value."""
    sound = draws[np.isfinite(draws)]
    if sound.size < 2:
        return None
    with np.errstate(over="ignore"):
        found = float(np.std(sound, ddof=1))
    return found if np.isfinite(found) else None


def _data(s: Sample, snapshot: str, where: str, group: str) -> FitData:
    roles = {role.value: s.runs.roles.column(role) for role in (Role.N, Role.D, Role.C, Role.U, Role.BUDGET)}
    if group:
        roles["group"] = s.runs.roles.column(Role.GROUP)
    named = {role: name for role, name in roles.items() if name}
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
    )
