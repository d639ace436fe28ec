"""Training compute C from model size N and samples D, and back. Pure functions.

Unit of C is FLOPs, of N parameters, of D samples (tokens, jets, events).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field

from engine.errors import PlannerError

Floats = NDArray[np.float64]


class ComputeRule(BaseModel):
    """How C follows from N and D.

    ``6ND``    C = 6 N D (Kaplan et al. 2020, sec. 2.1), with D in tokens.
    ``6npND``  C = 6 n_p N D, with D in samples of ``n_p`` tokens each (jets, eq. 2).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: Literal["6ND", "6npND"] = "6ND"
    n_p: float = Field(default=1.0, gt=0, allow_inf_nan=False)

    @property
    def per_pair(self) -> float:
        """FLOPs for one parameter and one sample: C = per_pair * N * D."""
        return 6.0 * (self.n_p if self.rule == "6npND" else 1.0)

    def flops(self, N: ArrayLike, D: ArrayLike) -> Floats:
        """C in FLOPs, broadcast over ``N`` and ``D``."""
        return self.per_pair * np.asarray(N, float) * np.asarray(D, float)

    def samples(self, C: ArrayLike, N: ArrayLike) -> Floats:
        """D that spends exactly ``C`` FLOPs on a model of ``N`` parameters."""
        return np.asarray(C, float) / (self.per_pair * np.asarray(N, float))

    @property
    def text(self) -> str:
        """The rule as it stands beside a number: ``C = 6 N D``."""
        return "C = 6 N D" if self.rule == "6ND" else f"C = 6 n_p N D with n_p = {self.n_p:g}"


def compute_rule(name: str, n_p: float = 1.0) -> ComputeRule:
    """The rule called ``name``; raises PlannerError for an unknown name or a bad ``n_p``."""
    if name not in ("6ND", "6npND"):
        raise PlannerError(f"Compute rule {name!r} is unknown: use 6ND or 6npND.")
    if not (np.isfinite(n_p) and n_p > 0):
        raise PlannerError(f"n_p = {n_p:g} is not a number of tokens per sample: use a positive number.")
    return ComputeRule(rule=name, n_p=n_p)  # type: ignore[arg-type]
