"""Conversion of a fit to JSON, and of JSON to a fit. ``isoplan fit --json`` and law cards use this JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from isoplan.engine.arrays import Floats, finite
from isoplan.engine.costs import read_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.groups import GroupedFit
from isoplan.engine.fitting.resampling.covariance import Covariance, covariance_of, drawn
from isoplan.engine.fitting.types.intervals import FloorConfidence, Resampling
from isoplan.engine.fitting.types.result import (
    Fit,
    FitData,
    FittedRuns,
    FitWarning,
    Interval,
    Parameter,
    empty_resamples,
)
from isoplan.engine.fitting.types.spec import FitSpec

SCHEMA = 1
Json = dict[str, Any]
Ends = tuple[float | None, float | None]


class _Shape(BaseModel):
    """Base class of the schema of a law card. Unknown fields are ignored, and all numbers must be finite."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class _Parameter(_Shape):
    value: float
    se: float | None = None
    ci68: Ends | None = None
    ci95: Ends | None = None


class _Objective(_Shape):
    value: float | None = None


class _Covariance(_Shape):
    names: tuple[str, ...]
    logs: tuple[str, ...] = ()
    matrix: list[list[float]]


def _check_confidence(curve: FloorConfidence) -> FloorConfidence:
    if len(curve.at) != len(curve.score) or any(b <= a for a, b in pairwise(curve.at)):
        raise ValueError("the floors of a confidence curve must increase, and each must have one score")
    if any(b < a for a, b in pairwise(curve.score)):
        raise ValueError("the scores of a confidence curve must not decrease")
    return curve


class _Runs(_Shape):
    """The runs of a fit. By default, all weights are 1 and each run is its own cluster."""

    columns: dict[str, list[float]]
    y: list[float]
    weight: list[float] | None = None
    cluster: list[int] | None = None


class _Group(_Shape):
    """Fields of one group in a law card of several groups.

    ``resamples`` and ``resampling`` are set only if each group was fitted separately.
    """

    n: int = Field(ge=0)
    objective: float | None = None
    resamples: list[list[float]] | None = None
    resampling: Resampling | None = None
    runs: _Runs | None = None
    data: FitData = FitData("")
    warnings: list[FitWarning] = Field(default_factory=list)


class _Card(_Shape):
    """The schema of a law card. In an interval, null means an infinite end."""

    schema_: int = Field(alias="schema")
    law: str
    n: int = Field(ge=0)
    objective: _Objective | None = None
    parameters: dict[str, _Parameter]
    resamples: list[list[float]] = Field(default_factory=list)
    covariance: _Covariance | None = None
    resampling: Resampling = Resampling()
    confidence: Annotated[FloorConfidence, AfterValidator(_check_confidence)] | None = None
    data: FitData = FitData("")
    compute: dict[str, Any] = Field(default_factory=dict)
    warnings: list[FitWarning] = Field(default_factory=list)
    spec: dict[str, Any] = Field(default_factory=dict)
    runs: _Runs | None = None
    groups: dict[str, _Group] = Field(default_factory=dict)


def to_json(fit: Fit, *, resamples: bool = True, covariance: bool = False) -> Json:
    """Return the JSON object of a fit. ``fit --json`` prints this object and ``plan`` reads it.

    Without ``resamples``, the object is small, but plans that use it have no intervals. With ``covariance``, the object
    contains the covariance of the parameters. Plans then draw resamples from a Gaussian distribution and have
    intervals.
    """
    whole = {**_shared_json(fit), "data": _data_json(fit.data), "compute": fit.compute.to_json()}
    whole["resampling"] = asdict(fit.resampling)
    if fit.confidence is not None:
        whole["confidence"] = asdict(fit.confidence) | {"resolved": fit.confidence.resolved}
    if (said := fit.optimum_location) is not None:
        whole["optimum"] = said.to_json()
    around = covariance_of(fit) if covariance else None
    whole |= _runs_json(fit.runs) if resamples else {}
    return whole | ({} if resamples else {"resamples": []}) | ({"covariance": around.to_json()} if around else {})


def groups_to_json(found: GroupedFit) -> Json:
    """Return the JSON object of a fit of several groups.

    ``parameters`` contains each shared parameter once. Other parameters occur once for each group, as ``alpha[group]``.
    ``groups`` contains the fields that differ between groups. ``data`` describes the data of the first group. If no
    parameter is shared, each group has its own resamples.
    """
    first = next(iter(found.fits.values()))
    groups = {
        g: {"n": f.n, "objective": finite(f.objective), "data": _data_json(f.data), "warnings": _warnings(f.warnings)}
        | ({} if found.spec.share else {"resamples": f.resamples.tolist(), "resampling": asdict(f.resampling)})
        | _runs_json(f.runs)
        for g, f in found.fits.items()
    }
    data = _data_json(replace(first.data, group=""))
    rest = {"data": data, "compute": first.compute.to_json(), "resampling": asdict(first.resampling), "groups": groups}
    return {**_shared_json(found), **rest}


def _shared_json(fit: Fit | GroupedFit) -> Json:
    return {
        "schema": SCHEMA,
        "law": fit.spec.law,
        "n": fit.n,
        "objective": {"name": fit.spec.objective, "value": finite(fit.objective)} | _chi2_json(fit),
        "parameters": {
            p.name: {"value": p.value, "se": finite(p.error), "ci68": finite(p.ci68), "ci95": finite(p.ci95)}
            for p in fit.parameters
        },
        "resamples": fit.resamples.tolist(),
        "warnings": _warnings(fit.warnings),
        "spec": fit.spec.model_dump(mode="json"),
    }


def _chi2_json(fit: Fit | GroupedFit) -> Json:
    """Return the degrees of freedom if the objective is a chi squared, and otherwise an empty dict."""
    return {} if fit.chi2 is None else {"degrees_of_freedom": fit.chi2[1]}


def _data_json(data: FitData) -> Json:
    return {
        "source": data.source,
        "sha256": data.sha256,
        "roles": dict(data.roles),
        "ranges": {k: list(v) for k, v in data.ranges.items()},
        "snapshot": data.snapshot,
        "where": data.where,
        "group": data.group,
        "direction": data.direction,
        "curves": data.curves,
    } | ({"runtime": data.runtime.to_json()} if data.runtime else {})


def _runs_json(runs: FittedRuns | None) -> Json:
    """Return the runs of a fit under the key "runs", or an empty dict if the fit does not contain its runs."""
    if runs is None:
        return {}
    whole: Json = {"columns": {name: x.tolist() for name, x in runs.columns.items()}, "y": runs.y.tolist()}
    if np.any(runs.weight != 1):
        whole["weight"] = runs.weight.tolist()
    if not np.array_equal(runs.cluster, np.arange(len(runs.y))):
        whole["cluster"] = runs.cluster.tolist()
    return {"runs": whole}


def _read_runs(raw: _Runs, spec: FitSpec) -> FittedRuns:
    """Return the runs of a card; raises PlannerError if a column is missing or the lengths differ."""
    n, axes = len(raw.y), spec.find_law().axes
    if missing := [axis for axis in axes if axis not in raw.columns]:
        raise PlannerError(f"'runs' of the card has no column {' and '.join(missing)}: fit again, or remove 'runs'.")
    lengths = {name: len(x) for name, x in raw.columns.items()}
    lengths |= {name: len(x) for name, x in (("weight", raw.weight), ("cluster", raw.cluster)) if x is not None}
    for name, length in lengths.items():
        if length != n:
            raise PlannerError(f"'runs' of the card has {length} values of {name} and {n} of y: correct the card.")
    return FittedRuns(
        {name: np.array(x, float) for name, x in raw.columns.items()},
        np.array(raw.y, float),
        np.ones(n) if raw.weight is None else np.array(raw.weight, float),
        np.arange(n) if raw.cluster is None else np.unique(raw.cluster, return_inverse=True)[1],
    )


def _warnings(warnings: tuple[FitWarning, ...]) -> list[dict[str, str]]:
    return [w.to_json() for w in warnings]


def _interval(raw: Ends | None) -> Interval | None:
    if raw is None:
        return None
    low, high = raw
    return (-math.inf if low is None else low, math.inf if high is None else high)


def _parameters(card: _Card, spec: FitSpec) -> tuple[Parameter, ...]:
    law = spec.find_law()
    missing = [n for n in law.names if n not in card.parameters]
    if missing:
        raise PlannerError(f"The card of law {law.name} has no value for {', '.join(missing)}: add it to 'parameters'.")
    return tuple(
        Parameter(
            name,
            card.parameters[name].value,
            card.parameters[name].se,
            _interval(card.parameters[name].ci68),
            _interval(card.parameters[name].ci95),
            name in spec.fixed or (bool(card.resamples or card.covariance) and _bare(card.parameters[name])),
        )
        for name in law.names
    )


def _bare(p: _Parameter) -> bool:
    """Return whether a parameter of a card has neither a standard error nor a 68 % interval."""
    return p.se is None and p.ci68 is None


def _around(given: _Covariance, spec: FitSpec, theta: Floats) -> Floats:
    """Draw resamples (r, p) of the parameters around ``theta`` (p,), with the covariance ``given`` in a card."""
    if any(len(row) != len(given.names) for row in given.matrix):
        raise PlannerError("Each row of 'covariance' needs as many numbers as there are names: correct the card.")
    matrix = np.array(given.matrix, float).reshape(len(given.matrix), -1)
    return drawn(spec.find_law(), theta, Covariance(given.names, given.logs, matrix), spec.seed)


def _resamples(card: _Card, p: int) -> Floats:
    bad = next((i for i, row in enumerate(card.resamples) if len(row) != p), None)
    if bad is not None:
        raise PlannerError(f"Row {bad} of 'resamples' has {len(card.resamples[bad])} numbers: it needs {p}.")
    return np.array(card.resamples, float).reshape(-1, p) if card.resamples else empty_resamples(p)


def _of_group(card: _Card, spec: FitSpec, group: str) -> _Card:
    """Return the card of one group. Its parameters have the names of the law, without ``[group]``.

    A card without groups is returned unchanged if ``group`` is empty.
    """
    if not card.groups and not group:
        return card
    if group not in card.groups:
        if not card.groups:
            raise PlannerError(f"The fit contains no groups: leave the group {group!r} out.")
        what = f"no group {group!r}" if group else "several groups"
        raise PlannerError(
            f"The fit contains {what}: choose one of {', '.join(card.groups)} (--group in the terminal)."
        )
    every, own = list(card.parameters), card.groups[group]
    named = {name: key for name in spec.find_law().names for key in (name, f"{name}[{group}]") if key in every}
    columns = [every.index(key) for key in named.values()]
    return card.model_copy(
        update={
            "n": own.n,
            "objective": _Objective(value=own.objective),
            "parameters": {name: card.parameters[key] for name, key in named.items()},
            "resamples": _resamples(card, len(every))[:, columns].tolist() if own.resamples is None else own.resamples,
            "resampling": own.resampling or card.resampling,
            "runs": own.runs,
            "data": own.data,
            "warnings": own.warnings,
        }
    )


def read_fit(raw: Mapping[str, Any], group: str = "") -> Fit:
    """Return the fit in a JSON object; ``group`` selects one of several groups.

    Raises PlannerError if a field is missing or invalid; the message names the field.
    """
    if isinstance(version := raw.get("schema"), int) and version != SCHEMA:
        raise PlannerError(f"The fit has schema {version}, but this version of Isoplan reads schema {SCHEMA}.")
    try:
        card = _Card.model_validate(raw)
        spec = FitSpec.model_validate({**card.spec, "law": card.law})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(x) for x in first["loc"]) or "the object"
        raise PlannerError(f"This is not a fit that Isoplan wrote: {where}: {first['msg']}.") from error
    card = _of_group(card, spec, group)
    parameters = _parameters(card, spec)
    theta = np.array([p.value for p in parameters])
    resamples = _resamples(card, len(theta))
    if card.covariance is not None and not len(resamples):
        resamples = _around(card.covariance, spec, theta)
    return Fit(
        spec=spec,
        n=card.n,
        theta=theta,
        objective=card.objective.value if card.objective else None,
        resamples=resamples,
        parameters=parameters,
        data=card.data,
        compute=read_rule(card.compute),
        warnings=tuple(card.warnings),
        resampling=card.resampling if card.resamples else replace(card.resampling, floorless=0),
        confidence=card.confidence,
        runs=_read_runs(card.runs, spec) if card.runs else None,
    )
