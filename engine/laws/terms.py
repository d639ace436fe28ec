"""The terms of laws, each linear in one amplitude.

A term with an exponent is ``a * exp(-e * z)``, with the amplitude ``a`` and the exponent ``e``. Its coordinate ``z`` is
ln X for a decreasing power, -ln X for an increasing power, and -X for an exponential. A term without an exponent is the
product of an amplitude and a fixed function of X.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.formula import symbol

Values = Mapping[str, Floats]
"""Values of the parameters by name. All arrays have the same shape."""


@dataclass(frozen=True)
class Const:
    """The floor of a law: a constant in the unit of the loss."""

    amplitude: str
    axis: None = None
    exponent: None = None
    positive: ClassVar[bool] = False

    def params(self) -> tuple[str, ...]:
        return (self.amplitude,)

    def shape(self, x: Floats) -> Floats:
        return np.ones_like(x)

    def value(self, v: Values, x: Floats) -> Floats:
        return v[self.amplitude] + 0.0 * x

    def gradient(self, v: Values, x: Floats) -> dict[str, Floats]:
        return {self.amplitude: np.ones_like(v[self.amplitude] + x)}

    def linear(self, v: Values) -> Floats:
        """Return the amplitude ``a`` of the term."""
        return v[self.amplitude]

    def from_linear(self, a: Floats, e: Floats) -> dict[str, Floats]:
        return {self.amplitude: a}

    def latex(self, tex: Mapping[str, str]) -> str:
        return tex[self.amplitude]

    def text(self) -> str:
        return self.amplitude


@dataclass(frozen=True)
class _Shape:
    """An amplitude times a fixed function of X; ``positive`` is True if the function requires X > 0."""

    amplitude: str
    axis: str
    exponent: ClassVar[None] = None
    positive: ClassVar[bool] = True

    def shape(self, x: Floats) -> Floats:
        raise NotImplementedError

    def params(self) -> tuple[str, ...]:
        return (self.amplitude,)

    def value(self, v: Values, x: Floats) -> Floats:
        return v[self.amplitude] * self.shape(x)

    def gradient(self, v: Values, x: Floats) -> dict[str, Floats]:
        return {self.amplitude: self.shape(x) + 0.0 * v[self.amplitude]}

    def linear(self, v: Values) -> Floats:
        """Return the amplitude ``a`` of the term."""
        return v[self.amplitude]

    def from_linear(self, a: Floats, e: Floats) -> dict[str, Floats]:
        return {self.amplitude: a}


@dataclass(frozen=True)
class Offset(_Shape):
    """The term ``c``: a constant that is not a floor, such as the value of a parabola at ln X = 0."""

    positive: ClassVar[bool] = False

    def shape(self, x: Floats) -> Floats:
        return np.ones_like(x)

    def latex(self, tex: Mapping[str, str]) -> str:
        return tex[self.amplitude]

    def text(self) -> str:
        return self.amplitude


@dataclass(frozen=True)
class Log(_Shape):
    """The term ``b * ln(X)``."""

    def shape(self, x: Floats) -> Floats:
        return np.log(x)

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"{tex[self.amplitude]} \ln {symbol(self.axis)}"

    def text(self) -> str:
        return f"{self.amplitude} ln {self.axis}"


@dataclass(frozen=True)
class LogSquared(_Shape):
    """The term ``c * ln(X)**2``."""

    def shape(self, x: Floats) -> Floats:
        return np.asarray(np.log(x) ** 2)

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"{tex[self.amplitude]} \ln^2 {symbol(self.axis)}"

    def text(self) -> str:
        return f"{self.amplitude} (ln {self.axis})^2"


@dataclass(frozen=True)
class Reciprocal(_Shape):
    """The term ``a / X``."""

    def shape(self, x: Floats) -> Floats:
        return 1.0 / x

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"\frac{{{tex[self.amplitude]}}}{{{symbol(self.axis)}}}"

    def text(self) -> str:
        return f"{self.amplitude} / {self.axis}"


@dataclass(frozen=True)
class _Curve:
    """The term ``a * exp(-e * z)``. Here z is a function of X; ``positive`` is True if this function requires X > 0."""

    amplitude: str
    axis: str
    exponent: str
    positive: ClassVar[bool] = True

    def coordinate(self, x: Floats) -> Floats:
        """Return the coordinate z of the axis values ``x``."""
        raise NotImplementedError

    def spread(self, x: Floats) -> float:
        """Return the scale of z for which typical exponents are of order one: 1 for logarithms, which have no unit."""
        return 1.0

    def rate(self, value: ArrayLike) -> Floats:
        """Return the exponent e of the term from the parameter called ``exponent``. The function is its own inverse."""
        return np.asarray(value, float)

    def params(self) -> tuple[str, ...]:
        return (self.amplitude, self.exponent)

    def value(self, v: Values, x: Floats) -> Floats:
        return v[self.amplitude] * np.exp(-v[self.exponent] * self.coordinate(x))

    def gradient(self, v: Values, x: Floats) -> dict[str, Floats]:
        z = self.coordinate(x)
        unit = np.exp(-v[self.exponent] * z)
        return {self.amplitude: unit, self.exponent: -v[self.amplitude] * unit * z}

    def linear(self, v: Values) -> Floats:
        """Return the amplitude ``a`` of the term ``a * exp(-e * z)``."""
        return v[self.amplitude]

    def from_linear(self, a: Floats, e: Floats) -> dict[str, Floats]:
        return {self.amplitude: a, self.exponent: e}


@dataclass(frozen=True)
class Power(_Curve):
    """The term ``A * X**-alpha``, which decreases with X. The unit of A is ``loss * unit(X)**alpha``."""

    def coordinate(self, x: Floats) -> Floats:
        return np.log(x)

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"\frac{{{tex[self.amplitude]}}}{{{symbol(self.axis)}^{{{tex[self.exponent]}}}}}"

    def text(self) -> str:
        return f"{self.amplitude} / {self.axis}^{self.exponent}"


@dataclass(frozen=True)
class Rising(_Curve):
    """The term ``a * X**alpha``, which increases with X. The unit of ``a`` is ``loss / unit(X)**alpha``."""

    def coordinate(self, x: Floats) -> Floats:
        return -np.log(x)

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"{tex[self.amplitude]}\, {symbol(self.axis)}^{{{tex[self.exponent]}}}"

    def text(self) -> str:
        return f"{self.amplitude} {self.axis}^{self.exponent}"


@dataclass(frozen=True)
class Exponential(_Curve):
    """The term ``A * exp(B * X)``, which increases with X if ``A * B > 0``. The unit of B is ``1 / unit(X)``."""

    positive: ClassVar[bool] = False

    def coordinate(self, x: Floats) -> Floats:
        return -x

    def spread(self, x: Floats) -> float:
        """Return half the range of ``x`` as the scale, so that the unit of X has no influence."""
        return float(np.ptp(x)) / 2 or 1.0

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"{tex[self.amplitude]}\, e^{{{tex[self.exponent]}\, {symbol(self.axis)}}}"

    def text(self) -> str:
        return f"{self.amplitude} exp({self.exponent} {self.axis})"


@dataclass(frozen=True)
class SignedPower(Exponential):
    """The term ``A * X**B``: an exponential in ln X, which increases with X if ``A * B > 0``.

    The unit of A is ``loss / unit(X)**B``.
    """

    positive: ClassVar[bool] = True

    def coordinate(self, x: Floats) -> Floats:
        return -np.log(x)

    def spread(self, x: Floats) -> float:
        """Return half the range of ln ``x`` as the scale, so that the width of this range has no influence."""
        return super().spread(np.log(x))

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"{tex[self.amplitude]}\, {symbol(self.axis)}^{{{tex[self.exponent]}}}"

    def text(self) -> str:
        return f"{self.amplitude} {self.axis}^{self.exponent}"


@dataclass(frozen=True)
class Ratio(_Curve):
    """The term ``(X_s / X)**alpha``, the same curve as ``Power``. ``amplitude`` names X_s: at X = X_s the term is 1."""

    def coordinate(self, x: Floats) -> Floats:
        return np.log(x)

    def value(self, v: Values, x: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # X_s = 0 if the term is zero
            return np.exp(self.rate(v[self.exponent]) * (np.log(v[self.amplitude]) - np.log(x)))

    def gradient(self, v: Values, x: Floats) -> dict[str, Floats]:
        y = self.value(v, x)
        return {
            self.amplitude: y * v[self.exponent] / v[self.amplitude],
            self.exponent: y * (np.log(v[self.amplitude]) - np.log(x)),
        }

    def linear(self, v: Values) -> Floats:
        """Return the amplitude ``a = X_s**e`` of the term in the form ``a * X**-e``."""
        return np.exp(self.rate(v[self.exponent]) * np.log(v[self.amplitude]))

    def from_linear(self, a: Floats, e: Floats) -> dict[str, Floats]:
        """Return the parameters of the term with amplitude ``a = X_s**e``.

        The scale X_s is ``a**(1 / e)``, limited to finite values. A term with ``a = 0`` has ``X_s = 0``.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return {self.amplitude: np.exp(np.minimum(np.log(a) / e, 700.0)), self.exponent: self.rate(e)}

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"\left(\frac{{{tex[self.amplitude]}}}{{{symbol(self.axis)}}}\right)^{{{tex[self.exponent]}}}"

    def text(self) -> str:
        return f"({self.amplitude} / {self.axis})^{self.exponent}"


@dataclass(frozen=True)
class Smooth(Ratio):
    """The term ``(X_s / X)**(4 / d)``: ``Ratio`` with the dimension d of a smooth target as its parameter."""

    def rate(self, value: ArrayLike) -> Floats:
        return 4.0 / np.asarray(value, float)

    def gradient(self, v: Values, x: Floats) -> dict[str, Floats]:
        y, d = self.value(v, x), v[self.exponent]
        return {
            self.amplitude: y * 4.0 / d / v[self.amplitude],
            self.exponent: -y * 4.0 / d**2 * (np.log(v[self.amplitude]) - np.log(x)),
        }

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"\left(\frac{{{tex[self.amplitude]}}}{{{symbol(self.axis)}}}\right)^{{4 / {tex[self.exponent]}}}"

    def text(self) -> str:
        return f"({self.amplitude} / {self.axis})^(4/{self.exponent})"


Curve = Power | Rising | Exponential | Ratio
"""Terms with an exponent."""
Shape = Const | Offset | Log | LogSquared | Reciprocal
"""Terms without an exponent."""
Term = Curve | Shape
