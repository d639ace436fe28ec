"""The specification of a fit: everything that is needed to repeat it, except the runs."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import parse_formula
from isoplan.engine.laws import Law, get_law, typed_law
from isoplan.engine.schema import Runs

ObjectiveName = Literal["huber-log", "ols", "ols-log", "lad", "asymmetric"]
IntervalName = Literal["auto", "bc", "percentile", "residual", "profile"]
KEPT = ("y", "objective", "delta", "skew", "relative_error", "seed")
"""Fields of a specification that have the same meaning for every law. ``FitSpec.for_law`` copies them."""


class FitSpec(BaseModel):
    """Specification of a fit.

    What is fitted:

    - ``y`` is "loss" or the column of a metric.
    - ``axis`` is the column of a one-axis law. ``realised`` is the value of the axis that is used for runs at zero. If
      ``realised`` is None, runs at zero are omitted.
    - ``formula`` is the expression of the law "formula". ``bounds`` are the lower and the upper bound of its parameters
      (None: no bound). ``columns`` are the names in the formula that are columns of the runs, in addition to N, D, C,
      U and epochs. ``turned`` is True if larger ``y`` is better. ``read_from`` sets ``columns`` and ``turned``.
    - ``fixed`` contains parameters with a fixed value. ``prior`` contains a Gaussian prior (mean, sd) for parameters.
      ``share`` names the parameters that all groups of runs have in common (``fit_groups``).

    How the runs are used:

    - ``delta`` is the Huber threshold in units of ln(loss). ``skew`` is the weight of a run below the law, relative to
      a run above it (objective ``asymmetric``).
    - ``relative_error`` is the error of y divided by y: a number, or the column that contains it. The weight of a run
      is the inverse square of its error.
    - ``smoothing`` is the weight of an earlier point in the moving average of a training curve (0: no smoothing). The
      earlier point is the one at 5 % fewer training steps (critical-batch) or the previous one (envelope).
    - ``target`` is the value of ``y`` at which the training steps of a run are counted. None selects the best value
      that every run reaches.

    Intervals: ``bootstrap`` is the number of refits (0: none), ``seed`` the seed of their random numbers, and
    ``interval`` the method (engine/fitting/types/intervals.py).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    law: str = "chinchilla"
    axis: str | None = None
    realised: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    y: str = "loss"
    objective: ObjectiveName = "huber-log"
    delta: float = Field(default=1e-3, gt=0, allow_inf_nan=False)
    skew: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    formula: str = ""
    bounds: dict[str, tuple[float | None, float | None]] = Field(default_factory=dict)
    columns: tuple[str, ...] = ()
    turned: bool = False
    fixed: dict[str, float] = Field(default_factory=dict)
    prior: dict[str, tuple[float, float]] = Field(default_factory=dict)
    share: tuple[str, ...] = ()
    relative_error: float | str | None = None
    smoothing: float = Field(default=0.6, ge=0, lt=1)
    target: float | None = Field(default=None, allow_inf_nan=False)
    bootstrap: int = Field(default=1000, ge=0, le=20_000)
    interval: IntervalName = "auto"
    seed: int = Field(default=0, ge=0, le=2**63 - 1)

    @property
    def log_residuals(self) -> bool:
        """Whether residuals are differences of log y; otherwise they are differences of y."""
        return self.objective not in ("ols", "asymmetric")

    def find_law(self) -> Law:
        """Return the law. Raises PlannerError if its name or axis is unknown, or if the formula is not a valid law."""
        if self.law == "formula":
            if self.axis is not None:
                raise PlannerError(f"Law formula has no axis: remove the axis {self.axis}.")
            ends = tuple((name, low, high) for name, (low, high) in sorted(self.bounds.items()))
            return typed_law(self.formula, ends, self.columns, self.turned)
        if self.formula or self.bounds:
            given = "a formula" if self.formula else "bounds"
            raise PlannerError(f"Law {self.law} takes no {given.removeprefix('a ')}: use the law formula for {given}.")
        return get_law(self.law, self.axis)

    def read_from(self, runs: Runs) -> FitSpec:
        """Return a copy in which the names in the formula that are columns of ``runs`` count as columns.

        If the law is not a typed formula, the specification itself is returned.
        """
        if self.law != "formula" or not self.formula.strip():
            return self
        names = parse_formula(self.formula).names
        if self.y in names:
            raise PlannerError(
                f"The formula contains {self.y!r}, the quantity that it predicts: use only other columns."
            )
        columns = tuple(sorted(name for name in names if name in runs))
        return self.model_copy(update={"columns": columns, "turned": runs.roles.direction(self.y) == "max"})

    def for_law(self, law: Law) -> FitSpec:
        """Return the specification for ``law``, without refits.

        If ``law`` is the law of this specification, its fixed parameters, priors and other options are kept. If it is
        another law, all its parameters are free.
        """
        if (self.law, self.axis) == (law.name, law.axis):
            return self.without_refits()
        kept = {name: getattr(self, name) for name in KEPT}
        return FitSpec.model_validate({"law": law.name, "axis": law.axis, "bootstrap": 0, **kept})

    def without_refits(self) -> FitSpec:
        """Return a copy without refits and shared parameters, to fit one group of runs by itself."""
        return self.model_copy(update={"bootstrap": 0, "share": ()})

    def hash(self, data: str) -> str:
        """Return a short hash of the specification and of ``data``. ``data`` is the hash of a snapshot or of a file."""
        return hashlib.sha256(f"{self.model_dump_json()}|{data}".encode()).hexdigest()[:12]


def read_spec(dashes: str, *, law: str, **options: Any) -> FitSpec:
    """Return the specification of ``law`` with ``options``. Error messages put ``dashes`` before option names.

    Raises PlannerError for an unknown law and for an option that is not possible.
    """
    try:
        spec = FitSpec(law=law, **options)
    except ValidationError as error:
        first = error.errors()[0]
        name = f"{dashes}{first['loc'][0]}"
        raise PlannerError(f"Option {name}: {first['input']!r} is not possible. {first['msg']}.") from None
    if law != "formula":  # A formula can be checked only after the runs are read: they define its columns.
        spec.find_law()
    return spec
