"""Published amplitude law: one of the 81 fits in amplitudes, Tables 2 to 15, as a bundled card."""

from __future__ import annotations

from dataclasses import dataclass

from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.planning.amplitude.anchors import Axis

RAW_TARGETS = (
    "This law was trained on raw amplitudes, not on standardised logs (amplitudes, Tables 2 to 4), so its MSE is not "
    "a relative error and cannot be compared with the MSE of other processes."
)


@dataclass(frozen=True)
class PublishedLaw:
    """A published power law ``fit`` of the MSE against ``axis``. ``held`` gives the fixed size, as in ``N = 1e6``.

    ``network`` is its architecture and training loss. ``raw`` marks networks trained on raw amplitudes. ``table`` is
    the number of the table that prints it. ``beside`` are the laws of the same process and network against the other
    axes, at their largest fixed size.
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
        """Fixed size as a number: parameters for a law against D, points for a law against N or C."""
        return float(self.held.partition("=")[2])

    @property
    def alpha(self) -> float:
        """Published exponent."""
        return float(self.fit.values["alpha"])

    @property
    def floor(self) -> float:
        """K, the limit of the loss at the fixed size."""
        return float(self.fit.values["K"])

    @property
    def measured(self) -> Interval:
        """Range of the axis in the fitted data."""
        return self.fit.data.ranges[self.axis]
