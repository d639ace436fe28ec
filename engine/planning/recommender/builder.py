"""Evidence for a recipe, from fits to a run table. The page, the terminal and exported scripts use these fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
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
from isoplan.engine.planning.recommender.choice import FAILED, Setting
from isoplan.engine.planning.recommender.columns import LOSS, metric_name, printed_name
from isoplan.engine.planning.recommender.evidence import Evidence, with_fallback
from isoplan.engine.planning.recommender.references import Rows, reference_rows
from isoplan.engine.planning.recommender.run_table import Table, trained
from isoplan.engine.planning.recommender.sorting import Swept
from isoplan.engine.planning.recommender.sweep import Optimum, counting_of, optimum_of
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Curves, Metric, Runs

Progress = Callable[[str, float], None]
"""Function that is called during fits with two arguments: the setting that is being fitted, and the completed fraction
(0 to 1) of the fits of this setting.
"""
OBJECTIVE: ObjectiveName = "ols"
REFITS = 200
FULL = 10
"""Smallest number of values of a setting for which the law ``starvation`` (behavioural, eqs. 2, 6) is fitted.

This law has five parameters. With fewer values, there are too few degrees of freedom to estimate the noise. In that
case a parabola in the logarithm (three parameters) is fitted.
"""
SETTINGS: tuple[Setting, ...] = ("s", "B", "N", "K")


@dataclass(frozen=True, eq=False)
class Built:
    """Evidence from a run table, and the runs that each setting was fitted to.

    ``errors`` states why a setting has no fit although the table varies this setting. ``metrics`` are the metrics that
    the table contains. ``references`` are table rows by setting. They compare the training runs of the setting's sweep
    with baselines that only count items.
    """

    evidence: Evidence = field(default_factory=Evidence)
    runs: Mapping[Setting, Runs] = field(default_factory=dict)
    errors: Mapping[Setting, str] = field(default_factory=dict)
    references: Mapping[Setting, Rows] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Job:
    """The fit of one ``setting`` of a ``table`` to its ``runs``.

    ``metrics`` are the metrics to fit, by name. The other fields are options of the fit.
    """

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
        """Return the specification of a fit of ``law`` to the column ``y``, over the column ``axis``."""
        return FitSpec(law=law, axis=axis, y=y, objective=OBJECTIVE, bootstrap=self.refits, seed=self.seed)

    def measured(self, metric: Metric, *needed: str) -> Runs:
        """Return the runs that have values of ``metric`` and of all ``needed`` columns. Other metrics are removed.

        Raises PlannerError if no run has all these values.
        """
        missing = next((name for name in needed if name not in self.runs), None)
        if missing is not None:
            raise PlannerError(f"{missing}: the table has no such column. Add it, or name the column that contains it.")
        there = np.all([np.isfinite(self.runs[name]) for name in (metric.column, *needed)], axis=0)
        if not there.any():
            raise PlannerError(f"{metric.column}: no run of this sweep has a value. Choose another metric.")
        found = self.runs.take(there)
        others = {m.column for m in self.runs.roles.metrics} - {metric.column, *needed}
        values = {name: x for name, x in found.values.items() if name not in others}
        return replace(found, values=values, roles=found.roles.model_copy(update={"metrics": (metric,)}))

    @property
    def scored(self) -> str:
        """Name of the column with the number of events that the metrics average over; empty if there is none."""
        return self.table.columns.settings.get("scored", "")

    def tell(self, part: float) -> None:
        """Report that the fraction ``part`` of the fits of this setting is complete."""
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
    """Return the evidence of ``table`` for ``metrics``. The first metric is the serving metric.

    Metrics may have any spelling. Settings that no sweep varies are skipped. ``curves`` reads the training curves of
    runs, which give the number of training steps to a target. If the table contains none of ``metrics``, N and D are
    fitted for the loss. The remarks of the evidence list the settings that cannot be fitted, and the runs that were
    excluded from a sweep.
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
            # If B is fitted to curves, keep the runs marked as untrained, because a curve may reach the target before
            # its loss rises. In all other fits, leave these runs out.
            if setting != "B" or curves is None:
                part, left_out = trained(part, table.columns)
                said = (*said, *left_out)
            served = next(iter(metrics), "")
            job = Job(setting, part, table, fitted, served, curves, refits, seed, progress)
            found, more = MAKERS[setting](job)
        except PlannerError as error:
            errors[setting] = str(error)
            remarks[setting] = (*said, f"{FAILED} {setting}. {error}")
            continue
        evidence, runs[setting] = with_fallback(found, evidence), part
        if said or more:
            remarks[setting] = (*said, *more)
    counted = {setting: reference_rows(table, setting) for setting in settings if setting in table.rows}  # type: ignore[arg-type]
    measured = tuple(name for name in table.columns.metrics if metric_name(name) == name)
    return Built(replace(evidence, remarks=remarks, used=_constant(table)), runs, errors, counted, measured)


def _constant(table: Table) -> dict[Setting, float]:
    """Return the batch size and the learning rate of a table; each is omitted if it differs between runs."""
    settings: tuple[Setting, ...] = ("B", "lr")
    found: dict[Setting, float] = {}
    for setting in settings:
        x = table.runs[column] if (column := table.columns.settings.get(setting, "")) in table.runs else np.empty(0)
        if len(x) and np.all(x == x[0]):
            found[setting] = float(x[0])
    return found


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
    """Return the optimum of the swept column ``over`` for every metric at every budget.

    The second value contains a remark on each budget that cannot be fitted. Raises PlannerError if no optimum can be
    fitted.
    """
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
    """Return the requested metrics that the table contains, by name. Raises PlannerError if there are none."""
    if not job.metrics:
        known = ", ".join(job.table.columns.metrics) or "no column that is known as a metric"
        raise PlannerError(f"{job.served}: no column of the table contains this metric. The table has {known}.")
    return job.metrics


def _law_of(x: Floats) -> str:
    """Return the name of the law to fit to a sweep over the values ``x`` (n,).

    The law depends on the number of distinct positive values, because the axis is logarithmic.
    """
    return "starvation" if len(np.unique(x[x > 0])) >= FULL else "log-parabola"


def _budgets(runs: Runs) -> list[float]:
    nominal = runs["budget"] if "budget" in runs else np.empty(0)
    return [float(C) for C in np.unique(nominal[np.isfinite(nominal)])] or [float("nan")]


def _allocation(job: Job) -> tuple[Evidence, tuple[str, ...]]:
    """Fit N* and D* of each metric to the minima of its iso-FLOP curves.

    If a column contains measured C, a compute rule is fitted first: ``C = zeta * N**a * D**b``.
    """
    found = _each(job, lambda name, metric: _frontier(job, metric))
    return Evidence(allocation=found, sizes=tuple(_curves(job, found))), ()


def _curves(job: Job, metrics: Iterable[str]) -> Iterator[Optimum]:
    """Yield the optimum of N of each metric at each budget, with the fitted curve of the metric against N.

    The cost of another N is computed from this curve. Budgets without a fit are skipped.
    """
    for name in metrics:
        metric = job.metrics[name]
        runs = job.measured(metric, "N")
        for C in _budgets(runs):
            part = runs if np.isnan(C) else runs.take(runs["budget"] == C)
            with suppress(PlannerError):
                yield replace(optimum_of(part, job.spec("log-parabola", metric.column, "N"), C), metric=name)


def _frontier(job: Job, metric: Metric) -> Fit:
    return fit(job.spec("isoflop", metric.column), _measured_rule(job.measured(metric, "N", "D", "C")))


def _each(job: Job, make: Callable[[str, Metric], Fit]) -> dict[str, Fit]:
    """Call ``make`` for each metric and return the fits by metric.

    A metric that cannot be fitted is skipped. If none can be fitted, the error of the first metric is raised.
    """
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
    """Return the runs with a compute rule fitted to their measured C; unchanged if no column contains measured C."""
    if runs.roles.C is None:
        return runs
    try:
        rule = fit_powers(runs["N"], runs["D"], runs["C"]).rule
    except PlannerError:
        return runs
    return replace(runs, roles=runs.roles.model_copy(update={"compute": rule}))


def _batch(job: Job) -> tuple[Evidence, tuple[str, ...]]:
    """Fit the critical batch size for each metric.

    The number of training steps to a target comes from training curves if they are given, otherwise from a column.
    """
    over = job.table.columns.settings["B"]
    get_law("critical-batch", over)
    if job.curves is not None:
        return Evidence(batch=_each(job, lambda name, metric: _from_curves(job, over, name, metric))), ()
    if "updates" not in job.table.columns.settings:
        raise PlannerError(
            "B_crit: the table has no column of training steps to a target. Add such a column, or the training "
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
    """Return the rows about ``metric`` if the groups of the table are metrics; otherwise return all rows."""
    if "group" not in runs.labels:
        return runs
    named = [label == metric or metric_name(label) == metric for label in runs.labels["group"].tolist()]
    return runs.take(np.array(named, bool)) if any(named) else runs


def _from_curves(job: Job, over: str, name: str, metric: Metric) -> Fit:
    """Fit the law S(B) of training steps against batch size, from training curves.

    Raises PlannerError if S increases with B, because the law does not describe such runs.
    """
    assert job.curves is not None
    runs = job.measured(metric, over)
    made = fit(job.spec("critical-batch", metric.column, over), runs, curves=job.curves(runs))
    rising = next((warning.text for warning in made.warnings if warning.code == RISES), None)
    if rising:
        raise PlannerError(f"The training steps to a value of {name} do not follow the law S(B). {rising}")
    return made


MAKERS: Mapping[Setting, Callable[[Job], tuple[Evidence, tuple[str, ...]]]] = {
    "s": _share, "B": _batch, "N": _allocation, "K": _negatives,
}  # fmt: skip
"""Functions that fit the settings, by setting. Each returns evidence, and remarks on excluded runs or budgets."""
