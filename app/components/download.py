"""Downloads of a figure: SVG and PDF of a chosen width, and the data of the figure as CSV or JSON.

The browser of the user makes the SVG, so the server needs no browser.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

import streamlit as st

from isoplan.app.components import script
from isoplan.app.figures.style.theme import Drawing, Theme, paper
from isoplan.app.views.widgets.markdown import refuse
from isoplan.engine.errors import PlannerError
from isoplan.engine.escaping import as_text

WIDTHS = ("85 mm, one column", "175 mm, two columns", "254 mm, a slide")
MM = {"mm": 1.0, "cm": 10.0, "in": 25.4, "pt": 25.4 / 72}
NARROWEST_MM, WIDEST_MM = 40.0, 500.0

_draw_file = st.components.v2.component(
    "isoplan_download",
    html='<span role="status" style="font: 0.875rem var(--st-font); color: var(--st-text-color)"></span>',
    js=script("plotly.js", "download.js"),
)


def figure_downloads(drawing: Drawing, redraw: Callable[[Theme], Drawing], key: str) -> None:
    """Show a download menu under a figure.

    ``redraw`` returns the figure in a print theme. It is called only when the user downloads SVG or PDF.
    """
    with st.popover("Download", icon=":material/download:", key=f"{key}_menu"):
        _menu(drawing, redraw, key)


@st.fragment
def _menu(drawing: Drawing, redraw: Callable[[Theme], Drawing], key: str) -> None:
    width = st.selectbox(
        "Width", WIDTHS, accept_new_options=True, key=f"{key}_width", help="Choose a width or type one, such as 120 mm."
    )
    with st.container(horizontal=True):
        svg = st.button("SVG", key=f"{key}_svg")
        pdf = st.button("PDF", key=f"{key}_pdf")
        for label, mime, text in (
            ("CSV", "text/csv", lambda: drawing.data.rename(columns=as_text).map(as_text).to_csv(index=False)),
            ("JSON", "application/json", lambda: drawing.data.to_json(orient="records", double_precision=15)),
        ):
            name = f"{drawing.name}.{label.lower()}"
            st.download_button(label, text, name, mime, key=f"{key}_{label}", on_click="ignore")
    if svg or pdf:
        try:
            figure = redraw(print_theme(width or WIDTHS[0])).figure
        except PlannerError as error:
            refuse(str(error))
            return
        data = {"id": secrets.token_hex(4), "name": drawing.name, "format": "svg" if svg else "pdf"}
        _draw_file(data=data | {"figure": figure.to_json()}, key=f"{key}_file")


def print_theme(width: str) -> Theme:
    """Return the print theme of a figure that is ``width`` wide, such as "85 mm, one column" or "3.4 in".

    The font size is 8 points up to 120 mm, 9 points up to 200 mm, and 14 points above. Raises PlannerError if ``width``
    is not a length between 40 and 500 mm.
    """
    found = re.match(r"\s*(\d+(?:[.,]\d+)?)\s*(mm|cm|in|pt)?\b", width)
    mm = float(found[1].replace(",", ".")) * MM[found[2] or "mm"] if found else 0.0
    if not NARROWEST_MM <= mm <= WIDEST_MM:
        raise PlannerError(f"The width {width!r} is not a length from 40 to 500 mm: write it like 85 mm or 3.4 in.")
    return paper(mm, points=8 if mm <= 120 else 9 if mm <= 200 else 14)
