"""Intermediate regimes between one pass and repetition to the early stop: fewer samples, seen a few times.

They are computed from the data-constrained law alone (Muennighoff et al. 2023, arXiv:2305.16264, eqs. 5, 6). In this
law repeated samples lose value but never do harm, so the law cannot describe overfitting and the early stop (jets, Sec.
3.2). The law is too optimistic for large models and many passes. For U unique samples and N parameters, the number of
passes that reaches a loss has a closed form. Therefore only N is searched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.optimum.frontier import floor, least_compute
from isoplan.engine.planning.repeat.costs import SampleCosts

POINTS = 41
FEWEST = 1e-3
"""Smallest number of unique samples that is considered, divided by the number of samples of the single pass."""
SIZES = 97
SMALLEST, LARGEST = 1e-2, 1e4
"""Range of model sizes that are searched, divided by the model size of the single pass."""
GOLDEN = (math.sqrt(5.0) - 1) / 2
NARROWED = 40
"""Number of golden-section steps. They reduce the bracket around the best size to 4e-9 of its width."""
NOTE = (
    "The data-constrained law does not describe overfitting, so it is too optimistic for large models or many passes."
)


@dataclass(frozen=True, eq=False)
class Between:
    """Regimes that reach the target with ``unique`` (k,) samples: N, D, C and ``money``, each (k,), without intervals.

    ``unique`` increases. ``best`` is the index of the cheapest regime. ``note`` must be shown with these numbers.
    """

    unique: Floats
    N: Floats
    D: Floats
    C: Floats
    money: Floats
    best: int
    note: str = NOTE

    @property
    def epochs(self) -> Floats:
        """Number of passes over the unique samples (k,)."""
        return self.D / self.unique


def between(surface: Fit, target: float, costs: SampleCosts, rule: ComputeRule | None = None) -> Between:
    """Return the regimes of least compute for ``target`` at 41 numbers of unique samples, and the cheapest regime.

    The largest number of unique samples is the number of samples of one pass. ``surface`` must be a fit of
    data-constrained. Raises PlannerError for another law, and for a target at or below the floor of the law.
    """
    if surface.law.name != "data-constrained":
        raise PlannerError(
            f"Only the law data-constrained determines the cost of a few epochs, but this fit is {surface.law.key}: "
            "fit the law 'data-constrained' to runs with one epoch and with many epochs."
        )
    bound = float(floor(surface.law, surface.values))
    if not target > bound:
        raise PlannerError(f"A target loss of {target:g} is not above the floor {bound:.4g}: ask for a higher target.")
    rule = rule or surface.compute
    once = least_compute(surface.law, surface.values, np.asarray(float(target)), rule)
    if not math.isfinite(float(once.D)):
        raise PlannerError("This fit has no compute-optimal point at this target: ask for another target.")
    unique = float(once.D) * np.geomspace(FEWEST, 1.0, POINTS)
    N, D, C = _cheapest(surface.values, unique, target, float(once.N), rule)
    kept = np.isfinite(C)
    unique, N, D, C = (x[kept] for x in (unique, N, np.maximum(D, unique), C))
    money = costs.simulation(unique) + costs.training(C)
    return Between(unique, N, D, C, money, int(np.argmin(money)))


def _cheapest(v: Values, U: Floats, target: float, scale: float, rule: ComputeRule) -> tuple[Floats, Floats, Floats]:
    """Return the N, D and C (each (k,)) that reach ``target`` with ``U`` (k,) unique samples at the least compute.

    C is infinite if the target cannot be reached. ``scale`` is the model size around which N is searched.
    """

    def cost(x: Floats) -> Floats:
        N = np.exp(x)
        D = _samples(v, N, U, target)
        return np.where(np.isfinite(D), rule.flops_anywhere(N, np.where(np.isfinite(D), D, 1.0)), np.inf)

    grid = np.log(scale) + np.linspace(np.log(SMALLEST), np.log(LARGEST), SIZES)
    step = grid[1] - grid[0]
    centre = grid[np.argmin(cost(grid[:, None]), axis=0)]
    low, high = centre - step, centre + step
    for _ in range(NARROWED):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        down = cost(left) < cost(right)
        low, high = np.where(down, low, left), np.where(down, right, high)
    x = (low + high) / 2
    return np.exp(x), _samples(v, np.exp(x), U, target), cost(x)


def _samples(v: Values, N: Floats, U: Floats, target: float) -> Floats:
    """Return the D, including repeated samples, at which N parameters and ``U`` unique samples reach ``target``.

    D is infinite if no D reaches the target. The effective number of samples D' solves
    ``B / D'**beta = target - E - A / N'**alpha``, where N' is the effective model size. D then solves
    ``D' = U + U * R_D * (1 - exp(-(D / U - 1) / R_D))``. The arrays broadcast.
    """
    with np.errstate(all="ignore"):
        enough = (v["alpha"] * v["A"] / (v["beta"] * v["B"])) ** (1 / v["alpha"]) * U ** (v["beta"] / v["alpha"])
        used = np.minimum(N, enough)
        size = used * (1 + v["R_N"] * -np.expm1((1 - N / used) / v["R_N"]))
        left = target - v["E"] - v["A"] * size ** -v["alpha"]
        worth = np.exp((np.log(v["B"]) - np.log(left)) / v["beta"])
        again = U * (1 - v["R_D"] * np.log1p(-(worth / U - 1) / v["R_D"]))
        D = np.where(worth <= U, worth, again)
    return np.where((left > 0) & np.isfinite(D), D, np.inf)
