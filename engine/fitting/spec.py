"""What to fit and how: everything that a fit is rebuilt from, besides the runs."""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.laws import Law, get_law

ObjectiveName = Literal["huber-log", "ols", "ols-log", "lad", "asymmetric"]
IntervalName = Literal["bc", "percentile"]


class FitSpec(BaseModel):
    """Specification of a fit.

    ``y`` is "loss" or the column of a metric. ``delta`` is the Huber threshold in units of log loss,
    ``skew`` how much more a run below the law counts than one above it (``asymmetric`` alone).
    ``relative_error`` is the error of y over y, a number or the column that holds it for each run: runs weigh by the
    inverse square of their error. ``fixed`` holds parameters at given values, ``prior`` gives them a Gaussian
    (mean, sd) each, ``share`` makes them the same in all groups of runs (``fit_groups``). ``bootstrap`` is the number
    of refits (0: none), drawn from ``seed``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    law: str = "chinchilla"
    axis: Literal["N", "D", "C"] | None = None
    y: str = "loss"
    objective: ObjectiveName = "huber-log"
    delta: float = Field(default=1e-3, gt=0, allow_inf_nan=False)
    skew: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    fixed: dict[str, float] = Field(default_factory=dict)
    prior: dict[str, tuple[float, float]] = Field(default_factory=dict)
    share: tuple[str, ...] = ()
    relative_error: float | str | None = None
    bootstrap: int = Field(default=1000, ge=0, le=20_000)
    interval: IntervalName = "bc"
    seed: int = Field(default=0, ge=0, le=2**63 - 1)

    @property
    def logs(self) -> bool:
        """Whether the objective reads residuals of log y; else residuals in the unit of y."""
        return self.objective not in ("ols", "asymmetric")

    def find_law(self) -> Law:
        """The law itself; raises PlannerError where name or axis is unknown."""
        return get_law(self.law, self.axis)

    def hash(self, data: str) -> str:
        """Short hash of the specification and of the data (a snapshot's or file's hash)."""
        return hashlib.sha256(f"{self.model_dump_json()}|{data}".encode()).hexdigest()[:12]
