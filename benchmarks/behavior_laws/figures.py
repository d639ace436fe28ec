"""The figures of docs/behavior_laws*.md: those of the app, of the bundled sweeps that are trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go

from app.figures import allocation, overlay, sweep
from app.figures.along import Along, of_axis
from app.figures.theme import LIGHT
from data import trained
from engine.fitting.parabola import parabolas
from engine.planning.drawing import curves
from engine.planning.recommender import recommend
from engine.planning.recommender.choice import Knob

PAGE = replace(LIGHT, width=680)
SWEPT: tuple[tuple[Knob, str], ...] = (("s", "val_loss"), ("K", "val_loss"), ("K", "recall@10"))
ALLOCATED = "val_loss"


def figures(folder: Path) -> dict[str, go.Figure]:
    """Every figure whose sweep is trained, by the name of its picture."""
    found = {name(knob, metric): _swept(folder, knob, metric) for knob, metric in SWEPT if there(folder, knob, metric)}
    batches = {metric: _updates(folder, metric) for metric in trained.COLUMNS if there(folder, "B", metric)}
    if batches:
        found["batch"] = overlay.draw(batches, PAGE).figure
        found["batch"].update_yaxes(title_text="Updates to the target <i>S</i>")
    if there(folder, "N", ALLOCATED):
        found["allocation"] = _allocated(folder)
    return found


def there(folder: Path, knob: Knob, metric: str) -> bool:
    """Whether the sweep of ``knob`` says anything of ``metric``."""
    return knob not in trained.evidence(folder, metric).missing


def name(knob: Knob, metric: str) -> str:
    """The picture of a swept knob for one metric: ``negatives_recall``."""
    return f"{trained.SWEEPS[knob]}_{metric.partition('@')[0].removeprefix('val_')}"


def _swept(folder: Path, knob: Knob, metric: str) -> go.Figure:
    evidence, C = trained.evidence(folder, metric), trained.budget(folder) or 0.0
    choice = recommend(evidence, C, metric).recipe.choices[knob]
    optima = evidence.share if knob == "s" else evidence.negatives
    return sweep.draw(optima, choice, C, None, trained.cells(folder, knob, metric), PAGE).figure


def _updates(folder: Path, metric: str) -> Along:
    made = trained.evidence(folder, metric).batch[metric]
    return of_axis(curves.one_axis_curve(made), trained.updates(folder, metric), made.spec.y)


def _allocated(folder: Path) -> go.Figure:
    made = trained.evidence(folder, ALLOCATED).allocation[ALLOCATED]
    found = parabolas(trained.cells(folder, "N", ALLOCATED), made.spec)
    minima = [(p.C, p.N_star, p.D_star) for p in found if p.located]
    return allocation.draw(curves.frontier_curve(made), None, ALLOCATED, minima, PAGE).figure
