"""Worth of existing samples: the losses that they reach in a single pass and in repeated training to the early stop."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import possible, sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.quantity import Quantity, beyond, measure
from isoplan.engine.planning.plan import answer as plans
from isoplan.engine.planning.plan.support import ANSWERED
from isoplan.engine.planning.repeat.floors import together


@dataclass(frozen=True)
class Worth:
    """Losses that ``U`` unique samples reach.

    ``once`` is the loss of a compute-optimal single pass, and ``repeated`` the loss of repeated training to the early
    stop. ``equivalent`` is the number of samples that a compute-optimal single pass needs to reach the loss
    ``repeated``. ``beyond`` is the largest distance of these numbers from the runs, in decades.
    """

    U: float
    once: Quantity
    repeated: Quantity
    equivalent: Quantity
    beyond: float = 0.0

    @property
    def answers(self) -> bool:
        """Whether the runs support the answer."""
        return self.beyond <= ANSWERED

    @property
    def mismatched(self) -> bool:
        """Whether repeated training gives a worse loss than one pass. If so, the two laws are not of the same task."""
        once, repeated = self.once.value, self.repeated.value
        return once is not None and repeated is not None and repeated > once


def worth_of(one_pass: Fit, repeated: Fit, U: float) -> Worth:
    """Compute the losses that ``U`` unique samples reach in both regimes (jets, eqs. 1, 3, 4).

    For the compute-optimal single pass, ``L - E = (1 + beta / alpha) * B * D**-beta``. Raises PlannerError if U is not
    positive.
    """
    if not (math.isfinite(U) and U > 0):
        raise PlannerError(f"The number of samples, {U:g}, is not positive. Give a positive number, such as 2M.")
    laws = together(one_pass, repeated)
    carrier = replace(one_pass, resamples=one_pass.resamples[: laws.resamples], resampling=laws.how)
    spans, numbers = plans.spans(one_pass), []
    for v in (laws.best, laws.draws):
        with np.errstate(all="ignore"):
            scale = (1 + v["beta"] / v["alpha"]) * v["B"]
            repeat = v["L_inf"] + v["B_rep"] * U ** -v["beta_rep"]
            same = np.exp((np.log(scale) - np.log(repeat - v["E"])) / v["beta"])
            numbers.append((v["E"] + scale * U ** -v["beta"], repeat, np.where(repeat > v["E"], same, np.inf)))
    best, draws = numbers
    y, unit = one_pass.spec.y, sample_unit(one_pass)
    asked = ((y, spans.get("loss"), possible(carrier)),) * 2 + ((unit, spans.get("D"), None),)
    once, repeat_, same_ = (measure(carrier, float(b), d, *how) for b, d, how in zip(best, draws, asked, strict=True))
    unique = (spans.get("D"), repeated.data.ranges.get(repeated.law.axis or ""))
    far = max(*(beyond(float(U), span) for span in unique), same_.beyond, once.beyond, repeat_.beyond)
    return Worth(float(U), once, repeat_, same_, far)
