"""Uniqueness of a fit: further minima, directions that the runs do not determine, and folded scales.

A further minimum is reported if its objective exceeds the best objective by less than 1 % or by less than 1.92 s, where
s is the scale of the noise. 1.92 s is the edge of the 95 % likelihood region of one parameter.

A direction in the space of the parameters is reported if a step of one standard error in this direction changes a
parameter by at least 100 %. Directions are eigenvectors of the information matrix c sum_i w_i g_i g_i', in units of the
parameters. w_i is the weight of run i, and g_i is the gradient of its prediction. c = (sum_i w_i rho'(r_i)^2) / (s^2 *
degrees of freedom), where rho is the loss and r_i is the residual of run i. c is the Fisher information of the noise.
Unlike the Hessian, the information matrix is smooth if rho has kinks.

A scale parameter, such as C_L in (C_L / C)^gamma, is folded if it first increases and then decreases with its exponent,
or the reverse, over the parameters that fit the runs about equally well. If the best fit is near this extremum of the
scale, the scales of all resamples are on one side of the extremum. The percentiles of these scales then contain the
true value less often than stated (docs/coverage.md, C_L of the iso-FLOP minima). Predicted losses are not affected.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.samples.sample import Sample, and_list
from isoplan.engine.fitting.solver.multistart import Optimum
from isoplan.engine.fitting.solver.objectives import Loss, scale
from isoplan.engine.fitting.solver.problem import Problem, objective
from isoplan.engine.fitting.types.intervals import FEWEST
from isoplan.engine.fitting.types.optimum_location import rank_correlation
from isoplan.engine.fitting.types.parameters import floors
from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.laws import Law

MARGIN, LIKELY = 0.01, 1.92
"""Largest excess of the objective of a reported minimum over the best objective.

MARGIN is a fraction of the best objective. LIKELY is in units of the noise scale s.
"""
LOOSE = 1.0
"""A direction is reported if one standard error along it changes a parameter by at least this fraction."""
PART = 0.2
"""Threshold for naming a parameter in the warning about a direction in parameter space.

A parameter is named if (component of the direction along the parameter) / (largest component) is at least this number.
"""
FARTHEST = 3.0
"""Largest change of ln(parameter) that the warning about a direction reports: a factor of 20."""


def margin(loss: Loss, value: float, freedom: int) -> float:
    """Return the largest excess over the best objective ``value`` at which a further minimum is reported."""
    return max(MARGIN * value, LIKELY * scale(loss, value / max(freedom, 1)))


def others(law: Law, p: Problem, optimum: Optimum, margin: float) -> tuple[FitWarning, ...]:
    """Return one warning about all distinct minima whose objective exceeds the best by at most ``margin``.

    The tuple is empty if there are no such minima.
    """
    near = optimum.other_values <= optimum.value + margin
    apart: list[tuple[Floats, float]] = []
    for theta, value in zip(optimum.others[near], optimum.other_values[near], strict=True):
        if all(_apart(p, theta, known) for known in (optimum.theta, *(t for t, _ in apart))):
            apart.append((theta, float(value)))
    if not apart:
        return ()
    theta, value = apart[0]
    shown = ", ".join(f"{n} = {v:.4g}" for n, v in zip(law.names, p.external(theta), strict=True))
    higher, share = ((x / optimum.value if optimum.value > 0 else 0.0) for x in (value - optimum.value, margin))
    count = "A second optimum fits" if len(apart) == 1 else f"{len(apart)} other optima fit"
    text = (
        f"{count} the runs about equally well. At {shown} the objective is only {higher:.1e} (relative) higher; noise "
        f"explains a difference of {share:.1%}. Use the intervals, not the values. Add runs where the curves differ."
    )
    return (FitWarning("second-optimum", text),)


def _apart(p: Problem, one: Floats, other: Floats) -> bool:
    """Return whether two optima differ by more than 1 % in the amplitude or exponent of a term.

    A term that changes predictions by less than 0.1 % of the standard deviation of y is not compared.
    """
    unit = np.ones(p.k)
    unit[list(p.plain)] = np.sqrt(np.mean(p.shapes**2, axis=1))
    counts = unit * np.maximum(np.abs(one), np.abs(other))[: p.k] > 1e-3 * np.std(p.y[0])
    different = np.abs(one - other) > 0.01 * np.maximum(np.abs(one), np.abs(other))
    return bool((different[: p.k] & counts).any() or (different[p.k :] & counts[list(p.powers)]).any())


def directions(s: Sample, theta: Floats) -> Iterator[FitWarning]:
    """Yield a warning for each direction that the runs do not determine at ``theta`` (p,), the worst first."""
    names, size = _sizes(s, theta)
    if not names:
        return
    information = _information(s, theta, names, size)
    if information is None:
        return
    held, along = np.linalg.eigh(information)
    said: set[str] = set()
    for strength, v in zip(held, along.T, strict=True):
        error = 1 / np.sqrt(strength) if strength > 0 else np.inf
        part = [i for i in np.argsort(-np.abs(v), kind="stable") if abs(v[i]) >= PART * np.max(np.abs(v))]
        if error * np.max(np.abs(v)) >= LOOSE and not {names[i] for i in part} <= said:
            said |= {names[i] for i in part}
            yield FitWarning("not-held", _sentence(s, theta, names, size, v, part, error))


def _sizes(s: Sample, theta: Floats) -> tuple[list[str], Floats]:
    """Return the free parameters inside their bounds, and the unit of each in the information matrix.

    The unit of a parameter is its absolute value. A parameter of either sign may be close to zero. Its unit is
    therefore at least the change of the parameter that shifts predictions by the range of the losses.
    """
    value, out = s.law.values(theta), []
    effect = np.sqrt(np.mean(_gradient(s, theta) ** 2, axis=0))
    spread = float(np.ptp(s.y))
    for i, name in enumerate(s.law.names):
        p, at = s.law.param(name), float(value[name])
        if name not in s.free or not p.low < at < p.high or not (np.isfinite(effect[i]) and effect[i] > 0):
            continue
        out.append((name, abs(at) if p.low >= 0 else max(abs(at), spread / float(effect[i]))))
    return [name for name, _ in out], np.array([size for _, size in out])


def _gradient(s: Sample, theta: Floats) -> Floats:
    """Return the derivatives (n, p) of the predictions. They are NaN for the parameters of a term that is zero."""
    with np.errstate(all="ignore"):
        return s.law.gradient(theta, s.columns)


def _information(s: Sample, theta: Floats, names: list[str], size: Floats) -> Floats | None:
    """Return the information matrix in units of ``size``, including priors; None if the fit is exact."""
    how, freedom = objective(s.spec, s.y), max(len(s) - len(s.free), 1)
    predicted, gradient = s.law.predict(theta, s.columns), _gradient(s, theta)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.log(predicted / s.y) if how.log else predicted - s.y
    noise = scale(how.loss, float(s.weight @ how.loss.value(r)) / freedom)
    place = [s.law.names.index(name) for name in names]
    g = gradient[:, place] * size / (predicted[:, None] if how.log else 1.0)
    if not noise > 0 or not np.isfinite(g).all():
        return None
    slope = how.loss.slopes(r)[0]
    found = float(s.weight @ slope**2) / freedom / noise**2 * (g.T * s.weight) @ g
    known = [(i, size[i] / s.spec.prior[name][1]) for i, name in enumerate(names) if name in s.spec.prior]
    for i, strength in known:
        found[i, i] += strength**2
    return np.asarray(found)


def _sentence(
    s: Sample, theta: Floats, names: list[str], size: Floats, v: Floats, part: list[int], error: float
) -> str:
    ours = [i for i in part if names[i] in floors(s.law)]
    # A direction and its opposite are equivalent. Choose the one that lowers the floor, because no run can contradict a
    # lower floor.
    way = -np.sign(v[ours[0]]) if ours else np.sign(v[part[0]])
    step = min(error, FARTHEST / float(np.max(np.abs(v)))) * way
    value = s.law.values(theta)
    moves, axes = [], []
    for i in part:
        p, at = s.law.param(names[i]), float(value[names[i]])
        there = at * np.exp(step * v[i]) if p.low >= 0 else at + step * v[i] * size[i]
        moves.append(f"{names[i]} from {at:.3g} to {np.clip(there, p.low, p.high):.3g}")
        axes += [t.axis for t in s.law.terms if names[i] in t.params() and t.axis]
    further = " or further" if error > abs(step) else ""
    where = f"add runs over a wider range of {and_list(list(dict.fromkeys(axes)))}" if axes else "add larger runs"
    changed = [names[i] for i in part]
    if len(part) == 1:
        return (
            f"The runs hardly determine {changed[0]}: one standard error changes {moves[0]}{further}. To "
            f"determine {changed[0]}, {where}, fix it, or give it a prior."
        )
    return (
        f"{and_list(changed)} move together: one standard error in this common direction changes {and_list(moves)}"
        f"{further}, so the runs determine only a combination of them. To determine each, {where}, fix one of them, or "
        "give one of them a prior."
    )


CLEAR = 0.2
"""The relation of a scale and its exponent counts as real if their absolute rank correlation exceeds this."""


def folds(law: Law, resamples: Floats) -> Iterator[FitWarning]:
    """Yield a warning for each scale that is not a monotone function of its exponent in ``resamples`` (r, p)."""
    found = resamples[~np.isnan(resamples).any(axis=1)]
    if len(found) < 2 * FEWEST:
        return
    for term in law.terms:
        if term.exponent is None:
            continue
        scale, exponent = (found[:, law.names.index(name)] for name in (term.amplitude, term.exponent))
        below = exponent <= np.median(exponent)
        left, right = rank_correlation(exponent[below], scale[below]), rank_correlation(exponent[~below], scale[~below])
        if left * right < 0 and min(abs(left), abs(right)) > CLEAR:
            yield FitWarning(
                "fold",
                f"{term.amplitude} is not monotone in {term.exponent} over the resamples, so the interval of "
                f"{term.amplitude} is too narrow. Use predicted losses instead.",
            )
