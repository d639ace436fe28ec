"""The fit of a formula as an optimisation problem: its objective and derivatives at many points at once.

The solver replaces a parameter ``a`` by ``u``, with ``a = s sinh(u)``. The scale ``s`` is ``UNIT`` times the value of
``a`` at the start. The function sinh is linear near zero, so ``a`` can change its sign or reach a bound at zero. Far
from zero, sinh is exponential, so ``a`` can change by decades.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.samples.sample import Sample
from isoplan.engine.fitting.solver.descent import Local, descend
from isoplan.engine.fitting.solver.objectives import Loss, Objective
from isoplan.engine.fitting.solver.penalty import Penalty
from isoplan.engine.fitting.solver.problem import BLOCK, blocks, objective
from isoplan.engine.formula import Node, jet, value
from isoplan.engine.laws.expression import FormulaLaw

UNIT, FAR = 0.1, 25.0
"""UNIT: ratio of the scale ``s`` to the parameter ``a`` at the start. FAR: maximum of ``|u|`` in ``a = s sinh(u)``.

A parameter can grow by nine decades in one descent.
"""


@dataclass(frozen=True, eq=False)
class Expression:
    """The problem of fitting a formula with p parameters to n runs.

    Arrays of parameters theta (..., p) have the order of ``names``.
    """

    tree: Node
    names: tuple[str, ...]
    columns: Mapping[str, Floats]  # (n,)
    y: Floats  # (n,)
    weight: Floats  # (n,)
    low: Floats  # (p,); low = high if a parameter is fixed
    high: Floats  # (p,)
    objective: Objective
    penalty: Penalty | None = None
    redrawn: Floats | None = None  # (r, n): y of each resample; None if all have the same y

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the parameters that are not fixed."""
        return tuple(n for n, low, high in zip(self.names, self.low, self.high, strict=True) if low < high)

    def take(self, rows: slice | Ints) -> dict[str, Floats]:
        """Return the columns at the runs ``rows``."""
        return {name: x[rows] for name, x in self.columns.items()}

    def predict(self, theta: Floats) -> Floats:
        """Return the predictions (n,) of the formula with the parameters ``theta`` (p,)."""
        with np.errstate(all="ignore"):
            return value(self.tree, {**self.columns, **dict(zip(self.names, theta, strict=True))}) + np.zeros(self.n)

    def residual(self, predicted: Floats, rows: slice | Ints, owner: Ints | None = None) -> Floats:
        """Return the residuals of the runs ``rows``: predicted - y, or log(predicted / y) if the objective uses logs.

        If each resample has its own y, the y of the resamples ``owner`` is used. On a log scale, the residual of a
        prediction of zero or less is infinite or NaN.
        """
        y = self.y[rows] if self.redrawn is None or owner is None else self.redrawn[owner, rows]
        return np.log(predicted / y) if self.objective.log else predicted - y


def expression(s: Sample, law: FormulaLaw) -> Expression:
    """Return the problem of fitting ``law`` to the runs of the sample ``s``."""
    ends = [(s.spec.fixed[p.name],) * 2 if p.name in s.spec.fixed else (p.low, p.high) for p in law.params]
    low, high = np.array(ends, float).T
    y = -s.y if law.turned else s.y
    return Expression(law.formula.tree, law.names, s.columns, y, s.weight, low, high, objective(s.spec, y))


def refine(
    e: Expression, theta: Floats, weight: Floats, owner: Ints, loss: Loss, short: float = 0.0, order: int = 2
) -> tuple[Floats, Floats]:
    """Return local minima (b, p) and their objectives (b,) from the starts ``theta`` (b, p).

    The objective is inf if a start has no minimum. ``weight`` (r, n) are the weights of the runs in each resample, and
    ``owner`` (b,) is the resample of each start. ``short`` adds damping: the diagonal of the Gauss-Newton matrix is
    multiplied by 1 + ``short``, which shortens the steps in a flat valley. Starts far from the optimum need such short
    steps. For starts close to the optimum, short steps only increase the number of steps. If ``order`` is 1, the second
    derivatives of the formula are not used (Levenberg-Marquardt). Their computation is slow for many parameters. If a
    law fits exactly and the start is far from the optimum, they also lead to other minima.
    """
    theta = np.clip(theta, e.low, e.high)
    scale = UNIT * np.where(theta == 0, 1.0, np.abs(theta))
    low, high = (np.clip(np.arcsinh(end / scale), -FAR, FAR) for end in (e.low, e.high))

    def outer(u: Floats, index: Ints) -> Floats:
        return np.clip(scale[index] * np.sinh(u), e.low, e.high)

    def here(u: Floats, index: Ints) -> Local:
        at = outer(u, index)
        found = local(e, at, weight, owner[index], loss, order)
        slope = scale[index] * np.cosh(u)  # d theta / du
        both = slope[:, :, None] * slope[:, None, :]
        hessian = found.hessian * both
        every = np.arange(len(e.names))
        if order > 1:
            hessian[:, every, every] += found.gradient * at  # d2 theta / du2 = theta
        gauss = found.gauss * both
        gauss[:, every, every] *= 1.0 + short
        return Local(found.value, found.gradient * slope, hessian, gauss)

    with np.errstate(all="ignore"):
        u, lowest = descend(here, np.arcsinh(theta / scale), low, high, loss, e.n)
    return outer(u, np.arange(len(u))), lowest


def local(e: Expression, theta: Floats, weight: Floats, owner: Ints, loss: Loss, order: int = 2) -> Local:
    """Return the objective (inf where the formula is undefined) and its derivatives at ``theta`` (b, p).

    If ``order`` is 1, the Hessian does not contain the second derivatives of the formula. The sums are computed in
    blocks that fit the processor's cache.
    """
    b, p = theta.shape
    out = Local(np.zeros(b), np.zeros((b, p)), np.zeros((b, p, p)), np.zeros((b, p, p)))
    for at in blocks(b, BLOCK // min(e.n, BLOCK)):
        for rows in blocks(e.n, BLOCK):
            _add(out, at, e, rows, theta[at], weight[owner[at], rows], owner[at], loss, order)
    out.value[~np.isfinite(out.value)] = np.inf
    return out if e.penalty is None else out.plus(*e.penalty.derivatives(theta, owner))


def _add(
    out: Local,
    at: slice,
    e: Expression,
    rows: slice,
    theta: Floats,
    weight: Floats,
    owner: Ints,
    loss: Loss,
    order: int,
) -> None:
    """Add the objective of the runs ``rows`` and its derivatives to the entries ``at`` of ``out``."""
    place = {name: i for i, name in enumerate(e.names)}
    free = set(e.free)
    values = {name: theta[:, i, None] for name, i in place.items()}
    held = e.take(rows) | {name: x for name, x in values.items() if name not in free}
    with np.errstate(all="ignore"):
        found = jet(e.tree, held, {name: x for name, x in values.items() if name in free}, order)
        f = np.broadcast_to(found.value, weight.shape)
        r = np.where(weight > 0, e.residual(f, rows, owner), 0.0)
        slope, curve, irls = e.objective.slopes(loss, r, f, weight)
        out.value[at] += np.sum(weight * loss.value(r), axis=-1)
        first = np.zeros((len(theta), len(e.names), weight.shape[1]))
        for name, x in found.first.items():
            first[:, place[name]] = x
        turned = first.transpose(0, 2, 1)
        out.gradient[at] += np.matmul(first, slope[..., None])[..., 0]
        out.hessian[at] += np.matmul(first * curve[:, None], turned)
        out.gauss[at] += np.matmul(first * irls[:, None], turned)
        for (one, other), x in found.second.items():
            i, j = place[one], place[other]
            total = np.sum(slope * x, axis=-1)
            out.hessian[at, i, j] += total
            if i != j:
                out.hessian[at, j, i] += total
