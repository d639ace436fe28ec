"""A law is a value: its terms, parameters and closed forms, from which everything else is derived.

Every law here is a sum of terms, each linear in one amplitude. Names, bounds, units and the order of
parameters are written once, in ``Law.params``; callable, gradient and LaTeX come from the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.costs import ComputeRule
from engine.errors import PlannerError

Floats = NDArray[np.float64]
Values = Mapping[str, Floats]
"""Parameter values by name, each of shape (...)."""


@dataclass(frozen=True)
class Param:
    """A parameter of a law: bounds, unit ("loss" means the unit of the loss), meaning, LaTeX."""

    name: str
    low: float
    high: float
    unit: str
    meaning: str
    latex: str


@dataclass(frozen=True)
class Derived:
    """A number that follows from the parameters: ``value(values)``, arrays in and out."""

    name: str
    meaning: str
    latex: str
    value: Callable[[Values], Floats]


@dataclass(frozen=True)
class Const:
    """The floor: a constant, in the unit of the loss."""

    amplitude: str
    axis: None = None
    exponent: None = None

    def params(self) -> tuple[str, ...]:
        return (self.amplitude,)

    def value(self, v: Values, x: Floats) -> Floats:
        return v[self.amplitude] + 0.0 * x

    def gradient(self, v: Values, x: Floats) -> dict[str, Floats]:
        return {self.amplitude: np.ones_like(v[self.amplitude] + x)}

    def linear(self, v: Values) -> Floats:
        """The amplitude a of the term a X^-e."""
        return v[self.amplitude]

    def from_linear(self, a: Floats, e: Floats) -> dict[str, Floats]:
        return {self.amplitude: a}

    def latex(self, tex: Mapping[str, str]) -> str:
        return tex[self.amplitude]


@dataclass(frozen=True)
class Power:
    """A X^-alpha: falls with the axis X. The amplitude has the unit loss x unit(X)^alpha."""

    amplitude: str
    axis: str
    exponent: str

    def params(self) -> tuple[str, ...]:
        return (self.amplitude, self.exponent)

    def value(self, v: Values, x: Floats) -> Floats:
        return v[self.amplitude] * np.exp(-v[self.exponent] * np.log(x))

    def gradient(self, v: Values, x: Floats) -> dict[str, Floats]:
        unit = np.exp(-v[self.exponent] * np.log(x))
        return {self.amplitude: unit, self.exponent: -v[self.amplitude] * unit * np.log(x)}

    def linear(self, v: Values) -> Floats:
        """The amplitude a of the term a X^-e."""
        return v[self.amplitude]

    def from_linear(self, a: Floats, e: Floats) -> dict[str, Floats]:
        return {self.amplitude: a, self.exponent: e}

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"\frac{{{tex[self.amplitude]}}}{{{self.axis}^{{{tex[self.exponent]}}}}}"


@dataclass(frozen=True)
class Ratio:
    """(X_s / X)^alpha: the same curve as ``Power``, with the scale X_s where it equals one unit of loss."""

    scale: str
    axis: str
    exponent: str

    def params(self) -> tuple[str, ...]:
        return (self.scale, self.exponent)

    def value(self, v: Values, x: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # a term that vanished has X_s = 0
            return np.exp(v[self.exponent] * (np.log(v[self.scale]) - np.log(x)))

    def gradient(self, v: Values, x: Floats) -> dict[str, Floats]:
        y = self.value(v, x)
        return {
            self.scale: y * v[self.exponent] / v[self.scale],
            self.exponent: y * (np.log(v[self.scale]) - np.log(x)),
        }

    def linear(self, v: Values) -> Floats:
        """The amplitude a of the term a X^-e."""
        return np.exp(v[self.exponent] * np.log(v[self.scale]))

    def from_linear(self, a: Floats, e: Floats) -> dict[str, Floats]:
        """a = X_s^e, so X_s = a^(1/e), kept finite; a term that vanished (a = 0) gives X_s = 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return {self.scale: np.exp(np.minimum(np.log(a) / e, 700.0)), self.exponent: e}

    def latex(self, tex: Mapping[str, str]) -> str:
        return rf"\left(\frac{{{tex[self.scale]}}}{{{self.axis}}}\right)^{{{tex[self.exponent]}}}"


Term = Const | Power | Ratio


@dataclass(frozen=True)
class Point:
    """A point of the compute-optimal frontier; arrays broadcast, NaN where the law says nothing of N or D."""

    N: Floats
    D: Floats
    C: Floats
    loss: Floats


@dataclass(frozen=True)
class Law:
    """A scaling law.

    ``estimator`` says how its parameters are found: "surface" fits the terms to every run, "parabola" fits a
    parabola in log N per budget and joins the minima. ``frontier(values, C, rule)`` is the least loss at C FLOPs,
    ``least_compute(values, loss, rule)`` the least C that reaches a loss (inf below the floor); None where the
    law has no such closed form.
    """

    name: str
    title: str
    summary: str
    terms: tuple[Term, ...]
    params: tuple[Param, ...]
    reference: str
    needs: str
    estimator: Literal["surface", "parabola"] = "surface"
    frontier: Callable[[Values, Floats, ComputeRule], Point] | None = None
    least_compute: Callable[[Values, Floats, ComputeRule], Point] | None = None
    axis: str | None = None
    derived: tuple[Derived, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names in order."""
        return tuple(p.name for p in self.params)

    @property
    def axes(self) -> tuple[str, ...]:
        """The columns that the law reads, in order of its terms."""
        return tuple(dict.fromkeys(t.axis for t in self.terms if t.axis is not None))

    @property
    def latex(self) -> str:
        """The formula, right-hand side and left-hand side, for st.latex and reports."""
        tex = {p.name: p.latex for p in self.params}
        return f"L({', '.join(self.axes)}) = " + " + ".join(t.latex(tex) for t in self.terms)

    def param(self, name: str) -> Param:
        """The parameter called ``name``; raises PlannerError that lists the law's parameters."""
        for p in self.params:
            if p.name == name:
                return p
        raise PlannerError(f"{self.name} has no parameter {name!r}: its parameters are {', '.join(self.names)}.")

    def values(self, theta: ArrayLike) -> dict[str, Floats]:
        """Parameter values by name from ``theta`` of shape (..., p)."""
        t = np.asarray(theta, float)
        return {name: t[..., i] for i, name in enumerate(self.names)}

    def predict(self, theta: ArrayLike, columns: Mapping[str, ArrayLike]) -> Floats:
        """Loss at ``columns`` (arrays of shape s by axis name) for ``theta`` (..., p): shape (..., *s)."""
        t, x = self._broadcast(theta, columns)
        return sum((term.value(t, x[term.axis]) for term in self.terms), start=np.zeros(()))

    def gradient(self, theta: ArrayLike, columns: Mapping[str, ArrayLike]) -> Floats:
        """d loss / d theta at ``columns``: shape (..., *s, p)."""
        t, x = self._broadcast(theta, columns)
        parts: dict[str, Floats] = {}
        for term in self.terms:
            for name, g in term.gradient(t, x[term.axis]).items():
                parts[name] = parts.get(name, np.zeros(())) + g
        shape = np.broadcast_shapes(*(g.shape for g in parts.values()))
        zero = np.zeros(shape)
        return np.stack([parts.get(name, zero) + zero for name in self.names], axis=-1)

    def _broadcast(
        self, theta: ArrayLike, columns: Mapping[str, ArrayLike]
    ) -> tuple[dict[str, Floats], dict[str | None, Floats]]:
        missing = [a for a in self.axes if a not in columns]
        if missing:
            raise PlannerError(f"{self.name} needs a column {' and '.join(missing)}: map it on the Data page.")
        x: dict[str | None, Floats] = {a: np.asarray(columns[a], float) for a in self.axes}
        shape = np.broadcast_shapes(*(v.shape for v in x.values())) if x else ()
        x = {a: np.broadcast_to(v, shape) for a, v in x.items()}
        x[None] = np.zeros(shape)
        t = np.asarray(theta, float)
        lead = t.reshape(t.shape[:-1] + (1,) * len(shape) + t.shape[-1:])
        return self.values(lead), x
