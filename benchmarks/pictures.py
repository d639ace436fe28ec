"""Figures as picture files for the documentation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import plotly.graph_objects as go

from benchmarks.browser import browser
from isoplan.app.serving.pdf import PLOTLY_JS

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SCALE = 2
"""Resolution: pixels of the picture per pixel of the figure, in each direction."""


def draw(figures: Mapping[str, go.Figure]) -> None:
    """Write figures of a fixed width as picture files to docs/images; the keys are the file names."""
    with browser() as first:
        assert first.context.browser is not None
        page = first.context.browser.new_page(device_scale_factor=SCALE)
        page.set_content(
            "<!doctype html><body style='margin:0'><div id='figure' style='display: inline-block'></div></body>"
        )
        page.add_script_tag(path=str(PLOTLY_JS))
        for name, figure in figures.items():
            drawn = json.loads(figure.to_json())
            page.evaluate("f => Plotly.newPlot('figure', f.data, f.layout, {staticPlot: true})", drawn)
            page.locator("#figure").screenshot(path=IMAGES / f"{name}.png")
