"""Precision target: MSE of the standardised log amplitude, or a relative error of a stated kind.

The surrogate predicts ``(log A - mean) / sigma(log A)``, where A is the amplitude (amplitudes, Sec. 3). The MSE of this
quantity determines the RMS error of log A, which is ``sigma(log A) * sqrt(MSE)``. For small errors, this RMS error is
the RMS relative error of A. The exponent of the RMS error is half the exponent of the MSE.

A few points dominate the RMS. The median of the relative errors is smaller than the RMS by a factor of 2 to 200, which
depends on process and D. Therefore the kind of an error is always stated. Trained cells contain the median and the 99 %
error; no published law describes these errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast, get_args

from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import count, power10

Kind = Literal["rms", "median", "99"]
NAMES: dict[Kind, str] = {
    "rms": "RMS relative error",
    "median": "median relative error",
    "99": "relative error of 99 % of the points",
}
"""Names of the kinds of error, for use within a sentence. The kind "99" is the error that 99 % of the points do not
exceed.
"""


@dataclass(frozen=True)
class Precision:
    """A precision target ``mse``, which has no unit.

    ``sigma`` is the standard deviation of log A over the phase space; None if unknown. ``raw`` is True if ``mse``
    refers to the amplitude A itself, as in some published laws. If ``kind`` is not "rms", ``mse`` is the square of the
    relative error of this kind, and ``sigma`` is 1.
    """

    mse: float
    sigma: float | None = None
    raw: bool = False
    kind: Kind = "rms"

    @property
    def name(self) -> str:
        """Name of the relative error within a sentence."""
        return NAMES[self.kind]

    @property
    def measure(self) -> str:
        """Name of the quantity ``mse``, such as "MSE of the standardised log amplitude"."""
        if self.kind != "rms":
            return f"squared {self.name}"
        return f"MSE of the {'raw' if self.raw else 'standardised log'} amplitude"

    @property
    def relative(self) -> float | None:
        """Relative error of this kind (0.001 means 0.1 %); None if sigma(log A) is needed but unknown."""
        return None if self.sigma is None else self.sigma * math.sqrt(self.mse)


def of_mse(mse: float, sigma: float | None = None) -> Precision:
    """Return the target for an MSE. Raises PlannerError if a number is not positive."""
    _positive(mse, "target MSE", "such as 1e-6")
    if sigma is not None:
        _positive(sigma, "standard deviation of log A", "measured on the training points, such as 1.5")
    return Precision(float(mse), sigma)


def of_error(relative: float, sigma: float | None, kind: Kind = "rms") -> Precision:
    """Return the target for a relative error of a ``kind``. Only the kind "rms" needs sigma(log A).

    Raises PlannerError for an RMS error without sigma(log A), or if a number is not positive.
    """
    _positive(relative, "target relative error", "such as 0.001 for 0.1 %")
    if kind != "rms":
        return Precision(relative**2, 1.0, kind=kind)
    if sigma is None:
        raise PlannerError(
            "An RMS relative error needs the spread of the amplitudes: give the standard deviation of log A."
        )
    _positive(sigma, "standard deviation of log A", "measured on the training points, such as 1.5")
    return Precision((relative / sigma) ** 2, sigma)


def check_kind(text: str, what: str) -> Kind:
    """Return the kind of error that ``text`` names.

    Raises PlannerError, which names the field ``what``, if the kind is unknown.
    """
    plain = text.strip().removesuffix("%").strip().lower()
    if plain not in get_args(Kind):
        raise PlannerError(f"{what}: {text!r} is not known. Use rms, median or 99%.")
    return cast(Kind, plain)


def check_worth(target: Precision) -> None:
    """Raise PlannerError if a constant prediction reaches the target, because then no surrogate is needed.

    Standardised log amplitudes have a variance of 1, so a constant prediction (their mean) has an MSE of 1. The
    variance of raw amplitudes is not known, so every raw target is accepted. A prediction of zero has a relative error
    of 100 % at every point.
    """
    if target.raw or target.mse < 1:
        return
    if target.kind != "rms":
        raise PlannerError(
            f"Target {target.name}: {100 * math.sqrt(target.mse):.4g} % is too large, because a prediction of zero has "
            "an error of 100 % at every point. Give a smaller target."
        )
    rms = f" (an {target.name} of {100 * target.relative:.4g} %)" if target.relative is not None else ""
    raise PlannerError(
        f"Target MSE: {target.mse:g}{rms} is too large, because a constant prediction of the standardised log "
        "amplitude has an MSE of 1. Give a smaller target."
    )


def only_rms(target: Precision, what: str) -> None:
    """Raise PlannerError if the target is not an RMS error.

    ``what`` names the data, which contain only the RMS error.
    """
    if target.kind != "rms":
        raise PlannerError(
            f"Kind of error: {what} have an MSE but no {target.name}. Ask for an RMS error, or use trained cells, "
            "which contain the median and the 99 % error."
        )


def _positive(value: float, what: str, such: str) -> None:
    if not (math.isfinite(value) and value > 0):
        raise PlannerError(f"The {what} is {value:g}: give a positive number, {such}.")


def number(x: float, unit: str) -> str:
    """Return a size as text without its unit, such as "340 M" (points) or "3.6 × 10¹⁷" (FLOPs)."""
    return power10(x, 2) if unit == "FLOPs" else count(x)


def percent(share: float) -> str:
    """Return a fraction as a percentage with two digits, such as "0.1 %" or "500 %"."""
    return f"{float(f'{100 * share:.2g}'):,g} %"


def relative_error(target: Precision) -> str:
    """Return the relative error of a target as text, such as "0.15 %"; "-" if it is not known."""
    return "-" if target.relative is None else percent(target.relative)


def asked(target: Precision) -> str:
    """Return a target as the start of a sentence: "An MSE of 1e-06 (RMS relative error 0.15 %)"."""
    if target.kind != "rms":
        return f"A {target.name} of {relative_error(target)}"
    relative = "" if target.relative is None else f" ({target.name} {relative_error(target)})"
    return f"An MSE of {target.mse:.3g}{relative}"


def lower_first(text: str) -> str:
    """Return ``text`` with a lower-case first letter, for use within a sentence: "An MSE" becomes "an MSE"."""
    return text[0].lower() + text[1:]
