"""Functional forms of the maps on the Plan page: exponential or power law.

The page shows the errors of both forms on left-out runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import streamlit as st

from isoplan.app.views.widgets.cache import runs_behind
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.validation.comparison import Comparison
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.map_form import FORMS, compare_forms, form_caution, form_text, usual_spec
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database


def compared(spec: FitSpec, runs: Runs, snapshot: str, where: str, group: str = "") -> Comparison:
    """Return the comparison of the forms of the map ``spec`` on ``runs``. The other arguments identify the runs."""
    alone = spec.without_refits()
    return _compared(f"{alone.hash(snapshot)}|{where}|{group}", alone, runs)


@st.cache_resource(max_entries=200, show_spinner="Comparing the forms of the map")
def _compared(key: str, _spec: FitSpec, _runs: Runs) -> Comparison:
    return compare_forms(_spec, _runs)


def forms_of(db: Database, map: Fit) -> Comparison | None:
    """Return the comparison of the forms of ``map``.

    Returns None if the runs of ``map`` are missing, or if the law of ``map`` is not in ``FORMS``.
    """
    runs = runs_behind(db, map) if map.law.name in FORMS else None
    if runs is None:
        return None
    return compared(usual_spec(map), runs, map.data.snapshot, map.data.where, map.data.group)


def caption(db: Database, map: Fit) -> str:
    """Return a sentence with the form of ``map`` and the errors of all forms; "" if the forms cannot be compared."""
    forms = forms_of(db, map)
    return "" if forms is None else form_text(map, forms)


def with_cautions(db: Database, plan: Plan, maps: Iterable[Through]) -> Plan:
    """Return ``plan`` with cautions about maps.

    A caution states that another form of a map predicts another value of the metric.
    """
    found = []
    for one in maps:
        loss, forms = _loss(plan, one), forms_of(db, one.map)
        if forms is not None and math.isfinite(loss):
            found.append(form_caution(one.map, forms, loss))
    return replace(plan, warnings=(*plan.warnings, *(caution for caution in found if caution is not None)))


def _loss(plan: Plan, through: Through) -> float:
    """Return the loss at which ``plan`` uses the map in ``through``; NaN if the loss is unknown.

    If the plan predicts this loss, the result is the predicted loss. Otherwise, the result is the loss that the target
    of the plan requires.
    """
    quantity = plan.derived.get(through.law.spec.y)
    if quantity is not None and quantity.value is not None:
        return quantity.value
    if plan.question.metric != through.map.spec.y:
        return math.nan
    return through.law.sign * float(through.goal(plan.question.value).best)
