"""The lower envelope of training curves: least loss and best model size against compute, with their power laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, lines
from isoplan.app.figures.style.axes import extent, log_axis, title, value_axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT, GREY
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose, legend
from isoplan.app.figures.style.words import literal, span_text
from isoplan.app.figures.training.curves import curve_lines
from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.estimators.envelope import Envelope
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.drawing.curves import Frontier
from isoplan.engine.schema import Curves, Runs

HEIGHT = 620
LOSS, SIZE = (0.42, 1.0), (0.0, 0.36)
"""Where the two panels stand; they share the axis of compute."""
USED, LEFT_OUT = "envelope", "envelope, left out of the laws"


def draw(found: Envelope, path: Frontier, fit: Fit, behind: Curves | Runs, theme: Theme = WEB) -> Drawing:
    """Above the curves with their envelope and the law L*(C), below the model size on it with the law N*(C).

    ``behind`` are the training curves, or the runs where there are none; ``path`` is the law with its bands over the
    compute of the envelope, solid where its points are ``used``.
    """
    y, inside = fit.spec.y, (path.C >= found.C[found.used].min()) & (path.C <= found.C[found.used].max())
    seen = extent(found.C, path.C, positive=True, room=0.02)
    loss = extent(found.y, path.loss, behind[y])
    size = extent(found.N, positive=True, room=0.12)
    traces = [
        *_behind(theme, behind, y),
        *_points(theme, found, found.y, y),
        *_law(theme, path.C, path.loss, path.loss_band, inside, loss),
        *(part | BELOW | {"showlegend": False} for part in _points(theme, found, found.N, "N*")),
        *(part | BELOW for part in _law(theme, path.C, path.N, path.N_band, inside, size)),
    ]
    words = lines.note(theme, _growth(fit), yref="y2 domain", y=1, yanchor="top", yshift=-3)
    layout: dict[str, Any] = {
        "xaxis": log_axis(theme, title("C"), *seen, anchor="y2"),
        "yaxis": value_axis(theme, y, *loss, domain=LOSS),
        "yaxis2": log_axis(theme, "<i>N</i>* [parameters]", *size, domain=SIZE, anchor="x"),
    }
    figure = compose(theme, HEIGHT, "envelope", traces, notes=[words], **layout, **legend(theme))
    alt = (
        f"Lower envelope of {y} against compute, {len(found.C):,} points with N* from {found.N.min():.3g} to "
        f"{found.N.max():.3g}; N* grows as C^{float(fit.values['a']):.3g}."
    )
    return Drawing(figure, alt, "envelope", lambda: pd.DataFrame(
        {"C": found.C, "N": found.N, "D": found.D, y: found.y, "used": found.used}
    ))  # fmt: skip


BELOW = {"yaxis": "y2"}


def _behind(theme: Theme, behind: Curves | Runs, y: str) -> list[Part]:
    """The curves, or the runs, that the envelope was taken from."""
    if isinstance(behind, Curves):
        return [{"name": "training curves"} | part for part in curve_lines(theme, behind, "C", y)]
    few = dots.drawn(behind, dots.MOST_DOTS)
    return dots.by_group(few, dots.dots(few, few["C"], few[y], marker=dots.faint(theme)), behind)


def _law(theme: Theme, C: Floats, line: Floats, band: Any, inside: Bools, values: tuple[float, float]) -> list[Part]:
    """A law over compute with its bands, dashed where no point of the envelope carries it."""
    parts = [*lines.bands(C, band, ACCENT, values), *lines.law(theme, C, line, inside, theme.text, 1.6)]
    return [part | {"showlegend": False} for part in parts]


def _points(theme: Theme, found: Envelope, up: Floats, name: str) -> list[Part]:
    """The points of the envelope, those that carry the laws filled and the others open."""
    hover = f"C %{{x:.3~e}}<br>{literal(name)} %{{y:.4~g}}<br>N* %{{customdata[0]:.3~s}}<br>D* %{{customdata[1]:.3~s}}"
    looks = ((USED, found.used, {"color": ACCENT}), (LEFT_OUT, ~found.used, {"color": GREY, "symbol": "circle-open"}))
    return [
        {
            "type": "scatter", "mode": "markers", "name": what, "x": found.C[at], "y": up[at],
            "marker": {"size": theme.marker(4), **look},
            "customdata": np.stack([found.N[at], found.D[at]], axis=1), "hovertemplate": f"{hover}<extra></extra>",
        }
        for what, at, look in looks
        if at.any()
    ]  # fmt: skip


def _growth(fit: Fit) -> str:
    """N* = k C^a in words, its exponent with its interval."""
    a = next(p for p in fit.parameters if p.name == "a")
    sure = f" (95 %: {span_text(a.ci95, 3)})" if a.ci95 is not None else ""
    return f"<i>N</i>* ∝ <i>C</i><sup> {a.value:.3g}</sup>{sure}"
