"""Figures of three planner answers: simulate or repeat, smaller models, and the comparison of plans."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

from isoplan.app.figures.plans import compare
from isoplan.app.figures.plans.chart import draw_chart
from isoplan.app.figures.style.palette import GREY, PARTS
from isoplan.app.figures.style.theme import DARK, LIGHT, WEB, Drawing, Theme, paper
from isoplan.app.reports.svg_figure import draw_svg
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.compare import Comparison, Saved, ask_again, side_by_side
from isoplan.engine.planning.next_cells.answer import next_cells
from isoplan.engine.planning.next_cells.picture import chart_map
from isoplan.engine.planning.next_cells.typed import TypedSpend
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.questions.chart import Axis, Chart, Marker, Points
from isoplan.engine.planning.repeat.answer import simulate_or_repeat
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.repeat.reply import chart_price
from isoplan.engine.planning.scenario.limits import Limits, Question
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from isoplan.engine.planning.smaller.answer import Lifetime, LifetimeCurve, lifetime, lifetime_curve, same_loss
from isoplan.engine.planning.smaller.reply import chart_lifetime, chart_overhead
from tests.app.figures.conftest import texts, traces
from tests.engine.design.tables import fitted
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered
from tests.engine.planning.repeat.test_repeat import TABLE_1, TABLE_2, TEN, fits

PRICES = Prices(Machine(find_device("H200"), 64, price=3.0), Simulation(price=1e-6), Inference(queries=1e9, tokens=100))
TARGET, SERVED = Question("target", 2.2), Inference(queries=1e11, tokens=10)


@pytest.fixture
def epoch() -> Fit:
    return make_fit(EPOCH, scattered(EPOCH, 100), ranges=RANGES)


@pytest.fixture
def plans(epoch: Fit) -> Comparison:
    found = {"frugal": plan_target(epoch, 2.2), "keen": plan_target(epoch, 2.0), "a" * 40: plan_budget(epoch, 1e22)}
    return side_by_side([Saved(name, plan, ask_again(plan, epoch)) for name, plan in found.items()], PRICES)


@pytest.mark.parametrize("theme", [WEB, LIGHT, DARK, paper(85)])
def test_every_figure_is_small_named_and_described(epoch: Fit, plans: Comparison, theme: Theme) -> None:
    costs, life = lifetime_curve(epoch, TARGET, SERVED), lifetime(epoch, TARGET, SERVED)
    drawn: dict[str, Callable[[], Drawing]] = {
        "simulate-or-repeat": lambda: draw_chart(
            chart_price(simulate_or_repeat(*fits(50), 0.5, SampleCosts(1e-6, 2e-18), TEN)), theme
        ),
        "smaller-for-longer": lambda: draw_chart(chart_overhead(same_loss(epoch, TARGET), 0.5), theme),
        "lifetime-cost": lambda: draw_chart(chart_lifetime(costs, life), theme),
        "plans": lambda: compare.draw(plans, theme),
    }
    for name, draw in drawn.items():
        drawing = draw()
        sent = drawing.figure.to_json()
        assert drawing.name == name
        assert len(sent) < 60_000, name
        assert json.loads(sent)["data"], name
        assert 40 < len(drawing.alt) < 500, name
        assert len(drawing.data) >= 3, name


def test_the_regimes_meet_at_the_break_even_price() -> None:
    answer = simulate_or_repeat(*fits(), 0.5, SampleCosts(1e-6, 2e-18), TEN)
    drawing, even = draw_chart(chart_price(answer)), answer.break_even
    assert even.ci68 is not None
    (line,) = [s for s in drawing.figure.layout.shapes if s.type == "line"]
    assert line.x0 == line.x1 == even.value
    band, left, right = sorted((s for s in drawing.figure.layout.shapes if s.type == "rect"), key=lambda s: -s.opacity)
    assert (band.x0, band.x1) == even.ci68
    assert left.x1 == right.x0 == even.value
    one, rep = traces(drawing, name="one pass")[0], traces(drawing, name="repeat")[0]
    gap = np.log(np.asarray(one.y, float) / np.asarray(rep.y, float))
    assert float(np.interp(0, gap, np.log(np.asarray(one.x, float)))) == pytest.approx(
        math.log(even.value or 0), abs=0.01
    )
    (star,) = traces(drawing, name="plan")
    assert (star.x[0], star.y[0]) == (1e-6, answer.repeat.total.value)
    assert {"<b>simulate</b>", "<b>repeat</b>"} <= {a.text for a in drawing.figure.layout.annotations}
    assert "At 1e-06 EUR a sample repeat is cheaper" in drawing.alt


def test_where_repeating_never_pays_there_is_one_regime() -> None:
    answer = simulate_or_repeat(TABLE_1, TABLE_2, 0.5, SampleCosts(1e-6, 2e-18, have=1e12), TEN)
    drawing = draw_chart(chart_price(answer))
    assert answer.break_even.value is None
    assert [s.type for s in drawing.figure.layout.shapes] == ["rect"]
    assert "<b>simulate</b>" in texts(drawing)
    assert "repeat</b>" not in texts(drawing)
    assert "They do not cross" in drawing.alt


def test_the_curve_of_smaller_models_marks_both_bests(epoch: Fit) -> None:
    curve = same_loss(epoch, TARGET)
    life = lifetime(epoch, TARGET, SERVED).fraction.value or 0.0
    drawing = draw_chart(chart_overhead(curve, life))
    (star,), (ring,) = traces(drawing, name="plan"), traces(drawing, name="lifetime")
    assert (star.x[0], star.y[0]) == (1.0, 0.0)
    assert ring.x[0] == life
    assert ring.y[0] == pytest.approx(float(np.interp(life, curve.fraction, curve.overhead)), rel=0.02)
    half = curve.overhead[np.searchsorted(curve.fraction, 0.5)]
    assert f"half the size: {100 * half:+.2g} %" in texts(drawing)
    assert "beyond the limits" not in texts(drawing)


def test_what_limits_forbid_is_grey(epoch: Fit) -> None:
    question = Question("target", 2.6, Limits(parameters=8e8))
    prices = Prices(Machine(find_device("H200"), 8, price=3.0))
    curve = same_loss(epoch, question, prices=prices)
    drawing = draw_chart(chart_overhead(curve))
    assert "beyond the limits" in texts(drawing)
    (grey, *_) = [s for s in drawing.figure.layout.shapes if s.type == "rect"]
    assert grey.x0 == pytest.approx(8e8 / float(curve.best.N), rel=0.05)
    served = Inference(queries=1e9)
    costs = lifetime_curve(epoch, question, served, prices=prices)
    life = draw_chart(chart_lifetime(costs, lifetime(epoch, question, served, prices=prices)))
    assert "beyond the limits" in texts(life)


def test_the_least_cost_is_the_star(epoch: Fit) -> None:
    curve, life = lifetime_curve(epoch, TARGET, SERVED), lifetime(epoch, TARGET, SERVED)
    drawing = draw_chart(chart_lifetime(curve, life))
    (star,) = traces(drawing, name="plan")
    assert (star.x[0], star.y[0]) == pytest.approx((life.N.value, life.total.value))
    assert life.N.ci68 is not None
    assert star.x[0] + star.error_x.array[0] == pytest.approx(life.N.ci68[1])
    assert {"training", "inference"} <= {a.text for a in drawing.figure.layout.annotations}
    assert "simulation" not in {a.text for a in drawing.figure.layout.annotations}


def test_bars_add_up_to_the_total_and_carry_its_interval(plans: Comparison) -> None:
    drawing = compare.draw(plans)
    bars = {t.name: list(t.x) for t in traces(drawing, type="bar")}
    assert list(bars) == list(PARTS)
    totals = [side.money["total"] for side in plans.sides]
    assert [sum(x) for x in zip(*bars.values(), strict=True)] == pytest.approx([q.value for q in totals])
    (whiskers,) = traces(drawing, name="total")
    assert list(whiskers.x) == [q.value for q in totals]
    lows = [x - low for x, low in zip(whiskers.x, whiskers.error_x.arrayminus, strict=True)]
    assert lows == pytest.approx([q.ci68[0] for q in totals if q.ci68])
    (dots,) = traces(drawing, name="C")
    assert list(dots.x) == [side.allocation["C"].value for side in plans.sides]
    assert drawing.figure.layout.yaxis.ticktext[2] == "a" * 29 + "…"


def test_plans_without_prices_or_reach(epoch: Fit) -> None:
    far = make_fit((2.3, *EPOCH[1:]), np.vstack([scattered(EPOCH, 50)]), ranges=RANGES)
    plan = plan_target(far, 2.2)
    assert plan.allocation["C"].value is None
    found = [Saved("near", plan_target(epoch, 2.2)), Saved("out of reach", plan, ask_again(plan, far))]
    bare = compare.draw(side_by_side(found))
    assert not traces(bare, type="bar")
    assert list(traces(bare, name="C")[0].x) == [found[0].plan.allocation["C"].value]
    priced = compare.draw(side_by_side(found, PRICES))
    assert "not reachable" in str(traces(priced, mode="text")[0].text)


def test_a_lifetime_beyond_the_runs_is_dashed_and_says_so() -> None:
    """The runs have at most 5e9 parameters. The curve is dashed for larger models."""
    small = make_fit(EPOCH, ranges={"N": (1e7, 5e9), "loss": (2.0, 4.0)})
    curve, life = lifetime_curve(small, TARGET, SERVED), lifetime(small, TARGET, SERVED)
    assert (curve.beyond[curve.N <= 5e9] == 0).all()
    assert curve.beyond[-1] == pytest.approx(math.log10(curve.N[-1] / 5e9))
    drawing = draw_chart(chart_lifetime(curve, life))
    solid = next(t for t in drawing.figure.data if t.line.dash == "solid" and t.mode == "lines")
    assert float(np.nanmax(np.where(np.isnan(solid.y), np.nan, solid.x))) <= 5e9
    assert "beyond the runs" in texts(drawing)
    assert "beyond the runs" not in texts(draw_chart(chart_lifetime(*both(make_fit(EPOCH)))))


def test_colours_show_the_values_of_points_on_one_scale() -> None:
    x = np.array([1.0, 10.0, 100.0])
    grey = Points(x, x, "run", ("a", "b", "c"), key="run")
    plain = Points(x, 2 * x, "cell %{customdata}", ("d", "e", "f"), np.array([0.0, 1.0, 2.0]), "Narrower by [%]")
    first = Points(x[:2], 3 * x[:2], "cell %{text}", ("g", "h"), np.array([4.0, 8.0]), "unused", ("1", "2"), "advised")
    ends = Axis("N", 0.5, 400, log=True), Axis("D", 0.5, 400, log=True)
    star = Marker(50, 50, "target", key="target run")
    for theme in (WEB, LIGHT, DARK, paper(85)):
        drawing = draw_chart(Chart("map", "alt", *ends, points=(grey, plain, first), markers=(star,)), theme)
        small, dots, discs = (t for t in traces(drawing) if t.name != "plan")
        assert small.marker.color == GREY
        assert dots.marker.color.tolist() == [0.0, 1.0, 2.0]
        assert discs.marker.color.tolist() == [4.0, 8.0]
        assert {(t.marker.cmin, t.marker.cmax) for t in (dots, discs)} == {(0.0, 8.0)}
        assert dots.marker.colorbar.title.text == "Narrower by [%]"
        assert [t.marker.showscale for t in (dots, discs)] == [True, None]
        assert discs.text == ("1", "2")
        assert discs.textfont.color == (theme.text, "#ffffff")  # white on the darkest colour
        assert discs.marker.size > 1.5 * dots.marker.size
        assert discs.marker.line.width > dots.marker.line.width
        assert small.marker.size < dots.marker.size
        named = [t.name for t in drawing.figure.data if t.showlegend]
        assert named == ["run", "advised", "target run"]
    zero = Points(x, x, "", ("", "", ""), np.zeros(3))
    assert traces(draw_chart(Chart("map", "alt", *ends, points=(zero,))))[0].marker.cmax == 1.0


def test_the_map_of_next_cells_is_drawn_for_the_page_and_for_print() -> None:
    found = next_cells(fitted(24), Question("budget", 1e16), TypedSpend(share=0.05), cells=4)
    drawing, printed = (draw_chart(chart_map(found), theme) for theme in (WEB, paper(85)))
    assert len(drawing.figure.to_json()) < 60_000
    assert 40 < len(drawing.alt) < 500
    assert drawing.data.shape == (len(found.advice.candidates), 6)
    svg = draw_svg(printed.figure)
    assert "Narrower by [%]" in svg
    assert all(f">{number}</" in svg for number in range(1, len(found.advice.cells) + 1))


def both(fit: Fit) -> tuple[LifetimeCurve, Lifetime]:
    return lifetime_curve(fit, TARGET, SERVED), lifetime(fit, TARGET, SERVED)
