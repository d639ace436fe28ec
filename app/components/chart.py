"""Figure that changes with a slider: the chart is drawn once, and later drawings update the existing chart.

``st.plotly_chart`` rebuilds the whole chart whenever its data change. That is slow and resets the zoom.
"""

from __future__ import annotations

import streamlit as st

from isoplan.app.components import script
from isoplan.app.figures.style.theme import Drawing

_chart = st.components.v2.component(
    "isoplan_chart",
    html='<div class="isoplan-chart" role="figure"></div>',
    css=".isoplan-chart { width: 100%; } .isoplan-chart .modebar-container { top: auto !important; bottom: 28px; }",
    js=script("plotly.js", "chart.js"),
    isolate_styles=False,
)


def moving_chart(drawing: Drawing, key: str, visible: str = "") -> None:
    """Show ``drawing`` on the page.

    If the page already shows a drawing with the same ``key``, only the differences are drawn and the zoom is unchanged.
    If ``visible`` is the key of a container around the figure, the height of the figure decreases until the window
    shows the whole container.
    """
    height = int(drawing.figure.layout.height)
    _chart(data={"figure": drawing.figure.to_json(), "alt": drawing.alt, "visible": visible}, key=key, height=height)
