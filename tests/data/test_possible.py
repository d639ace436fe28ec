"""Plans from all bundled laws for many budgets and targets: no plan contains an impossible number."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import to_json
from isoplan.engine.fitting.types.possible_values import possible
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.planning.answer.document import to_csv, to_markdown
from isoplan.engine.planning.answer.quantity import Quantity, beyond
from isoplan.engine.planning.plan.answer import Plan, spans
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import as_document, as_text
from isoplan.engine.planning.plan.document import to_json as planned_json
from isoplan.engine.planning.plan.support import ANSWERED, MARKED
from isoplan.engine.planning.plan.target import plan_target
from tests.data import bundled

BUDGETS = [10.0**k for k in range(0, 41, 4)]


def _numbers(quantities: Mapping[str, Quantity]) -> Iterator[tuple[str, Quantity, float]]:
    """Yield (name, quantity, number) for each finite value and each finite interval end of ``quantities``."""
    for name, q in quantities.items():
        for x in (q.value, *(q.ci68 or ()), *(q.ci95 or ())):
            if x is not None and math.isfinite(x):
                yield name, q, x


def _farthest(q: Quantity, span: Interval | None) -> float:
    """Return the distance in decades from the range ``span`` of the runs to the value of ``q``.

    If ``q`` has no value, the farthest end of its intervals is used.
    """
    stated = [q.value] if q.value is not None else [x for ends in (q.ci68, q.ci95) for x in ends or ()]
    return max((beyond(x, span) for x in stated), default=0.0)


def _refused(plan: Plan) -> None:
    """Check that no output contains a number of ``plan``. The plan lies too far beyond the runs."""
    assert not plan.sentence.startswith(("With", "To reach"))
    assert plan.support is not None
    raw = planned_json(plan)
    assert "support" in raw
    for q in (*raw["allocation"].values(), *raw["derived"].values()):
        assert (q["value"], q["ci68"], q["ci95"]) == (None, None, None)
    assert raw["flat"] is None
    assert {"bill", "worth", "restated"}.isdisjoint(raw)
    assert as_document(plan).lines == ()
    cells, end = plan.support.cells, (plan.support.low, plan.support.high)
    for x in (cells[plan.support.axis],) if cells else ():
        assert end[0] is not None
        assert end[1] is not None
        assert end[0] / 10.01 <= x <= 10.01 * end[1]


def check(fit: Fit, plan: Plan) -> None:
    """Check properties that the numbers, the JSON and the sentence of every plan must have."""
    least, most = possible(fit)
    unit = fit.data.ranges.get
    for name, q, x in _numbers({**plan.allocation, **plan.derived}):
        if name == "loss":
            assert least <= x <= most, (name, x)
        if name in ("N", "D", "U") and (unit(name) or (1.0, 1.0))[0] >= 1:
            assert x >= 1, (name, x)
        if name == "passes":
            assert x >= 1, (name, x)
        assert x >= 0 or name == "loss", (name, x)
        for ends in (q.ci68, q.ci95):
            if ends is not None and q.value is not None:
                assert ends[0] <= q.value <= ends[1], (name, q)
    far = max(_farthest(q, spans(fit).get(name)) for name, q in plan.allocation.items())
    stops = [w.code for w in plan.warnings if w.level == "stop"]
    if far > ANSWERED:
        assert not plan.answers
        assert "unsupported" in stops
    if plan.answers:
        assert "unsupported" not in stops
        if plan.allocation["C"].value is not None or plan.question.kind == "budget":
            assert ("extrapolated" in plan.sentence) == (far > MARKED)
    else:
        _refused(plan)
    text = as_text(plan) + to_csv(as_document(plan)) + to_markdown(as_document(plan))
    assert "nan" not in text.lower()
    json.dumps(planned_json(plan), allow_nan=False)


@pytest.mark.parametrize("C", BUDGETS)
def test_no_budget_gives_a_number_that_cannot_be(C: float) -> None:
    answered, refusals = 0, list[str]()
    for fit in bundled.planned():
        if fit.law.frontier is None:
            continue
        try:
            plan = plan_budget(fit, C)
        except PlannerError as error:
            refusals.append(str(error))
            continue
        check(fit, plan)
        answered += 1
    assert answered or C <= 1e4
    for text in refusals:
        assert re.search("less than one|optimum|not possible", text), text


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5, 0.7, 0.9])
def test_no_target_below_the_runs_gives_a_number_that_cannot_be(share: float) -> None:
    """Each target below the best loss of the runs is either refused or answered with possible numbers."""
    for fit in bundled.planned():
        best = fit.best_run
        if best is None or fit.larger_is_better:
            continue
        try:
            plan = plan_target(fit, share * best)
        except PlannerError:
            continue
        check(fit, plan)


@settings(max_examples=40)
@given(share=st.floats(0.01, 3.0), which=st.integers(0, 10_000))
def test_no_target_gives_a_number_that_cannot_be(share: float, which: int) -> None:
    laws = bundled.planned()
    fit = laws[which % len(laws)]
    low, high = fit.data.ranges.get(fit.spec.y, (0.01, 1.0))
    try:
        plan = plan_target(fit, share * math.sqrt(low * high))
    except PlannerError:
        return
    check(fit, plan)


def test_every_parameter_lies_in_its_interval_and_its_bounds() -> None:
    for fit in bundled.planned():
        for p in fit.parameters:
            for ends in (p.ci68, p.ci95):
                assert ends is None or ends[0] <= p.value <= ends[1], (fit.data.source, p)
        if fit.law.name == "isoflop":
            assert 0 <= float(fit.values["a"]) <= 1
        card = to_json(fit, resamples=False)
        assert all(w["level"] in ("note", "caution", "stop") for w in card["warnings"])
