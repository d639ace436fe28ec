"""Common floor of two laws of one task: the one-pass law and the law of repeated samples (jets, Sec. 3.1).

If both fits contain their runs, both tables are fitted together with one floor
(``isoplan.engine.fitting.common_floor``), and all numbers of an answer come from this joint fit. If a fit lacks its
runs, or if the runs reject a common floor, each law has its own floor and a warning of the answer states this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.common_floor import fit_one_floor, why_apart
from isoplan.engine.fitting.types.intervals import EXCLUDED, Resampling
from isoplan.engine.fitting.types.result import Fit, FitWarning, Parameter
from isoplan.engine.fitting.types.text import ends_in_words
from isoplan.engine.planning.answer.format import number
from isoplan.engine.planning.answer.quantity import WITHHELD, Quantity, kept
from isoplan.engine.planning.plan.answer import UNCERTAIN_FLOOR
from isoplan.engine.planning.plan.metric import same_runs
from isoplan.engine.quantities import rounded

ONE_FLOOR, FLOORS_APART, NO_THRESHOLD, NO_SAVING = "one-floor", "floors-apart", "no-threshold", "no-saving"
ONE_PASS = ("E", "A", "B", "alpha", "beta")
REJECTED = "the runs reject a common floor (95 %)"


@dataclass(frozen=True, eq=False)
class Laws:
    """Parameters of both laws by name: ``best`` of the best fit, each (), and ``draws`` of joint resamples, each (r,).

    ``floor`` is the common floor of a joint fit. Without a joint fit it is None, and ``apart`` states the reason.
    ``alone`` are E and L_inf of the two separate fits. ``own`` computes the intervals of numbers that depend only on
    the one-pass law, and ``how`` computes the intervals of all other numbers. ``warnings`` are those of the joint fit.
    """

    best: Mapping[str, Floats]
    draws: Mapping[str, Floats]
    how: Resampling
    own: Resampling
    alone: tuple[float, float]
    floor: Parameter | None = None
    apart: str = ""
    warnings: tuple[FitWarning, ...] = ()

    @property
    def shared(self) -> bool:
        """Whether both laws have the same floor, either from a joint fit or because the published floors are equal."""
        return self.floor is not None or (self.alone[0] == self.alone[1] and not self.resamples)

    @property
    def resolved(self) -> bool:
        """Whether the resamples exclude a floor of zero for both laws."""
        return all(np.mean(self.draws[name] <= 0) <= EXCLUDED for name in ("E", "L_inf"))

    @property
    def resamples(self) -> int:
        return len(self.draws["E"])

    def thinned(self, most: int) -> Laws:
        """Return the laws with at most ``most`` resamples, evenly spaced over all resamples."""
        total = self.resamples
        rows = kept(total, most)
        how, own = (_cut(one, rows, total) for one in (self.how, self.own))
        return replace(self, draws={name: x[rows] for name, x in self.draws.items()}, how=how, own=own)


@lru_cache(maxsize=8)
def together(one_pass: Fit, repeated: Fit) -> Laws:
    """Return both laws: with one floor if both tables can be fitted together, otherwise from separate fits.

    The result is cached for equal pairs of fits. Raises PlannerError if the laws are not a one-pass law and a law of
    repeated samples, or if they do not describe a loss.
    """
    separate = _separate(one_pass, repeated)
    if why := why_apart(one_pass, repeated):
        return replace(separate, apart=why)
    made = fit_one_floor(one_pass, repeated)
    if made.rejected:
        return replace(separate, apart=REJECTED)
    one, rep = _one_pass(made.one), _repeated(made.other)
    return Laws(
        best={**one[0], **rep[0]},
        draws={**one[1], **rep[1]},
        how=made.one.resampling,
        own=made.one.resampling,
        alone=separate.alone,
        floor=_around(next(p for p in made.one.parameters if p.name == "E")),
        warnings=(*made.one.warnings, *made.other.warnings),
    )


def _around(floor: Parameter) -> Parameter:
    """Return the floor with its intervals extended to contain its value.

    The computed interval can lie below the value if the runs do not resolve the floor.
    """
    ci68, ci95 = (ci and (min(ci[0], floor.value), max(ci[1], floor.value)) for ci in (floor.ci68, floor.ci95))
    return replace(floor, ci68=ci68, ci95=ci95)


def _separate(one_pass: Fit, repeated: Fit) -> Laws:
    """Return both laws from their separate fits.

    If both fits drew the same runs, resample i of one fit is paired with resample i of the other fit. Otherwise the
    fits are independent. The resamples of the second fit are then shuffled, because equal seeds would correlate the two
    fits.
    """
    one, rep = _one_pass(one_pass), _repeated(repeated)
    best = {name: np.asarray(x, float) for name, x in {**one[0], **rep[0]}.items()}
    r, order = min(len(one_pass.resamples), len(repeated.resamples)), np.arange(len(repeated.resamples))
    if not same_runs(one_pass, repeated):
        order = np.random.default_rng(repeated.spec.seed).permutation(order)
    first, second = kept(len(one_pass.resamples), r), order[kept(len(order), r)]
    draws = {name: np.asarray(x, float)[first] for name, x in one[1].items()}
    draws |= {name: np.asarray(x, float)[second] for name, x in rep[1].items()}
    own = _cut(one_pass.resampling, first, len(one_pass.resamples))
    how = _reading(one_pass.resampling, repeated.resampling)
    return Laws(best, draws, how, own, (float(best["E"]), float(best["L_inf"])))


def _cut(how: Resampling, rows: Ints, total: int) -> Resampling:
    """Return ``how`` for the resamples at ``rows``, selected from ``total`` resamples."""
    return replace(how, floorless=int(np.sum(rows >= total - how.floorless)))


def _one_pass(fit: Fit) -> tuple[Mapping[str, Floats], Mapping[str, Floats]]:
    if not set(ONE_PASS) <= set(fit.law.names):
        raise PlannerError(
            f"The one-pass law must be a surface over N and D, but this fit is of the law '{fit.law.key}': fit the "
            "law 'chinchilla'."
        )
    _of_a_loss(fit)
    return {n: fit.values[n] for n in ONE_PASS}, {n: fit.draws[n] for n in ONE_PASS}


def _repeated(fit: Fit) -> tuple[Mapping[str, Floats], Mapping[str, Floats]]:
    """Return L_inf, B_rep and beta_rep by name, first of the best fit and then of each resample.

    Raises PlannerError if the law does not describe repeated samples, or if larger values of its quantity are better.
    """
    _of_a_loss(fit)
    read = fit.law.repetition
    if read is None:
        raise PlannerError(
            "The law of repeated samples must be the law 'repetition' on unique samples, but this fit is of "
            f"the law '{fit.law.key}': fit the law 'repetition' to runs trained until the loss stops falling."
        )
    return read(fit.values), read(fit.draws)


def _of_a_loss(fit: Fit) -> None:
    if fit.sign < 0:
        raise PlannerError(
            f"Simulate or repeat needs a loss, but larger values of {fit.spec.y} are better. Fit the loss."
        )


def _reading(one: Resampling, other: Resampling) -> Resampling:
    """Return the method that computes intervals from joint resamples of two fits.

    If both fits use bias-corrected intervals, the joint intervals are also bias-corrected, with the smaller of the two
    numbers of degrees of freedom. Otherwise the joint intervals are percentiles.
    """
    if one.method == other.method == "bc" and not (one.floorless or other.floorless):
        return min((one, other), key=lambda how: how.runs - how.parameters if how.runs else math.inf)
    return Resampling("percentile")


def notes(
    laws: Laws,
    best: Mapping[str, Floats],
    target: float,
    reached: bool,
    threshold: Fit | None,
    alone: Mapping[str, Quantity] | None,
) -> list[FitWarning]:
    """Return the warnings about floors, threshold, saving and unreached targets, and those of the joint fit.

    ``reached`` states that every resample reaches the target. ``alone`` is the plan that uses only the one-pass fit.
    """
    found = [_floor(laws, target, alone), *laws.warnings]
    if threshold is None:
        text = (
            "The model size and the epochs of repeated training are withheld: they need the overfitting threshold "
            "N = c U^lambda, which the jet paper prints without c. Fit the law 'threshold' to training curves."
        )
        found.append(FitWarning(NO_THRESHOLD, text))
    if math.isfinite(float(best["U"])) and float(best["saving"]) < 1:
        found.append(mismatch(laws, "repeating needs more unique samples than one pass"))
    if not reached:
        text = (
            f"Some resamples do not reach {target:g} in at least one of the two regimes: they count as infinite cost "
            "in the intervals."
        )
        found.append(FitWarning(UNCERTAIN_FLOOR, text))
    return [warning for warning in found if warning is not None]


def mismatch(laws: Laws, why: str) -> FitWarning:
    """Return a warning that the two laws are not of the same task.

    ``why`` is the reason. The warning also states the floors of both laws.
    """
    floors = "" if laws.shared else f" (floors {' and '.join(rounded(x) for x in laws.alone)})"
    return FitWarning(NO_SAVING, f"The two laws are not of one task{floors}: {why}. Choose laws of the same task.")


def _floor(laws: Laws, target: float, alone: Mapping[str, Quantity] | None) -> FitWarning | None:
    one, other = (rounded(x) for x in laws.alone)
    if laws.floor is not None:
        return FitWarning(
            ONE_FLOOR,
            f"{floor_text(laws.floor)} Separate fits give E = {one} (one-pass runs) and L_inf = {other} (repeated "
            f"runs). "
            f"{_plan(target, alone)}",
        )
    if laws.shared:
        return None
    if laws.apart == REJECTED:
        why = f"The floors of the two laws differ ({one} and {other}) and {REJECTED}"
    else:
        why = f"Each law keeps its own floor ({one} and {other}), because {laws.apart}"
    return FitWarning(FLOORS_APART, f"{why}. omega is computed from both laws and is valid only at this target.")


def floor_text(floor: Parameter) -> str:
    """Return a sentence with the value and the 68 % interval of the common floor."""
    spread = f" (68 %: {ends_in_words(floor.ci68, rounded)})" if floor.ci68 else ""
    return f"One floor is fitted to both tables together: E = L_inf = {rounded(floor.value)}{spread}."


def _plan(target: float, alone: Mapping[str, Quantity] | None) -> str:
    if alone is None or (alone["D"].value is None and alone["D"].note != WITHHELD):
        return f"A plan from the fit of the one-pass runs alone does not reach {target:g}."
    if alone["D"].value is None:
        return "A plan from the fit of the one-pass runs alone lies too far beyond these runs to be an answer."
    N, D, C = (f"{number(alone[name])} {alone[name].unit}" for name in ("N", "D", "C"))
    return f"A plan from the fit of the one-pass runs alone needs {N}, {D} and {C} to reach {target:g}."


def of_both(one_pass: Fit, repeated: Fit) -> tuple[FitWarning, ...]:
    """Return the warnings of the two fits, each with the name of its fit.

    A warning that occurs in both fits is listed once.
    """
    common = [w for w in one_pass.warnings if w in repeated.warnings]
    named = (
        FitWarning(w.code, f"{what}: {w.text}")
        for what, fit in (("One-pass fit", one_pass), ("Repeated fit", repeated))
        for w in fit.warnings
        if w not in common
    )
    return (*common, *named)
