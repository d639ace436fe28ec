"""The result of an estimator, and the fit: one immutable object that the pages, the terminal and the planner use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types import text
from isoplan.engine.fitting.types.intervals import FloorConfidence, Resampling
from isoplan.engine.fitting.types.optimum_location import EDGE, FLAT, OptimumLocation, locate_optimum
from isoplan.engine.fitting.types.parameters import Interval as Interval
from isoplan.engine.fitting.types.parameters import Parameter as Parameter
from isoplan.engine.fitting.types.parameters import parameter, parameter_row
from isoplan.engine.fitting.types.runtime import Runtime
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.types.warnings import ABOUT_RUNS, by_level
from isoplan.engine.fitting.types.warnings import FitWarning as FitWarning
from isoplan.engine.laws import Law
from isoplan.engine.laws.terms import Const


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result of an estimator. Arrays have the order of ``law.params``. A failed resample is a row of NaN."""

    theta: Floats  # (p,)
    objective: float
    resamples: Floats  # (r, p)
    warnings: tuple[FitWarning, ...] = ()
    held: tuple[str, ...] = ()  # parameters that the estimator fixed because it could not determine them
    resampling: Resampling = field(default_factory=Resampling)
    floorless: Floats | None = None  # (p,) best fit without a floor; None if the floor is resolved
    confidence: FloorConfidence | None = None  # confidence curve of the floor; None if it is not computed


WAYS = {
    "bc": "resampled runs, corrected for bias",
    "percentile": "resampled runs, plain percentiles",
    "residual": "the same runs with noise drawn from their residuals",
    "profile": "the likelihood around the best fit",
}
"""Source of the intervals in words, for each method of resampling."""
MOST_RUNS = 10_000
"""Maximum number of runs that are stored with a fit, so that the file of the fit is not larger than the run table."""


@dataclass(frozen=True)
class FitData:
    """The data of a fit: source with its SHA-256, columns by role, ranges [low, high] by role, and the filter.

    ``snapshot`` identifies the rows of a table in the workspace. ``where`` is the filter of the runs. If several groups
    were fitted together, ``group`` is the group of these runs. ``curves`` is the snapshot or the SHA-256 of the
    training curves, or empty if the fit used no curves. ``runtime`` is the runtime of the runs; None if no column
    contains it.
    """

    source: str
    sha256: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    snapshot: str = ""
    where: str = ""
    group: str = ""
    direction: Literal["min", "max"] = "min"
    curves: str = ""
    runtime: Runtime | None = None


@dataclass(frozen=True, eq=False)
class FittedRuns:
    """The runs of a fit in the form that the objective uses.

    Joint fits with another table, and the page Next cells, use these runs.

    ``columns`` contains an array (n,) for each axis of the law. ``y`` (n,) is the loss. ``weight`` (n,) includes the
    errors of the runs. Runs with the same number in ``cluster`` (n,) are resampled together.
    """

    columns: Mapping[str, Floats]
    y: Floats
    weight: Floats
    cluster: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted or published law. Arrays have the order of ``law.params``.

    ``theta`` (p,) is the best fit. Each row of ``resamples`` (r, p) is one refit; r = 0 for a published law.
    ``resampling`` computes intervals from the resamples. ``objective`` is the minimum of the objective, summed over the
    runs and without priors; None for a published law. ``confidence`` is the confidence curve of the floor; None if
    unknown. ``runs`` are the fitted runs; for the fit of one of several groups, they are the runs of this group. They
    are not stored (None) for a published law, for a law that is not fitted to individual runs, and for more than
    ``MOST_RUNS`` runs.
    """

    spec: FitSpec
    n: int
    theta: Floats
    objective: float | None
    resamples: Floats
    parameters: tuple[Parameter, ...]
    data: FitData
    compute: ComputeRule = field(default_factory=ComputeRule)
    warnings: tuple[FitWarning, ...] = ()
    resampling: Resampling = field(default_factory=Resampling)
    confidence: FloorConfidence | None = None
    runs: FittedRuns | None = None

    @property
    def law(self) -> Law:
        return self.spec.find_law()

    @property
    def values(self) -> dict[str, Floats]:
        """Best-fit parameters by name; each value has the shape ()."""
        return self.law.values(self.theta)

    @property
    def draws(self) -> dict[str, Floats]:
        """Parameters of all resamples by name; each value has the shape (r,)."""
        return self.law.values(self.resamples)

    @property
    def sign(self) -> float:
        """Sign of y in the law: -1 if the law describes -y, because larger ``y`` is better; otherwise 1."""
        return -1.0 if self.data.direction == "max" and self.law.minimised else 1.0

    @property
    def larger_is_better(self) -> bool:
        """Whether larger ``y`` is better. This does not depend on whether the law describes y or -y (``sign``)."""
        return self.data.direction == "max"

    @property
    def best_run(self) -> float | None:
        """The best ``y`` among the runs; None if the range of ``y`` is unknown."""
        span = self.data.ranges.get(self.spec.y)
        return None if span is None else span[1 if self.larger_is_better else 0]

    @property
    def worst_run(self) -> float | None:
        """The worst ``y`` among the runs; None if the range of ``y`` is unknown."""
        span = self.data.ranges.get(self.spec.y)
        return None if span is None else span[0 if self.larger_is_better else 1]

    @property
    def chi2(self) -> tuple[float, int] | None:
        """Chi squared and its degrees of freedom.

        None if the runs have no errors, if the objective is not a sum of squares, or for one of several groups that
        share parameters.
        """
        alone = self.law.is_pointwise and not self.spec.share
        return chi2(self.spec, self.objective, self.n, self.parameters) if alone else None

    @property
    def hash(self) -> str:
        """Short hash of the specification and the data. It identifies the fit in links and in the store.

        A published law has no data. Its hash includes the source and the published numbers instead.
        """
        if self.data.snapshot or self.data.sha256:
            data = self.data.snapshot or f"{self.data.sha256}|{self.data.where}|{dict(self.data.roles)}"
            data = data_key(data, self.data.curves)
            return self.spec.hash(f"{data}|{self.data.group}" if self.data.group else data)
        printed = {p.name: float(p.value) for p in self.parameters}
        return self.spec.hash(f"{self.data.source}|{printed}|{self.compute}")

    @property
    def derived(self) -> tuple[Parameter, ...]:
        """Numbers that are computed from the parameters, with intervals from the resamples of the fit."""
        with np.errstate(all="ignore"):
            numbers = [(d.name, d.value(self.values), np.asarray(d.value(self.draws), float)) for d in self.law.derived]
        return tuple(parameter(name, float(value), draws, self.resampling.interval) for name, value, draws in numbers)

    @property
    def optimum_location(self) -> OptimumLocation | None:
        """Location of the optimum relative to the runs; None if there is no optimum or the range is unknown."""
        law, ends = self.law, self.data.ranges.get(self.law.axis or "")
        if law.optimum is None or ends is None:
            return None
        flat, edge = (any(w.code == code for w in self.warnings) for code in (FLAT, EDGE))
        return locate_optimum(float(law.optimum(self.values)), law.optimum(self.draws), *ends, flat=flat, edge=edge)

    @property
    def heading(self) -> str:
        """One line of text: the law, the data, the objective and its value."""
        spec = self.spec
        if self.objective is None:
            return f"{self.law.title}: published, {self.data.source}"
        tuned = {"huber-log": f" (delta {spec.delta:g})", "asymmetric": f" (skew {spec.skew:g})"}
        how = spec.objective + tuned.get(spec.objective, "")
        how = how if self.law.estimator != "threshold" else "penalised logistic regression"
        line = f"{self.law.title}: {self.n} runs of {self.data.source or 'a table'}, {how}"
        return f"{line}, objective {self.objective:.7g}{text.chi2_per_dof(self.chi2)}"

    @property
    def rows(self) -> list[text.Row]:
        """Rows of the table of the fit: one for each parameter, then one for each derived number."""
        rows = [parameter_row(p, *self._unit_and_meaning(p.name)) for p in self.parameters]
        for d, p in zip(self.law.derived, self.derived, strict=True):
            row = parameter_row(p, "", d.meaning)
            rows.append(row if math.isfinite(p.value) else row | {"text": d.absent})
        return rows

    def _unit_and_meaning(self, name: str) -> tuple[str, str]:
        """Return the unit and the meaning of a parameter.

        If larger ``y`` is better, the law describes -y, and its floor is minus the ceiling of y.
        """
        p, y = self.law.param(name), self.spec.y
        if self.sign > 0:
            return y if p.unit == "loss" else p.unit, p.meaning
        ceiling = any(isinstance(t, Const) and t.amplitude == name for t in self.law.terms)
        meaning = f"minus the ceiling of {y}: the law describes -{y}" if ceiling else p.meaning
        return f"-{y}" if p.unit == "loss" else p.unit, meaning

    @property
    def interval_source(self) -> str:
        """Source of the intervals in a few words; empty if there are no resamples."""
        if not len(self.resamples) or self.objective is None:
            return ""
        half = ", half of the refits without a floor" if self.resampling.floorless else ""
        return f"Intervals ({self.resampling.method}): {WAYS[self.resampling.method]}{half}."

    def with_notes(self, notes: Iterable[str]) -> Fit:
        """Return the fit with ``notes`` before its other warnings. The notes state how the runs were read."""
        return replace(self, warnings=(*(FitWarning(ABOUT_RUNS, note) for note in notes), *self.warnings))

    def predict(self, columns: Mapping[str, ArrayLike]) -> Floats:
        """Return the predictions of y, in the unit of y. ``columns`` has one array per axis, all of the same shape."""
        return self.sign * self.law.predict(self.theta, columns)

    def predict_draws(self, columns: Mapping[str, ArrayLike]) -> Floats:
        """Return the prediction of y by each resample: shape (r, *s). ``columns`` has an array of shape s per axis."""
        return self.sign * self.law.predict(self.resamples, columns)

    def __repr__(self) -> str:
        location = self.optimum_location
        place = f"The best {self.law.axis} is {location.text}." if location else ""
        notes = (*filter(None, (place, self.interval_source)), *(w.line for w in by_level(self.warnings)))
        return text.page(self.heading, self.rows, notes)

    def _repr_html_(self) -> str:
        return text.html_page(self.heading, self.law.latex, self.rows, (w.text for w in self.warnings))


def data_key(runs: str, curves: str = "") -> str:
    """Return the text that identifies the data in the hash of a fit: ``runs``, followed by ``curves`` if given."""
    return f"{runs}|{curves}" if curves else runs


def chi2(spec: FitSpec, objective: float | None, n: int, parameters: tuple[Parameter, ...]) -> tuple[float, int] | None:
    """Return chi squared and its degrees of freedom.

    The result is None if the runs have no errors or if the objective is not a sum of squares.
    """
    if objective is None or spec.relative_error is None or spec.objective not in ("ols", "ols-log"):
        return None
    return objective, n - sum(not p.fixed for p in parameters)


def empty_resamples(p: int) -> Floats:
    """Return an array of shape (0, p): the resamples of a published law with ``p`` parameters."""
    return np.empty((0, p))
