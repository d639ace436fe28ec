"""The description of a law: its terms, parameters and closed forms, from which everything else is derived.

A law is a sum of terms, each of which is linear in one amplitude. ``Law.params`` is the only place that defines the
names, bounds, units and order of the parameters. Prediction, gradient and LaTeX are computed from the terms.
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

__all__ = ["Derived", "Floats", "Law", "Param", "Point", "Values", "axis_words"]

AXIS_WORDS = {"N": "size", "D": "data", "C": "compute", "U": "unique samples"}
"""Words that replace the names of columns in the title of a law."""
ANY_COLUMN = "one column"
"""Words in a title for a column that the user has not chosen yet."""


def axis_words(axis: str) -> str:
    """Return the words for the column ``axis`` in the title of a law, such as "data" for D."""
    return AXIS_WORDS.get(axis, axis)


@dataclass(frozen=True)
class Param:
    """A parameter of a law: its bounds, unit, meaning and LaTeX. The unit "loss" means the unit of the loss."""

    name: str
    low: float
    high: float
    unit: str
    meaning: str
    latex: str

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest allowed value."""
        return (self.low, self.high)


@dataclass(frozen=True)
class Derived:
    """A number that is computed from the parameters: ``value(values)``, where ``values`` and the result are arrays.

    ``absent`` is the text that is shown if the number is not finite.
    """

    name: str
    meaning: str
    latex: str
    value: Callable[[Values], Floats]
    absent: str = "not defined"


@dataclass(frozen=True)
class Point:
    """A point of the compute-optimal frontier; arrays broadcast.

    N or D is NaN if the law does not determine this number. ``U`` is the number of unique samples, and infinite if this
    number is not limited. If D is larger than ``U``, samples are repeated.
    """

    N: Floats
    D: Floats
    C: Floats
    loss: Floats
    U: Floats = field(default_factory=lambda: np.asarray(np.inf))


@dataclass(frozen=True)
class Law:
    """A scaling law.

    ``name`` is the code name in links, JSON and the terminal; ``title`` is the name in words that people read, such as
    "Loss over size and data (Chinchilla)".

    ``estimator`` is the method that determines the parameters:

    - "surface" fits the sum of the terms to every run.
    - "formula" fits an expression to every run.
    - "parabola" fits a parabola in log N for each budget, then a power law to the minima.
    - "envelope" fits power laws to the lower envelope of the training curves.
    - "threshold" separates two classes of runs.

    Closed forms (None if the law has none):

    - ``frontier(values, C, rule)`` is the point with the lowest loss at C FLOPs.
    - ``least_compute(values, loss, rule)`` is the point with the lowest C that reaches a loss (inf below the floor).
    - ``samples(values, N, loss)`` is the D with which a model of N parameters reaches a loss (inf if no D does).
    - ``inverse(values, y)`` is the value on the axis at which a one-axis law equals y.
    - ``optimum(values)`` is the value on the axis at which y is minimal: 0 or inf if y decreases towards that end, NaN
      if there is no optimum.
    - ``repetition(values)`` are L_inf, B_rep and beta_rep of a law that can describe runs that repeat their samples
      until the loss stops decreasing.

    ``axis`` is the column of a one-axis law. If the user can choose the column, ``axis_roles`` are the roles that the
    column may have, ``with_axis(column)`` returns the law over another column, and the catalogue contains the law over
    a placeholder.

    ``minimised`` is False for a law that always describes y; other laws describe -y if larger y is better.
    ``extra_columns`` are columns that the estimator needs but the terms do not contain. ``level`` names the parameter
    that is the limit of y, if this limit is not a floor. ``counts_updates`` is True if y is the number of training
    steps to a target.
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
        """An identifier of the law with its axis, such as ``chinchilla`` or ``power-N``."""
        return f"{self.name}-{self.axis}" if self.axis else self.name

    @property
    def family_title(self) -> str:
        """The title before the user has chosen a column, such as "Loss over one column (power law)"."""
        if self.with_axis is None or self.axis is None:
            return self.title
        return self.title.replace(f"over {axis_words(self.axis)}", f"over {ANY_COLUMN}")

    @property
    def is_pointwise(self) -> bool:
        """Whether the law predicts the loss of each single run, so that each run has a residual."""
        return self.estimator in ("surface", "formula")

    @property
    def is_surface(self) -> bool:
        """Whether the columns of the law are N and D, possibly with unique samples U."""
        return set(self.axes) - {"U"} == {"N", "D"}

    @property
    def repeats(self) -> bool:
        """Whether the law describes the effect of repeated samples, that is, whether U is one of its columns."""
        return "U" in self.axes

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of ``params``."""
        return tuple(p.name for p in self.params)

    @property
    def axes(self) -> tuple[str, ...]:
        """The columns of the law, in the order of its terms."""
        return tuple(dict.fromkeys(t.axis for t in self.terms if t.axis is not None))

    @property
    def latex(self) -> str:
        """The LaTeX of the law, with left-hand and right-hand side."""
        tex = {p.name: p.latex for p in self.params}
        left = f"{self.symbol}({', '.join(symbol(a) for a in self.axes)})"
        return f"{left} = " + " + ".join(t.latex(tex) for t in self.terms)

    @property
    def text(self) -> str:
        """The law in plain characters, such as "L(N, D) = E + A / N^alpha + B / D^beta"."""
        return f"{self.symbol}({', '.join(self.axes)}) = " + " + ".join(t.text() for t in self.terms)

    @property
    def positive(self) -> tuple[str, ...]:
        """The columns that must be above zero."""
        return tuple(dict.fromkeys(t.axis for t in self.terms if t.axis is not None and t.positive))

    def param(self, name: str) -> Param:
        """Return the parameter called ``name``; raises PlannerError, which lists all parameters, if there is none."""
        for p in self.params:
            if p.name == name:
                return p
        raise PlannerError(f"{self.name} has no parameter {name!r}: its parameters are {', '.join(self.names)}.")

    def values(self, theta: ArrayLike) -> dict[str, Floats]:
        """Return the parameters by name; ``theta`` has the shape (..., p), and each value has the shape (...)."""
        t = np.asarray(theta, float)
        return {name: t[..., i] for i, name in enumerate(self.names)}

    def predict(self, theta: ArrayLike, columns: Mapping[str, ArrayLike]) -> Floats:
        """Return the predicted loss at ``columns`` for the parameters ``theta``.

        ``theta`` has the shape (..., p). ``columns`` contains an array of shape s for each axis. The result has the
        shape (..., *s).
        """
        t, x = self._broadcast(theta, columns)
        return sum((term.value(t, x[term.axis]) for term in self.terms), start=np.zeros(()))

    def gradient(self, theta: ArrayLike, columns: Mapping[str, ArrayLike]) -> Floats:
        """Return the derivatives of the loss with respect to the parameters at ``columns``: shape (..., *s, p)."""
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
