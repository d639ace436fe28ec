"""Cells that under- or overfit, in the plane of samples and model size, with the line between them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, lines
from isoplan.app.figures.style.axes import extent, log_axis, title
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT, CATEGORIES, GREY, PLAN
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose, legend
from isoplan.app.figures.style.words import span_text
from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.mixtures import colouring
from isoplan.engine.planning.drawing.curves import Band
from isoplan.engine.schema import Runs

HEIGHT = 480
THRESHOLD = CATEGORIES[2]


def draw(fit: Fit, cells: Runs, theme: Theme = WEB) -> Drawing:
    """Dots underfit, crosses overfit; the line is N = c D^lambda with its 68 % and 95 % bands (jets, Fig. 3)."""
    over = cells[fit.spec.y] == 1
    N, D = cells["N"], cells["D"]
    window, values = extent(D, positive=True), extent(N, positive=True)
    x = np.geomspace(*window, 60)
    ends = _band(fit, x)
    tints = lines.bands(x, ends, THRESHOLD, values) if ends is not None else []
    line = lines.line(theme, x, fit.predict({"D": x}), THRESHOLD, 2.2, name=_formula(fit))
    traces = [
        *({**tint, "showlegend": False} for tint in tints),
        *_side(theme, "underfits", cells, ~over, ACCENT, "circle"),
        *_side(theme, "overfits", cells, over, PLAN, "x"),
        line,
    ]
    figure = compose(
        theme, HEIGHT, "threshold", traces, **legend(theme),
        xaxis=log_axis(theme, "Unique samples <i>D</i> [samples]", *window), yaxis=log_axis(theme, title("N"), *values),
    )  # fmt: skip
    exponent = float(fit.values["lambda"])
    alt = (
        f"{int((~over).sum())} cells that underfit and {int(over.sum())} that overfit over samples and model size, "
        f"parted by N = {float(fit.values['c']):.3g} D^{exponent:.3g}."
    )
    table = pd.DataFrame({**cells.labels, "N": N, "D": D, "overfits": over})
    return Drawing(figure, alt, "overfitting-threshold", lambda: table)


def _formula(fit: Fit) -> str:
    """The threshold in words, its exponent with its interval."""
    exponent = next(p for p in fit.parameters if p.name == "lambda")
    sure = f", 95 %: {span_text(exponent.ci95)}" if exponent.ci95 is not None else ""
    return f"threshold <i>N</i> ∝ <i>D</i><sup> {exponent.value:.2f}</sup>{sure}"


def _band(fit: Fit, x: Floats) -> Band | None:
    """The ends of the threshold at ``x``; None without resamples."""
    if not len(fit.resamples):
        return None
    draws, centre = fit.predict_draws({"D": x}), fit.predict({"D": x})
    (low68, high68), (low95, high95) = (fit.resampling.band(centre, draws, level) for level in (0.68, 0.95))
    return Band(low68, high68, low95, high95)


def _side(theme: Theme, name: str, cells: Runs, there: Bools, colour: str, symbol: str) -> list[Part]:
    """The cells on one side of the threshold; of several data sets each in the colour of its own."""
    part = cells.take(there)
    trace: Part = {
        "type": "scatter", "mode": "markers", "name": name, "x": part["D"], "y": part["N"],
        "marker": {"color": colour, "symbol": symbol, "size": theme.marker(8), "line": {"width": 0, "color": GREY}},
        "hovertemplate": f"{name}<br>N %{{y:.3~s}}<br>D %{{x:.3~s}}<extra></extra>",
    }  # fmt: skip
    if colouring(cells) is None:
        return [trace]
    key = trace | {"x": [None], "y": [None], "marker": trace["marker"] | {"color": GREY}}
    return [key, *dots.by_group(part, trace, cells)]
