"""Figures of docs/jets_laws.md: the figures of the app, drawn for the bundled jets grids."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from benchmarks.jets_laws import laws
from isoplan.app.figures.fits import slices, surface
from isoplan.app.figures.marks.along import Along, of_axis
from isoplan.app.figures.style.theme import LIGHT
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.drawing import curves
from isoplan.engine.planning.drawing.sections import one_axis_curve
from isoplan.engine.schema import Runs
from isoplan.trainers.jets.features import CONFIGURATIONS

PAGE = replace(LIGHT, width=680)
REJECTIONS = (4, 4000)
"""Lower and upper end of the axis in the figure of the QCD rejection."""
AROUND = 1.1
"""Factor by which the drawn range of a law extends beyond the range of its runs, at both ends."""


def figures() -> dict[str, go.Figure]:
    """Return the figures by the file name of their picture. A figure is omitted if its grid has no trained cell."""
    once, runs = laws.one_pass()
    found = {"jets_law_surface": surface.draw(curves.surface(once), runs, theme=PAGE).figure}
    if laws.there("repeated"):
        again, repeated = laws.repeated()
        law = of_axis(one_axis_curve(again), repeated, again.spec.y)
        found["jets_law_repeated"] = slices.draw_overlay({"repeated": law}, PAGE).figure
    if laws.there("inputs"):
        found["jets_law_inputs"] = _beside(
            {inputs.replace("x", " x "): laws.of_inputs(inputs) for inputs in CONFIGURATIONS}
        )
    if laws.there("rejection"):
        found["jets_law_rejection"] = _beside({metric: laws.rejection(metric) for metric in laws.metrics()})
        # The 68 % bands extend below zero, so the axis would be linear by default, and all signals but one would be
        # near zero.
        span = [float(np.log10(end)) for end in REJECTIONS]
        found["jets_law_rejection"].update_yaxes(title_text="QCD rejection <i>R</i>", type="log", range=span)
    return found


def _beside(fits: dict[str, tuple[Fit, Runs]]) -> go.Figure:
    """Draw several laws on one axis, each in the range of its runs, with the runs and the 68 % bands."""
    return slices.draw_overlay({name: _near(fit, runs) for name, (fit, runs) in fits.items()}, PAGE).figure


def _near(fit: Fit, runs: Runs) -> Along:
    low, high = runs[fit.law.axes[0]].min(), runs[fit.law.axes[0]].max()
    line = of_axis(one_axis_curve(fit, np.geomspace(low / AROUND, high * AROUND, 100)), runs, fit.spec.y)
    none = np.full_like(line.x, np.nan)
    return replace(line, band=replace(line.band, low95=none, high95=none))
