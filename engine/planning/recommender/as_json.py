"""The evidence of a recipe as JSON: the optima of its sweeps and its fits, with the resamples behind every interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.cards import read_fit
from isoplan.engine.fitting.cards import to_json as fit_json
from isoplan.engine.fitting.types.optimum_location import Place
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.recommender.evidence import Evidence
from isoplan.engine.planning.recommender.sweep import Optimum


def evidence_json(evidence: Evidence) -> dict[str, Any]:
    """The evidence for JSON; ``read_evidence`` is its inverse."""
    return {
        "share": [_optimum(one) for one in evidence.share],
        "batch": {metric: fit_json(fit) for metric, fit in evidence.batch.items()},
        "allocation": {metric: fit_json(fit) for metric, fit in evidence.allocation.items()},
        "negatives": [_optimum(one) for one in evidence.negatives],
        "missing": dict(evidence.missing),
        "quoted": dict(evidence.quoted),
        "remarks": {knob: list(said) for knob, said in evidence.remarks.items()},
    }


def read_evidence(raw: Mapping[str, Any]) -> Evidence:
    """The evidence in a JSON object. Raises PlannerError where it is none."""
    try:
        return Evidence(
            tuple(_read_optimum(one) for one in raw["share"]),
            _read_fits(raw["batch"]),
            _read_fits(raw["allocation"]),
            tuple(_read_optimum(one) for one in raw["negatives"]),
            dict(raw["missing"]),
            dict(raw["quoted"]),
            {knob: tuple(said) for knob, said in raw.get("remarks", {}).items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlannerError(f"This is no evidence that Isoplan wrote: {error!r} while reading it.") from error


def _optimum(one: Optimum) -> dict[str, Any]:
    return {
        "budget": _number(one.budget),
        "metric": one.metric,
        "x": quantity.to_json(one.x),
        "place": one.place,
        "low": _number(one.low),
        "high": _number(one.high),
        "fit": fit_json(one.fit) if one.fit is not None else None,
        "why": one.why,
        "remark": one.remark,
    }


def _read_optimum(raw: Mapping[str, Any]) -> Optimum:
    place: Place = next(known for known in get_args(Place) if known == raw["place"])
    fit = read_fit(raw["fit"]) if raw["fit"] is not None else None
    budget, low, high = (math.nan if raw[name] is None else float(raw[name]) for name in ("budget", "low", "high"))
    said = str(raw["why"]), str(raw.get("remark", ""))
    return Optimum(budget, str(raw["metric"]), quantity.from_json(raw["x"]), place, low, high, fit, *said)


def _read_fits(raw: Mapping[str, Any]) -> dict[str, Fit]:
    return {metric: read_fit(one) for metric, one in raw.items()}


def _number(x: float) -> float | None:
    return x if math.isfinite(x) else None
