"""Comparison of a plan with the measured result of its run.

The interval of a plan is the interval of the law: it is expected to contain the mean result of many such runs. A single
run scatters around this mean, so its result is compared with a wider interval, the prediction interval. The prediction
interval adds the scatter of single runs (``scatter``) to the law's interval in quadrature, on the scale of the fit's
residuals. Both intervals are reported. Predictions use the N and D that were actually trained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.diagnostics.single_runs import scatter, times, widen
from isoplan.engine.fitting.types.possible_values import possible
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.quantity import Quantity, measure
from isoplan.engine.planning.optimum.surface import evaluate
from isoplan.engine.planning.plan.answer import Plan, spans
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.quantities import count, power10
from isoplan.engine.schema import Runs

LEVELS = (0.68, 0.95)
SCATTER_UNKNOWN = "the interval of the law alone: the scatter of single runs is not known"
SAME = 0.005
"""Largest relative difference at which a trained size and a planned size count as equal."""


@dataclass(frozen=True)
class Actual:
    """Measured result of a run.

    ``value`` is the value of ``metric``. If ``metric`` is empty, ``value`` is the value of the quantity that the law
    predicts. N, D and C (in FLOPs) are the trained sizes; None means the planned size. ``when`` is a date as free text.
    Raises PlannerError if a number is not finite or a size is not positive.
    """

    value: float
    N: float | None = None
    D: float | None = None
    C: float | None = None
    metric: str = ""
    note: str = ""
    when: str = ""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise PlannerError(f"The result {self.value:g} is not a finite number. Give the measured value.")
        for name in ("N", "D", "C"):
            size = getattr(self, name)
            if size is not None and not (math.isfinite(size) and size > 0):
                raise PlannerError(
                    f"{name} = {size:g} of the run is not positive. Give the trained value, or leave it out."
                )

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON object, without empty entries."""
        return {name: x for name, x in asdict(self).items() if x not in (None, "")}


@dataclass(frozen=True)
class Outcome:
    """A measured result and its prediction.

    ``fit`` is the hash of the fit behind the plan, and ``y`` the measured quantity. ``at`` contains the known sizes
    among N, D and C of the run. ``planned`` is the value of y in the plan; None if the plan does not contain this
    value. ``expected`` is the prediction of the law at the sizes ``at``, with the intervals of the law. ``predicted``
    is the same value with the prediction intervals of a single run.
    """

    fit: str
    y: str
    actual: Actual
    at: Mapping[str, float]
    planned: Quantity | None
    expected: Quantity
    predicted: Quantity

    def inside(self, level: float) -> bool | None:
        """Return whether the result lies in its prediction interval at ``level``, 0.68 or 0.95.

        The result is None if there is no such interval.
        """
        ends = self.predicted.ci68 if level == LEVELS[0] else self.predicted.ci95
        return None if ends is None else ends[0] <= self.actual.value <= ends[1]

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        numbers = {"planned": self.planned, "expected": self.expected, "predicted": self.predicted}
        return {
            "fit": self.fit,
            "y": self.y,
            "actual": self.actual.to_json(),
            "at": dict(self.at),
            **{name: q and quantity.to_json(q) for name, q in numbers.items()},
            "inside68": self.inside(LEVELS[0]),
            "inside95": self.inside(LEVELS[1]),
        }


def read_actual(raw: Mapping[str, Any]) -> Actual:
    """Read a measured result from a JSON object. Raises PlannerError if ``raw`` is not such an object."""
    try:
        sizes = {name: None if raw.get(name) is None else float(raw[name]) for name in ("N", "D", "C")}
        words = {name: str(raw.get(name, "")) for name in ("metric", "note", "when")}
        return Actual(float(raw["value"]), **sizes, **words)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise PlannerError(f"This is not a result that Isoplan wrote: {error!r} while reading it.") from error


def outcome(plan: Plan, fit: Fit, actual: Actual, map: Through | None = None) -> Outcome:
    """Compare the result ``actual`` with the prediction of ``fit`` for a run of the same sizes.

    ``fit`` must be the fit of ``plan``. If the result is a value of another metric, ``map`` must be given. The function
    ``through`` makes ``map`` from ``fit``. If the result has C but no D, D is computed from C and N by the plan's
    compute rule. Raises PlannerError if ``fit`` is not the fit of the plan, if the map of a metric is missing, or if
    the law needs a size that neither the plan nor the result contains.
    """
    if fit.hash != plan.fit:
        raise PlannerError(f"The plan was made from the fit {plan.fit}, not from {fit.hash}: give the fit of the plan.")
    metric = "" if actual.metric == plan.y else actual.metric
    if metric and (map is None or map.map.spec.y != metric):
        raise PlannerError(
            f"A result in {metric} needs the map from {plan.y} to {metric}. Give this map, or give the result in "
            f"{plan.y}."
        )
    measured = map.map if metric and map else fit
    _positive(measured, actual.value)
    law = map.law if metric and map else fit
    at = _sizes(plan, fit, actual)
    value, draws = (law.sign * _law(law, v, plan, at) for v in (law.values, law.draws))
    expected = measure(law, float(value), draws, fit.spec.y, spans(fit).get("loss"), possible(fit))
    predicted = _single(fit, expected, scatter(fit))
    if metric and map:
        expected = map.metric(law.sign * value, law.sign * draws)
        predicted = _single(map.map, expected, _through(map, float(value)))
    return Outcome(fit.hash, metric or plan.y, actual, at, _planned(plan, metric), expected, predicted)


def _positive(measured: Fit, value: float) -> None:
    """Raise PlannerError if ``value`` is not positive and therefore cannot be compared with the fit ``measured``.

    A comparison needs a positive value if the fit is a fit of logarithms, or if the values of all its runs are
    positive.
    """
    y, span = measured.spec.y, spans(measured).get("loss")
    if value > 0 or not (measured.spec.log_residuals or (span is not None and span[0] > 0)):
        return
    runs = f"runs with a {y} of at least {span[0]:.3g}" if span else ""
    why = "a fit of its logarithm" if measured.spec.log_residuals else runs
    raise PlannerError(f"A {y} of {value:g} cannot be compared with {why}. Give a positive value.")


def _sizes(plan: Plan, fit: Fit, actual: Actual) -> dict[str, float]:
    """Return the known sizes of the run by name: N, D and C.

    A measured size is used if it exists. Otherwise the size is computed from the other sizes by the compute rule. If
    this is not possible, the planned size is used.
    """
    N, D, C = (
        own if (own := getattr(actual, name)) is not None else plan.allocation[name].value for name in ("N", "D", "C")
    )
    if actual.C is not None and actual.D is None and N is not None:
        D = float(plan.compute.samples(np.asarray(actual.C), np.asarray(N)))
    elif actual.C is None and (actual.N is not None or actual.D is not None) and N is not None and D is not None:
        C = float(plan.compute.flops_anywhere(N, D))
    at = {name: x for name, x in (("N", N), ("D", D), ("C", C)) if x is not None and math.isfinite(x)}
    missing = [name for name in fit.law.axes if name not in (*at, "U")]
    if missing:
        raise PlannerError(
            f"Neither the plan nor the result contains {' and '.join(missing)}, which the law {fit.law.name} needs. "
            f"Give the trained values."
        )
    return at


def _law(fit: Fit, v: Values, plan: Plan, at: Mapping[str, float]) -> Floats:
    """Return the value of the law (lower is better) at the sizes ``at``; the parameter values ``v`` have any shape."""
    columns = {name: np.asarray(x) for name, x in at.items()}
    return evaluate(fit.law, v, columns | {"U": np.asarray(plan.unique)})


def _planned(plan: Plan, metric: str) -> Quantity | None:
    """Return the value of the measured quantity in the plan; None if the plan does not contain it."""
    if not metric:
        return plan.allocation["loss"]
    if plan.question.metric == metric:
        return Quantity(plan.question.value, note="given")
    return plan.derived.get(metric)


def _through(map: Through, value: float) -> float | None:
    """Return the scatter of single runs in a metric, on the residual scale of ``map.map``; None if unknown.

    Two terms are added in quadrature. The first is the scatter of the law times the slope of the map at the loss
    ``value``. The second is the scatter of the map itself.
    """
    law, own = scatter(map.law), scatter(map.map)
    if law is None or own is None:
        return None
    step = 1e-4 * abs(value)
    at = np.asarray([value - step, value, value + step])
    low, middle, high = (float(x) for x in map.map.predict({map.map.law.axes[0]: at}))
    slope = (high - low) / (2 * step) * (value if map.law.spec.log_residuals else 1.0)
    return math.hypot(law * slope / (middle if map.map.spec.log_residuals else 1.0), own)


def _single(fit: Fit, expected: Quantity, sd: float | None) -> Quantity:
    """Return ``expected`` with the prediction intervals of a single run.

    ``sd`` is the scatter of a run on the residual scale of ``fit``. If ``sd`` is None, the intervals of the law are
    kept.
    """
    if sd is None:
        return replace(expected, note=expected.note or SCATTER_UNKNOWN)
    ci68, ci95 = (
        widen(expected.value, ends, times(fit, level) * sd, fit.spec.log_residuals)
        for ends, level in zip((expected.ci68, expected.ci95), LEVELS, strict=True)
    )
    return replace(expected, ci68=ci68, ci95=ci95)


def differs(plan: Plan, actual: Actual) -> str:
    """Return how the trained sizes differ from the plan, such as "N 1.2 B instead of 1 B"; empty if they are equal."""
    told = []
    for name in ("N", "D", "C"):
        own, planned = getattr(actual, name), plan.allocation[name].value
        if own is not None and (planned is None or abs(own - planned) > SAME * planned):
            say = power10 if name == "C" else count
            told.append(f"{name} {say(own, 3)}" + ("" if planned is None else f" instead of {say(planned, 3)}"))
    return ", ".join(told)


def of_run(runs: Runs, place: int, y: str, metric: str = "") -> Actual:
    """Return the result of the run in row ``place`` of a table, with its N, D and C.

    The value is that of ``metric``, or of ``y`` if ``metric`` is empty. Raises PlannerError if this column is missing.
    """
    wanted = metric or y
    if wanted not in runs:
        raise PlannerError(
            f"The table {runs.source or 'of runs'} has no column {wanted}: map it on the Data page, or type the result."
        )
    N, D, C = (float(runs[name][place]) if name in runs else None for name in ("N", "D", "C"))
    named = str(runs.labels["run"][place]) if "run" in runs.labels else f"row {runs.ids[place]}"
    note = f"{named} of {runs.source}" if runs.source else named
    return Actual(float(runs[wanted][place]), N, D, C, metric, note)
