"""Power laws whose slope changes smoothly at one or two breaks, on one axis (Caballero et al. 2022, eq. 1).

y = a + b x^-c0 prod_i (1 + (x/d_i)^(1/f_i))^(-c_i f_i): the slope is -c0 before the first break d_1 and -(c0 + c1)
after it, and f_i is the width of the bend in ln x. A second break is given by its distance from the first, so that the
two cannot exchange places between resamples.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import parse_formula, symbol, value
from isoplan.engine.laws.catalogue.power import AXIS_UNITS
from isoplan.engine.laws.expression import FormulaLaw
from isoplan.engine.laws.law import Derived, Param
from isoplan.engine.laws.numeric import inverse, one_axis
from isoplan.engine.laws.terms import Values

SHARPEST = 0.05
"""Smallest f. Below it the bend is a corner, and the power 1/f overflows."""


@lru_cache
def broken_power_law(axis: str, breaks: int) -> FormulaLaw:
    """Return the law with one or two breaks over the column ``axis``; on N, D or C it can also compute the cost of a
    target.
    """
    x, tex = (axis if axis.isidentifier() and axis.isascii() else f'"{axis}"'), symbol(axis)
    bends = f"(1 + ({x}/d1)^(1/f1))^(-c1*f1)"
    params = [
        Param("a", 0.0, np.inf, "loss", f"floor: the loss at infinite {axis}", "a"),
        Param("b", 0.0, np.inf, "loss", "size of the falling part", "b"),
        Param("c0", 0.0, 2.0, "", "exponent before the first break", "c_0"),
        Param("c1", -2.0, 2.0, "", "change of the exponent at the first break", "c_1"),
        Param("d1", 0.0, np.inf, AXIS_UNITS.get(axis, axis), "where the first break is", "d_1"),
        Param("f1", SHARPEST, 5.0, "", "width of the first break in powers of e", "f_1"),
    ]
    derived: tuple[Derived, ...] = ()
    shown = rf"\left(1 + \left(\frac{{{tex}}}{{d_1}}\right)^{{1/f_1}}\right)^{{-c_1 f_1}}"
    if breaks == 2:
        bends += f"*(1 + ({x}/(d1*r2))^(1/f2))^(-c2*f2)"
        shown += rf"\left(1 + \left(\frac{{{tex}}}{{r_2 d_1}}\right)^{{1/f_2}}\right)^{{-c_2 f_2}}"
        params += [
            Param("c2", -2.0, 2.0, "", "change of the exponent at the second break", "c_2"),
            Param("r2", 1.0, 1e9, "", "the second break over the first", "r_2"),
            Param("f2", SHARPEST, 5.0, "", "width of the second break in powers of e", "f_2"),
        ]
        derived = (Derived("d2", "where the second break is", "d_2 = r_2 d_1", lambda v: v["r2"] * v["d1"]),)
    if '"' in axis or any(axis == p.name for p in params):
        raise PlannerError(f"A column called {axis!r} cannot be the axis of a broken power law: rename it.")
    formula = parse_formula(f"a + b*{x}^(-c0)*{bends}")

    def curve(v: Values, x: Floats) -> Floats:
        return value(formula.tree, {**v, axis: x})

    return FormulaLaw(
        name="broken" if breaks == 1 else f"broken-{breaks}",
        title=f"One axis with {'a break' if breaks == 1 else f'{breaks} breaks'}: loss against {axis}",
        summary=f"A floor plus a power of {axis} whose exponent changes smoothly {'once' if breaks == 1 else 'twice'}. "
        "For curves that bend in a log-log plot.",
        terms=(),
        params=tuple(params),
        reference="Caballero et al. 2022, arXiv:2210.14891, eq. 1",
        needs=f"{axis} and loss on both sides of every break: more than {len(params)} runs. The best of 64 starts.",
        estimator="formula",
        formula=formula,
        shown=f"a + b \\, {tex}^{{-c_0}} {shown}",
        axis=axis,
        axis_roles=("N", "D", "C", "hyperparameter", "U", "epochs"),
        with_axis=lambda column: broken_power_law(column, breaks),
        inverse=lambda v, y: inverse(curve, v, y),
        derived=derived,
        **(one_axis(axis, curve) if axis in AXIS_UNITS else {}),
    )
