"""Evidence of a recipe from a run table, used by page, terminal and documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs.measured import fit_powers
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.diagnostics.checks import RISES
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.spec import ObjectiveName
from isoplan.engine.laws import get_law
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.columns import LOSS, metric_name, printed_name
from isoplan.engine.planning.recommender.evidence import Evidence, with_fallback
from isoplan.engine.planning.recommender.references import Rows, reference_rows
from isoplan.engine.planning.recommender.run_table import Table, trained
from isoplan.engine.planning.recommender.sorting import Swept
from isoplan.engine.planning.recommender.sweep import Optimum, counting_of, optimum_of
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Curves, Metric, Runs

Progress = Callable[[str, float], None]
"""Callback that receives the name of the current fit and the completed fraction, between 0 and 1."""
OBJECTIVE: ObjectiveName = "ols"
REFITS = 200
FULL = 10
"""Smallest number of values of a setting for which the five parameters of two costs (behavioural, eqs. 2, 6) are
fitted. With fewer values, a parabola in the logarithm (three parameters) is fitted, because two costs leave too few
degrees of freedom for the noise.
"""
SETTINGS: tuple[Setting, ...] = ("s", "B", "N", "K")


@dataclass(frozen=True, eq=False)
class Built:
    """Evidence of run tables, the runs behind each setting, and the reasons why other varied settings have no fit.

    ``metrics`` are those that the tables measure. ``references`` are table rows by setting that compare the cells of
    its sweep with baselines of counting.
    """

    evidence: Evidence = field(default_factory=Evidence)
    runs: Mapping[Setting, Runs] = field(default_factory=dict)
    errors: Mapping[Setting, str] = field(default_factory=dict)
    references: Mapping[Setting, Rows] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Job:
    """The fit of one setting of a ``table``: its ``runs``, the ``metrics`` by name, and options."""

    setting: Setting
    runs: Runs
    table: Table
    metrics: Mapping[str, Metric]
    served: str
    curves: Callable[[Runs], Curves] | None
    refits: int
    seed: int
    progress: Progress | None

    def spec(self, law: str, y: str, axis: str | None = None) -> FitSpec:
        """Return the specification of a fit of ``law`` to ``y``."""
        return FitSpec(law=law, axis=axis, y=y, objective=OBJECTIVE, bootstrap=self.refits, seed=self.seed)

    def measured(self, metric: Metric, *needed: str) -> Runs:
        """Return the runs that have ``metric``, as their only metric, and all ``needed`` values.

        Raises PlannerError if there are none.
        """
        missing = next((name for name in needed if name not in self.runs), None)
        if missing is not None:
            raise PlannerError(f"{missing}: the table has no such column. Add it, or name the column that holds it.")
        there = np.all([np.isfinite(self.runs[name]) for name in (metric.column, *needed)], axis=0)
        if not there.any():
            raise PlannerError(f"{metric.column}: no run of this sweep has a value. Choose another metric.")
        found = self.runs.take(there)
        others = {m.column for m in self.runs.roles.metrics} - {metric.column, *needed}
        values = {name: x for name, x in found.values.items() if name not in others}
        return replace(found, values=values, roles=found.roles.model_copy(update={"metrics": (metric,)}))

    @property
    def scored(self) -> str:
        """Column of the number of events over which the metrics are averaged; empty if there is none."""
        return self.table.columns.settings.get("scored", "")

    def tell(self, part: float) -> None:
        """Report that the fraction ``part`` of this setting is fitted."""
        if self.progress is not None:
            self.progress(self.setting, part)


def build_evidence(
    table: Table,
    metrics: Sequence[str],
    *,
    curves: Callable[[Runs], Curves] | None = None,
    settings: Sequence[Setting] = SETTINGS,
    refits: int = REFITS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Built:
    """Return the evidence of ``table`` for ``metrics`` by their printed names; the served metric comes first.

    Names of metrics may have any spelling. A setting that no sweep varies is left out.

    ``curves`` reads the training curves of runs, from which training steps to a target are counted. If the table has
    none of ``metrics``, N and D are fitted for the loss. Remarks of the evidence list settings that cannot be fitted,
    and runs that were left out of a sweep.
    """
    metrics = tuple(dict.fromkeys(map(printed_name, metrics)))
    asked = {name: m for name in metrics if (m := table.columns.metric(name)) is not None}
    evidence, runs, errors = Evidence(), dict[Setting, Runs](), dict[Setting, str]()
    remarks: dict[Setting, tuple[str, ...]] = {}
    for setting in (setting for setting in settings if setting in table.rows):
        swept: Swept = setting  # type: ignore[assignment]
        part = table.runs.take(table.rows[swept])
        loss = table.columns.metrics.get(LOSS)
        fitted = {LOSS: loss} if setting == "N" and loss is not None and not asked else asked
        said = table.remarks[swept]
        try:
            if setting != "B" or curves is None:  # a cell may have been better earlier on its curve than at its end
                part, left_out = trained(part, table.columns)
                said = (*said, *left_out)
            served = next(iter(metrics), "")
            job = Job(setting, part, table, fitted, served, curves, refits, seed, progress)
            found, more = MAKERS[setting](job)
        except PlannerError as error:
            errors[setting] = str(error)
            remarks[setting] = (*said, f"Your runs do not determine {setting}. {error}")
            continue
        evidence, runs[setting] = with_fallback(found, evidence), part
        if said or more:
            remarks[setting] = (*said, *more)
    counted = {setting: reference_rows(table, setting) for setting in settings if setting in table.rows}  # type: ignore[arg-type]
    measured = tuple(name for name in table.columns.metrics if metric_name(name) == name)
    return Built(replace(evidence, remarks=remarks), runs, errors, counted, measured)


def _share(job: Job) -> tuple[Evidence, tuple[str, ...]]:
    column = job.table.columns.settings["s"]
    if np.nanmax(job.runs[column]) > 1:
        raise PlannerError(f"{column}: the embedder share is a fraction. Divide percentages by 100.")
    found, remarks = _optima(job, column)
    return Evidence(share=found), remarks


def _negatives(job: Job) -> tuple[Evidence, tuple[str, ...]]:
    found, remarks = _optima(job, job.table.columns.settings["K"])
    return Evidence(negatives=found), remarks


def _optima(job: Job, over: str) -> tuple[tuple[Optimum, ...], tuple[str, ...]]:
    """Return the optima of every metric at every budget, and remarks on the budgets that cannot be fitted."""
    found: list[Optimum] = []
    failed: dict[float, str] = {}
    for i, (name, metric) in enumerate(_asked(job).items()):
        runs = job.measured(metric, over)
        budgets, counting = _budgets(runs), counting_of(name, job.table.runs[metric.column], job.scored)
        for j, C in enumerate(budgets):
            part = runs if np.isnan(C) else runs.take(runs["budget"] == C)
            job.tell((i + j / len(budgets)) / len(job.metrics))
            try:
                one = optimum_of(part, job.spec(_law_of(part[over]), metric.column, over), C, counting)
            except PlannerError as error:
                failed[C] = str(error)
            else:
                found.append(replace(one, metric=name))
    if not found:
        raise PlannerError(next(iter(failed.values())))
    left = ((C, why) for C, why in failed.items() if not np.isnan(C))
    return tuple(found), tuple(f"Budget {power10(C)} left out: {why}" for C, why in left)


def _asked(job: Job) -> Mapping[str, Metric]:
    """Return the requested metrics. Raises PlannerError if the table has none of them."""
    if not job.metrics:
        known = ", ".join(job.table.columns.metrics) or "no column that is known as a metric"
        raise PlannerError(f"{job.served}: no column of the table measures it. The table has {known}.")
    return job.metrics


def _law_of(x: Floats) -> str:
    """Return the law for a sweep over ``x`` (n,); runs at zero do not count, because the axis is logarithmic."""
    return "starvation" if len(np.unique(x[x > 0])) >= FULL else "log-parabola"


def _budgets(runs: Runs) -> list[float]:
    nominal = runs["budget"] if "budget" in runs else np.empty(0)
    return [float(C) for C in np.unique(nominal[np.isfinite(nominal)])] or [float("nan")]


def _allocation(job: Job) -> tuple[Evidence, tuple[str, ...]]:
    """Fit N* and D* to the minima of iso-FLOP curves, with the powers of N and D by which the measured C grows."""
    return Evidence(allocation=_each(job, lambda name, metric: _frontier(job, metric))), ()


def _frontier(job: Job, metric: Metric) -> Fit:
    return fit(job.spec("isoflop", metric.column), _measured_rule(job.measured(metric, "N", "D", "C")))


def _each(job: Job, make: Callable[[str, Metric], Fit]) -> dict[str, Fit]:
    """Fit each metric; raise the first error if no metric can be fitted."""
    found, reasons = dict[str, Fit](), list[PlannerError]()
    for i, (name, metric) in enumerate(_asked(job).items()):
        job.tell(i / len(job.metrics))
        try:
            found[name] = make(name, metric)
        except PlannerError as error:
            reasons.append(error)
    if not found:
        raise reasons[0]
    return found


def _measured_rule(runs: Runs) -> Runs:
    """Return the runs under the compute rule that their measured C follows; unchanged if no column measures C."""
    if runs.roles.C is None:
        return runs
    try:
        rule = fit_powers(runs["N"], runs["D"], runs["C"]).rule
    except PlannerError:
        return runs
    return replace(runs, roles=runs.roles.model_copy(update={"compute": rule}))


def _batch(job: Job) -> tuple[Evidence, tuple[str, ...]]:
    """Fit the critical batch by metric, from curves that reach a target, or from a column of training steps."""
    over = job.table.columns.settings["B"]
    get_law("critical-batch", over)
    if job.curves is not None:
        return Evidence(batch=_each(job, lambda name, metric: _from_curves(job, over, name, metric))), ()
    if "updates" not in job.table.columns.settings:
        raise PlannerError(
            "B_crit: the table has no training steps to a target. Add a column of them, or the training "
            "curves of the runs."
        )
    counted = Metric(column=job.table.columns.settings["updates"], direction="min")
    runs, spec = job.measured(counted, over), job.spec("critical-batch", counted.column, over)
    group = runs.labels.get("group") if job.table.columns.label else None
    if group is None:
        return Evidence(batch={job.served: fit(spec, runs)}), ()
    named = {label: printed_name(label) for label in dict.fromkeys(group.tolist())}
    return Evidence(batch={name: fit(spec, runs.take(group == label)) for label, name in named.items()}), ()


def of_metric(runs: Runs, metric: str) -> Runs:
    """Return the rows of ``metric`` in a table whose groups are metrics; all rows of another table."""
    if "group" not in runs.labels:
        return runs
    named = [label == metric or metric_name(label) == metric for label in runs.labels["group"].tolist()]
    return runs.take(np.array(named, bool)) if any(named) else runs


def _from_curves(job: Job, over: str, name: str, metric: Metric) -> Fit:
    """Fit the law of S(B). Raises PlannerError if S rises with B, which the law does not describe."""
    assert job.curves is not None
    runs = job.measured(metric, over)
    made = fit(job.spec("critical-batch", metric.column, over), runs, curves=job.curves(runs))
    rising = next((warning.text for warning in made.warnings if warning.code == RISES), None)
    if rising:
        raise PlannerError(f"The training steps to a value of {name} follow no law of S(B). {rising}")
    return made


MAKERS: Mapping[Setting, Callable[[Job], tuple[Evidence, tuple[str, ...]]]] = {
    "s": _share, "B": _batch, "N": _allocation, "K": _negatives,
}  # fmt: skip
"""Functions that fit each setting. They return its evidence, and remarks on what was left out."""
