"""From a specification and runs to a fit."""

from __future__ import annotations

import numpy as np

from engine.errors import PlannerError
from engine.fitting.checks import Sample, sample
from engine.fitting.diagnostics import diagnose
from engine.fitting.estimate import Estimate, Progress
from engine.fitting.intervals import interval
from engine.fitting.nonlinear import nonlinear
from engine.fitting.parabola import parabola
from engine.fitting.result import Fit, FitData, Parameter
from engine.fitting.spec import FitSpec
from engine.fitting.surface import surface
from engine.laws.law import Floats
from engine.schema import Role, Runs

ESTIMATORS = {"surface": surface, "parabola": parabola, "formula": nonlinear}


def fit(spec: FitSpec, runs: Runs, *, snapshot: str = "", where: str = "", progress: Progress | None = None) -> Fit:
    """Fit the law of ``spec`` to ``runs``; the same two give the same digits.

    ``snapshot`` and ``where`` name the data in the result, ``progress`` hears the share of resamples that are done.
    Raises PlannerError where the runs cannot support the law; softer problems travel as ``Fit.warnings``.
    """
    if spec.share:
        raise PlannerError("Parameters are shared over groups: ask for the fits of all groups together.")
    s = sample(spec, runs)
    return finished(s.spec, s, ESTIMATORS[s.law.estimator](s, progress), snapshot, where)


def finished(spec: FitSpec, s: Sample, found: Estimate, snapshot: str, where: str, group: str = "") -> Fit:
    """The fit of a sample from what the estimator found; ``group`` names the runs where they are one of several."""
    resamples = found.resamples[~np.isnan(found.resamples).any(axis=1)]
    return Fit(
        spec=spec,
        n=len(s),
        theta=found.theta,
        objective=found.objective,
        resamples=resamples,
        parameters=parameters(spec, found.theta, resamples, (*spec.fixed, *found.held)),
        data=_data(s, snapshot, where, group),
        compute=s.runs.roles.compute,
        warnings=diagnose(s, found),
    )


def parameters(spec: FitSpec, theta: Floats, resamples: Floats, held: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Best fit, standard error and intervals of every parameter that is not ``held``, from (p,) and (r, p) values."""
    return tuple(
        Parameter(name, float(value), fixed=True) if name in held else parameter(name, float(value), draws, spec)
        for name, value, draws in zip(spec.find_law().names, theta, resamples.T, strict=True)
    )


def parameter(name: str, value: float, draws: Floats, spec: FitSpec) -> Parameter:
    """One number with its standard error and intervals from its ``draws`` (r,)."""
    return Parameter(
        name,
        value,
        spread(draws),
        interval(value, draws, 0.68, spec.interval),
        interval(value, draws, 0.95, spec.interval),
    )


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
