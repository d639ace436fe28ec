"""Solver for several groups of runs that share some parameters. The groups have the same law or different laws.

The objective is the sum over the groups. The parameters of all groups are entries of one joint vector. The gradient and
the Hessian of each group are added at the entries of its parameters. In the solver, the amplitude of a term is the
value of the term at the mean coordinate of the runs. If the groups have the same law, this mean is over the runs of all
groups, so a shared amplitude has the same meaning in all groups. Groups with different laws share only the floor, which
has no coordinate.

The candidates for the shared parameters are the values at the separate optimum of each group, and the median of these
values. A start combines a candidate with the best values of the other parameters of each group. Each start first
minimises a sequence of softer loss functions, as a fit without groups does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.resampling.priors import Priors, posed, redrawn
from isoplan.engine.fitting.solver import kernels
from isoplan.engine.fitting.solver.descent import Local, descend
from isoplan.engine.fitting.solver.multistart import SKIPPED, Optimum, best_fit, refits
from isoplan.engine.fitting.solver.newton import local
from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.solver.problem import Problem, blocks
from isoplan.engine.fitting.solver.threads import Progress, over_blocks

AT_ONCE = 256
"""Number of resamples in a block."""
CANDIDATES = 6
"""Maximum number of groups whose separate fits are candidates for the shared values.

The groups with the most runs are used.
"""


@dataclass(frozen=True, eq=False)
class Joint:
    """The problems of g groups of runs, and the indices of their parameters in the joint vector (Q,)."""

    parts: tuple[Problem, ...]
    rows: tuple[Ints, ...]  # the runs of each group
    place: tuple[Ints, ...]  # indices (q,) of the parameters of each group in the joint vector
    shared: tuple[Ints, ...]  # indices (s,) of the shared parameters among the q parameters of each group
    priors: tuple[Priors, ...]  # by group; the first group contains the priors of shared parameters

    @property
    def n(self) -> int:
        return sum(p.n for p in self.parts)

    @property
    def size(self) -> int:
        """Q, the length of the joint vector."""
        return 1 + max(int(at.max()) for at in self.place)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds (Q,); a shared parameter has the narrowest bounds of all groups."""
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        for p, at in zip(self.parts, self.place, strict=True):
            low[at], high[at] = np.maximum(low[at], p.low), np.minimum(high[at], p.high)
        return low, high

    def joined(self, theta: list[Floats]) -> Floats:
        """Return the joint vectors (..., Q) of the parameters ``theta`` of all groups, each (..., q).

        The values of the shared parameters are those in the last group.
        """
        out = np.empty((*theta[0].shape[:-1], self.size))
        for at, part in zip(self.place, theta, strict=True):
            out[..., at] = part
        return out

    def pinned(self, shared: Floats) -> list[Problem]:
        """Return the problems of the groups with their shared parameters fixed at ``shared``."""
        out = []
        for p, at in zip(self.parts, self.shared, strict=True):
            low, high = p.low.copy(), p.high.copy()
            low[at] = high[at] = shared
            out.append(replace(p, low=low, high=high))
        return out

    def local(self, u: Floats, weight: list[Floats], owner: Ints, loss: Loss) -> Local:
        """Return the objective and its derivatives at the joint vectors ``u`` (b, Q).

        ``weight`` contains the weights (r, n_g) of each group, and ``owner`` (b,) is the resample of each vector.
        """
        b, size = u.shape
        out = Local(np.zeros(b), np.zeros((b, size)), np.zeros((b, size, size)), np.zeros((b, size, size)))
        for p, at, w in zip(self.parts, self.place, weight, strict=True):
            one, square = local(p, u[:, at], w, owner, loss), (slice(None), at[:, None], at)
            out.value[:] += one.value
            out.gradient[:, at] += one.gradient
            out.hessian[square] += one.hessian
            out.gauss[square] += one.gauss
        return out

    def informed(self, noise: float) -> Joint:
        """Return the joint problem with its priors in the objective; ``noise`` is the scale of the noise."""
        return replace(self, parts=tuple(posed(p, q, noise) for p, q in zip(self.parts, self.priors, strict=True)))

    def redrawn(self, normal: Floats) -> Joint:
        """Return the joint problem with random prior means for each resample.

        The means are computed from the standard normal numbers ``normal`` (r, k).
        """
        ends = np.cumsum([len(q) for q in self.priors])[:-1]
        own = np.split(normal, ends, axis=1)
        return replace(self, parts=tuple(map(redrawn, self.parts, self.priors, own)))


def joint(whole: Problem, group: Ints, share: tuple[str, ...], prior: Priors) -> Joint:
    """Return the joint problem of groups that share the parameters ``share``.

    ``group`` (n,) is the number of the group of each run of the problem ``whole``.
    """
    owners = [t.amplitude for t in whole.law.terms] + [whole.law.terms[j].exponent for j in whole.powers]
    shared = np.array([i for i, name in enumerate(owners) if name in share], np.int64)
    total, q = int(group.max()) + 1, len(owners)
    place = np.arange(total * q).reshape(total, q)
    place[:, shared] = place[0, shared]
    place = np.unique(place, return_inverse=True)[1].reshape(total, q)
    rows = tuple(np.flatnonzero(group == g) for g in range(total))
    own = {name: p for name, p in prior.items() if name not in share}
    return Joint(
        parts=tuple(whole.rows(index) for index in rows),
        rows=rows,
        place=tuple(place),
        shared=(shared,) * total,
        priors=(dict(prior), *(own for _ in range(total - 1))),
    )


def best_joint_fit(j: Joint, more: Floats | None = None) -> Optimum:
    """Return the best joint fit and further minima. No previous fit is needed as a start.

    ``more`` (c, s) are further candidates for the shared values.
    """
    alone = [best_fit(p) for p in j.parts]
    most = np.argsort([-p.n for p in j.parts], kind="stable")[:CANDIDATES]
    own = np.array([alone[g].theta[j.shared[g]] for g in most])
    candidates = np.concatenate([np.median(own, axis=0)[None], own, *([] if more is None else [more])])
    starts = [j.joined([best_fit(p).theta for p in j.pinned(value)]) for value in candidates]
    ladder = max((found.ladder for found in alone), key=len)
    every, weight = np.array(starts)[None], [p.weight[None] for p in j.parts]
    slow, fast = _from(j, every, weight, ladder), _from(j, every, weight, ladder[SKIPPED:])
    theta, value = np.concatenate([slow[0][0], fast[0][0]]), np.concatenate([slow[1][0], fast[1][0]])
    order = np.argsort(value, kind="stable")
    theta, value = theta[order], value[order]
    return Optimum(theta[0], float(value[0]), theta[1:], value[1:], ladder)


def joint_refits(
    j: Joint, best: Optimum, draw: Callable[[int, int], Floats], total: int, progress: Progress | None = None
) -> Floats:
    """Return the minimum of each resample as joint vectors (total, Q); NaN if a refit failed.

    ``draw(start, stop)`` returns how often each run is drawn in the resamples ``start`` to ``stop``: (stop - start, n).
    A refit has two starts. The first start is the best fit. The second start combines the shared parameters of the best
    fit with the values of the other parameters that are best for each group in the resample.
    """
    kernels.compiled(j.n * total)  # load the kernels here: each group alone may be too small to load them
    near = []
    for p, place, rows in zip(j.pinned(best.theta[j.place[0][j.shared[0]]]), j.place, j.rows, strict=True):
        there = replace(best, theta=best.theta[place])
        found = refits(p, there, partial(_drawn, draw, rows), total)
        near.append(np.where(np.isnan(found), there.theta, found))
    starts = np.stack([np.broadcast_to(best.theta, (total, len(best.theta))), j.joined(near)], axis=1)
    out = np.full((total, len(best.theta)), np.nan)

    def block(at: slice) -> None:
        drawn, part = draw(at.start, at.stop), replace(j, parts=tuple(p.of(at) for p in j.parts))
        weight = [p.weight * drawn[:, rows] for p, rows in zip(part.parts, j.rows, strict=True)]
        theta, value = _from(part, starts[at], weight, best.ladder)
        every, first = np.arange(len(value)), np.argmin(value, axis=1)
        out[at] = np.where(np.isfinite(value[every, first])[:, None], theta[every, first], np.nan)

    over_blocks(block, blocks(total, AT_ONCE), total, progress)
    return out


def _drawn(draw: Callable[[int, int], Floats], rows: Ints, start: int, stop: int) -> Floats:
    """Return how often ``draw`` draws each run ``rows`` of one group in the resamples ``start`` to ``stop``."""
    return draw(start, stop)[:, rows]


def _from(j: Joint, u: Floats, weight: list[Floats], ladder: tuple[Loss, ...]) -> tuple[Floats, Floats]:
    """Return the minima (r, s, Q) and objectives (r, s) of the starts ``u``: s starts for each of r resamples."""
    r, s, size = u.shape
    owner, flat, (low, high) = np.repeat(np.arange(r), s), u.reshape(r * s, size), j.bounds
    value = np.zeros(r * s)
    for loss in (*ladder, j.parts[0].objective.loss):

        def here(at: Floats, index: Ints, loss: Loss = loss) -> Local:
            return j.local(at, weight, owner[index], loss)

        flat, value = descend(here, flat, low, high, loss, j.n)
    return flat.reshape(r, s, size), np.where(np.isfinite(value), value, np.inf).reshape(r, s)
