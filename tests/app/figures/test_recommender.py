"""Figures of a recommender recipe: sweeps, the frontier of N and D, batch-local and full-catalogue metrics."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.app.figures.metrics import agreement
from isoplan.app.figures.plans import evidence as figures
from isoplan.app.figures.style.theme import PAPER, WEB, Theme
from isoplan.data.recommender import minima, published_agreement, published_evidence
from isoplan.engine.agreement import Across
from isoplan.engine.fitting import FitSpec
from isoplan.engine.planning.drawing.curves import frontier_curve
from isoplan.engine.planning.recommender import Evidence, recommend
from isoplan.engine.schema import Roles, Runs
from tests.app.figures.conftest import texts, traces
from tests.engine.planning.recommender.sweeps import sweep as read_sweep


@pytest.fixture
def swept() -> Runs:
    """Return a sweep of K, the number of extra negatives, at two budgets. The optimum is K = 1e5."""
    K = np.tile(np.geomspace(1e4, 1e6, 9), 2)
    C = np.repeat([1e17, 1e18], 9)
    loss = 3 - 0.1 * np.log10(C / 1e17) + 0.2 * np.log10(K / 1e5) ** 2 + 1e-3 * np.sin(7 * np.arange(18))
    return Runs(np.arange(18), {"K": K, "loss": loss, "budget": C}, Roles(loss="loss", hyper=("K",)), {})


@pytest.mark.parametrize("theme", [WEB, PAPER])
@pytest.mark.parametrize("metric", ["recall@10", "NDCG@10", "val_loss"])
def test_printed_optima_stand_on_their_sweeps(metric: str, theme: Theme) -> None:
    evidence = published_evidence()
    recipe = recommend(evidence, 1e18, metric).recipe
    found = [one for one in evidence.negatives if one.metric == metric]
    drawing = figures.draw_sweep(found, recipe.choices["K"], 1e18, 3e5, theme=theme)
    places = {(t.y[0], t.marker.symbol): t.x[0] for t in traces(drawing, name="optimum")}
    for one in found:
        if one.inside:
            assert places[(one.budget, "circle")] == one.x.value
        if one.place == "outside right":
            assert places[(one.budget, "triangle-right")] == one.high
    assert "memory limit 300 k" in texts(drawing)
    assert len(drawing.data) == len(found) == 5
    assert metric in drawing.alt


def test_a_sweep_of_ones_own_is_drawn_with_its_runs_and_optima(swept: Runs) -> None:
    optima = read_sweep(swept, FitSpec(law="log-parabola", axis="K", objective="ols", bootstrap=40))
    choice = recommend(Evidence(negatives=optima), 1e18, "loss").recipe.choices["K"]
    drawing = figures.draw_sweep(optima, choice, 1e18, 1e9, swept)
    stars = traces(drawing, name="optimum")
    assert [star.x[0] for star in stars] == [one.x.value for one in optima]
    assert sum(len(t.x) for t in traces(drawing, name="runs")) == len(swept)
    assert "memory limit 1.00 B, outside this figure" in texts(drawing)
    assert set(drawing.data["budget"]) == {1e17, 1e18}


def test_shares_are_read_in_per_cent_up_to_all_of_the_parameters() -> None:
    s = np.geomspace(0.02, 0.6, 8)
    loss = 3 + 0.2 * np.log10(s / 0.1) ** 2 + 1e-3 * np.sin(7 * np.arange(8))
    runs = Runs(np.arange(8), {"s": s, "loss": loss, "budget": np.full(8, 1e12)}, Roles(loss="loss", hyper=("s",)), {})
    optima = read_sweep(runs, FitSpec(law="log-parabola", axis="s", objective="ols", bootstrap=40))
    choice = recommend(Evidence(share=optima), 1e12, "loss").recipe.choices["s"]
    axis = figures.draw_sweep(optima, choice, 1e12, None, runs).figure.layout.xaxis
    assert list(axis.ticktext)[-3:] == ["20 %", "50 %", "100 %"]
    assert list(axis.tickvals)[-3:] == [0.2, 0.5, 1.0]


def test_the_frontier_shows_model_and_data_with_the_plan() -> None:
    evidence = published_evidence()
    drawing = figures.draw_frontier(
        frontier_curve(evidence.allocation["val_loss"]), (1e18, 4e7, 4e9), "val_loss", minima()
    )
    assert [(star.x[0], star.y[0]) for star in traces(drawing, name="plan")] == [(1e18, 4e7), (1e18, 4e9)]
    assert len(drawing.data) > 5
    (dots,) = traces(drawing, name="D minima")
    assert [D / N for (_, N, D), y in zip(minima(), dots.y, strict=True) if y == D] == pytest.approx(
        [345, 265, 222, 110, 36], rel=0.01
    )


def test_metrics_in_two_regimes_frame_what_changes_its_sign() -> None:
    found = published_agreement()
    parts = [(name, [a for a in found if a.name.startswith(name)]) for name in ("batch-local", "full catalogue")]
    drawing = agreement.draw_regimes(agreement.of_regimes(parts, "loss"))
    corners = [corner for t in traces(drawing, name="sign flip") for corner in zip(t.x[::6], t.y[::6], strict=True)]
    axes = drawing.figure.layout
    framed = {(axes.xaxis2.ticktext[int(x + 0.5)], axes.yaxis2.ticktext[int(y + 0.5)]) for x, y in corners}
    assert ("10¹⁵", "recall@10") in framed
    assert not any(y == "entropy" for _, y in framed)
    assert "The sign changes for recall@10" in drawing.alt
    assert len(drawing.data) == 6 * (4 + 5)


def test_a_pair_across_regimes_is_one_row() -> None:
    drawing = agreement.draw_regimes(agreement.of_across([Across("a", "b", ("10¹⁷", "10¹⁸"), (0.9, -0.8))]))
    assert drawing.data["rank correlation"].tolist() == [0.9, -0.8]
    assert "The sign changes for a, b." in drawing.alt
