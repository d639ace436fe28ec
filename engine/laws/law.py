"""The description of a law: its terms, parameters and closed forms, from which everything else is derived.

Every law here is a sum of terms, each linear in one amplitude. Names, bounds, units and the order of parameters are
written once, in ``Law.params``; prediction, gradient and LaTeX come from the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import symbol
from isoplan.engine.laws.terms import Term, Values

__all__ = ["Derived", "Floats", "Law", "Param", "Point", "Values"]


@dataclass(frozen=True)
class Param:
    """A parameter of a law: bounds, unit ("loss" means the unit of the loss), meaning and LaTeX."""

    name: str
    low: float
    high: float
    unit: str
    meaning: str
    latex: str

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return (self.low, self.high)


@dataclass(frozen=True)
class Derived:
    """A number that follows from the parameters: ``value(values)``, arrays in and out.

    ``absent`` is the text shown instead if the number is not finite.
    """

    name: str
    meaning: str
    latex: str
    value: Callable[[Values], Floats]
    absent: str = "not defined"


@dataclass(frozen=True)
class Point:
    """A point of the compute-optimal frontier; arrays broadcast, NaN if the law does not determine N or D.

    ``U`` is the number of unique samples, beyond which D repeats; infinite if they are not limited.
    """

    N: Floats
    D: Floats
    C: Floats
    loss: Floats
    U: Floats = field(default_factory=lambda: np.asarray(np.inf))


@dataclass(frozen=True)
class Law:
    """A scaling law.

    ``estimator`` is the method that determines the parameters. "surface" fits the terms to every run, "formula" fits an
    expression to every run, "parabola" fits a parabola in log N per budget and joins the minima, "envelope" joins the
    best points of training curves, "threshold" separates two kinds of cells. ``frontier(values, C, rule)`` is the least
    loss at C FLOPs. ``least_compute(values, loss, rule)`` is the least C that reaches a loss (inf below the floor).
    Both are None if the law has no such closed form. ``samples(values, N, loss)`` is the D with which a model of N
    parameters reaches a loss (inf if no D does), None if this needs a search.

    ``axis`` names the axis of a law on one axis. If this may be any column, ``axis_roles`` names the roles that such a
    column has, ``with_axis(column)`` is the same law over it, and the catalogue contains the law over a placeholder.
    ``inverse(values, y)`` is the place on the axis at which the law is y. ``optimum(values)`` is the place at which it
    is least: 0 or inf if it decreases towards that end, NaN if there is no optimum. A law that is not ``minimised``
    describes y itself and not sign * y. ``extra_columns`` are columns that the estimator needs in addition to those of
    the terms. ``level`` names the parameter that y approaches, if this is a value of y and not a floor. A law with
    ``counts_updates`` describes the training steps to a target. ``repetition(values)`` are L_inf, B_rep and beta_rep of
    a law that can describe runs that repeat their samples until the loss stops falling; None for other laws.
    """

    name: str
    title: str
    summary: str
    terms: tuple[Term, ...]
    params: tuple[Param, ...]
    reference: str
    needs: str
    estimator: Literal["surface", "parabola", "formula", "envelope", "threshold"] = "surface"
    extra_columns: tuple[str, ...] = ()
    frontier: Callable[[Values, Floats, ComputeRule], Point] | None = None
    least_compute: Callable[[Values, Floats, ComputeRule], Point] | None = None
    samples: Callable[[Values, Floats, Floats], Floats] | None = None
    axis: str | None = None
    derived: tuple[Derived, ...] = ()
    symbol: str = "L"
    axis_roles: tuple[str, ...] = ()
    with_axis: Callable[[str], Law] | None = None
    inverse: Callable[[Values, Floats], Floats] | None = None
    optimum: Callable[[Values], Floats] | None = None
    minimised: bool = True
    level: str = ""
    counts_updates: bool = False
    repetition: Callable[[Values], Values] | None = None

    @property
    def key(self) -> str:
        """One word for a law and its axis, such as ``chinchilla`` or ``power-N``."""
        return f"{self.name}-{self.axis}" if self.axis else self.name

    @property
    def is_pointwise(self) -> bool:
        """Whether the law describes single runs, so that each run has a residual."""
        return self.estimator in ("surface", "formula")

    @property
    def is_surface(self) -> bool:
        """Whether the law describes the trade-off of N and D, with or without repeated samples."""
        return set(self.axes) - {"U"} == {"N", "D"}

    @property
    def repeats(self) -> bool:
        """Whether the law includes the effect of repeated samples."""
        return "U" in self.axes

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names in order."""
        return tuple(p.name for p in self.params)

    @property
    def axes(self) -> tuple[str, ...]:
        """The columns of the law, in order of its terms."""
        return tuple(dict.fromkeys(t.axis for t in self.terms if t.axis is not None))

    @property
    def latex(self) -> str:
        """The formula, left-hand and right-hand side, for st.latex and reports."""
        tex = {p.name: p.latex for p in self.params}
        left = f"{self.symbol}({', '.join(symbol(a) for a in self.axes)})"
        return f"{left} = " + " + ".join(t.latex(tex) for t in self.terms)

    @property
    def text(self) -> str:
        """The formula in plain characters: L(N, D) = E + A / N^alpha + B / D^beta."""
        return f"{self.symbol}({', '.join(self.axes)}) = " + " + ".join(t.text() for t in self.terms)

    @property
    def positive(self) -> tuple[str, ...]:
        """The columns that must be above zero."""
        return tuple(dict.fromkeys(t.axis for t in self.terms if t.axis is not None and t.positive))

    def param(self, name: str) -> Param:
        """Return the parameter called ``name``; raises PlannerError that lists the law's parameters."""
        for p in self.params:
            if p.name == name:
                return p
        raise PlannerError(f"{self.name} has no parameter {name!r}: its parameters are {', '.join(self.names)}.")

    def values(self, theta: ArrayLike) -> dict[str, Floats]:
        """Return parameter values by name from ``theta`` of shape (..., p)."""
        t = np.asarray(theta, float)
        return {name: t[..., i] for i, name in enumerate(self.names)}

    def predict(self, theta: ArrayLike, columns: Mapping[str, ArrayLike]) -> Floats:
        """Return the loss at ``columns`` (arrays of shape s by axis name) for ``theta`` (..., p): shape (..., *s)."""
        t, x = self._broadcast(theta, columns)
        return sum((term.value(t, x[term.axis]) for term in self.terms), start=np.zeros(()))

    def gradient(self, theta: ArrayLike, columns: Mapping[str, ArrayLike]) -> Floats:
        """Return d loss / d theta at ``columns``: shape (..., *s, p)."""
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
