"""Comparison of laws on one table, by extrapolation error and then by information criteria.

An objective is the sum over runs of w rho(r), with the weight w and the residual r of a run. The corresponding density
of a residual is p(r) = exp(-w rho(r) / s) / Z(s / w). s is the scale of the noise, and Z(s) is the integral of
exp(-rho(r) / s) over r. s has its maximum-likelihood value and counts as a parameter. For ``ols``, the density is
Gaussian. For ``huber-log``, it is Gaussian with exponential tails that begin at delta. Since delta does not change with
s, the best fit of the objective also has the maximum likelihood.

For residuals of logs, p is the density of log y. Information criteria therefore compare only laws with the same
objective and the same runs.

AIC = 2 k - 2 ln p and BIC = k ln n - 2 ln p, where k is the number of free parameters plus one for s (Akaike 1974;
Schwarz 1978).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isoplan.engine.arrays import Floats, finite
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.diagnostics.checks import REPEATS
from isoplan.engine.fitting.diagnostics.pooling import FLAGGED, OFFSETS, POOLED
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.single import fit, suggest
from isoplan.engine.fitting.solver.objectives import Loss, log_norm
from isoplan.engine.fitting.solver.problem import objective
from isoplan.engine.fitting.solver.threads import Progress
from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.validation.extrapolation import (
    BASELINES,
    BASELINES_IN_WORDS,
    Targets,
    Validation,
    leave_out,
)
from isoplan.engine.laws import LAWS, ONE_AXIS
from isoplan.engine.schema import Runs


@dataclass(frozen=True)
class Criteria:
    """Likelihood and information criteria of a fit. Smaller AIC and BIC are better.

    ``parameters`` is the number of free parameters plus one for the scale of the noise.
    """

    log_likelihood: float
    parameters: int
    aic: float
    bic: float


def criteria(found: Fit, runs: Runs) -> Criteria:
    """Return the criteria of the fit ``found`` on ``runs``, the runs to which it was fitted.

    Raises PlannerError if the law describes minima instead of single runs, or if all residuals are zero.
    """
    if not found.law.is_pointwise:
        raise PlannerError(f"Law {found.law.name} describes minima, so it has no likelihood of single runs.")
    s = sample(found.spec, runs)
    how = objective(found.spec, s.y)
    predicted = found.law.predict(found.theta, s.columns)
    residual = np.log(predicted / s.y) if how.log else predicted - s.y
    log_likelihood = most_likely(how.loss, residual, s.weight)
    k = sum(not p.fixed for p in found.parameters) + 1
    return Criteria(log_likelihood, k, 2 * k - 2 * log_likelihood, k * float(np.log(len(s))) - 2 * log_likelihood)


def most_likely(loss: Loss, residual: Floats, weight: Floats) -> float:
    """Return ln p of the residuals (n,) with the given weights (n,), at the most likely scale of the noise."""
    from scipy.optimize import minimize_scalar

    rho = loss.value(residual)
    total, n = float(weight @ rho), len(rho)
    if not total > 1e-24 * max(float(np.max(np.abs(residual), initial=0.0)), 1e-300) * n:
        raise PlannerError("The law fits every run exactly, so neither the noise nor a likelihood can be estimated.")
    typical = np.log(total / n)
    best = minimize_scalar(
        lambda t: total / np.exp(t) + float(np.sum(log_norm(loss, np.exp(t) / weight))),
        bounds=(typical - 4, typical + 4),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -float(best.fun)


@dataclass(frozen=True, eq=False)
class Contender:
    """A fitted law in a comparison, with its mean relative error on the excluded runs, and its AIC and BIC.

    An error or criterion that is not defined is NaN, and ``note`` states why. ``parameters`` is the number of free
    parameters.
    """

    fit: Fit
    parameters: int
    error: float
    aic: float
    bic: float
    note: str = ""

    @property
    def key(self) -> str:
        """The law and its axis, such as "power-N"."""
        return self.fit.law.key

    @property
    def title(self) -> str:
        """The name of the law in words."""
        return self.fit.law.title


@dataclass(frozen=True, eq=False)
class Comparison:
    """The fitted laws, the best first. ``refused`` contains the laws that could not be fitted, each with the reason.

    ``targets`` are the runs over which errors are averaged: all excluded runs or, if one of the laws describes minima,
    the best run of each budget. If no runs can be excluded, ``validation`` is None and ``note`` states the reason.
    ``warnings`` are about the runs and the objective.
    """

    ranked: tuple[Contender, ...]
    refused: tuple[tuple[str, str], ...]
    validation: Validation | None
    targets: Targets
    note: str = ""
    warnings: tuple[FitWarning, ...] = ()

    @property
    def ranks(self) -> tuple[int | None, ...]:
        """The rank of each law of ``ranked``; None for a law that could not be ranked.

        Laws are ranked by their error on the excluded runs or, if no runs could be excluded, by AIC.
        """
        known = [bool(np.isfinite(one.aic if self.validation is None else one.error)) for one in self.ranked]
        return tuple(i if ranked else None for i, ranked in enumerate(known, 1))

    @property
    def best(self) -> Contender | None:
        """The law of rank 1; None if no law could be ranked."""
        return self.ranked[0] if self.ranked and self.ranks[0] else None

    @property
    def verdict(self) -> str:
        """Text that states which law predicts best, whether a baseline is better, and which law AIC prefers."""
        best = self.best
        if best is None:
            return f"No law could be ranked. {self.note or (self.ranked[0].note if self.ranked else '')}".strip()
        preferred = min(self.ranked, key=lambda one: _order_by(one.aic))
        if self.validation is None:
            return f"{best.title} has the best AIC. No law was tested on excluded runs."
        second = self.ranked[1] if len(self.ranked) > 1 and self.ranks[1] else None
        then = f", that of {second.title} is {second.error:.2%}" if second else ""
        parts = [f"{best.title} predicts the largest runs best: its mean error is {best.error:.2%}{then}."]
        errors = {name: self.validation.error(name, self.targets) for name in BASELINES}
        simple = min(errors, key=lambda name: _order_by(errors[name]))
        if errors[simple] < best.error:
            parts.append(f"The baseline {BASELINES_IN_WORDS[simple]} is better ({errors[simple]:.2%}).")
        if np.isfinite(preferred.aic) and preferred is not best:
            by = f" by {best.aic - preferred.aic:.0f}" if np.isfinite(best.aic) else ""
            parts.append(f"AIC prefers {preferred.title}{by}.")
        return " ".join(parts)

    @property
    def refusals(self) -> list[str]:
        """One sentence for each law that was not fitted, with the name of the law and the reason."""
        return [why if re.search(rf"\b{re.escape(law)}\b", why) else f"{law}: {why}" for law, why in self.refused]

    @property
    def sentence(self) -> str:
        """Text that states over which runs the errors are averaged, or why there are no errors."""
        v = self.validation
        if v is None:
            return f"No error: {self.note}"
        what = "largest runs" if self.targets == "runs" else "best runs of the largest budgets"
        counts = ", ".join(str(len(c.held) if self.targets == "runs" else int(c.best.sum())) for c in v.cuts)
        return (
            f"Error: mean relative error of {v.y} on the {what}, predicted by fits without these runs. In turn, "
            f"{counts} of {len(v.runs)} runs are excluded. "
            f"They lie up to {v.furthest:.1f} decades beyond the fitted runs."
        )


def compare(
    spec: FitSpec, runs: Runs, specs: Sequence[FitSpec] | None = None, progress: Progress | None = None
) -> Comparison:
    """Fit the laws of ``specs`` to ``runs`` and compare them. If ``specs`` is None, compare all laws of the catalogue.

    Laws of the catalogue are fitted with the options of ``spec``. The laws are sorted by their error and, if errors are
    equal, by AIC. A law that describes minima has no likelihood of single runs and therefore no AIC.
    """
    asked = [one.read_from(runs) for one in (_all(spec) if specs is None else specs)]
    fits: list[Fit] = []
    refused: list[tuple[str, str]] = []
    for i, one in enumerate(asked):
        try:
            fits.append(fit(one.without_refits(), runs))
        except PlannerError as error:
            refused.append((one.find_law().key, str(error)))
        if progress:
            progress(0.3 * (i + 1) / len(asked))
    validation, note = None, ""
    try:
        follow = (lambda share: progress(0.3 + 0.7 * share)) if progress else None
        validation = leave_out([f.spec for f in fits], runs, follow) if fits else None
    except PlannerError as error:
        note = str(error)
    targets = validation.targets(validation.laws) if validation else "runs"
    ranked = sorted((_contender(f, runs, validation, targets) for f in fits), key=_order)
    return Comparison(tuple(ranked), tuple(refused), validation, targets, note)


def compare_suggested(spec: FitSpec, runs: Runs, suggested: bool) -> Comparison:
    """Compare all laws of the catalogue on ``runs``. If ``suggested`` is true, ``suggest`` selects the objective.

    Raises PlannerError if no law can be fitted.
    """
    spec, chosen = suggest(spec, runs) if suggested else (spec, ())
    found = compare(spec, runs)
    if not found.ranked:
        raise PlannerError(f"No law can be fitted to these runs. {found.refusals[0]}")
    best = next((one.fit for one in found.ranked if one.fit.law.is_pointwise), found.ranked[0].fit)
    about = (w for w in best.warnings if w.code in (POOLED, FLAGGED, OFFSETS, REPEATS))
    return replace(found, warnings=(*chosen, *about))


def compare_groups(spec: FitSpec, runs: Runs, suggested: bool) -> dict[str, Comparison]:
    """Return the result of ``compare_suggested`` by group. The key is "" if ``runs`` are not fitted by group."""
    if not runs.roles.each:
        return {"": compare_suggested(spec, runs, suggested)}
    groups = runs.labels["group"]
    names = sorted({str(name) for name in groups})
    return {name: compare_suggested(spec, runs.take(groups == name), suggested) for name in names}


def _all(spec: FitSpec) -> tuple[FitSpec, ...]:
    """Return ``spec`` and the specifications of all other laws in ``LAWS``, which have fixed columns.

    If the law of ``spec`` has an optimum over one axis, the other laws that can have an optimum over this axis are
    added.
    """
    sweep = spec.axis is not None and spec.find_law().optimum is not None
    swept = [law.with_axis(str(spec.axis)) for law in ONE_AXIS if sweep and law.optimum and law.with_axis]
    return (spec, *(spec.for_law(law) for law in (*swept, *LAWS) if (law.name, law.axis) != (spec.law, spec.axis)))


def _contender(found: Fit, runs: Runs, validation: Validation | None, targets: Targets) -> Contender:
    free = sum(not p.fixed for p in found.parameters)
    error = validation.error(found.law.key, targets) if validation else float("nan")
    notes = [validation.missing[found.law.key]] if validation and found.law.key in validation.missing else []
    try:
        how_likely = criteria(found, runs)
    except PlannerError as reason:
        return Contender(found, free, error, float("nan"), float("nan"), " ".join([*notes, str(reason)]))
    return Contender(found, free, error, how_likely.aic, how_likely.bic, " ".join(notes))


def _order(one: Contender) -> tuple[float, float, str]:
    return _order_by(one.error), _order_by(one.aic), one.key


def _order_by(value: float) -> float:
    return value if np.isfinite(value) else float("inf")


def rows(found: Comparison) -> list[dict[str, Any]]:
    """Return a table for JSON with one row per law, the best first. Unknown values and ranks are None."""
    return [
        {
            "rank": found.ranks[i],
            "law": one.key,
            "error": finite(one.error),
            "AIC": finite(one.aic),
            "BIC": finite(one.bic),
            "parameters": one.parameters,
            "note": one.note,
        }
        for i, one in enumerate(found.ranked)
    ]
