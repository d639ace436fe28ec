"""Anchors: cheap trainings on the axis that limits them, from which a scaling law is extrapolated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from isoplan.engine.errors import PlannerError

Axis = Literal["D", "N", "C"]
ONSET = {"D": 1e3, "C": 1e12}
"""Smallest D and C (FLOPs) at which the published power laws hold (amplitudes, Secs. 4.1 and 5). Below them losses fall
more slowly.
"""
LIMITED = 0.10
"""Relative change of the loss on doubling the other axes, below which an axis limits the run."""
LOSS_ERROR = 0.10
"""Relative error of a test loss that the published fits assume (amplitudes, App. C)."""
UNITS = {"D": "phase-space points", "N": "parameters", "C": "FLOPs"}


@dataclass(frozen=True)
class Anchor:
    """A run limited by ``axis``, with ``loss`` at ``x`` points, parameters or FLOPs.

    ``loss`` is the MSE of the standardised log amplitude. ``doubled`` is the fraction by which the loss fell when the
    other axes were doubled. It is negative if the loss rose, and None if this was not tried. A data anchor also has
    ``N``, its ``epochs``, and ``flops_per_sample`` (training FLOPs for one pass over one point; None: 6 N). Raises
    PlannerError if the anchor is not limited by its axis, or lies before the onset of the power law.
    """

    axis: Axis
    x: float
    loss: float
    N: float | None = None
    epochs: float | None = None
    flops_per_sample: float | None = None
    doubled: float | None = None

    def __post_init__(self) -> None:
        given = {
            f"number of {UNITS[self.axis]}": self.x,
            "loss": self.loss,
            "N": self.N,
            "number of epochs": self.epochs,
        }
        for name, value in (given | {"number of FLOPs a point": self.flops_per_sample}).items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise PlannerError(f"The anchor's {name} is {value:g}: give a positive number.")
        onset = ONSET.get(self.axis, 0.0)
        if self.x < onset:
            raise PlannerError(
                f"The anchor at {self.axis} = {self.x:g} lies before the onset of the power law: train one with "
                f"{self.axis} of at least {onset:g} {UNITS[self.axis]}."
            )
        if self.doubled is not None and not abs(self.doubled) < LIMITED:
            raise PlannerError(_unconverged(self.axis, self.x, self.doubled))


def _unconverged(axis: Axis, x: float, fell: float) -> str:
    """Return why an anchor whose loss ``fell`` by this fraction is refused, and what to do."""
    others = " and ".join(name for name in "DNC" if name != axis)
    if not math.isfinite(fell):
        return (
            f"doubled: {fell:g} is not a relative change of a loss. Give its decrease, such as 3 %, or -3 % for an "
            "increase."
        )
    if fell > 0:
        return (
            f"The anchor at {axis} = {x:g} is not limited by {axis}: doubling {others} lowered its loss by "
            f"{100 * fell:.3g} %; raise them until that is below 10 %."
        )
    return (
        f"The anchor at {axis} = {x:g} is not converged: doubling {others} raised its loss by {-100 * fell:.3g} %; "
        "lower the learning rate, or average more seeds, until the loss changes by less than 10 %."
    )


def along(anchors: Sequence[Anchor], axis: Axis) -> tuple[Anchor, ...]:
    """Return the anchors on ``axis``, sorted by x."""
    return tuple(sorted((a for a in anchors if a.axis == axis), key=lambda a: a.x))
