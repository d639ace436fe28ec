"""Compute rules that are fitted to measured C, and the parser of the numbers that users type for a compute rule.

``fit_zeta`` fits the single constant zeta and extrapolates as the theory does. ``fit_powers`` also fits the two
exponents, for tables in which C is not proportional to ``N * D`` (because of attention, small models or fixed costs).
Each function is a least-squares fit of ln C.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.costs.forms import TwoPart
from isoplan.engine.costs.rule import ComputeRule, check_zeta
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import parse_number, parse_share

LEAST = 1e-3
"""Relative scatter of C in percent below which the text shows "less than". Such a scatter is only rounding."""
TOGETHER = 1e-6
"""N and D vary independently enough for a fit if the smallest singular value of the centred ln N and ln D is larger
than this fraction of their largest absolute value.
"""


@dataclass(frozen=True)
class MeasuredRule:
    """A fitted rule; ``scatter`` is the standard deviation of ln C about the rule over its ``n`` runs.

    ``scatter`` is corrected for the number of fitted constants. ``se`` contains the standard errors of ln zeta and,
    after ``fit_powers``, of a and b.
    """

    rule: ComputeRule
    scatter: float
    n: int
    se: tuple[float, ...]

    @property
    def text(self) -> str:
        """The rule with its scatter as text: ``C = 6.1 N D, fitted to 54 runs that scatter by 2.1 %``."""
        scatter = 100 * float(np.expm1(self.scatter))
        shown = f"{scatter:.2g}" if scatter >= LEAST else f"less than {LEAST:g}"
        return f"{self.rule.text}, fitted to {self.n} runs that scatter by {shown} %"


def fit_zeta(N: ArrayLike, D: ArrayLike, C: ArrayLike) -> MeasuredRule:
    """Fit zeta of ``C = zeta * N * D`` (amplitudes, eq. 7) to N in parameters, D in samples and C in FLOPs, each (n,).

    Raises PlannerError if there are fewer than two runs, if N, D or C of a run is not positive, or if zeta is so
    extreme that a unit must be wrong.
    """
    n, d, c = _logs(N, D, C, 2)
    ratio = c - n - d
    zeta = float(np.exp(np.mean(ratio)))
    check_zeta(zeta)
    scatter = float(np.std(ratio, ddof=1))
    return MeasuredRule(ComputeRule(rule="zetaND", zeta=zeta), scatter, len(c), (scatter / len(c) ** 0.5,))


def fit_powers(N: ArrayLike, D: ArrayLike, C: ArrayLike) -> MeasuredRule:
    """Fit zeta, a and b of ``C = zeta * N**a * D**b`` to N in parameters, D in samples and C in FLOPs, each (n,).

    Raises PlannerError if there are fewer than four runs, if N, D or C of a run is not positive, if N and D do not vary
    independently, or if the fitted C does not increase with both N and D.
    """
    n, d, c = _logs(N, D, C, 4)
    centred = np.column_stack([n - n.mean(), d - d.mean()])
    singular = np.linalg.svd(centred, compute_uv=False)
    if singular[-1] <= TOGETHER * max(float(np.abs(np.concatenate([n, d])).max()), 1.0):
        raise PlannerError(
            "Measured C cannot be split between N and D, because they do not vary independently in these runs: "
            "fit zeta alone, or add runs that change only N or only D."
        )
    (a, b), *_ = np.linalg.lstsq(centred, c - c.mean(), rcond=None)
    for name, exponent in (("N", a), ("D", b)):
        if exponent <= 0:
            raise PlannerError(
                f"Measured C falls with {name} (as {name}^{exponent:.2g}): check the columns of C and {name}."
            )
    offset = float(c.mean() - a * n.mean() - b * d.mean())
    design = np.column_stack([np.ones(len(c)), n, d])
    left = c - design @ np.array([offset, a, b])
    scatter = float(np.sqrt(left @ left / (len(c) - 3)))
    se = scatter * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    rule = ComputeRule(rule="powers", zeta=float(np.exp(offset)), a=float(a), b=float(b))
    return MeasuredRule(rule, scatter, len(c), tuple(float(x) for x in se))


def _logs(N: ArrayLike, D: ArrayLike, C: ArrayLike, fewest: int) -> tuple[Floats, Floats, Floats]:
    """Return ln N, ln D and ln C, each (n,).

    Raises PlannerError if the lengths differ, if there are fewer than ``fewest`` runs, or if a value is not positive.
    """
    columns = {name: np.atleast_1d(np.asarray(x, float)) for name, x in (("N", N), ("D", D), ("C", C))}
    lengths = {name: x.size for name, x in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{size} of {name}" for name, size in lengths.items())
        raise PlannerError(
            f"A compute rule needs N, D and C of the same runs, but the numbers of values differ: {counts}."
        )
    if lengths["C"] < fewest:
        raise PlannerError(f"A compute rule needs at least {fewest} runs with a measured C, but got {lengths['C']}.")
    for name, x in columns.items():
        if not np.all(np.isfinite(x) & (x > 0)):
            row = int(np.argmin(np.isfinite(x) & (x > 0))) + 1
            raise PlannerError(
                f"{name} = {x[row - 1]:g} of run {row} is not positive: correct it or leave the run out."
            )
    return np.log(columns["N"]), np.log(columns["D"]), np.log(columns["C"])


FIELDS: dict[str, tuple[str, ...]] = {
    "6npND": ("n_p",),
    "zetaND": ("zeta",),
    "per-epoch": ("zeta", "n_p", "epochs"),
    "powers": ("zeta", "a", "b"),
    "step": ("s", "h", "B", "L", "t"),
    "stage2": ("s", "h", "B", "L", "K"),
}
"""Fields that a user can type, for each rule that takes numbers."""
NEEDED: dict[str, tuple[str, ...]] = {
    "6npND": ("n_p",),
    "zetaND": ("zeta",),
    "per-epoch": ("epochs",),
    "powers": ("zeta", "a", "b"),
    "step": ("s", "h", "B"),
    "stage2": ("s", "h", "B", "K"),
}
"""Fields of each rule that have no default value."""

MEASURED = {"zetaND": fit_zeta, "powers": fit_powers}
"""Fit functions of the rules that can be fitted to measured C."""


def measured_rule(name: str, columns: Mapping[str, ArrayLike] | None) -> MeasuredRule:
    """Fit the rule called ``name`` to the columns N, D and C of the runs, each (n,), and return it.

    ``columns`` is None if there are no runs. Raises PlannerError if ``name`` is not in MEASURED, if one of the three
    columns is missing, or if the fit is not possible.
    """
    if name not in MEASURED:
        raise PlannerError(f"Compute rule {name!r} cannot be fitted to measured C: use {' or '.join(MEASURED)}.")
    if columns is None:
        raise PlannerError("A rule for measured C needs the runs of the fit: choose another compute rule.")
    missing = next((axis for axis in ("N", "D", "C") if axis not in columns), None)
    if missing is not None:
        raise PlannerError(f"A rule for measured C needs {missing} in the table of runs: map a column to it.")
    return MEASURED[name](columns["N"], columns["D"], columns["C"])


def rule_of(name: str, texts: Mapping[str, str], called: Mapping[str, str]) -> ComputeRule:
    """Return the rule called ``name`` (a key of FIELDS) from the numbers in ``texts`` that the user typed, by field.

    ``called`` contains the name of each field in errors. Raises PlannerError if a field does not belong to the rule, if
    a required one is missing, or if a number is unreadable or out of range.
    """
    fields = FIELDS[name]
    wrong = next((field for field in texts if field not in fields), None)
    if wrong is not None:
        raise PlannerError(f"The compute rule {name} takes no {wrong}: give {', '.join(fields)}.")
    missing = next((field for field in NEEDED[name] if not texts.get(field)), None)
    if missing is not None:
        raise PlannerError(f"The compute rule {name} needs the {called.get(missing, missing)}: give it.")
    numbers = {
        field: (parse_share if field == "s" else parse_number)(text, called.get(field, field))
        for field, text in texts.items()
        if text
    }
    if numbers.get("n_p", 1.0) <= 0:
        raise PlannerError(f"n_p = {numbers['n_p']:g} is not a number of tokens per sample: use a positive number.")
    if name in ("step", "stage2"):
        return ComputeRule.model_validate({"rule": name, "parts": TwoPart.model_validate(numbers)})
    return ComputeRule.model_validate({"rule": name, **numbers})
