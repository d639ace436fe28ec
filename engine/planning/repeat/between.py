"""Epochs in between: fewer samples seen a few times, by the data-constrained law alone.

Muennighoff et al. 2023 (arXiv:2305.16264, eqs. 5, 6) let repeated samples lose value, never harm: the law cannot
overfit, so it says nothing of the early stop (jets, Sec. 3.2) and is too hopeful where models are large or passes many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.costs import ComputeRule
from engine.errors import PlannerError
from engine.fitting.result import Fit
from engine.laws.law import Floats
from engine.planning.frontier import floor, least_compute
from engine.planning.repeat.costs import SampleCosts

POINTS = 41
FEWEST = 1e-3
"""The least share of the one-pass samples that is looked at."""
NOTE = "The data-constrained law cannot overfit: where models are large or passes are many it is too hopeful."


@dataclass(frozen=True, eq=False)
class Between:
    """Ways to the target with ``unique`` (k,) samples, rising: N, D, C and ``money`` (k,) each; central values.

    ``best`` is the place of the cheapest. ``note`` goes beside every number of it.
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
        """Passes over the unique samples (k,)."""
        return self.D / self.unique


def between(surface: Fit, target: float, costs: SampleCosts, rule: ComputeRule | None = None) -> Between:
    """The least compute for ``target`` at 41 numbers of unique samples up to those of one pass, and the cheapest.

    ``surface`` is a fit of data-constrained. Raises PlannerError for another law and a target at or below its floor.
    """
    if surface.law.name != "data-constrained":
        raise PlannerError(
            f"A few epochs are priced by the law data-constrained alone and this fit is {surface.law.key}: fit it to "
            "runs of one epoch and of many."
        )
    bound = float(floor(surface.law, surface.values))
    if not target > bound:
        raise PlannerError(f"A target loss of {target:g} is not above the floor {bound:.4g}: ask for a higher one.")
    rule = rule or surface.compute
    once = least_compute(surface.law, surface.values, np.asarray(float(target)), rule)
    if not math.isfinite(float(once.D)):
        raise PlannerError("This fit of data-constrained has no compute-optimal point there: ask for another target.")
    unique = float(once.D) * np.geomspace(FEWEST, 1.0, POINTS)
    values = {name: np.asarray(x) for name, x in surface.values.items()} | {"U": unique}
    at = least_compute(surface.law, values, np.asarray(float(target)), rule)
    kept = np.isfinite(at.C)
    unique, N, D, C = (x[kept] for x in (unique, at.N, np.maximum(at.D, unique), at.C))
    money = costs.simulation(unique) + costs.training(C)
    return Between(unique, N, D, C, money, int(np.argmin(money)))
