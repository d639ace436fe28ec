"""Reachability of a target: a verdict, a probability if one is known, and a sentence.

The floor decides. It is resolved if its 95 % interval has two ends and the lower end is above zero. Then its confidence
curve gives the probability that it lies below the target. With limits on the plan, the probability is the share of the
resamples that reach the target.

If the runs do not resolve the floor, there is no probability: half of the resamples have no floor, but this share is
not a probability. A verdict is still given if the floor is below the target with 95 % confidence. A law without a
confidence curve (iso-FLOP minima, a published law) has no probability either, because the share of its resamples does
not measure it, as simulations of minima show. No probability is stated either if a run of the table already reaches a
target that the law does not reach with certainty: a single run may be a positive fluctuation, and a law that its runs
surpass is wrong there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.types.intervals import SURE, FloorConfidence, leading_axis
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws.terms import Const
from isoplan.engine.planning.answer.format import SURE as CERTAIN
from isoplan.engine.planning.answer.format import probability
from isoplan.engine.planning.optimum.frontier import floor
from isoplan.engine.quantities import count, rounded

Verdict = Literal["reachable", "out of reach", "uncertain", "not determined"]
VERDICTS: tuple[Verdict, ...] = ("reachable", "out of reach", "uncertain", "not determined")


@dataclass(frozen=True)
class Reachability:
    """Answer to whether a target can be reached: ``verdict``, ``probability`` if it is known, and ``text`` to show.

    The text is empty if there is nothing to report. "reachable" and "out of reach" are stated with at least 95 %
    confidence. "uncertain" has a probability, "not determined" has none.
    """

    verdict: Verdict
    probability: float | None
    text: str


def reachability(
    fit: Fit, asked: str, limited: bool, goals: Floats, reached: Bools, best_run: str = ""
) -> Reachability | None:
    """Return whether ``fit`` reaches ``asked`` (such as "loss 0.1"); None for a fit without resamples.

    ``goals`` () or (r,) are the values that the law must reach (lower is better). ``reached`` (r,) states which
    resamples do. ``limited``: the plan has limits, within which the resamples are counted. ``best_run`` is the result
    of the best run of the table, such as "a loss of 0.09", if it reaches the target.
    """
    if not len(fit.resamples):
        return None
    found = _by_law(fit, asked, limited, goals, reached)
    if not best_run or limited or (found.probability or 0.0) > CERTAIN:
        return found
    text = f"A run of the table already has {best_run}."
    if found.verdict == "reachable":
        return found if found.probability is None else replace(found, probability=None, text=text)
    return Reachability("not determined", None, f"{text} The law does not determine whether others reach {asked}.")


def _by_law(fit: Fit, asked: str, limited: bool, goals: Floats, reached: Bools) -> Reachability:
    """Return the verdict of the law alone."""
    known = fit.confidence
    if known is None or limited:
        return _by_resamples(fit, asked, limited, reached)
    p = float(np.mean(np.where(np.isnan(goals), 1.0, known.below(goals))))
    if known.resolved and not known.agrees(float(fit.values[known.name])):
        return _disputed(fit, known, asked, (p, float(np.mean(reached))))
    if known.resolved:
        return _stated(p, "The floor allows it")
    limit = f"The floor {known.name} is below {rounded(known.upper(SURE))} (95 %)"
    if p >= SURE:
        return Reachability("reachable", None, f"{limit}, so {asked} can be reached.")
    text = f"{limit} and zero is not excluded: whether {asked} can be reached is not determined."
    return Reachability("not determined", None, f"{text} {_what_to_train(fit)}")


def _by_resamples(fit: Fit, asked: str, limited: bool, reached: Bools) -> Reachability:
    """Return the verdict from the share of resamples that reach the target.

    If the floor is not resolved, it is the verdict on which resamples with and without a floor agree.
    """
    within = " within the limits" if limited else ""
    if fit.confidence is None:
        return _unanimous(fit, f"{asked}{within}", reached)
    able = "It is reached within the limits" if limited else "The floor allows it"
    floors = np.broadcast_to(floor(fit.law, fit.draws), len(fit.resamples))
    zero = (floors <= 0) & (np.ptp(floors) > 0) & (fit.sign > 0)
    if fit.confidence.resolved:
        return _stated(float(np.mean(reached)), able)
    shares = [float(np.mean(reached[some])) for some in (zero, ~zero) if some.any()]
    if min(shares) >= SURE:
        return Reachability("reachable", None, f"{able}, with a floor and without one (95 %).")
    if max(shares) <= 1 - SURE:
        return Reachability("out of reach", None, "It is not reached, with a floor or without one (95 %).")
    text = f"The runs do not resolve a floor: whether {asked} can be reached{within} is not determined."
    return Reachability("not determined", None, f"{text} {_what_to_train(fit)}")


def _unanimous(fit: Fit, what: str, reached: Bools) -> Reachability:
    """Return the verdict of a law without a confidence curve: what all resamples agree on, without a probability."""
    if reached.all():
        return Reachability("reachable", None, "")
    bound = "ceiling" if fit.larger_is_better else "floor"
    if not reached.any():
        return Reachability("out of reach", None, f"No refit reaches {what}.")
    text = f"This law has no confidence curve of its {bound}: whether {what} can be reached is not determined."
    return Reachability("not determined", None, text)


def _stated(p: float, able: str) -> Reachability:
    verdict: Verdict = "reachable" if p >= SURE else "out of reach" if p <= 1 - SURE else "uncertain"
    return Reachability(verdict, p, f"{able} with probability {probability(p)}.")


def _disputed(fit: Fit, known: FloorConfidence, asked: str, both: tuple[float, float]) -> Reachability:
    """Return the verdict if the objective of the fit and least squares differ on the floor: what ``both`` agree on."""
    name, floors = known.name, f"{rounded(float(fit.values[known.name]))} and {rounded(known.upper(0.5))}"
    text = f"The objective {fit.spec.objective} and least squares differ about the floor {name}: {floors}."
    if min(both) >= SURE:
        return Reachability("reachable", None, f"{text} {asked[:1].upper()}{asked[1:]} can be reached with either.")
    if max(both) <= 1 - SURE:
        return Reachability("out of reach", None, f"{text} Either excludes {asked} (95 %).")
    return Reachability(
        "not determined",
        None,
        f"{text} Whether {asked} can be reached is not determined. Check the runs with the largest residuals.",
    )


def _what_to_train(fit: Fit) -> str:
    """Return which runs would resolve the floor."""
    ends = {axis: span[1] for axis, span in fit.data.ranges.items() if axis in fit.law.axes}
    if not ends or not any(isinstance(t, Const) for t in fit.law.terms):
        return "Train larger runs to resolve the floor."
    axis = leading_axis(fit.law, fit.values, ends)
    return f"Train runs with {axis} above {count(ends[axis])} to resolve the floor."
