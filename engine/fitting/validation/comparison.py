"""Comparison of laws on one table, first by extrapolation error and then by information criteria."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.diagnostics.information_criteria import criteria
from isoplan.engine.fitting.single import fit
from isoplan.engine.fitting.solver.threads import Progress
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.validation.extrapolation import Targets, Validation, leave_out
from isoplan.engine.laws import LAWS, ONE_AXIS
from isoplan.engine.schema import Runs


@dataclass(frozen=True, eq=False)
class Contender:
    """A fitted law: its mean relative error on the runs left out, and its criteria, NaN if undefined.

    ``parameters`` counts the free ones; ``note`` states why an error or a criterion is missing.
    """

    fit: Fit
    parameters: int
    error: float
    aic: float
    bic: float
    note: str = ""

    @property
    def key(self) -> str:
        """The law and its axis."""
        return self.fit.law.key


@dataclass(frozen=True, eq=False)
class Comparison:
    """The fitted laws, best first; ``refused`` lists the others, each with a sentence on what is missing.

    ``targets`` are the runs over which errors are averaged: every run left out, or, if one of the laws describes
    minima, the best run of each budget. If no run could be left out, ``validation`` is None and ``note`` states why.
    """

    ranked: tuple[Contender, ...]
    refused: tuple[tuple[str, str], ...]
    validation: Validation | None
    targets: Targets
    note: str = ""

    @property
    def sentence(self) -> str:
        """The runs over which the errors are averaged, or why there are no errors."""
        v = self.validation
        if v is None:
            return f"No error: {self.note}"
        what = "largest runs" if self.targets == "runs" else "best runs of the largest budgets"
        counts = ", ".join(str(len(c.held) if self.targets == "runs" else int(c.best.sum())) for c in v.cuts)
        return (
            f"Error: mean relative error of {v.y} on the {what}, {counts} of "
            f"{len(v.runs)} runs left out in turn, up to {v.furthest:.1f} decades beyond the fitted runs."
        )


def compare(
    spec: FitSpec, runs: Runs, specs: Sequence[FitSpec] | None = None, progress: Progress | None = None
) -> Comparison:
    """Compare all laws of the catalogue, or only ``specs`` if given, on ``runs`` under the options of ``spec``.

    A law that describes minima has no likelihood of the runs, so it has no AIC; ties in error are broken by AIC.
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


def _all(spec: FitSpec) -> tuple[FitSpec, ...]:
    """Return the specification itself, then every other law of the catalogue, and for a sweep those over its axis."""
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
    error, aic = (x if np.isfinite(x) else float("inf") for x in (one.error, one.aic))
    return error, aic, one.key


def rows(found: Comparison) -> list[dict[str, Any]]:
    """Return one dict for each law, best first, for tables on a page, in a terminal and in JSON; None if unknown."""
    return [
        {
            "rank": rank,
            "law": one.key,
            "error": _known(one.error),
            "AIC": _known(one.aic),
            "BIC": _known(one.bic),
            "parameters": one.parameters,
            "note": one.note,
        }
        for rank, one in enumerate(found.ranked, 1)
    ]


def _known(x: float) -> float | None:
    return x if np.isfinite(x) else None
