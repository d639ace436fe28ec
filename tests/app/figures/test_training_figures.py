"""Figures of training curves, of laws fitted to training curves, and of metric agreement."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.app.figures.metrics import agreement as agreement_picture
from isoplan.app.figures.style.theme import DARK, PAPER, WEB, Theme
from isoplan.app.figures.training import curve_points
from isoplan.app.figures.training import curves as training
from isoplan.engine.agreement import agreement
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.estimators.envelope import lower_envelope
from isoplan.engine.fitting.samples.curve_tables import shaped
from isoplan.engine.planning.drawing.curves import frontier_curve
from isoplan.engine.planning.drawing.sections import updates
from isoplan.engine.schema import Metric, Roles, Runs
from tests.app.figures.conftest import texts, traces
from tests.engine.fitting.test_threshold import cells as grid_cells
from tests.engine.fitting.test_updates import SPEC as BATCHES
from tests.engine.fitting.test_updates import curves as batch_curves
from tests.engine.fitting.training import NOBODY, surface_curves

THEMES = [WEB, DARK, PAPER]
ENVELOPE = FitSpec(law="envelope", bootstrap=0, smoothing=0)


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_the_envelope_lies_on_the_curves_and_its_points_know_their_size(theme: Theme) -> None:
    curves = surface_curves(12, 40)
    found = lower_envelope(ENVELOPE, NOBODY, curves)
    made = fit(ENVELOPE.model_copy(update={"bootstrap": 40}), NOBODY, curves=curves)
    drawing = curve_points.draw_envelope(found, frontier_curve(made, found.C), made, curves, theme)
    above, below = traces(drawing, name="envelope")
    assert np.asarray(above.x) == pytest.approx(found.C[found.used])
    assert np.asarray(below.y) == pytest.approx(found.N[found.used])
    assert (np.diff(found.y) < 0).all()
    assert len(traces(drawing, name="envelope, left out of the laws")) == 2
    assert "<i>N</i>* ∝ <i>C</i><sup> 0.5" in texts(drawing)
    assert "(95 %: 0." in texts(drawing)
    assert "N* grows as C^0.5" in drawing.alt
    assert list(drawing.data.columns) == ["C", "N", "D", "loss", "used"]


def test_all_curves_are_one_line_with_gaps() -> None:
    curves = surface_curves(12, 40)
    drawing = training.draw_curves(curves)
    (lines,) = drawing.figure.data
    assert len(lines.x) == 12 * 41
    assert int(np.isnan(np.asarray(lines.x)).sum()) == 12
    assert len(drawing.data) == 480


def test_the_threshold_parts_dots_from_crosses() -> None:
    spec = FitSpec(law="threshold", y="over", bootstrap=40)
    table = grid_cells()
    drawing = curve_points.draw_cells(fit(spec, table), table)
    under, over = traces(drawing, name="underfits")[0], traces(drawing, name="overfits")[0]
    assert len(over.x) == int(table["over"].sum())
    assert len(under.x) + len(over.x) == len(table)
    assert (under.marker.symbol, over.marker.symbol) == ("circle", "x")
    line = next(t.name for t in drawing.figure.data if str(t.name).startswith("threshold"))
    assert "<i>D</i><sup> 0.52</sup>, 95 %: 0." in line


def test_the_critical_batch_has_its_asymptotes_and_says_where_there_is_none() -> None:
    curves = batch_curves()
    found = fit(BATCHES.model_copy(update={"bootstrap": 40}), NOBODY, curves=curves)
    drawing = curve_points.draw_batches(updates(found), shaped(BATCHES, NOBODY, curves), "loss")
    assert "least training steps 1200" in texts(drawing)
    assert "critical B 550<br>68 %: 550 to 550" in texts(drawing)
    assert "Training steps" in drawing.figure.layout.yaxis.title.text
    assert drawing.data["updates"].iloc[0] == pytest.approx(1200 * (1 + 550 / 64))
    rows = Runs(np.arange(3), {"B": np.array([64.0, 128, 256]), "loss": np.array([7650.0, 2100, 850])}, Roles(), {})
    none = fit(BATCHES, rows)
    drawing = curve_points.draw_batches(updates(none), rows, "loss")
    assert "no plateau" in drawing.alt
    assert "no plateau" in texts(drawing)


def test_agreement_has_a_panel_a_budget_and_frames_around_flips() -> None:
    x = np.arange(6.0)
    values = {"loss": np.r_[-x, -x], "q": np.r_[x, -x], "r": np.r_[x, x], "budget": np.repeat([1e15, 1e18], 6)}
    runs = Runs(np.arange(12), values, Roles(metrics=(Metric(column="q"), Metric(column="r"))), {})
    drawing = agreement_picture.draw_agreement(agreement(runs, "budget"))
    assert len(traces(drawing, type="heatmap")) == 2
    (frame, _) = traces(drawing, name="sign flip")
    framed = {(x + 0.5, y + 0.5) for x, y in zip(frame.x[::6], frame.y[::6], strict=True)}
    at = {"loss": 0, "q": 1, "r": 2}
    assert framed == {(at["loss"], at["q"]), (at["q"], at["r"])}
    (first, _) = traces(drawing, type="heatmap")
    # The metric q (row) and the loss (column) agree at the budget of 1e15 FLOPs.
    assert first.z[0][0] == 1.0
    assert first.text[0][0] == "q and loss"
    assert first.colorbar.title.text == "rank correlation"
    assert "10¹⁵, 6 runs" in texts(drawing)
    assert "loss and q agree at 10¹⁵ and disagree at 10¹⁸." in drawing.alt
    assert len(drawing.data) == 6


@pytest.mark.parametrize(("metrics", "parts", "across"), [(4, 5, 3), (7, 3, 2), (10, 4, 1), (15, 2, 1), (20, 4, 3)])
def test_cells_say_their_numbers_as_long_as_these_can_be_read(metrics: int, parts: int, across: int) -> None:
    """One row of panels has at most 14 heatmap cells with numbers.

    If there are more cells, the panels are stacked or the numbers are omitted.
    """
    random = np.random.default_rng(0)
    names = [f"m{i}" for i in range(metrics - 1)]
    values = {name: random.normal(size=6 * parts) for name in ("loss", *names)}
    values["budget"] = np.repeat(10.0 ** np.arange(15, 15 + parts), 6)
    runs = Runs(np.arange(6 * parts), values, Roles(metrics=tuple(Metric(column=name) for name in names)), {})
    drawing = agreement_picture.draw_agreement(agreement(runs, "budget"))
    starts = {figure_axis.domain[0] for figure_axis in drawing.figure.select_xaxes()}
    assert len(starts) == across
    assert len(traces(drawing, mode="text")) == (parts if metrics < 20 else 0)
    assert [trace.showscale for trace in traces(drawing, type="heatmap")] == [True] + [False] * (parts - 1)
