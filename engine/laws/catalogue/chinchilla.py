"""The law ``L(N, D) = E + A * N**-alpha + B * D**-beta``, with its compute-optimal frontier in closed form."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.laws.law import Derived, Law, Param, Point, Values
from isoplan.engine.laws.terms import Const, Power


def frontier(v: Values, C: Floats, rule: ComputeRule) -> Point:
    """Return the point with the lowest loss at ``C`` FLOPs, for ``C = k * N * D`` with ``k = rule.per_pair``.

    At this point, ``alpha * A * N**-alpha = beta * B * D**-beta``. Hence ``N = G * (C / k)**a`` and
    ``D = (C / k)**(1 - a) / G``, with ``a = beta / (alpha + beta)`` and
    ``G = (alpha * A / (beta * B))**(1 / (alpha + beta))`` (Hoffmann et al. 2022, eq. 4; jets, eq. 3).
    """
    alpha, beta = v["alpha"], v["beta"]
    pairs = np.log(np.asarray(C, float) / rule.per_pair)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_g = np.log(alpha * v["A"] / (beta * v["B"])) / (alpha + beta)
        log_n = log_g + beta / (alpha + beta) * pairs
        N, D = np.exp(log_n), np.exp(pairs - log_n)
        loss = v["E"] + v["A"] * N**-alpha + v["B"] * D**-beta
    return Point(N, D, np.zeros_like(N) + C, loss)


def least_compute(v: Values, loss: Floats, rule: ComputeRule) -> Point:
    """Return the point with the lowest C that reaches ``loss``; N, D and C are infinite if ``loss`` is at or below E.

    E is the floor of the law. On the frontier, ``A * N**-alpha`` is the fraction ``beta / (alpha + beta)`` of
    ``loss - E``. The remaining fraction ``alpha / (alpha + beta)`` is ``B * D**-beta``.
    """
    alpha, beta = v["alpha"], v["beta"]
    excess = np.asarray(loss, float) - v["E"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        N = np.exp(np.log(v["A"] * (1 + alpha / beta) / excess) / alpha)
        D = np.exp(np.log(v["B"] * (1 + beta / alpha) / excess) / beta)
        out = excess <= 0
        N, D = np.where(out, np.inf, N), np.where(out, np.inf, D)
        return Point(N, D, rule.flops(N, D), np.zeros_like(excess) + loss)


def samples(v: Values, N: Floats, loss: Floats) -> Floats:
    """Return the D with which a model of ``N`` parameters reaches ``loss``; infinite if no D does.

    ``D = (B / (L - E - A * N**-alpha))**(1 / beta)``, where L is the loss.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left = loss - v["E"] - v["A"] * N ** -v["alpha"]
        return np.where(left > 0, np.exp(np.log(v["B"] / left) / v["beta"]), np.inf)


CHINCHILLA = Law(
    name="chinchilla",
    title="Loss over size and data (Chinchilla)",
    summary="A floor plus one power of model size and one of data. "
    "Gives the surface, iso-loss and iso-FLOP curves and the compute-optimal frontier.",
    terms=(Const("E"), Power("A", "N", "alpha"), Power("B", "D", "beta")),
    params=(
        Param("E", 0.0, np.inf, "loss", "floor: the loss at infinite N and D", "E"),
        Param("A", 0.0, np.inf, "loss", "size of the finite-model term", "A"),
        Param("B", 0.0, np.inf, "loss", "size of the finite-data term", "B"),
        Param("alpha", 0.0, 5.0, "", "exponent of model size", r"\alpha"),
        Param("beta", 0.0, 5.0, "", "exponent of data", r"\beta"),
    ),
    reference="Hoffmann et al. 2022, arXiv:2203.15556, sec. 3.3; jets, eq. 1; behavioural, eq. 13",
    needs="N, D and loss, of at least six runs in which N and D vary independently, with three values of each.",
    frontier=frontier,
    least_compute=least_compute,
    samples=samples,
    derived=(
        Derived(
            "a",
            "exponent of the compute-optimal N*: N* grows as C^a",
            r"a = \frac{\beta}{\alpha + \beta}",
            lambda v: v["beta"] / (v["alpha"] + v["beta"]),
        ),
        Derived(
            "b",
            "exponent of the compute-optimal D*: D* grows as C^b",
            r"b = \frac{\alpha}{\alpha + \beta}",
            lambda v: v["alpha"] / (v["alpha"] + v["beta"]),
        ),
        Derived(
            "gamma",
            "exponent of the reducible loss along the frontier: L* - E falls as C^-gamma",
            r"\gamma = \frac{\alpha \beta}{\alpha + \beta}",
            lambda v: v["alpha"] * v["beta"] / (v["alpha"] + v["beta"]),
        ),
    ),
)
