"""Laws set against each other on one table: by how well they extrapolate first, then by information criteria."""

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
    """A law that was fitted: its mean relative error on what was left out and its criteria, NaN where there are none.

    ``parameters`` counts the free ones; ``note`` says why an error or a criterion is missing.
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
    """The laws that fit, best first; ``refused`` holds the others with the sentence that says what they lack.

    ``targets`` is what the errors are means over: every run that was left out, or, where a law of minima is among the
    laws, the best run of each budget. ``validation`` is None, and ``note`` says why, where nothing could be left out.
    """

    ranked: tuple[Contender, ...]
    refused: tuple[tuple[str, str], ...]
    validation: Validation | None
    targets: Targets
    note: str = ""

    @property
    def sentence(self) -> str:
        """What the errors are means of, or why there are none."""
        v = self.validation
        if v is None:
            return f"No error: {self.note}"
        what = "largest runs" if self.targets == "runs" else "best runs of the largest budgets"
        counts = ", ".join(str(len(c.held) if self.targets == "runs" else int(c.best.sum())) for c in v.cuts)
        return (
            f"Error: mean relative error of {v.y} on the {what}, {counts} of "
            f"{len(v.runs)} runs left out in turn, up to {v.furthest:.1f} decades beyond what was fitted."
        )


def compare(
    spec: FitSpec, runs: Runs, specs: Sequence[FitSpec] | None = None, progress: Progress | None = None
) -> Comparison:
    """Every law of the catalogue on ``runs`` under the options of ``spec``, or only ``specs`` where they are given.

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
    """The specification itself first, then every other law of the catalogue, and of a sweep those over its axis."""
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
    """One dict a law, best first, for tables on a page, in a terminal and in JSON; None where a number is unknown."""
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
