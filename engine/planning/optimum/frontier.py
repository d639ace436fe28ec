"""Compute-optimal frontier of any law under any compute rule.

If C is proportional to ``N * D``, the frontier of each law has a closed form. Under any other rule the optimum is the
point where one more FLOP for N and one more FLOP for D lower the loss by the same amount. For a law with the terms
``a * N**-alpha`` and ``b * D**-beta``, this condition is ``alpha * a * N**-alpha = sigma * beta * b * D**-beta``. Here
sigma is (dlnC/dlnN) / (dlnC/dlnD). A search for a root in one variable solves this equation.
"""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import FEWEST_SAMPLES, MOST_SAMPLES, ComputeRule, increasing_root
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Law, Point
from isoplan.engine.laws.expression import FormulaLaw
from isoplan.engine.laws.law import Values
from isoplan.engine.laws.terms import Const, Term

STEP = 1e-4
"""Step in ln N and ln D for the numerical slope of a compute formula. The relative error of the optimal N is of the
order of ``STEP`` squared.
"""


def frontier(law: Law, values: Values, C: Floats, rule: ComputeRule) -> Point:
    """Return the point (N, D, C, loss) of lowest loss at ``C`` FLOPs; ``values`` and ``C`` broadcast.

    N or D is NaN if the law does not determine this number. All numbers are NaN if a term of the law has vanished
    (amplitude 0) or if no N and D cost exactly ``C``. Raises PlannerError for a law without a frontier.
    """
    if law.frontier is None:
        raise PlannerError(
            f"A law on {' and '.join(law.axes)} alone does not determine how to spend a budget: ask for a target loss, "
            "or fit the law 'chinchilla' or 'isoflop', or a law on C."
        )
    closed = rule.proportional or not _two_axes(law)
    with np.errstate(all="ignore"):  # a vanished term gives NaN, which the caller reports
        return _sound(law.frontier(values, C, rule) if closed else _by_formula(law, values, C, rule))


def least_compute(law: Law, values: Values, loss: Floats, rule: ComputeRule) -> Point:
    """Return the point of least C that reaches ``loss``; infinite if ``loss`` is at or below the floor.

    ``values`` and ``loss`` broadcast. Raises PlannerError for a law that does not determine the compute of a target.
    """
    if law.least_compute is None:
        raise PlannerError(
            f"The law {law.name} does not determine the cost of a target: fit the law 'chinchilla', "
            "'isoflop' or 'power'."
        )
    closed = rule.proportional or not _two_axes(law)
    with np.errstate(all="ignore"):
        return _sound(law.least_compute(values, loss, rule) if closed else _least_by_formula(law, values, loss, rule))


def floor(law: Law, values: Values) -> Floats:
    """Return the loss at infinite scale: the sum of the law's constants, or the limit of a formula.

    The result is zero for a law without a constant.
    """
    if isinstance(law, FormulaLaw):
        return law.limit(values)
    consts = [t.linear(values) for t in law.terms if isinstance(t, Const)]
    return np.asarray(sum(consts, start=np.zeros(())), float)


def _sound(at: Point) -> Point:
    """Return the points ``at`` with NaN where the law has no optimum.

    A law has no optimum if a term has vanished: with A = 0, for example, the loss does not depend on N, so the best N
    would be 0.
    """
    gone = (at.N == 0) | (at.D == 0) | np.isnan(at.loss)
    return Point(*(np.where(gone, np.nan, x) for x in (at.N, at.D, at.C, at.loss)))


def _two_axes(law: Law) -> bool:
    """Return whether the law is a sum of terms in N and D. The optimum of other laws does not depend on the rule."""
    return bool(law.terms) and set(law.axes) == {"N", "D"}


def _terms(law: Law, values: Values) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return (amplitude, exponent) of the term in N and (amplitude, exponent) of the term in D.

    Raises PlannerError unless the law has exactly one term in N and one in D.
    """
    found: dict[str, list[Term]] = {"N": [], "D": []}
    for term in law.terms:
        if term.axis is not None:
            found[term.axis].append(term)
    if any(len(terms) != 1 for terms in found.values()):
        raise PlannerError(f"The law {law.name} has no frontier under this compute rule: use the rule 6ND or 6npND.")
    (n,), (d,) = found["N"], found["D"]
    return (n.linear(values), values[str(n.exponent)]), (d.linear(values), values[str(d.exponent)])


def _log_sigma(rule: ComputeRule, N: Floats, D: Floats) -> Floats:
    """Return the logarithm of (dlnC/dlnN) / (dlnC/dlnD), by central differences.

    The result is NaN unless C increases both with N and with D. N and D are clipped to the range 1e-9 to 1e40; only
    intermediate steps of a search lie outside this range.
    """
    N, D = np.clip(N, FEWEST_SAMPLES, MOST_SAMPLES), np.clip(D, FEWEST_SAMPLES, MOST_SAMPLES)
    up, down = np.exp(STEP), np.exp(-STEP)
    by_n = np.log(rule.flops_anywhere(N * up, D) / rule.flops_anywhere(N * down, D))
    by_d = np.log(rule.flops_anywhere(N, D * up) / rule.flops_anywhere(N, D * down))
    return np.log(by_n / by_d)


def _by_formula(law: Law, values: Values, C: Floats, rule: ComputeRule) -> Point:
    (a, alpha), (b, beta) = _terms(law, values)
    C = np.asarray(C, float)

    def imbalance(x: Floats, C: Floats, ratio: Floats, alpha: Floats, beta: Floats) -> Floats:
        """Return ln(gain per FLOP from more samples / gain per FLOP from more parameters) at ln N = x.

        The result increases with x and is zero at the optimum.
        """
        N = np.exp(x)
        D = rule.samples(C, N)
        known = np.where(np.isnan(D), 1.0, D)
        gain = np.log(ratio) - beta * np.log(known) + alpha * x + _log_sigma(rule, N, known)
        too_large = rule.flops_anywhere(N, np.full_like(N, FEWEST_SAMPLES)) > C
        return np.where(np.isnan(D), np.where(too_large, np.inf, -np.inf), gain)

    ratio = (beta * b) / (alpha * a)
    N = np.exp(increasing_root(imbalance, np.log(FEWEST_SAMPLES), np.log(MOST_SAMPLES) / 2, C, ratio, alpha, beta))
    D = rule.samples(C, N)
    return Point(N, D, C + 0.0 * N, floor(law, values) + a * N**-alpha + b * D**-beta)


def _least_by_formula(law: Law, values: Values, loss: Floats, rule: ComputeRule) -> Point:
    (a, alpha), (b, beta) = _terms(law, values)
    excess = np.asarray(loss, float) - floor(law, values)

    def sizes(t: Floats, excess: Floats, a: Floats, alpha: Floats, b: Floats, beta: Floats) -> tuple[Floats, Floats]:
        """Return the N and D that reach the loss, for a given split of the excess (the loss above the floor).

        The term in N is the fraction ``u = 1 / (1 + exp(-t))`` of the excess, and the term in D is the fraction 1 - u.
        """
        N = np.exp(np.log(a * (1 + np.exp(-t)) / excess) / alpha)
        return N, np.exp(np.log(b * (1 + np.exp(t)) / excess) / beta)

    def imbalance(t: Floats, *v: Floats) -> Floats:
        return t - np.log(v[4] / v[2]) - _log_sigma(rule, *sizes(t, *v))

    reach = excess > 0
    shape = (np.where(reach, excess, 1.0), a, alpha, b, beta)
    N, D = sizes(increasing_root(imbalance, -60.0, 60.0, *shape), *shape)
    cost = rule.flops_anywhere(N, D)
    N, D, cost = (np.where(reach, x, np.inf) for x in (N, D, cost))
    return Point(N, D, cost, np.asarray(loss, float) + 0.0 * excess)


def spend(at: Point, rule: ComputeRule) -> Point:
    """Replace the D of the frontier points ``at`` by the D for which N parameters cost exactly C by ``rule``.

    N, C and loss do not change. The replacement is needed for laws with separately fitted N and D (isoflop): the fitted
    N and D may not cost exactly C. Such a law gives no loss for other D, so the loss of the frontier is kept. D is NaN
    if C pays for no sample.
    """
    return Point(at.N, rule.samples(at.C, at.N), at.C, at.loss)


def paid(fit: Fit, at: Point, rule: ComputeRule) -> Point:
    """Return the frontier points ``at`` (any shape) of ``fit`` with a D that is valid under ``rule``.

    The points of a law over N and D already depend on the rule and do not change. The D of a law on C alone is valid
    only under the compute rule of the fit. Under any other rule, D is computed from C and N. All numbers of a point are
    NaN if C pays for no sample at this N.
    """
    if fit.law.axes != ("C",) or rule == fit.compute:
        return at
    known = np.isfinite(at.N) & np.isfinite(at.C)
    spent = spend(Point(*(np.where(known, x, 1.0) for x in (at.N, at.D, at.C, at.loss))), rule)
    D = np.where(known, spent.D, at.D)
    none = known & np.isnan(D)
    return Point(*(np.where(none, np.nan, x) for x in (at.N, D, at.C, at.loss)))
