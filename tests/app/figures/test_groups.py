"""Runs of several datasets: each dataset has the same colour in all figures, and the legend names the datasets."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoplan.app.figures.fits import frontier, isoflop, residuals, slices, validation
from isoplan.app.figures.fits import runs as overview
from isoplan.app.figures.fits import surface as surface_figure
from isoplan.app.figures.marks import along
from isoplan.app.figures.plans import evidence, plan
from isoplan.app.figures.style.palette import CATEGORIES
from isoplan.app.figures.style.theme import DARK, KEY, LIGHT, WEB, Drawing, Theme, paper
from isoplan.app.figures.training import curve_points
from isoplan.app.figures.training import curves as training
from isoplan.engine.fitting import Fit, FitSpec, fit
from isoplan.engine.fitting.diagnostics.residuals import residuals as residuals_of
from isoplan.engine.fitting.estimators.envelope import lower_envelope
from isoplan.engine.fitting.samples.curve_tables import shaped
from isoplan.engine.fitting.validation.extrapolation import validate
from isoplan.engine.planning.drawing.curves import frontier_curve, isoflop_curves
from isoplan.engine.planning.drawing.curves import surface as surface_of
from isoplan.engine.planning.drawing.picture import plan_curve
from isoplan.engine.planning.drawing.sections import one_axis_curve, updates
from isoplan.engine.planning.drawing.sections import slices as slices_of
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.recommender import Evidence, Optimum, recommend
from isoplan.engine.schema import Category, Curves, Roles, Runs
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.fitting.mixtures import DATASETS, three_datasets
from tests.engine.fitting.tables import make_runs, surface
from tests.engine.fitting.test_threshold import cells as grid_cells
from tests.engine.fitting.test_updates import SPEC as BATCHES
from tests.engine.fitting.test_updates import curves as batch_curves
from tests.engine.fitting.training import NOBODY, surface_curves
from tests.engine.planning.recommender.sweeps import sweep as read_sweep

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
        "surface": surface_figure.draw(surface_of(made), runs, theme=theme),
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
        named = [t for t in drawing.figure.data if t.showlegend is not False]
        assert [t.name for t in named if not str(t.legendgroup).startswith(KEY)] == list(SIZES), name
        assert not [t for t in named if t.name == "run"], name
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


SETS = ("books", "games", "films")
COLOURS = dict(zip(SETS, CATEGORIES, strict=False))


def in_sets(n: int) -> dict[str, Category]:
    """Return the category ``dataset`` for ``n`` runs or curves, which belong to three datasets in turn."""
    return {"dataset": Category(SETS, (np.arange(n) % 3).astype(np.int8), "dataset")}


def of_sets(runs: Runs) -> Runs:
    return replace(runs, categories=in_sets(len(runs)))


@cache
def _grid() -> tuple[Fit, Runs]:
    runs = of_sets(make_runs(surface(80, 0.01)))
    return fit(FitSpec(bootstrap=20), runs), runs


@cache
def _odd() -> tuple[Fit, Runs]:
    """Return a fit and its runs. In each of the three datasets, one run has a loss 30 % above the law."""
    runs = make_runs(surface(60, 0.002))
    off = np.where(np.isin(np.arange(60), (10, 20, 33)), 1.3, 1.0)
    runs = of_sets(replace(runs, values={**runs.values, "loss": runs["loss"] * off}))
    return fit(FitSpec(bootstrap=0), runs), runs


@cache
def _swept() -> tuple[Sequence[Optimum], Runs]:
    K, C = np.tile(np.geomspace(1e4, 1e6, 9), 2), np.repeat([1e17, 1e18], 9)
    loss = 3 - 0.1 * np.log10(C / 1e17) + 0.2 * np.log10(K / 1e5) ** 2 + 1e-3 * np.sin(7 * np.arange(18))
    runs = of_sets(Runs(np.arange(18), {"K": K, "loss": loss, "budget": C}, Roles(loss="loss", hyper=("K",)), {}))
    return read_sweep(runs, FitSpec(law="log-parabola", axis="K", objective="ols", bootstrap=40)), runs


def _curves() -> Curves:
    return replace(surface_curves(12, 40), categories=in_sets(12))


def _runs(theme: Theme) -> Drawing:
    return overview.draw(_grid()[1], theme=theme)


def _surface(theme: Theme) -> Drawing:
    made, runs = _grid()
    return surface_figure.draw(surface_of(made), runs, theme=theme)


def _isoflop(theme: Theme) -> Drawing:
    made, runs = _grid()
    return isoflop.draw(isoflop_curves(made), runs, "loss", frontier_curve(made), theme=theme)


def _residuals(theme: Theme) -> Drawing:
    made, runs = _odd()
    return residuals.draw(residuals_of(made, runs), runs, theme=theme)


def _frontier(theme: Theme) -> Drawing:
    made, runs = _grid()
    return frontier.draw(frontier_curve(made), runs, theme=theme)


def _plan(theme: Theme) -> Drawing:
    made, runs = _grid()
    asked = plan_target(made, 1.05 * float(runs["loss"].min()))
    return plan.draw(asked, plan_curve(asked, made), runs, theme=theme)


def _one_axis(theme: Theme) -> Drawing:
    (one, *_), runs = _swept()
    assert one.fit is not None
    return slices.draw_line(one_axis_curve(one.fit), runs, theme=theme)


def _sweep(theme: Theme) -> Drawing:
    optima, runs = _swept()
    choice = recommend(Evidence(negatives=tuple(optima)), 1e18, "loss").recipe.choices["K"]
    return evidence.draw_sweep(optima, choice, 1e18, None, runs, theme)


def _slices(theme: Theme) -> Drawing:
    made, runs = _grid()
    return slices.draw_slices(slices_of(made, runs), theme=theme)


def _overlay(theme: Theme) -> Drawing:
    made, runs = _grid()
    path = frontier_curve(made)
    laws = {"one": along.of_frontier(path, runs, "loss", None), "two": along.of_frontier(path, runs, "loss", None)}
    return slices.draw_overlay(laws, theme=theme)


def _validation(theme: Theme) -> Drawing:
    _, runs = _grid()
    return validation.draw(validate(FitSpec(objective="ols-log", bootstrap=0), runs), theme=theme)


def _envelope(theme: Theme) -> Drawing:
    return _enveloped(_curves(), theme)


def _envelope_of_runs(theme: Theme) -> Drawing:
    curves = _curves()
    runs = of_sets(Runs(np.arange(len(curves.of)), curves.values, Roles(loss="loss"), {}))
    return _enveloped(runs, theme)


def _enveloped(behind: Curves | Runs, theme: Theme) -> Drawing:
    spec = FitSpec(law="envelope", bootstrap=20, smoothing=0)
    found, made = lower_envelope(spec, NOBODY, _curves()), fit(spec, NOBODY, curves=_curves())
    return curve_points.draw_envelope(found, frontier_curve(made, found.C), made, behind, theme)


def _training(theme: Theme) -> Drawing:
    return training.draw_curves(_curves(), theme=theme)


def _cells(theme: Theme) -> Drawing:
    table = of_sets(grid_cells())
    return curve_points.draw_cells(fit(FitSpec(law="threshold", y="over", bootstrap=20), table), table, theme)


def _batches(theme: Theme) -> Drawing:
    curves = batch_curves()
    once = shaped(BATCHES, NOBODY, curves)
    rows = of_sets(once.take(np.repeat(np.arange(len(once)), 3)))
    return curve_points.draw_batches(updates(fit(BATCHES, NOBODY, curves=curves)), rows, "loss", theme)


FIGURES: dict[str, Callable[[Theme], Drawing]] = {
    "runs": _runs, "surface": _surface, "isoflop": _isoflop, "residuals": _residuals, "frontier": _frontier,
    "plan": _plan, "one_axis": _one_axis, "sweep": _sweep, "slices": _slices, "overlay": _overlay,
    "validation": _validation, "envelope": _envelope, "envelope of runs": _envelope_of_runs, "training": _training,
    "cells": _cells, "batches": _batches,
}  # fmt: skip
WITHOUT_RUNS_OF_THEIR_OWN = {"along", "dots"}
"""Figure modules that draw no runs. Only other figure modules use the modules listed here."""


def colour_of(trace: Any) -> str:
    return str(trace.line.color if trace.mode == "lines" else trace.marker.color)


@pytest.mark.parametrize("theme", [WEB, paper(85)], ids=["web", "paper"])
@pytest.mark.parametrize("name", list(FIGURES))
def test_runs_are_coloured_by_their_data_set_in_every_figure(name: str, theme: Theme) -> None:
    drawing = FIGURES[name](theme)
    assert {t.name: colour_of(t) for t in dots_of(drawing)} == COLOURS
    legend = [t.name for t in drawing.figure.data if t.showlegend is not False]
    assert [entry for entry in legend if entry in SETS] == list(SETS)
    assert drawing.figure.layout.showlegend is True


def test_outliers_are_ringed_in_the_colour_of_their_data_set() -> None:
    made, runs = _odd()
    found = residuals_of(made, runs)
    odd = set(runs.ids[found.outlier].tolist())
    assert {10, 20, 33} <= odd
    shown = {int(row[0]): t.marker.color for t in dots_of(_residuals(WEB)) for row in t.customdata if t.xaxis == "x"}
    assert shown == {int(i): COLOURS[SETS[int(i) % 3]] for i in runs.ids}


def test_every_figure_that_reads_runs_is_in_this_test() -> None:
    reading = {
        file.stem
        for file in Path(str(overview.__file__)).parent.glob("*.py")
        if re.search(r"^from engine\.schema import .*\b(Runs|Curves)\b", file.read_text(), re.MULTILINE)
    }
    assert reading - WITHOUT_RUNS_OF_THEIR_OWN <= set(FIGURES)
