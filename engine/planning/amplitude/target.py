"""A precision target: mean squared error of the standardised log amplitude, or a typical relative error.

The surrogate learns (log A - mean) / sigma(log A) (amplitudes, Sec. 3), so an error of sqrt(MSE) there is
sigma(log A) sqrt(MSE) of log A, which for small errors is the relative error of A. It falls with half the exponents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.errors import PlannerError


@dataclass(frozen=True)
class Precision:
    """``mse`` has no unit; ``sigma`` is the standard deviation of log A over the phase space, None where unknown.

    ``raw`` marks the MSE of A itself, as some published laws have it.
    """

    mse: float
    sigma: float | None = None
    raw: bool = False

    @property
    def measure(self) -> str:
        """What its numbers are: the MSE of what."""
        return f"MSE of the {'raw' if self.raw else 'standardised log'} amplitude"

    @property
    def relative(self) -> float | None:
        """Typical relative error of an amplitude (0.001 is 0.1 %); None without sigma(log A)."""
        return None if self.sigma is None else self.sigma * math.sqrt(self.mse)


def of_mse(mse: float, sigma: float | None = None) -> Precision:
    """The target as an MSE. Raises PlannerError for what is not positive."""
    _positive(mse, "target MSE", "such as 1e-6")
    if sigma is not None:
        _positive(sigma, "standard deviation of log A", "measured on the training points, such as 1.5")
    return Precision(float(mse), sigma)


def of_error(relative: float, sigma: float | None) -> Precision:
    """The target as a typical relative error. Raises PlannerError without sigma(log A) and for no positive number."""
    _positive(relative, "target relative error", "such as 0.001 for 0.1 %")
    if sigma is None:
        raise PlannerError("A relative error needs the spread of the amplitudes: give the standard deviation of log A.")
    _positive(sigma, "standard deviation of log A", "measured on the training points, such as 1.5")
    return Precision((relative / sigma) ** 2, sigma)


def _positive(value: float, what: str, such: str) -> None:
    if not (math.isfinite(value) and value > 0):
        raise PlannerError(f"The {what} is {value:g}: give a positive number, {such}.")
