"""Fit of a law to several groups of runs, with shared parameters or with a separate law for each group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.estimators.joint import Joint, best_joint_fit, joint, joint_refits
from isoplan.engine.fitting.resampling.bootstrap import counts, targets
from isoplan.engine.fitting.resampling.priors import noise, normals
from isoplan.engine.fitting.samples.sample import Sample, clusters, no_run, sample
from isoplan.engine.fitting.single import finished, fit
from isoplan.engine.fitting.solver.identifiability import margin, others
from isoplan.engine.fitting.solver.multistart import Optimum, predict
from isoplan.engine.fitting.solver.newton import plain_objective
from isoplan.engine.fitting.solver.problem import Problem, problem
from isoplan.engine.fitting.solver.threads import Progress
from isoplan.engine.fitting.types import text
from isoplan.engine.fitting.types.intervals import Resampling, choose
from isoplan.engine.fitting.types.result import Estimate, Fit, FitWarning, Parameter, chi2, empty_resamples
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.types.warnings import by_level
from isoplan.engine.laws import Law
from isoplan.engine.schema import Runs


@dataclass(frozen=True, eq=False)
class GroupedFit:
    """The fits of several groups, by name of the group.

    If groups share parameters, row i of the resamples of every group belongs to the same joint refit. Differences
    between groups then have intervals. If groups share no parameter, each group is fitted separately, and there are no
    joint refits.
    """

    spec: FitSpec
    fits: Mapping[str, Fit]

    @property
    def n(self) -> int:
        return sum(f.n for f in self.fits.values())

    @property
    def objective(self) -> float:
        """The objective, summed over the runs of all groups."""
        return sum(f.objective or 0.0 for f in self.fits.values())

    @property
    def chi2(self) -> tuple[float, int] | None:
        """Chi squared and its degrees of freedom.

        None if the runs have no errors or if the objective is not a sum of squares.
        """
        return chi2(self.spec, self.objective, self.n, self.parameters)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters. Shared and fixed parameters occur once. Others occur once per group, as ``alpha[group]``."""
        return tuple(replace(self.fits[g].parameters[i], name=name) for name, g, i in self._columns())

    @property
    def theta(self) -> Floats:
        """The best fit (p,) of the parameters, in the order of ``parameters``."""
        return np.array([self.fits[g].theta[i] for _, g, i in self._columns()])

    @property
    def resamples(self) -> Floats:
        """The joint refits (r, p), in the order of ``parameters``. r = 0 if each group was fitted separately."""
        if not self.spec.share:
            return empty_resamples(len(self._columns()))
        return np.stack([self.fits[g].resamples[:, i] for _, g, i in self._columns()], axis=1)

    @property
    def warnings(self) -> tuple[FitWarning, ...]:
        """The warnings of the groups. A warning that occurs in every group is listed once. Others name their group."""
        every = [(g, w) for g, f in self.fits.items() for w in f.warnings]
        times = {w: sum(other == w for _, other in every) for _, w in every}
        common = tuple(w for w, count in times.items() if count == len(self.fits))
        own = (FitWarning(w.code, f"Group {g}: {w.text}") for g, w in every if w not in common)
        return (*common, *own)

    def with_notes(self, notes: Sequence[str]) -> GroupedFit:
        """Return the fits with ``notes`` before their other warnings. The notes state how the runs were read."""
        return replace(self, fits={name: fit.with_notes(notes) for name, fit in self.fits.items()})

    def _columns(self) -> list[tuple[str, str, int]]:
        """Return for each parameter its name, a group that contains it, and its index in the law."""
        groups, once = list(self.fits), (*self.spec.share, *self.spec.fixed)
        return [
            (name if name in once else f"{name}[{g}]", g, i)
            for i, name in enumerate(self.spec.find_law().names)
            for g in (groups[:1] if name in once else groups)
        ]

    def __repr__(self) -> str:
        """Return the text for a terminal: the shared parameters, then the parameters of each group."""
        parts = [(g, row) for g, fit in self.fits.items() for row in fit.rows]
        same = {*self.spec.share, *self.spec.fixed}
        once = {row["parameter"]: row for _, row in parts if row["parameter"] in same}
        own = [{**row, "parameter": f"{row['parameter']}[{g}]"} for g, row in parts if row["parameter"] not in once]
        heads = [f"{g}: {fit.heading}" for g, fit in self.fits.items()]
        total = f"All groups: {self.n} runs, objective {self.objective:.7g}{text.chi2_per_dof(self.chi2)}"
        source = next(iter(self.fits.values())).interval_source
        notes = (*filter(None, [source]), *(w.line for w in by_level(self.warnings)))
        return text.page("\n".join([*heads, total]), [*once.values(), *own], notes)


def fit_groups(
    spec: FitSpec, runs: Runs, *, snapshot: str = "", where: str = "", progress: Progress | None = None
) -> GroupedFit:
    """Fit the law of ``spec`` to each group of ``runs``. The parameters in ``spec.share`` are equal in all groups.

    The column with the role "group" defines the groups. If no parameter is shared and ``runs.roles.each`` is True, each
    group is fitted separately. A resample draws from each group as many runs as the group contains. Raises PlannerError
    in the same cases as ``fit``; the message names the group.
    """
    if runs.roles.each and not spec.share:
        return GroupedFit(spec, dict(_apart(spec, runs, snapshot, where, progress)))
    law = spec.find_law()
    _sharable(spec, law)
    names, samples = _samples(spec, runs)
    whole, group = _whole(spec, law, samples)
    j = joint(whole, group, spec.share, spec.prior)
    low, high = j.bounds
    free = int(np.sum(low < high))
    if j.n <= free:
        raise PlannerError(
            f"{law.name} has {free} free parameters in {len(names)} groups but only {j.n} runs are selected: "
            f"select at least {free + 1} runs, share more parameters, or fix a parameter."
        )
    if spec.prior:
        j = j.informed(noise(spec, whole.objective.loss, lambda: best_joint_fit(j).value / (j.n - free)))
    best = best_joint_fit(j)
    member = _clusters(samples)
    drawn = int(member.max()) + 1
    how = Resampling(choose(spec.interval, drawn, free), runs=drawn, parameters=free)
    found = np.empty((0, len(best.theta)))
    if spec.bootstrap:
        found = _refits(spec, how, whole, j, best, group, member, progress)
    resamples = [p.external(found[:, at]) for p, at in zip(j.parts, j.place, strict=True)]
    failed = np.any(np.isnan(np.concatenate(resamples, axis=1)), axis=1, keepdims=True)
    near, fits = margin(whole.objective.loss, best.value, j.n - free), {}
    for name, s, p, at, draws in zip(names, samples, j.parts, j.place, resamples, strict=True):
        theta, draws = best.theta[at], np.where(failed, np.nan, draws)
        view = replace(best, theta=theta, others=best.others[:, at])
        notes = others(law, p, view, near)
        estimate = Estimate(p.external(theta), plain_objective(p, theta), draws, notes, resampling=how)
        fits[name] = finished(spec, s, estimate, snapshot, where, name)
    return GroupedFit(spec, fits)


def _sharable(spec: FitSpec, law: Law) -> None:
    if not spec.share:
        raise PlannerError(
            "No parameter is shared over the groups: name at least one, or fit a separate law to each group."
        )
    if law.estimator != "surface":
        raise PlannerError(f"Law {law.name} cannot share parameters over groups: use another law, such as chinchilla.")
    for name in spec.share:
        law.param(name)
        if name in spec.fixed:
            raise PlannerError(
                f"{name} is fixed and shared: do not share it, because a fixed parameter is the same in all groups."
            )
    if set(law.names) <= {*spec.share, *spec.fixed}:
        raise PlannerError(f"Every free parameter of {law.name} is shared: fit the law without groups.")
    for term in law.terms:
        if term.exponent and term.amplitude in spec.share and term.exponent not in (*spec.share, *spec.fixed):
            raise PlannerError(
                f"{term.amplitude} is shared but {term.exponent} is not, so {term.amplitude} has a different meaning "
                f"in each group. Share {term.exponent} as well."
            )


def _apart(
    spec: FitSpec, runs: Runs, snapshot: str, where: str, progress: Progress | None
) -> Iterator[tuple[str, Fit]]:
    """Yield the name and the separate fit of each group. ``fit`` computes this fit from the group's runs."""
    names, column = _names(runs), runs.roles.group or "group"
    for i, name in enumerate(names):
        share = None if progress is None else partial(_report, progress, i, len(names))
        try:
            made = fit(spec, runs.take(runs.labels["group"] == name), snapshot=snapshot, where=where, progress=share)
        except PlannerError as error:
            raise _of_group(name, error) from error
        yield name, replace(made, data=replace(made.data, group=name, roles={**made.data.roles, "group": column}))


def _report(progress: Progress, done: int, total: int, share: float) -> None:
    progress((done + share) / total)


def _names(runs: Runs) -> list[str]:
    """Return the names of the groups with at least one run of positive weight, in alphabetical order."""
    if "group" not in runs.labels:
        raise PlannerError("A fit of groups needs groups: map a column to the role group.")
    used = runs["weight"] > 0 if "weight" in runs else np.ones(len(runs), bool)
    names = [str(name) for name in np.unique(runs.labels["group"][used])]
    if not names:
        raise no_run(runs)
    return names


def _of_group(name: str, error: PlannerError) -> PlannerError:
    return PlannerError(f"Group {name or 'without a name'}: {error}")


def _samples(spec: FitSpec, runs: Runs) -> tuple[list[str], list[Sample]]:
    """Return the names of the groups and a sample for each; raises PlannerError if there are fewer than two groups."""
    names = _names(runs)
    if len(names) < 2:
        raise PlannerError(
            f"All runs are of one group, {names[0] or 'without a name'}: shared parameters need at least two groups."
        )
    samples = []
    for name in names:
        try:
            samples.append(sample(spec, runs.take(runs.labels["group"] == name), spec.share))
        except PlannerError as error:
            raise _of_group(name, error) from error
    return names, samples


def _whole(spec: FitSpec, law: Law, samples: list[Sample]) -> tuple[Problem, Ints]:
    """Return the problem with the runs of all groups, and the number of the group of each run."""
    columns = {a: np.concatenate([s.columns[a] for s in samples]) for a in samples[0].columns}
    y, weight = (np.concatenate([getattr(s, name) for s in samples]) for name in ("y", "weight"))
    return problem(law, spec, columns, y, weight), np.repeat(np.arange(len(samples)), [len(s) for s in samples])


def _clusters(samples: list[Sample]) -> Ints:
    """Return the cluster number of each run. Runs of different groups are never in the same cluster."""
    own = [clusters(s.runs) for s in samples]
    before = np.cumsum([0, *(int(member.max()) + 1 for member in own[:-1])])
    return np.concatenate([member + start for member, start in zip(own, before, strict=True)])


def _refits(
    spec: FitSpec,
    how: Resampling,
    whole: Problem,
    j: Joint,
    best: Optimum,
    group: Ints,
    member: Ints,
    progress: Progress | None,
) -> Floats:
    """Return the parameter vectors (r, Q) of the joint resamples.

    With the method "residual", a resample draws noise around the fit. With other methods, it draws from each group as
    many runs as the group contains.
    """
    total = spec.bootstrap
    own = j.redrawn(normals(spec.seed, total, sum(map(len, j.priors))))
    if how.method == "profile":
        raise PlannerError("A fit of groups has no interval profile: choose auto, residual, bc or percentile.")
    if how.method != "residual":
        strata = group[np.unique(member, return_index=True)[1]]
        draw = partial(counts, len(strata), spec.seed, strata=strata)
        return joint_refits(own, best, lambda a, b: draw(a, b)[:, member], total, progress)
    fitted = np.concatenate([predict(p, best.theta[None, at])[0] for p, at in zip(j.parts, j.place, strict=True)])
    low, high = j.bounds
    y = targets(spec, whole.y[0], whole.weight, fitted, member, int(np.sum(low < high)), slice(0, total))
    parts = (replace(p, y=y[:, rows]) for p, rows in zip(own.parts, j.rows, strict=True))
    return joint_refits(replace(own, parts=tuple(parts)), best, lambda a, b: np.ones((b - a, j.n)), total, progress)
