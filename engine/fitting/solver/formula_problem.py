"""The problem of fitting a formula law: objective and derivatives at many points at once.

Each start measures a parameter a in units s of its own size: a = s sinh(u). This is linear near zero, so that signs can
change and bounds at zero can be reached. It is logarithmic far from zero, so that a scale can change by decades.
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
"""Ratio of s to the parameter at its start, and the largest |u|: a parameter changes by at most nine decades in a
descent.
"""


@dataclass(frozen=True, eq=False)
class Expression:
    """A formula of p parameters over n runs; theta (..., p) is in the order of ``names``."""

    tree: Node
    names: tuple[str, ...]
    columns: Mapping[str, Floats]  # (n,)
    y: Floats  # (n,)
    weight: Floats  # (n,)
    low: Floats  # (p,); equal to high if a parameter is fixed
    high: Floats  # (p,)
    objective: Objective
    penalty: Penalty | None = None
    redrawn: Floats | None = None  # (r, n): y of each resample, if the resamples have different y

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def free(self) -> tuple[str, ...]:
        """The parameters that are not fixed."""
        return tuple(n for n, low, high in zip(self.names, self.low, self.high, strict=True) if low < high)

    def take(self, rows: slice | Ints) -> dict[str, Floats]:
        """Return the columns at some rows."""
        return {name: x[rows] for name, x in self.columns.items()}

    def predict(self, theta: Floats) -> Floats:
        """Return predictions (n,) at one point ``theta`` (p,)."""
        with np.errstate(all="ignore"):
            return value(self.tree, {**self.columns, **dict(zip(self.names, theta, strict=True))}) + np.zeros(self.n)

    def residual(self, predicted: Floats, rows: slice | Ints, owner: Ints | None = None) -> Floats:
        """Return the residual in the objective, for the resamples ``owner``, or else for the runs themselves.

        A prediction of zero or less has no residual on a log scale (inf or NaN).
        """
        y = self.y[rows] if self.redrawn is None or owner is None else self.redrawn[owner, rows]
        return np.log(predicted / y) if self.objective.log else predicted - y


def expression(s: Sample, law: FormulaLaw) -> Expression:
    """Build the problem of fitting ``law`` to the runs of ``s``."""
    ends = [(s.spec.fixed[p.name],) * 2 if p.name in s.spec.fixed else (p.low, p.high) for p in law.params]
    low, high = np.array(ends, float).T
    y = -s.y if law.turned else s.y
    return Expression(law.formula.tree, law.names, s.columns, y, s.weight, low, high, objective(s.spec, y))


def refine(
    e: Expression, theta: Floats, weight: Floats, owner: Ints, loss: Loss, short: float = 0.0
) -> tuple[Floats, Floats]:
    """Find local minima from starts ``theta`` (b, p): parameters (b, p) and objective (b), inf without minimum.

    ``weight`` (r, n) are the weights of the resamples, ``owner`` (b) the resample of each start. ``short`` damps each
    parameter by this multiple of its own curvature. The steps are then small in a flat valley, as starts far from the
    optimum need; close starts only become slower.
    """
    theta = np.clip(theta, e.low, e.high)
    scale = UNIT * np.where(theta == 0, 1.0, np.abs(theta))
    low, high = (np.clip(np.arcsinh(end / scale), -FAR, FAR) for end in (e.low, e.high))

    def outer(u: Floats, index: Ints) -> Floats:
        return np.clip(scale[index] * np.sinh(u), e.low, e.high)

    def here(u: Floats, index: Ints) -> Local:
        at = outer(u, index)
        found = local(e, at, weight, owner[index], loss)
        slope = scale[index] * np.cosh(u)  # d theta / du; theta is its own second derivative
        both = slope[:, :, None] * slope[:, None, :]
        hessian = found.hessian * both
        every = np.arange(len(e.names))
        hessian[:, every, every] += found.gradient * at
        gauss = found.gauss * both
        gauss[:, every, every] *= 1.0 + short
        return Local(found.value, found.gradient * slope, hessian, gauss)

    with np.errstate(all="ignore"):
        u, lowest = descend(here, np.arcsinh(theta / scale), low, high, loss, e.n)
    return outer(u, np.arange(len(u))), lowest


def local(e: Expression, theta: Floats, weight: Floats, owner: Ints, loss: Loss) -> Local:
    """Return the objective (inf if the formula is undefined) and derivatives at ``theta`` (b, p), in cache-sized
    blocks.
    """
    b, p = theta.shape
    out = Local(np.zeros(b), np.zeros((b, p)), np.zeros((b, p, p)), np.zeros((b, p, p)))
    for at in blocks(b, BLOCK // min(e.n, BLOCK)):
        for rows in blocks(e.n, BLOCK):
            _add(out, at, e, rows, theta[at], weight[owner[at], rows], owner[at], loss)
    out.value[~np.isfinite(out.value)] = np.inf
    return out if e.penalty is None else out.plus(*e.penalty.derivatives(theta, owner))


def _add(
    out: Local, at: slice, e: Expression, rows: slice, theta: Floats, weight: Floats, owner: Ints, loss: Loss
) -> None:
    """Add the sums over some rows to ``out``."""
    place = {name: i for i, name in enumerate(e.names)}
    free = set(e.free)
    values = {name: theta[:, i, None] for name, i in place.items()}
    held = e.take(rows) | {name: x for name, x in values.items() if name not in free}
    with np.errstate(all="ignore"):
        found = jet(e.tree, held, {name: x for name, x in values.items() if name in free})
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
