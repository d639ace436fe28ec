"""Runs from which a plan is extrapolated: anchors, the straight line through the anchors, and published laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit, Interval

Axis = Literal["D", "N", "C"]
ONSET = {"D": 1e3, "C": 1e12}
"""Smallest D, and smallest C in FLOPs, at which the published power laws are valid (amplitudes, Secs. 4.1 and 5). At
smaller values, losses decrease more slowly.
"""
LIMITED = 0.10
"""An axis limits a run if doubling the other axes changes the loss by less than this fraction."""
LOSS_ERROR = 0.10
"""Relative error of a test loss, as assumed in the published fits (amplitudes, App. C)."""
UNITS = {"D": "phase-space points", "N": "parameters", "C": "FLOPs"}


@dataclass(frozen=True)
class Anchor:
    """Run whose ``loss`` is limited by ``axis``. The value of this axis is ``x`` (points, parameters or FLOPs).

    ``loss`` is the MSE of the standardised log amplitude. ``doubled`` is the fraction by which the loss decreases if
    the other axes are doubled. ``doubled`` is negative if the loss rises, and None if the doubling was not tested.

    An anchor limited by D also has ``N``, the number of ``epochs``, and ``flops_per_sample``: the training FLOPs of one
    pass over one point (None means ``6 * N``). Raises PlannerError if ``axis`` does not limit the run, or if the run
    lies below the onset of the power law.
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
        for name, value in (given | {"number of FLOPs per point": self.flops_per_sample}).items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise PlannerError(f"The anchor's {name} is {value:g}: give a positive number.")
        onset = ONSET.get(self.axis, 0.0)
        if self.x < onset:
            raise PlannerError(
                f"The anchor at {self.axis} = {self.x:g} is below the onset of the power law. Train an anchor with at "
                f"least {onset:g} {UNITS[self.axis]}."
            )
        if self.doubled is not None and not abs(self.doubled) < LIMITED:
            raise PlannerError(_unconverged(self.axis, self.x, self.doubled))


def _unconverged(axis: Axis, x: float, fell: float) -> str:
    """Return why an anchor with a relative loss decrease of ``fell`` is rejected, and what to do instead."""
    others = " and ".join(name for name in "DNC" if name != axis)
    if not math.isfinite(fell):
        return (
            f"doubled: {fell:g} is not a relative change of a loss. Give the decrease of the loss, such as 3 %, or "
            "-3 % for an increase."
        )
    if fell > 0:
        return (
            f"The anchor at {axis} = {x:g} is not limited by {axis}: doubling {others} lowered its loss by "
            f"{100 * fell:.3g} %. Increase {others} until the loss changes by less than 10 %."
        )
    return (
        f"The anchor at {axis} = {x:g} is not converged: doubling {others} raised its loss by {-100 * fell:.3g} %. "
        "Lower the learning rate, or average more seeds, until the loss changes by less than 10 %."
    )


def along(anchors: Sequence[Anchor], axis: Axis) -> tuple[Anchor, ...]:
    """Return the anchors that ``axis`` limits, sorted by x."""
    return tuple(sorted((a for a in anchors if a.axis == axis), key=lambda a: a.x))


@dataclass(frozen=True)
class Line:
    """Straight line through n anchors: ``ln(loss - floor) = height - alpha * (ln(X) - middle)``.

    ``error`` is the relative error of one loss. ``lever`` is the sum of (ln X - middle)^2 over the anchors.
    """

    n: int
    middle: float
    height: float
    alpha: float
    error: float
    lever: float

    @property
    def alpha_error(self) -> float:
        """Standard error of the exponent ``alpha``."""
        return self.error / math.sqrt(self.lever)

    def at(self, x: float) -> float:
        """Return loss - floor at ``x``."""
        return math.exp(self.height - self.alpha * (math.log(x) - self.middle))

    def ends(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the upper and then the lower end of the 68 % band of loss - floor at ``x`` (k,). Each is (k,)."""
        off = np.log(x) - self.middle
        middle, half = self.height - self.alpha * off, self.error * np.sqrt(1 / self.n + off**2 / self.lever)
        return np.exp(middle + half), np.exp(middle - half)

    def solve(self, excess: float) -> Interval:
        """Return the two X at which first the lower and then the upper end of the 68 % band equals ``excess``.

        They follow from Fieller's theorem. If the exponent is compatible with 0, the upper end of the band rises again
        at large X. The second X is then infinite. If, in addition, the lower end is already below ``excess`` at the
        middle of the anchors, the first X is this middle.
        """
        gap, square = self.height - math.log(excess), self.error**2
        a, b, c = self.alpha**2 - square / self.lever, self.alpha * gap, gap**2 - square / self.n
        root = math.sqrt(max(b * b - a * c, 0.0))
        if a <= 0 and (gap <= 0 or c <= 0):
            return math.exp(self.middle), math.inf
        low = c / (b + root) if b > 0 else (b - root) / a  # avoids the difference of two similar numbers
        with np.errstate(over="ignore"):
            ends = np.exp(self.middle + np.array([low, (b + root) / a if a > 0 else math.inf]))
        return float(ends[0]), float(ends[1])


def fit_line(anchors: Sequence[Anchor], floor: float = 0.0) -> Line:
    """Fit the line through the ``anchors`` of one axis by least squares of log(loss - ``floor``).

    The relative error of a loss is 10 % (amplitudes, App. C), or the scatter around the line if the scatter is larger.
    Raises PlannerError if the anchors have fewer than two values of x, if a loss is at or below the floor, or if the
    loss does not decrease with x.
    """
    axis = anchors[0].axis
    if any(a.loss <= floor for a in anchors):
        raise PlannerError(f"The loss of a run is at or below the floor {floor:g}: give a lower floor.")
    x, y = np.log([a.x for a in anchors]), np.log([a.loss - floor for a in anchors])
    if len(np.unique(x)) < 2:
        raise PlannerError(
            f"All runs limited by {axis} have the same {axis}, but a law needs at least two values: train a run at "
            f"another {axis}."
        )
    lever = float(np.sum((x - x.mean()) ** 2))
    alpha = -float((x - x.mean()) @ y) / lever
    if alpha <= 0:
        raise PlannerError(
            f"The loss of the runs does not decrease with {axis}, so {axis} does not limit it. Increase the other "
            f"axes, or give other runs."
        )
    left = y - y.mean() + alpha * (x - x.mean())
    scatter = math.sqrt(float(left @ left) / (len(anchors) - 2)) if len(anchors) > 2 else 0.0
    return Line(len(anchors), float(x.mean()), float(y.mean()), alpha, max(LOSS_ERROR, scatter), lever)


@dataclass(frozen=True)
class PublishedLaw:
    """A published power law ``fit`` of the MSE against ``axis``, at a fixed size ``held`` such as ``N = 1e6``.

    ``network`` states the architecture and the training loss. ``raw`` is True if the network was trained on raw
    amplitudes. ``table`` is the number of the paper's table that contains the law. ``beside`` contains laws of the
    same process and network: for each other axis, the law with the largest fixed size.
    """

    process: str
    n_f: int
    axis: Axis
    held: str
    network: str
    raw: bool
    table: str
    fit: Fit
    beside: tuple[PublishedLaw, ...] = ()

    @property
    def held_value(self) -> float:
        """Fixed size as a number: parameters for a law of D, points for a law of N or C."""
        return float(self.held.partition("=")[2])

    @property
    def alpha(self) -> float:
        """Published exponent."""
        return float(self.fit.values["alpha"])

    @property
    def floor(self) -> float:
        """Floor K: the loss at an infinite value of ``axis`` and the fixed size ``held``."""
        return float(self.fit.values["K"])

    @property
    def measured(self) -> Interval:
        """Range of ``axis`` in the fitted data."""
        return self.fit.data.ranges[self.axis]
