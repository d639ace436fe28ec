"""Runs of several data sets: their colours, the same in every figure, and the legend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.figures import isoflop, residuals, surface
from app.figures import runs as overview
from app.figures.drawing import Drawing
from app.figures.palette import CATEGORIES
from app.figures.theme import DARK, LIGHT, WEB, Theme, paper
from engine.fitting import Fit, FitSpec, fit
from engine.fitting.residuals import residuals as residuals_of
from engine.planning.drawing.curves import frontier_curve, isoflop_curves
from engine.planning.drawing.curves import surface as surface_of
from engine.schema import Runs
from engine.store.files import read_runs
from tests.engine.fitting.mixtures import DATASETS, three_datasets

SIZES = {name: n for name, (n, _) in DATASETS.items()}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("groups") / "three.csv"
    path.write_text(three_datasets().replace("config.dataset", "dataset"))
    return path


@pytest.fixture(scope="module")
def pooled(three: Path) -> tuple[Fit, Runs]:
    runs = read_runs(three, pooled=("dataset",))
    return fit(FitSpec(bootstrap=20), runs), runs


def drawn(made: Fit, runs: Runs, theme: Theme = WEB) -> dict[str, Drawing]:
    return {
        "runs": overview.draw(runs, theme=theme),
        "surface": surface.draw(surface_of(made), runs, theme=theme),
        "iso-FLOP": isoflop.draw(isoflop_curves(made), runs, "loss", frontier_curve(made), theme=theme),
        "residuals": residuals.draw(residuals_of(made, runs), runs, theme=theme),
    }


def dots_of(drawing: Drawing) -> list[Any]:
    return [t for t in drawing.figure.data if str(t.legendgroup or "").startswith("group: ")]


@pytest.mark.parametrize("theme", [WEB, LIGHT, DARK, paper(85)])
def test_every_figure_colours_runs_by_their_data_set_alike_and_names_them(
    theme: Theme, pooled: tuple[Fit, Runs]
) -> None:
    for name, drawing in drawn(*pooled, theme).items():
        traces = dots_of(drawing)
        assert {t.name: t.marker.color for t in traces} == dict(zip(SIZES, CATEGORIES, strict=False)), name
        assert [t.name for t in drawing.figure.data if t.showlegend is not False] == list(SIZES), name
        assert drawing.figure.layout.showlegend is True, name
        assert drawing.figure.layout.margin.t >= (44 if theme.width is None else 32), name
        assert all("dataset  " in t.hovertemplate for t in traces), name


def test_every_run_is_drawn_once(pooled: tuple[Fit, Runs]) -> None:
    figures = drawn(*pooled)
    assert {t.name: len(t.x) for t in dots_of(figures["runs"])} == SIZES
    rows = sorted(int(row[0]) for t in dots_of(figures["runs"]) for row in t.customdata)
    assert rows == list(range(258))
    bars = [t for t in figures["residuals"].figure.data if t.type == "histogram"]
    assert [sum(t.y) for t in bars] == list(SIZES.values())
    assert [t.marker.color for t in bars] == list(CATEGORIES[:3])


def test_one_data_set_is_coloured_as_runs_of_one_table_are(three: Path) -> None:
    runs = read_runs(three, where="dataset = 'dclm'")
    for name, drawing in drawn(fit(FitSpec(bootstrap=20), runs), runs).items():
        assert not dots_of(drawing), name


def test_many_runs_of_data_sets_are_dots_and_no_density(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    head, *rows = three_datasets().splitlines()
    path.write_text("\n".join([head, *rows, *three_datasets(seed=1).splitlines()[1:]]) + "\n")
    runs = read_runs(path, pooled=("config.dataset",))
    figure = residuals.draw(residuals_of(fit(FitSpec(bootstrap=0), runs), runs), runs).figure
    first = [t for t in figure.data if t.xaxis == "x" and str(t.legendgroup or "").startswith("group: ")]
    assert {t.name for t in first} == set(SIZES)
    assert sum(len(t.x) for t in first) <= residuals.MOST_DOTS
