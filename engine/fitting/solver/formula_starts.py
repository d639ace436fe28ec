"""Starting points for the fit of a formula.

At each start, least squares determines the parameters in which the formula is linear (variable projection, Golub &
Pereyra 1973, SIAM J. Numer. Anal. 10, 413). Only the nonlinear parameters are drawn at random. The columns of the
runs determine the magnitudes of the draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.solver.formula_problem import Expression
from isoplan.engine.fitting.solver.linear import solve_definite
from isoplan.engine.fitting.solver.problem import BLOCK, blocks
from isoplan.engine.formula import Node, jet, names, nodes, value

STARTS, TRIED = 64, 16
"""STARTS: number of starting points. TRIED: number of random draws per starting point and nonlinear parameter.

Each starting point is the best of its random draws.
"""
ORDINARY = (0.01, 3.0)
"""Range of the random draws of exponents and other dimensionless parameters."""
DECADES = 3.0
"""Number of decades (powers of ten) by which ``magnitudes`` extends an estimated range at each end."""
SEEN = 128
"""Maximum number of runs used to compare random draws. A larger table is reduced to this number of runs."""
INERT = 1e-12
"""A parameter ``a`` has no effect if ``abs(d ln f / d ln a)`` is at most this number for every prediction ``f``."""


def linear(e: Expression) -> tuple[str, ...]:
    """Return the names of free parameters in which the formula is jointly linear.

    All second derivatives of the formula with respect to these parameters are zero.
    """
    free = e.free
    one = {name: np.ones(1) for name in e.names}
    columns = {name: x[:1] for name, x in e.columns.items()}
    held = {name: x for name, x in one.items() if name not in free}
    pairs = jet(e.tree, columns | held, {name: one[name] for name in free}).second.keys()
    found: list[str] = []
    for name in free:
        if not any(name in pair and {*pair} <= {name, *found} for pair in pairs):
            found.append(name)
    return tuple(found)


def starts(e: Expression, seed: int) -> Floats:
    """Return up to ``STARTS`` starting points (s, p), the best first. ``seed`` determines the random draws.

    Raises PlannerError if a parameter has no effect, or if no draw gives a finite prediction for every run.
    """
    random = np.random.Generator(np.random.Philox(key=np.array([seed, 2**64 - 1], np.uint64)))
    amplitudes = linear(e)
    theta = _draws(e, amplitudes, random)
    part = _thinned(e)
    worth = np.full(len(theta), np.inf)
    moves = np.zeros(len(e.names))
    for at in blocks(len(theta), max(BLOCK // part.n, 1)):
        theta[at] = _projected(part, amplitudes, theta[at])
        worth[at], moved = _worth(part, theta[at])
        moves = np.fmax(moves, moved)
    inert = [n for n, m in zip(e.names, moves, strict=True) if n in e.free and m <= INERT]
    if inert and np.isfinite(worth).any():
        raise PlannerError(
            f"The parameter {inert[0]} has no effect: the formula gives the same numbers for all its values. Leave it "
            f"out or fix it."
        )
    groups = worth.reshape(STARTS, -1)
    best = np.argmin(groups, axis=1) + groups.shape[1] * np.arange(STARTS)
    best = best[np.isfinite(worth[best])]
    if best.size == 0:
        needs = " above zero" if e.objective.log else ""
        raise PlannerError(
            f"The formula gives no finite prediction{needs} for every run at any of {len(theta):,} starts: check its "
            "logarithms, roots and powers, or give bounds to its parameters."
        )
    return theta[best[np.argsort(worth[best], kind="stable")]]


def _thinned(e: Expression) -> Expression:
    """Return the problem with at most ``SEEN`` runs, selected at equal steps from the runs sorted by y."""
    if e.n <= SEEN:
        return e
    rows = np.argsort(e.y, kind="stable")[np.linspace(0, e.n - 1, SEEN).astype(np.int64)]
    return replace(e, columns=e.take(rows), y=e.y[rows], weight=e.weight[rows])


def _draws(e: Expression, amplitudes: tuple[str, ...], random: np.random.Generator) -> Floats:
    """Return d random draws (d, p) of the p parameters, within their bounds.

    Only nonlinear free parameters are random. A fixed parameter has its fixed value. A linear parameter is zero, or its
    bound closest to zero.
    """
    found = magnitudes(e.tree, e.columns, set(e.names))
    drawn = set(e.free) - set(amplitudes)
    theta = np.zeros((STARTS * TRIED * max(len(drawn), 1), len(e.names)))
    for i, (name, low, high) in enumerate(zip(e.names, e.low, e.high, strict=True)):
        if name in drawn:
            theta[:, i] = _drawn(low, high, found.get(name, ORDINARY), len(theta), random)
        else:
            theta[:, i] = np.clip(0.0, low, high)
    return np.clip(_scaled(_thinned(e), drawn, theta), e.low, e.high)


def _scaled(e: Expression, drawn: set[str], theta: Floats) -> Floats:
    """Return the draws, with each drawn factor rescaled such that its product with the other factors is about one.

    Example: in exp(s*N^q), the drawn s is divided by the geometric mean of N^q over the runs, computed with the drawn
    q. Then s*N^q is about one for every q.
    """
    theta = theta.copy()
    values = dict(e.columns) | {name: theta[:, i, None] for i, name in enumerate(e.names)}
    for node in nodes(e.tree):
        if node.kind != "chain" or node.operators[0] not in "*/":
            continue
        for i, (operator, part) in enumerate(node.links):
            others = [link for j, link in enumerate(node.links) if j != i]
            read = frozenset[str]().union(*(names(other) for _, other in others))
            if part.name in drawn and read & drawn - {part.name} and read & set(e.columns) and part.name not in read:
                with np.errstate(all="ignore"):
                    logs = [np.log(np.abs(value(x, values))) * (1 if o == "*" else -1) for o, x in others]
                    size = np.exp(-np.mean(sum(logs), axis=-1) * (1 if operator == "*" else -1))
                known = np.isfinite(size) & (size > 0)
                theta[known, e.names.index(part.name)] *= size[known]
    return theta


def _drawn(low: float, high: float, size: tuple[float, float], total: int, random: np.random.Generator) -> Floats:
    """Return ``total`` random values of a parameter with the bounds ``low`` and ``high``.

    If zero is inside the bounds, the sign is random. If one bound is infinite, the distance from the other bound is
    log-uniform in the range ``size``. If both bounds are finite, the values are uniform between the bounds, or
    log-uniform if the bounds differ by more than a factor of 100.
    """
    share = random.random(total)
    if low < 0 < high:
        ends = np.where(random.random(total) < 0.5, low, high)
        top = np.where(np.isfinite(ends), np.abs(ends), size[1])
        least = np.minimum(size[0], top / 100)
        return np.sign(ends) * least * (top / least) ** share
    if np.isfinite(low) and np.isfinite(high):
        if low >= 0 and high > 100 * max(low, ORDINARY[0]):
            floor = max(low, min(size[0], high / 100))
            return floor * (high / floor) ** share
        return low + (high - low) * share
    magnitude = size[0] * (size[1] / size[0]) ** share
    return low + magnitude if np.isfinite(low) else high - magnitude


def magnitudes(tree: Node, columns: Mapping[str, Floats], parameters: set[str]) -> dict[str, tuple[float, float]]:
    """Estimate the magnitude range of each parameter that the formula combines with an expression without parameters.

    If the parameter and the expression are multiplied or divided, their product or ratio is assumed to be about one. If
    they are added or subtracted, they are assumed to have similar magnitudes. The result omits all other parameters.
    """
    found: dict[str, list[float]] = {}
    for node in nodes(tree):
        if node.kind != "chain" or node.operators[0] == "^":
            continue
        known = [(o, part) for o, part in node.links if names(part) and not names(part) & parameters]
        for operator, part in node.links:
            if part.name in parameters and known:
                found.setdefault(part.name, []).extend(_sizes(operator, known, columns))
    spread = 10.0**DECADES
    return {name: (min(sizes) / spread, max(sizes) * spread) for name, sizes in found.items() if sizes}


def _sizes(operator: str, known: list[tuple[str, Node]], columns: Mapping[str, Floats]) -> list[float]:
    with np.errstate(all="ignore"):
        values = [(o, np.abs(value(part, columns))) for o, part in known]
        if operator in "+-":
            sizes = np.concatenate([np.atleast_1d(x) for _, x in values])
        else:
            product = np.prod([x if o == "*" else 1 / x for o, x in values], axis=0)
            sizes = 1 / product if operator == "*" else product
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return [float(sizes.min()), float(sizes.max())] if sizes.size else []


def _projected(e: Expression, amplitudes: tuple[str, ...], theta: Floats) -> Floats:
    """Return the starting points ``theta`` with the linear parameters ``amplitudes`` determined by least squares.

    The linear parameters stay within their bounds. The residuals are relative if the objective uses logarithms.
    """
    if not amplitudes:
        return theta
    theta = theta.copy()
    index = np.array([e.names.index(name) for name in amplitudes])
    theta[:, index] = 0.0
    values = {name: theta[:, i, None] for i, name in enumerate(e.names)}
    held = dict(e.columns) | {name: x for name, x in values.items() if name not in amplitudes}
    found = jet(e.tree, held, {name: values[name] for name in amplitudes}, order=1)
    shape = (len(theta), e.n)
    basis = np.stack([np.broadcast_to(found.first[name], shape) for name in amplitudes], axis=1)
    weight = e.weight / (e.y**2 if e.objective.log else 1.0)
    with np.errstate(all="ignore"):
        weighted = basis * weight
        gram = weighted @ basis.transpose(0, 2, 1)
        right = np.sum(weighted * np.broadcast_to(e.y - found.value, shape)[:, None], axis=-1)
    low, high = e.low[index], e.high[index]
    solved = _least_squares(gram, right, np.zeros(right.shape, bool), np.zeros(right.shape))
    within = np.clip(solved, low, high)
    theta[:, index] = np.clip(_least_squares(gram, right, within != solved, within), low, high)
    return theta


def _least_squares(
    gram: Floats, right: Floats, hold: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], at: Floats
) -> Floats:
    """Solve b systems of normal equations with a small ridge, and return the coefficients (b, k).

    The coefficients are NaN if their matrix is singular. Coefficients in the mask ``hold`` keep their values from
    ``at``.
    """
    unit = np.eye(right.shape[1])
    hold = hold | (np.diagonal(gram, axis1=1, axis2=2) == 0)  # zero diagonal: the coefficient has no effect
    with np.errstate(all="ignore"):
        ridge = gram + 1e-12 * np.diagonal(gram, axis1=1, axis2=2)[:, :, None] * unit
        mask = hold[:, :, None] | hold[:, None, :]
        moved = right - np.matmul(gram, np.where(hold, at, 0.0)[..., None])[..., 0]
        solved, fine = solve_definite(np.where(mask, unit, ridge), np.where(hold, at, moved))
    return np.where(fine[:, None], solved, np.nan)


def _worth(e: Expression, theta: Floats) -> tuple[Floats, Floats]:
    """Return the objective of each starting point (inf if undefined), and the largest effect of each parameter.

    The effect of a parameter ``a`` on a prediction ``f`` is ``abs(d ln f / d ln a)``, or ``abs(d ln f / da)`` if ``a``
    is zero.
    """
    values = {name: theta[:, i, None] for i, name in enumerate(e.names)}
    found = jet(e.tree, e.columns, values, order=1)
    with np.errstate(all="ignore"):
        f = np.broadcast_to(found.value, (len(theta), e.n))
        worth = np.sum(e.weight * e.objective.loss.value(e.residual(f, slice(None))), axis=-1)
        worth = np.where(np.isfinite(worth), worth, np.inf)
        moves = []
        for i, name in enumerate(e.names):
            size = np.where(theta[:, i] == 0, 1.0, np.abs(theta[:, i]))[:, None]
            slope = np.abs(found.first.get(name, np.zeros(())) * size / f)
            shown = np.where(np.isfinite(worth)[:, None], slope, 0.0)
            moves.append(float(np.nanmax(shown, initial=0.0)))
    return worth, np.array(moves)
