"""Laws that are given by one formula, in the catalogue or typed by the user, such as ``E + A/N^alpha + B/D^beta``.

Value, derivatives and LaTeX are computed from the tree of the formula. Names of columns are variables, and all other
names are parameters. By default, a parameter in the base of a power is positive and other parameters have no bounds;
the user can set bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import Formula, Node, as_latex, cut, jet, names, nodes, parse_formula, short, symbol, value
from isoplan.engine.laws import numeric
from isoplan.engine.laws.law import Law, Param
from isoplan.engine.laws.terms import Values

ENDLESS = 1e300
"""A finite number that replaces infinity in a formula. Infinity itself would give undefined ratios."""
NOTHING = 1e-12
"""The value of a formula at infinite N, D, C and U counts as zero if its absolute value is at most this number."""
ORDER = ("N", "D", "C", "U", "epochs")


@dataclass(frozen=True, kw_only=True)
class FormulaLaw(Law):
    """A law whose loss is the value of ``formula``. Names in the formula that are not parameters are columns.

    ``turned`` is True if the formula describes a quantity of which larger values are better; the loss of the law is
    then minus the formula. ``shown`` is the LaTeX of the right-hand side, for formulas whose automatic LaTeX is hard to
    read.
    """

    formula: Formula
    turned: bool = False
    shown: str = ""

    @property
    def axes(self) -> tuple[str, ...]:
        """The columns in the formula: first N, D, C, U and epochs, then all others by name."""
        found = self.formula.names - set(self.names)
        return tuple(sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)))

    @property
    def positive(self) -> tuple[str, ...]:
        """The columns that must be above zero: N, D, C, U, epochs, and the axis of a one-axis law of the catalogue.

        The other columns of a typed law may have any value.
        """
        return tuple(axis for axis in self.axes if axis in ORDER or self.with_axis is not None)

    @property
    def latex(self) -> str:
        symbols = {p.name: p.latex for p in self.params}
        left = f"({', '.join(symbol(axis) for axis in self.axes)})"
        return f"{self.symbol}{left} = {self.shown or as_latex(self.formula.tree, symbols)}"

    @property
    def text(self) -> str:
        return f"{self.symbol}({', '.join(self.axes)}) = {' '.join(self.formula.text.split())}"

    def predict(self, theta: ArrayLike, columns: Mapping[str, ArrayLike]) -> Floats:
        t, x = self._broadcast(theta, columns)
        with np.errstate(all="ignore"):
            found = np.asarray(value(self.formula.tree, {**_named(x), **t}))
        return -found if self.turned else found

    def gradient(self, theta: ArrayLike, columns: Mapping[str, ArrayLike]) -> Floats:
        t, x = self._broadcast(theta, columns)
        found = jet(self.formula.tree, _named(x), t)
        zero = np.zeros(np.broadcast_shapes(found.value.shape, *(v.shape for v in t.values())))
        sign = -1.0 if self.turned else 1.0
        return np.stack([sign * found.first.get(name, zero) + zero for name in self.names], axis=-1)

    def limit(self, values: Values) -> Floats:
        """Return the loss for very large N, D, C and U.

        The result is zero if the formula has no finite limit, or depends on columns other than N, D, C and U.
        """
        if not set(self.axes) <= {"N", "D", "C", "U"}:
            return np.zeros(())
        with np.errstate(all="ignore"):
            found = np.asarray(value(self.formula.tree, {**values, **dict.fromkeys(self.axes, np.array(ENDLESS))}))
        there = np.isfinite(found) & (np.abs(found) > NOTHING)
        return np.where(there, -found if self.turned else found, 0.0)


def _named(columns: Mapping[str | None, Floats]) -> dict[str, Floats]:
    return {name: x for name, x in columns.items() if name is not None}


EXAMPLE = "E + A/N^alpha + B/D^beta"
MOST = 12
"""Maximum number of parameters of a typed law."""
Bound = tuple[str, float | None, float | None]


@lru_cache(maxsize=256)
def typed_law(
    text: str, bounds: tuple[Bound, ...] = (), columns: tuple[str, ...] = (), turned: bool = False
) -> FormulaLaw:
    """Return the law that is given by the formula ``text``.

    ``bounds`` contains (name, low, high) for parameters; None means no bound. N, D, C, U and epochs are always
    columns, and ``columns`` are further columns. ``turned`` is True if larger values of the formula are better. Raises
    PlannerError for a formula that is invalid, has no column, no parameter or too many parameters, and for an invalid
    bound.
    """
    if not text.strip():
        raise PlannerError(f"The law formula needs a formula: type one such as {EXAMPLE}.")
    formula = parse_formula(text)
    variables = formula.names & {*ORDER, *columns}
    unknown = sorted(formula.quoted - variables)
    if unknown:
        raise PlannerError(
            f"The formula {short(text)} uses {short(unknown[0])}, which is not a column of the runs: give a metric or "
            "hyperparameter this name on the Data page. For a parameter, write the name without quotes."
        )
    if not variables:
        raise PlannerError(
            f"The formula {short(text)} uses no column: a law reads N, D, C, U, epochs, or a metric or hyperparameter "
            "by its name; names are case-sensitive."
        )
    found = [node.name for node in nodes(formula.tree) if node.kind == "name" and node.name not in variables]
    parameters = tuple(dict.fromkeys(found))
    if not parameters:
        raise PlannerError(f"The formula {short(text)} has no parameter, so there is nothing to fit.")
    if len(parameters) > MOST:
        listed = cut(", ".join(parameters))
        raise PlannerError(
            f"The formula {short(text)} has {len(parameters)} parameters ({listed}): use at most {MOST}."
        )
    made = formula_law("formula", "Your own formula", formula, bounds, variables)
    return replace(
        made,
        summary=formula.text,
        reference="typed by the user",
        needs="every column that the formula reads, and more runs than it has parameters.",
        turned=turned,
        symbol="y" if turned else "L",
        **_planned(formula, made.axes, -1.0 if turned else 1.0),
    )


def named_law(
    name: str,
    title: str,
    text: str,
    *,
    summary: str,
    reference: str,
    meanings: Mapping[str, str],
    bounds: tuple[Bound, ...] = (),
) -> FormulaLaw:
    """Return a law of the catalogue that is given by a formula of N, D, C, U or epochs.

    Its frontier is searched numerically. ``meanings`` describes each parameter in words. ``bounds`` contains (name,
    low, high) for parameters; None means no bound.
    """
    formula = parse_formula(text)
    made = formula_law(name, title, formula, bounds, formula.names & set(ORDER))
    return replace(
        made,
        summary=summary,
        reference=reference,
        needs=f"{', '.join(made.axes)} and loss, of more than {len(made.params)} runs.",
        params=tuple(replace(p, meaning=meanings[p.name]) for p in made.params),
        **_planned(formula, made.axes, 1.0),
    )


def formula_law(name: str, title: str, formula: Formula, bounds: tuple[Bound, ...], variables: Set[str]) -> FormulaLaw:
    """Return the law given by ``formula``. Names other than ``variables`` are parameters, in order of first use."""
    found = [node.name for node in nodes(formula.tree) if node.kind == "name" and node.name not in variables]
    parameters = tuple(dict.fromkeys(found))
    ends = _bounds(formula, parameters, bounds)
    axes = sorted(variables)
    return FormulaLaw(
        name=name,
        title=title,
        summary="",
        terms=(),
        params=tuple(Param(p, *ends[p], "", "parameter of the formula", symbol(p)) for p in parameters),
        reference="",
        needs="",
        estimator="formula",
        formula=formula,
        axis=axes[0] if len(axes) == 1 else None,
    )


def _planned(formula: Formula, axes: tuple[str, ...], sign: float) -> dict[str, Any]:
    """Return the fields ``frontier`` and ``least_compute`` of a law with this formula, as keyword arguments.

    The two functions search numerically. The result contains them if the columns of the formula are N and D, or only
    one of N, D and C. Otherwise it is empty.
    """
    if len(axes) == 1 and axes[0] in ("N", "D", "C"):
        return numeric.one_axis(axes[0], lambda v, x: sign * value(formula.tree, {**v, axes[0]: x}))
    if set(axes) != {"D", "N"}:
        return {}

    def loss(v: Values, N: Floats, D: Floats) -> Floats:
        return sign * value(formula.tree, {**v, "N": N, "D": D})

    return {
        "frontier": lambda v, C, rule: numeric.frontier(loss, v, C, rule),
        "least_compute": lambda v, target, rule: numeric.least_compute(loss, v, target, rule),
    }


def _bounds(formula: Formula, parameters: tuple[str, ...], bounds: tuple[Bound, ...]) -> dict[str, tuple[float, float]]:
    positive = _positive(formula.tree)
    ends = {name: (0.0 if name in positive else -np.inf, np.inf) for name in parameters}
    for name, low, high in bounds:
        if name not in ends:
            raise PlannerError(
                f"{short(name)} has a bound but is not a parameter: the parameters of the formula are "
                f"{', '.join(parameters)}."
            )
        own = ends[name]
        ends[name] = own[0] if low is None else low, own[1] if high is None else high
        if not ends[name][0] < ends[name][1]:
            raise PlannerError(
                f"The bounds of {name} are {ends[name][0]:g} to {ends[name][1]:g}: the first must be the smaller one."
            )
    return ends


def _positive(tree: Node) -> frozenset[str]:
    """Return the names that must be positive, because they are in the base of a power with a variable exponent.

    Such a name is the base itself or a factor of the base, for example A and N in ``(A*N)^alpha``.
    """
    found: set[str] = set()
    for node in nodes(tree):
        if node.kind == "chain" and node.operators == ("^",) and names(node.children[1]):
            base = node.children[0]
            factors = [part for operator, part in base.links] if "*" in base.operators or "/" in base.operators else []
            found |= {part.name for part in (base, *factors) if part.kind == "name"}
    return frozenset(found)
