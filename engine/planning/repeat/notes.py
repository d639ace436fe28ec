"""Warnings of simulate or repeat: on the floor, on withheld numbers, and those of both fits."""

from __future__ import annotations

import math
from collections.abc import Mapping

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.result import Fit, FitWarning, Parameter
from isoplan.engine.fitting.types.text import ends_in_words
from isoplan.engine.planning.answer.format import number
from isoplan.engine.planning.answer.quantity import WITHHELD, Quantity
from isoplan.engine.planning.plan.answer import UNCERTAIN_FLOOR
from isoplan.engine.planning.repeat.floors import REJECTED, Laws
from isoplan.engine.quantities import rounded

ONE_FLOOR, FLOORS_APART, NO_THRESHOLD, NO_SAVING = "one-floor", "floors-apart", "no-threshold", "no-saving"


def notes(
    laws: Laws,
    best: Mapping[str, Floats],
    target: float,
    reached: bool,
    threshold: Fit | None,
    alone: Mapping[str, Quantity] | None,
) -> list[FitWarning]:
    """Return the warnings that precede those of the fits; ``reached``: every resample reaches the target."""
    found = [_floor(laws, target, alone), *laws.warnings]
    if threshold is None:
        text = (
            "The model size and the epochs of repeated training are withheld: they need the overfitting threshold "
            "N = c U^lambda, which the jet paper prints without c. Fit the law threshold to training curves."
        )
        found.append(FitWarning(NO_THRESHOLD, text))
    if math.isfinite(float(best["U"])) and float(best["saving"]) <= 1:
        text = "At this target repeating needs as many samples as one pass, so it saves nothing at any price."
        found.append(FitWarning(NO_SAVING, text))
    if not reached:
        text = f"Some resamples do not reach {target:g} in both regimes: they count as infinite cost in the intervals."
        found.append(FitWarning(UNCERTAIN_FLOOR, text))
    return [warning for warning in found if warning is not None]


def _floor(laws: Laws, target: float, alone: Mapping[str, Quantity] | None) -> FitWarning | None:
    one, other = (rounded(x) for x in laws.alone)
    if laws.floor is not None:
        return FitWarning(
            ONE_FLOOR,
            f"{floor_text(laws.floor)} Alone, the one-pass runs give E = {one} and the repeated runs L_inf = {other}. "
            f"{_plan(target, alone)}",
        )
    if laws.shared:
        return None
    if laws.apart == REJECTED:
        why = f"The floors of the two laws differ ({one} and {other}) and {REJECTED}"
    else:
        why = f"Each law keeps its own floor ({one} and {other}), because {laws.apart}"
    return FitWarning(FLOORS_APART, f"{why}. omega is solved from both laws at this target and holds for it alone.")


def floor_text(floor: Parameter) -> str:
    """Return a sentence on the common floor."""
    spread = f" (68 %: {ends_in_words(floor.ci68, rounded)})" if floor.ci68 else ""
    return f"One floor is fitted to both tables together: E = L_inf = {rounded(floor.value)}{spread}."


def _plan(target: float, alone: Mapping[str, Quantity] | None) -> str:
    if alone is None or (alone["D"].value is None and alone["D"].note != WITHHELD):
        return f"A plan by the one-pass runs alone does not reach {target:g}."
    if alone["D"].value is None:
        return "A plan by the one-pass runs alone lies too far beyond them to be an answer."
    N, D, C = (f"{number(alone[name])} {alone[name].unit}" for name in ("N", "D", "C"))
    return f"A plan by the one-pass runs alone needs {N}, {D} and {C} to reach {target:g}."


def of_both(one_pass: Fit, repeated: Fit) -> tuple[FitWarning, ...]:
    """Return the warnings of both fits, each with the name of its fit; common ones are listed once."""
    common = [w for w in one_pass.warnings if w in repeated.warnings]
    named = (
        FitWarning(w.code, f"{what}: {w.text}")
        for what, fit in (("One-pass fit", one_pass), ("Repeated fit", repeated))
        for w in fit.warnings
        if w not in common
    )
    return (*common, *named)
