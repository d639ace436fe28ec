"""Figures of docs/behavior_laws*.md: the figures of the app, drawn for the bundled sweeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go

from isoplan.app.figures.plans.evidence import draw_frontier, draw_sweep
from isoplan.app.figures.style.theme import LIGHT
from isoplan.app.figures.training import curve_points
from isoplan.data import trained
from isoplan.engine.fitting.estimators.isoflop import parabolas
from isoplan.engine.planning.drawing.curves import frontier_curve
from isoplan.engine.planning.drawing.sections import updates
from isoplan.engine.planning.recommender import recommend
from isoplan.engine.planning.recommender.choice import Setting

PAGE = replace(LIGHT, width=680)
SWEPT: tuple[tuple[Setting, str], ...] = (("s", "val_loss"), ("K", "val_loss"), ("K", "recall@10"))
ALLOCATED, COUNTED = "val_loss", "recall@10"


def figures(folder: Path) -> dict[str, go.Figure]:
    """Return the figures by the file name of their picture. A figure is omitted if its sweep has no trained cell."""
    found = {
        name(setting, metric): _swept(folder, setting, metric)
        for setting, metric in SWEPT
        if there(folder, setting, metric)
    }
    if there(folder, "B", COUNTED):
        found["batch"] = _counted(folder)
    if there(folder, "N", ALLOCATED):
        found["allocation"] = _allocated(folder)
    return found


def there(folder: Path, setting: Setting, metric: str) -> bool:
    """Return whether the sweep of ``setting`` is trained and determines an optimum or a scaling law for ``metric``."""
    return setting not in trained.evidence(folder, metric).missing


def name(setting: Setting, metric: str) -> str:
    """Return the file name of a figure, such as ``negatives_recall``: the swept setting and the metric."""
    return f"{trained.SWEEPS[setting]}_{metric.partition('@')[0].removeprefix('val_')}"


def _swept(folder: Path, setting: Setting, metric: str) -> go.Figure:
    evidence, C = trained.evidence(folder, metric), trained.budget(folder) or 0.0
    choice = recommend(evidence, C, metric).recipe.choices[setting]
    optima = evidence.share if setting == "s" else evidence.negatives
    return draw_sweep(optima, choice, C, None, trained.behind(folder, setting, metric), PAGE).figure


def _counted(folder: Path) -> go.Figure:
    made = trained.evidence(folder, COUNTED).batch[COUNTED]
    return curve_points.draw_batches(updates(made), trained.updates(folder, COUNTED), made.spec.y, PAGE).figure


def _allocated(folder: Path) -> go.Figure:
    made = trained.evidence(folder, ALLOCATED).allocation[ALLOCATED]
    found = parabolas(trained.behind(folder, "N", ALLOCATED), made.spec)
    minima = [(p.C, p.N_star, p.D_star) for p in found if p.located]
    return draw_frontier(frontier_curve(made), None, ALLOCATED, minima, PAGE).figure
