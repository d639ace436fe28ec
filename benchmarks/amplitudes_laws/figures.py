"""The figures of docs/amplitudes_laws.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from benchmarks.amplitudes_laws import laws
from isoplan.app.figures.amplitudes import exponents
from isoplan.app.figures.fits import slices
from isoplan.app.figures.marks.along import of_axis
from isoplan.app.figures.style.axes import extent, log_axis, value_axis
from isoplan.app.figures.style.palette import category
from isoplan.app.figures.style.theme import LIGHT, Part, compose, legend
from isoplan.data.amplitudes import published_exponents
from isoplan.engine.planning.amplitude.cell_laws import DataExponent
from isoplan.engine.planning.drawing.sections import one_axis_curve
from isoplan.engine.quantities import count

PAGE = replace(LIGHT, width=680)
GAP = 0.04


def figures(folder: Path) -> dict[str, go.Figure]:
    """Return the figures by the file name of their picture. A figure is omitted if its grid has no trained cell."""
    found: dict[str, go.Figure] = {}
    fitted = [scan for scan in laws.scans(folder) if scan.law is not None]
    if fitted:
        found["amplitudes_law_data"] = data(fitted)
        found["amplitudes_law_exponents"] = exponents.draw_exponents(
            published_exponents(), _exponents(fitted), PAGE
        ).figure
    studies = {name: study for grid, name in laws.STUDIES.items() if (study := laws.study(folder, grid))}
    if studies:
        found["amplitudes_law_rates"] = rates(studies)
    return found


def data(fitted: Sequence[laws.Scan]) -> go.Figure:
    """Draw the losses and the fitted law of each process against D. Open markers: training has not converged."""
    lines = {
        scan.name: of_axis(one_axis_curve(scan.law.fit, n=200), scan.law.runs, "loss")
        for scan in fitted
        if scan.law is not None
    }
    figure = slices.draw_overlay(lines, PAGE).figure
    for i, scan in enumerate(fitted):
        left = [one.cell for one in scan.found if not one.limited]
        figure.add_scatter(
            x=[cell.D for cell in left], y=[cell.loss for cell in left], mode="markers", name="not converged",
            showlegend=False, marker={"symbol": "circle-open", "size": 7, "color": category(i)},
        )  # fmt: skip
    return figure


def _exponents(fitted: Sequence[laws.Scan]) -> tuple[DataExponent, ...]:
    return tuple(
        DataExponent(scan.process, scan.cell.d, scan.law.value("alpha"), scan.law.interval("alpha"))
        for scan in fitted
        if scan.law is not None and scan.target == "log"
    )


def rates(studies: dict[str, list[laws.Rates]]) -> go.Figure:
    """Draw loss against learning rate, with one panel per study and one line per N (amplitudes paper, Fig. 1 left)."""
    traces: list[Part] = []
    notes: list[Part] = []
    layout: dict[str, Any] = {**legend(PAGE)}
    every = [one for study in studies.values() for one in study]
    values = extent(*([*one.losses] for one in every))  # type: ignore[arg-type]
    width = (1 - GAP * (len(studies) - 1)) / len(studies)
    for i, (name, study) in enumerate(studies.items()):
        end = "" if i == 0 else str(i + 1)
        left = i * (width + GAP)
        for k, one in enumerate(study):
            traces += _lines(one, category(k), end, first=i == 0)
        across = min(one.rates[0] for one in study) / 1.2, max(one.rates[-1] for one in study) * 1.2
        layout[f"xaxis{end}"] = log_axis(
            PAGE, "Learning rate", *across, domain=[left, min(left + width, 1)], anchor=f"y{end}"
        )
        layout[f"yaxis{end}"] = value_axis(PAGE, "loss", *values, anchor=f"x{end}") | (
            {"title": {"text": ""}, "showticklabels": False} if i else {}
        )
        notes.append({"text": name, "x": left + width / 2, "y": 1, "xref": "paper", "yref": "paper", "showarrow": False,
                      "xanchor": "center", "yanchor": "top", "font": {"size": PAGE.small}})  # fmt: skip
    return compose(PAGE, 380, "rates", traces, notes=notes, **layout)


def _lines(one: laws.Rates, colour: str, end: str, *, first: bool) -> list[Part]:
    base = {"type": "scatter", "xaxis": f"x{end}", "yaxis": f"y{end}"}
    return [
        base | {"x": one.rates, "y": one.losses, "mode": "lines+markers", "name": f"N = {count(one.N)}",
                "legendgroup": f"{one.N:g}", "showlegend": first, "line": {"color": colour, "width": PAGE.line(2)},
                "marker": {"size": PAGE.marker(5), "color": colour}},
        base | {"x": [one.best], "y": [min(one.losses)], "mode": "markers", "showlegend": False, "name": "best",
                "legendgroup": f"{one.N:g}", "marker": {"size": PAGE.marker(11), "color": colour}},
    ]  # fmt: skip
