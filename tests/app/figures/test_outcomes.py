"""Figure that compares actual results with planned results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isoplan.app.figures.plans import outcomes
from isoplan.app.figures.style.theme import PAPER, WEB, Theme
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.actual.outcome import Actual, Outcome
from isoplan.engine.planning.actual.results import HEAD, Result
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.budget import plan_budget
from tests.app.figures.conftest import texts, traces
from tests.engine.planning.conftest import EPOCH, make_fit, scattered

PLAN = plan_budget(make_fit(EPOCH, scattered(EPOCH, 60)), 1e21)


def result(name: str, predicted: float, actual: float, ci68: Interval | None, ci95: Interval | None) -> Result:
    q = Quantity(predicted, ci68, ci95)
    return Result(name, PLAN, Outcome("f", "loss", Actual(actual), {}, None, q, q))


@pytest.mark.parametrize("theme", [WEB, PAPER])
def test_a_row_holds_interval_and_result_in_per_cent(theme: Theme) -> None:
    found = [
        result("small", 2.0, 2.02, (1.98, 2.04), (1.96, 2.08)),
        result("a name that is far too long for a row of it", 4.0, 4.4, (3.9, 4.1), (3.8, 4.2)),
        result("open", 2.0, 2.0, None, None),
    ]
    drawing = outcomes.draw(found, theme)
    (dots,) = traces(drawing, name="actual")
    assert list(dots.x) == pytest.approx([1.0, 10.0, 0.0])
    assert list(dots.marker.symbol) == ["circle", "diamond", "circle-open"]
    bars = sorted((s.y0, s.x0, s.x1) for s in drawing.figure.layout.shapes if s.type == "rect")
    assert [x for bar in bars[:2] for x in bar[1:]] == pytest.approx([-2, 4, -1, 2])
    assert len(bars) == 4
    assert drawing.figure.layout.yaxis.ticktext[1] == "a name that is far too lo…"
    assert "2.02" in texts(drawing)
    assert list(drawing.data.columns) == list(HEAD)
    assert drawing.alt == (
        "3 actual results compared with their predictions: of the 2 results with an interval, 1 are inside the 68 % "
        "interval and 1 are inside the 95 % interval."
    )


def test_open_ends_stay_in_the_picture_and_names_are_text() -> None:
    one = result("<b>bold</b>", 2.0, 2.1, (1.9, float("inf")), (1.8, float("inf")))
    drawing = outcomes.draw([one])
    ends = [s.x1 for s in drawing.figure.layout.shapes if s.type == "rect"]
    assert ends == pytest.approx([drawing.figure.layout.xaxis.range[1]] * 2)
    assert drawing.figure.layout.yaxis.ticktext[0] == "&lt;b&gt;bold&lt;/b&gt;"
    zero = replace(one, outcome=replace(one.outcome, expected=Quantity(0.0)))
    assert list(traces(outcomes.draw([zero]), name="actual")[0].x) == []
