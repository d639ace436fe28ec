"""Replay of a task: buy cells of the pool on the advice of ``engine/design``, and test the fitted law.

The outputs of a cell are known only after it is bought. A ``Group`` keeps them separate; fits use only bought cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.scalebench.task import Rows, Task, TaskLaw, output
from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.design.choice import best_sets
from isoplan.engine.design.covariance import centred
from isoplan.engine.design.linear_models import LinearModels
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.estimators.formula import Spread
from isoplan.engine.fitting.solver.formula_problem import Expression, refine
from isoplan.engine.fitting.solver.formula_starts import STARTS, TRIED, starts
from isoplan.engine.fitting.solver.problem import objective
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.formula.tree import value

ROUNDS = 2
"""Number of rounds of advice, purchase and fit before each checkpoint."""
CANDIDATES = 300
"""Maximum number of random affordable cells that one round compares."""
FIRST = 0.5
"""The first cells, which are chosen without a fit, together cost at most this fraction of the first budget."""
EXACT = 1e-3
"""Smallest noise of a cell, as a fraction of the standard deviation of the bought outputs."""
SPREAD = 4.0
"""A fit is plausible if its sum of squares exceeds the smallest one by at most SPREAD * p times the noise variance."""
MEMBERS = 32
"""Number of refits with simulated noise."""
WIDE = 1e3
"""Largest absolute value of a uniform start of a parameter."""
FAR, NEAR = 0.1, 0.01
"""Additional damping of the descents from starts and from minima."""
AGAIN, BEST, SETTLED = 6, 8, 3e-3
"""The ``BEST`` minima are descended again, up to ``AGAIN`` times, until the least sum of squares decreases by less than
the fraction ``SETTLED``. For a law with many parameters and little noise, the sum of squares has narrow valleys, so one
descent ends early.
"""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Fits to the bought cells: the best one (p,), refits to outputs with simulated noise (r, p), and the noise."""

    best: Floats
    members: Floats
    noise: float
    determined: bool  # whether there are more bought outputs than parameters


@dataclass(eq=False)
class Group:
    """The pool of one group and the cells that are bought."""

    law: TaskLaw
    pool: Rows
    test: Rows
    seed: int
    bought: list[int] = field(default_factory=list)
    made: Ensemble | None = None

    def left(self, checkpoint: float) -> float:
        """Return the cost that may still be spent before ``checkpoint``, a fraction of the cost of the pool."""
        return float(checkpoint * self.pool.cost.sum() - self.pool.cost[self.bought].sum())


def replay(task: Task, law: TaskLaw, seed: int) -> list[float]:
    """Return R^2 over the test rows of all groups, clipped to [-1, 1], at each checkpoint of ``task``."""
    groups = [Group(law, pool, test, seed) for pool, test in task.groups.values()]
    true = np.concatenate([group.test.outputs.ravel() for group in groups])
    scores = []
    for checkpoint in task.checkpoints:
        predicted = np.concatenate([buy_and_predict(group, checkpoint).ravel() for group in groups])
        scores.append(r_squared(true, predicted))
    return scores


def r_squared(true: Floats, predicted: Floats) -> float:
    """Return R^2 clipped to [-1, 1]. Rows without a finite prediction are left out; -1 if there is no prediction."""
    known = np.isfinite(predicted)
    if not known.any():
        return -1.0
    true, predicted = true[known], predicted[known]
    total = float(np.sum((true - true.mean()) ** 2))
    rest = float(np.sum((true - predicted) ** 2))
    if total < 1e-30:
        return 1.0 if rest < 1e-30 else -1.0
    return float(np.clip(1 - rest / total, -1.0, 1.0))


def buy_and_predict(group: Group, checkpoint: float) -> Floats:
    """Buy cells up to ``checkpoint`` and return the predicted outputs (m, d) of the test rows; NaN without a cell."""
    if not group.bought:
        group.bought += _first_cells(group, checkpoint)
    if not group.bought:
        return np.full(group.test.outputs.shape, np.nan)
    random = np.random.default_rng([group.seed, len(group.bought)])
    if group.made is None:
        group.made = _refit(group)
    for remaining in range(ROUNDS, 0, -1):
        cells = _advised(group, group.made, group.left(checkpoint), random)
        cells.sort(key=lambda cell: group.pool.cost[cell])
        group.bought += cells[: -(-len(cells) // remaining)]
        group.made = _refit(group) if remaining == 1 else _updated(group, group.made)
    assert group.left(checkpoint) >= -1e-9 * group.pool.cost.sum()
    made = group.made
    if made.determined:
        return group.law.predict(made.best[None], group.test.columns)[0]
    return np.median(group.law.predict(made.members, group.test.columns), axis=0)


def _first_cells(group: Group, checkpoint: float) -> list[int]:
    """Return enough cells for p + 1 outputs, far from each other, with a total cost of at most ``FIRST`` of the spend.

    Each of these cells costs at most this amount divided by their number. If there are too few such cells, the cheapest
    cells are returned.
    """
    cost, spend = group.pool.cost, FIRST * group.left(checkpoint)
    wanted = -(-(len(group.law.names) + 1) // group.pool.outputs.shape[1])
    order = np.argsort(cost, kind="stable")
    cheap = order[cost[order] <= spend / wanted]
    if len(cheap) < wanted:
        affordable = int(np.sum(np.cumsum(cost[order]) <= max(spend, cost[order[0]]) * (1 + 1e-12)))
        return [int(i) for i in order[: min(wanted, affordable)] if cost[order[0]] <= group.left(checkpoint)]
    at = _places(group)[cheap]
    chosen = [int(np.random.default_rng(group.seed).integers(len(cheap)))]
    apart = np.full(len(cheap), np.inf)
    while len(chosen) < wanted:
        apart = np.minimum(apart, np.sum((at - at[chosen[-1]]) ** 2, axis=1))
        apart[chosen] = -1.0
        chosen.append(int(np.argmax(apart)))
    return [int(cheap[i]) for i in chosen]


def _places(group: Group) -> Floats:
    """Return the columns of the law in the pool (m, k), as logarithms if they are positive, in units of their range."""
    found = []
    for name in group.law.columns:
        x = group.pool.columns[name]
        x = np.log(x) if (x > 0).all() else x
        found.append((x - x.min()) / (np.ptp(x) or 1.0))
    return np.column_stack(found)


def _advised(group: Group, made: Ensemble, spend: float, random: np.random.Generator) -> list[int]:
    """Return the cells that narrow the predictions of the test rows most, for at most ``spend``."""
    cost = group.pool.cost
    free = np.setdiff1d(np.flatnonzero(cost <= spend), group.bought)
    if not len(free):
        return []
    if len(free) > CANDIDATES:
        free = np.sort(random.choice(free, CANDIDATES, replace=False))
    most = max(12, len(group.law.names))
    sets = best_sets(_covariance(group, made, free), cost[free], spend, most)
    return [int(free[i]) for i in sets[0]] if sets else []


def _covariance(group: Group, made: Ensemble, cells: Ints) -> LinearModels:
    """Return a linear model of ``cells`` of the pool and the outputs of the test rows, which have equal weights.

    A cell with several outputs counts as one measurement: the combination of its outputs that is most correlated with
    the test rows.
    """
    places = {name: x[cells] for name, x in group.pool.columns.items()}
    r = len(made.members)
    many = group.law.predict(made.members, places)
    q = centred(_bounded(group, group.law.predict(made.members, group.test.columns)).reshape(r, -1))
    z = centred(_bounded(group, many).reshape(r, -1)).reshape(many.shape)
    if many.shape[2] > 1:
        cross = np.einsum("rmd,rk->mdk", z, q)
        first = np.linalg.svd(cross, full_matrices=False)[0][:, :, 0]
        z = np.einsum("rmd,md->rm", z, first)[:, :, None]
    z, q = z[:, :, 0], q[:, np.any(q != 0, axis=0)]  # omit outputs that all members predict equally
    return LinearModels(z.T[None], q.T[None], np.eye(len(z))[None], made.noise**2, np.ones(q.shape[1]))


def _bounded(group: Group, predicted: Floats) -> Floats:
    """Return ``predicted`` (r, m, d) limited to the range of the bought outputs, widened by its width at each end."""
    y = group.pool.outputs[group.bought]
    width = np.ptp(y, axis=0)
    return np.clip(predicted, y.min(axis=0) - width, y.max(axis=0) + width)


def _refit(group: Group) -> Ensemble:
    """Fit the law to the bought cells by plain least squares from many starts, and again with simulated noise."""
    e = _problem(group.law, group.pool, group.bought)
    return _ensemble(e, _fitted(e, group.seed), group.seed)


def _updated(group: Group, made: Ensemble) -> Ensemble:
    """Fit the law to the bought cells from the earlier fits."""
    e = _problem(group.law, group.pool, group.bought)
    return _ensemble(e, _sorted(*_descended(e, np.vstack([made.best, made.members]), NEAR)), group.seed)


def _ensemble(e: Expression, fits: Spread, seed: int) -> Ensemble:
    """Return the best of ``fits`` and refits of the plausible fits to outputs with simulated noise."""
    p, least = len(e.names), float(fits.value[0])
    noise = max(np.sqrt(least / max(e.n - p, 1)), EXACT * float(np.std(e.y)), 1e-12)
    plausible = fits.theta[fits.value <= least + SPREAD * p * noise**2]
    random = np.random.default_rng([seed, e.n])
    part = replace(e, redrawn=e.y + noise * random.standard_normal((MEMBERS, e.n)))
    members, value = _descended(part, np.resize(plausible, (MEMBERS, p)), NEAR)
    return Ensemble(fits.theta[0], members[np.isfinite(value)], float(noise), e.n > p)


def _fitted(e: Expression, seed: int) -> Spread:
    """Return the minima of the least-squares fit from the starts. The best minima are descended further."""
    theta, value = _descended(e, _starts(e, seed), FAR)
    for _ in range(AGAIN):
        first, least = np.argsort(value, kind="stable")[:BEST], np.min(value)
        theta[first], value[first] = _descended(e, theta[first], NEAR)
        if np.min(value) > (1 - SETTLED) * least:
            break
    return _sorted(theta, value)


def _starts(e: Expression, seed: int) -> Floats:
    """Return 64 starts: the best starts of the engine, and starts that are uniform within the bounds.

    Each start is the best of several draws. The starts of the engine suit wide bounds, because least squares determines
    their linear parameters. Uniform starts suit narrow bounds.
    """
    random = np.random.default_rng(seed)
    low, high = np.clip(e.low, -WIDE, WIDE), np.clip(e.high, -WIDE, WIDE)
    drawn = low + (high - low) * random.random((STARTS, TRIED, len(low)))
    squares = _squares(e, drawn.reshape(-1, len(low))).reshape(STARTS, TRIED)
    uniform = drawn[np.arange(STARTS), np.argmin(squares, axis=1)]
    try:
        return np.vstack([starts(e, seed)[: STARTS // 2], uniform[: STARTS // 2]])
    except PlannerError:  # a parameter has no effect on the bought cells
        return uniform


def _squares(e: Expression, theta: Floats) -> Floats:
    """Return the sum of squared residuals (b,) of the parameters ``theta`` (b, p); inf where it is undefined."""
    values = {name: theta[:, i, None] for i, name in enumerate(e.names)}
    with np.errstate(all="ignore"):
        found = np.sum((value(e.tree, {**e.columns, **values}) - e.y) ** 2, axis=1)
    return np.where(np.isfinite(found), found, np.inf)


def _descended(e: Expression, theta: Floats, damping: float) -> tuple[Floats, Floats]:
    """Return the minima (b, p) and their sums of squares (b,) from ``theta`` (b, p).

    If the outputs are redrawn, start i is fitted to redraw i.
    """
    many, owner = len(theta), np.arange(len(theta))
    return refine(e, theta, np.ones((many, e.n)), owner, e.objective.loss, short=damping, order=1)


def _sorted(theta: Floats, value: Floats) -> Spread:
    order = np.argsort(value, kind="stable")
    return Spread(theta[order], value[order], ())


def _problem(law: TaskLaw, pool: Rows, bought: list[int]) -> Expression:
    """Return the least-squares problem of the bought cells, with one row for each cell and output."""
    y = pool.outputs[bought]
    n, d = y.shape
    columns = {name: np.repeat(pool.columns[name][bought], d) for name in law.columns}
    if d > 1:
        columns |= {output(i): np.tile(np.arange(d) == i, n).astype(float) for i in range(d)}
    flat = y.ravel()
    return Expression(
        law.tree, law.names, columns, flat, np.ones(n * d), law.low, law.high, objective(FitSpec(objective="ols"), flat)
    )
