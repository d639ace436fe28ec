"""Selection and checks of the runs of a fit. A problem that would make the fit meaningless raises PlannerError."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError, UndeterminedLawError
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws import Law
from isoplan.engine.laws.expression import FormulaLaw
from isoplan.engine.laws.terms import Const
from isoplan.engine.schema import NOT_TRAINED, Role, Runs

NARROWEST = 1e-9
"""Smallest accepted standard deviation of a prior, relative to its mean."""
PROPORTIONAL = 1 - 1e-9
"""Largest correlation of the logarithms of two axes at which runs can separate the effects of the axes."""
TRAIN_LONGER = "Train longer, or with a larger learning rate."
"""What to do about runs that did not train: their models are no better than guessing."""
SMALLER_RATE = "Use a smaller learning rate."
"""What to do about runs whose loss is not finite."""
SCALES = ("N", "D", "U", "C")
"""Axes on which a value of zero is an error. On other axes, a sweep may start at zero."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The runs that are fitted: all runs with a positive weight and a value on each axis.

    ``columns`` contains an array (n,) for each axis. ``y`` is (fitted quantity) * ``sign``. ``sign`` is -1 if larger
    values are better and the law describes -y. ``unplaced`` counts the runs that are omitted because their value on a
    swept axis is zero and ``FitSpec.realised`` is None. ``unmeasured`` counts the runs without a value of y. An example
    of a missing y is a background rejection that is given only as a limit.
    """

    law: Law
    spec: FitSpec
    runs: Runs
    columns: dict[str, Floats]
    y: Floats
    weight: Floats
    sign: float
    left_out: int = 0  # number of runs with weight zero
    known: tuple[str, ...] = ()  # parameters that runs of other groups also determine
    unplaced: int = 0
    unmeasured: int = 0

    def __len__(self) -> int:
        return len(self.y)

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the parameters that the fit of these runs determines."""
        return tuple(name for name in self.law.names if name not in (*self.spec.fixed, *self.known))

    @property
    def unaided(self) -> tuple[str, ...]:
        """Names of the parameters that these runs must determine without a prior."""
        return tuple(name for name in self.free if name not in self.spec.prior)


def sample(spec: FitSpec, runs: Runs, known: tuple[str, ...] = ()) -> Sample:
    """Return the runs to fit; raises PlannerError if these runs cannot determine the law.

    ``known`` contains parameters that other runs determine. They may remain undetermined by ``runs``.
    """
    spec = spec.read_from(runs)
    law = spec.find_law()
    _known(spec, law)
    needed = tuple(dict.fromkeys((*law.axes, *law.extra_columns)))
    _present(spec, law, runs, needed)
    weight = runs["weight"] if "weight" in runs else np.ones(len(runs))
    _weights(runs, weight)
    kept = runs.take(weight > 0)
    if len(kept) == 0:
        raise no_run(runs)
    at = placed(spec, kept)
    somewhere = ~np.any([np.isnan(at[a]) & (kept[a] == 0) for a in law.axes], axis=0)
    there = ~np.isnan(kept[spec.y]) | (spec.y == "loss")
    kept = replace(kept, values={**kept.values, **at}).take(somewhere & there)
    if len(kept) == 0 and not there.any():
        raise PlannerError(f"No run has a value of {spec.y}: choose another metric, or select runs that have one.")
    for role in needed:
        _usable(kept, role, zero=role in law.axes and role not in law.positive)
    sign = -1.0 if runs.roles.direction(spec.y) == "max" and law.minimised else 1.0
    y, columns = sign * kept[spec.y], {a: kept[a] for a in needed}
    left_out, unplaced, unmeasured = (int(np.sum(x)) for x in (weight == 0, ~somewhere, ~there))
    weight = weight[weight > 0][somewhere & there]
    out = Sample(law, spec, kept, columns, y, weight, sign, left_out, known, unplaced, unmeasured)
    _target(out)
    out = replace(out, weight=out.weight * precision(spec, kept))
    _bounds(out)
    if law.is_pointwise:
        _enough(out)
        _axes(out)
    if isinstance(law, FormulaLaw):
        law.formula.check(columns, kept.ids)
    return out


def no_run(runs: Runs) -> PlannerError:
    """Return the error for a table without a usable run. It states the most frequent reason for omitted rows."""
    if len(runs) == 0 and (counts := runs.left_out.counts):
        reason = max(counts, key=counts.__getitem__)
        text = f"{counts[reason]:,} row{'' if counts[reason] == 1 else 's'} {reason}"
        way = "Correct these values, or map other columns."
        if reason.startswith(NOT_TRAINED):
            way = TRAIN_LONGER
        return PlannerError(f"No run is left: the table has {text}. {way}")
    return PlannerError("No run is selected: use a wider filter, or give at least one run a weight above zero.")


def precision(spec: FitSpec, runs: Runs) -> Floats:
    """Return the factors (n,) by which the weights of the runs are multiplied: 1 if no errors are given.

    If sigma is the error of a run, the factor is 1/sigma for the objectives "lad" and "asymmetric", and 1/sigma^2 for
    other objectives. Least squares then sums (residual / sigma)^2.
    """
    stated = spec.relative_error
    if stated is None:
        return np.ones(len(runs))
    if isinstance(stated, str) and stated not in runs:
        raise PlannerError(f"There is no column {stated!r} of relative errors: map it as a hyperparameter or a metric.")
    error = runs[stated] if isinstance(stated, str) else np.full(len(runs), stated)
    bad = np.flatnonzero(~(np.isfinite(error) & (error > 0)))
    if bad.size and not isinstance(stated, str):
        raise PlannerError(f"The relative error is {stated:g}: give a number above zero, such as 0.1 for 10 %.")
    if bad.size:
        raise PlannerError(
            f"The relative error {stated} is {error[bad[0]]:g} in {row(runs, int(bad[0]))}: "
            "give a number above zero, or leave the run out."
        )
    sigma = stated_error(spec, runs)
    bad = np.flatnonzero(sigma == 0)
    if bad.size:
        raise PlannerError(
            f"{column(runs, spec.y)} is 0 in {row(runs, int(bad[0]))}, and zero has no relative error: "
            "leave the run out."
        )
    return 1 / sigma if spec.objective in ("lad", "asymmetric") else 1 / sigma**2


def stated_error(spec: FitSpec, runs: Runs) -> Floats:
    """Return the errors (n,) of log y, or of y if the objective uses no logarithms; 1 if no errors are given."""
    stated = spec.relative_error
    if stated is None:
        return np.ones(len(runs))
    error = runs[stated] if isinstance(stated, str) else np.full(len(runs), stated)
    return error if spec.log_residuals else error * np.abs(runs[spec.y])


def placed(spec: FitSpec, runs: Runs) -> dict[str, Floats]:
    """Return the columns (n,) of the law's axes. On a swept axis, zeros become ``spec.realised`` (NaN if unset)."""
    law = spec.find_law()
    nowhere = np.nan if spec.realised is None else spec.realised
    return {a: np.where(runs[a] == 0, nowhere, runs[a]) if a == swept_axis(law) else runs[a] for a in law.axes}


def swept_axis(law: Law) -> str | None:
    """Return the selectable axis of ``law`` if a sweep of this axis may start at zero; otherwise None."""
    swept = law.with_axis is not None and law.axis in law.positive and law.axis not in SCALES
    return law.axis if swept else None


def column(runs: Runs, role: str) -> str:
    """Return a role and its column name, for use in a sentence: ``loss (column val_loss)``."""
    name = runs.roles.column(Role(role)) if role in set(Role) else None
    return role if name is None or name == role else f"{role} (column {name})"


def row(runs: Runs, i: int) -> str:
    """Return the row number and the name of the run at position ``i``, for use in a sentence."""
    label = runs.labels["run"][i] if "run" in runs.labels else ""
    return f"row {runs.ids[i]}" + (f" ({label})" if label else "")


def _known(spec: FitSpec, law: Law) -> None:
    if spec.y in law.axes:
        raise PlannerError(
            f"{spec.y!r} is both the quantity and the axis of law {law.name}. Choose another column for one of them."
        )
    for name, value in spec.fixed.items():
        law.param(name)
        if not np.isfinite(value):
            raise PlannerError(f"The fixed value of {name} is {value}: give a finite number.")
    for name, (mean, sd) in spec.prior.items():
        law.param(name)
        if name in spec.fixed:
            raise PlannerError(f"{name} is fixed and has a prior: keep one of the two.")
        if not np.isfinite(mean):
            raise PlannerError(f"The prior mean of {name} is {mean}: give a finite number.")
        if not (np.isfinite(sd) and sd > 0):
            raise PlannerError(f"The prior of {name} has the standard deviation {sd:g}: give a number above zero.")
        if sd < max(NARROWEST * abs(mean), 1e-100):
            raise PlannerError(
                f"The prior of {name} has the standard deviation {sd:g}, which leaves no freedom: fix the parameter."
            )
    if spec.prior and not law.is_pointwise:
        raise PlannerError(
            f"Law {law.name} does not support priors: fix the parameter, or use a law such as chinchilla."
        )
    if set(law.names) <= set(spec.fixed):
        raise PlannerError(f"Every parameter of {law.name} is fixed: leave at least one of them free.")


def _present(spec: FitSpec, law: Law, runs: Runs, needed: tuple[str, ...]) -> None:
    missing = [role for role in needed if runs.lacks(role)]
    if missing and spec.y == "loss" and "loss" not in runs and "loss" in runs.withheld:
        missing = list(dict.fromkeys([*missing, "loss"]))  # name all columns that the user must confirm
    reasons = [runs.withheld[role] for role in missing if role in runs.withheld]
    if reasons:
        raise PlannerError(f"Law {law.name} needs {' and '.join(missing)}: {'; '.join(reasons)}.")
    if missing:
        raise PlannerError(
            f"Law {law.name} needs {' and '.join(missing)}: "
            f"map {'a column' if len(missing) == 1 else 'columns'} to {'it' if len(missing) == 1 else 'them'}."
        )
    if spec.y not in runs:
        known = ", ".join(m.column for m in runs.roles.metrics) or "none"
        raise PlannerError(
            f"The loss is missing: {runs.withheld.get('loss', 'map a column to loss')}."
            if spec.y == "loss"
            else f"There is no metric {spec.y!r}: the metrics of this table are {known}."
        )


def _weights(runs: Runs, weight: Floats) -> None:
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        raise PlannerError(
            f"{column(runs, 'weight')} is {weight[bad[0]]:g} in {row(runs, int(bad[0]))}: "
            "a weight is zero (the run is left out) or positive."
        )


def _usable(runs: Runs, role: str, zero: bool) -> None:
    """Raise PlannerError for values of a column that no law can use.

    NaN and infinity are never allowed. Zero and negative numbers are allowed only if ``zero`` is True.
    """
    values = runs[role]
    sound = np.isnan(values) if role == "budget" else np.zeros(len(values), bool)  # NaN: the run has no budget
    bad = np.flatnonzero(~sound & ~(np.isfinite(values) & (zero | (values > 0))))
    if bad.size:
        raise PlannerError(
            f"{column(runs, role)} is {values[bad[0]]:g} in {row(runs, int(bad[0]))}: a law needs "
            f"{'finite' if zero else 'positive'} values of {role}. Correct the value, or leave the run out."
        )


def _target(s: Sample) -> None:
    y, name = s.sign * s.y, column(s.runs, s.spec.y)
    bad = np.flatnonzero(~np.isfinite(y))
    if bad.size:
        raise PlannerError(
            f"{name} is {y[bad[0]]} in {row(s.runs, int(bad[0]))}: correct the value, or leave the run out."
        )
    if not s.spec.log_residuals or s.law.estimator == "threshold":
        return
    if s.sign < 0:
        raise PlannerError(
            f"Larger {name} is better, so the law describes the negative of this metric, which has no logarithm: "
            f"choose the objective ols instead of {s.spec.objective}."
        )
    bad = np.flatnonzero(y <= 0)
    if bad.size:
        raise PlannerError(
            f"{name} is {y[bad[0]]:g} in {row(s.runs, int(bad[0]))}, which has no logarithm "
            f"({bad.size} of {len(y)} runs): choose the objective ols, or leave such runs out."
        )


def _bounds(s: Sample) -> None:
    signed = not s.spec.log_residuals and bool(np.any(s.y <= 0))
    floors = {t.amplitude for t in s.law.terms if isinstance(t, Const)}
    for name, value in s.spec.fixed.items():
        p = s.law.param(name)
        low = -np.inf if signed and name in floors else p.low
        if not low <= value <= p.high or (p.low == 0 and name not in floors and value <= 0):
            raise PlannerError(f"{name} is fixed at {value:g}, outside its bounds {low:g} to {p.high:g}.")


def _enough(s: Sample) -> None:
    p, n = len(s.free), len(s)
    if n <= p:
        raise UndeterminedLawError(
            f"{s.law.name} has {p} free parameters ({', '.join(s.free)}) but only {n} "
            f"{'run is' if n == 1 else 'runs are'} selected: select at least {p + 1} runs, or fix a parameter."
        )
    if np.ptp(s.y) <= 1e-12 * np.max(np.abs(s.y)):
        raise PlannerError(
            f"All {n} runs have the same {column(s.runs, s.spec.y)}, {s.sign * s.y[0]:g}: "
            "a law needs losses that differ; check that the right column is mapped."
        )


def _axes(s: Sample) -> None:
    floor_free = any(isinstance(t, Const) and t.amplitude in s.unaided for t in s.law.terms)
    for axis in s.law.axes:
        named = dict.fromkeys(name for t in s.law.terms if t.axis == axis for name in t.params())
        free = [name for name in named if name in s.unaided]
        values = np.unique(s.columns[axis])
        need = (len(free) + floor_free) if free else 1
        if len(values) < need:
            shown = ", ".join(f"{v:.4g}" for v in values)
            raise UndeterminedLawError(
                f"{column(s.runs, axis)} has {_count(len(values))} ({shown}) but {and_list(free)} "
                f"need{'s' if len(free) == 1 else ''} {need}: add runs at other values of {axis}, or fix "
                f"{' or '.join(free)}."
            )
    for i, one in enumerate(s.law.axes):
        for other in s.law.axes[i + 1 :]:
            _apart(s, one, other)


def _apart(s: Sample, one: str, other: str) -> None:
    both = {name for t in s.law.terms if t.axis in (one, other) for name in t.params()}
    slope, correlation = direction(s.columns[one], s.columns[other])
    if abs(correlation) > PROPORTIONAL and len(both & set(s.unaided)) > 2:
        raise UndeterminedLawError(
            f"{one} and {other} move together in all {len(s)} runs ({other} proportional to {one}^{slope:.3g}), "
            f"so the runs do not separate the two effects: add runs with different {one} at the same {other}, "
            f"or fit one axis with the law power."
        )


def direction(x: Floats, z: Floats) -> tuple[float, float]:
    """Return the slope of log z as a function of log x, and the correlation of log x and log z.

    The slope is that of the major axis of the scatter.
    """
    a, b = np.log(x) - np.mean(np.log(x)), np.log(z) - np.mean(np.log(z))
    aa, bb, ab = float(a @ a), float(b @ b), float(a @ b)
    if aa == 0 or bb == 0:
        return 0.0, 0.0
    return float(np.copysign(np.sqrt(bb / aa), ab)), ab / np.sqrt(aa * bb)


def _count(n: int) -> str:
    return "one value only" if n == 1 else f"only {n} values"


def and_list(names: list[str]) -> str:
    """Return ``names`` as a list for a sentence: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def clusters(runs: Runs) -> Ints:
    """Return the cluster number (n,) of each run. Runs that differ only in seed, name and metrics form a cluster.

    Runs with equal settings have a common deviation from the law, so they are resampled together. If there is no column
    of seeds, each run is its own cluster.
    """
    if "seed" not in runs.labels:
        return np.arange(len(runs))
    targets = {"loss", *(m.column for m in runs.roles.metrics)}
    codes = [np.unique(x, return_inverse=True)[1] for name, x in runs.values.items() if name not in targets]
    codes += [np.unique(x, return_inverse=True)[1] for role, x in runs.labels.items() if role == "group"]
    found = np.zeros(len(runs), np.int64)
    for value in codes:
        found = np.unique(found * (value.max() + 1) + value, return_inverse=True)[1]
    return found
