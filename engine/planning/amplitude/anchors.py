"""Anchors: cheap trainings on the axis that limits them, from which a scaling law is extrapolated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from isoplan.engine.errors import PlannerError

Axis = Literal["D", "N", "C"]
ONSET = {"D": 1e3, "C": 1e12}
"""Where the published power laws have set in (amplitudes, Secs. 4.1 and 5); below, losses fall more slowly."""
LIMITED = 0.10
"""Relative change of the loss, when the other axes are doubled, below which an axis limits the run."""
LOSS_ERROR = 0.10
"""Relative error of a test loss that the published fits assume (amplitudes, App. C)."""
UNITS = {"D": "phase-space points", "N": "parameters", "C": "FLOPs"}


@dataclass(frozen=True)
class Anchor:
    """A run limited by ``axis``: ``loss`` (MSE of the standardised log amplitude) at ``x`` points, parameters or FLOPs.

    ``doubled`` is by which part of itself the loss fell when the other axes were doubled, negative where it rose, None
    where nobody tried. A data anchor carries ``N``, its ``epochs``, and ``flops_per_sample`` (training FLOPs for one
    point once; None: 6 N).
    Raises PlannerError for an anchor that is not limited by its axis, or lies before the onset of the power law.
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
    """Why an anchor whose loss ``fell`` by this part of itself is refused, and what to do."""
    others = " and ".join(name for name in "DNC" if name != axis)
    if not math.isfinite(fell):
        return f"doubled: {fell:g} is no change of a loss. Give the part by which it fell, such as 3 %, or -3 %."
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
    """The anchors on ``axis``, by rising x."""
    return tuple(sorted((a for a in anchors if a.axis == axis), key=lambda a: a.x))
