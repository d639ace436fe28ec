"""Figure of a validation on held-out runs: predicted against observed values (left), and errors (right).

The errors are drawn against the distance of the held-out runs from the fitted runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots
from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.style.axes import axis, extent, literal, log_axis, title, value_axis
from isoplan.app.figures.style.palette import GREY, category
from isoplan.app.figures.style.theme import WEB, WEB_SIZE, WEB_WIDTH, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.validation.extrapolation import BASELINES, BASELINES_IN_WORDS, Cut, Targets, Validation
from isoplan.engine.mixtures import colouring

HEIGHT = 420
MOST_DOTS = 300
"""Maximum number of predictions that are drawn per method."""
ROW = 20
"""Height of one line of the legend in pixels."""
PANELS = ((0.0, 0.44), (0.58, 1.0))
DASHES = ("solid", "dot", "dash", "dashdot", "longdash", "longdashdot")


def draw(
    found: Validation,
    targets: Targets = "runs",
    theme: Theme = WEB,
    called: str = "",
    titles: Mapping[str, str] | None = None,
) -> Drawing:
    """Draw predicted against observed values of held-out runs (left), and each method's mean error per cut (right).

    A cut is one choice of held-out runs. The x value of a cut is the distance between the fitted runs and the furthest
    held-out run. Each method has its own colour, and baselines also have their own dashes. ``called`` is the name of
    the quantity in the axis titles; the default is the name of the column. For training steps, ``called`` is needed,
    because the training steps are in the column of the loss. ``titles`` are the names of laws in words, by key.
    """
    words = {name: f"baseline: {text}" for name, text in BASELINES_IN_WORDS.items()} | dict(titles or {})
    laws = [m for m in found.laws if not np.isnan(found.cut_error(found.cuts[0], m, targets))]
    traces = [part for i, law in enumerate(laws) for part in _dots(theme, found, law, i, targets, words.get(law, law))]
    seen = extent(*(trace[side] for trace in traces for side in ("x", "y"))) if traces else (1.0, 10.0)
    traces.append(_identity(theme, seen))
    lines = [_line(theme, found, m, _look(laws, m), targets, words.get(m, m)) for m in (*laws, *BASELINES)]
    errors = extent(*(line["y"] for line in lines), positive=True, room=0.12)
    far = found.furthest
    place: dict[str, Any] = {"domain": PANELS[0], "anchor": "y"}
    layout: dict[str, Any] = {
        "xaxis": value_axis(theme, found.y, *seen, **place)
        | {"title": _words(theme, f"Observed {called or _name(found.y)}")},
        "yaxis": value_axis(theme, found.y, *seen, anchor="x")
        | {"title": _words(theme, f"Predicted {called or _name(found.y)}")},
        "xaxis2": axis(theme, "Decades beyond the fitted runs", range=[0, 1.06 * far], domain=PANELS[1], anchor="y2"),
        "yaxis2": log_axis(theme, "Mean relative error", *errors, anchor="x2", tickformat=".2~%"),
        **_legend(theme, len(lines)),
    }
    figure = compose(
        theme,
        HEIGHT + _rows(theme, len(lines)) * (WEB_WIDTH / (theme.width or WEB_WIDTH)),
        "validation",
        [*traces, *lines],
        **layout,
    )
    return Drawing(figure, _alt(found, laws, targets), "validation", lambda: table(found))


def _name(y: str) -> str:
    return title(y).replace("Loss", "loss")


def _words(theme: Theme, text: str) -> Part:
    return {"text": text, "standoff": 10, "font": {"size": theme.size}}


def _look(laws: list[str], method: str) -> tuple[str, str]:
    """Return the colour and the dash of a method (a law or a baseline)."""
    if method in laws:
        return category(laws.index(method)), "solid"
    place = list(BASELINES).index(method)
    return category(len(laws) + place), DASHES[1 + place]


def _legend(theme: Theme, methods: int) -> Part:
    """Return layout entries that list all methods below the plot, one per line."""
    size = {"font": {"size": theme.small}, "bgcolor": "rgba(0,0,0,0)"}
    below = {"yref": "container", "y": 0, "yanchor": "bottom", "x": 0, **size}
    return {
        "showlegend": True,
        "legend": below,
        "margin": {"b": (58 if theme.width is None else 40) + _rows(theme, methods)},
    }


def _rows(theme: Theme, methods: int) -> float:
    """Return the height of the legend in pixels."""
    return ROW * methods * theme.size / WEB_SIZE


def _wanted(cut: Cut, targets: Targets) -> Any:
    return cut.best if targets == "best" else np.ones(len(cut.held), bool)


def _dots(theme: Theme, found: Validation, law: str, i: int, targets: Targets, title: str) -> list[Part]:
    """Return at most ``MOST_DOTS`` dots for the predictions of a law in all cuts.

    If there are more predictions, the dots show a fixed random sample. If there are several datasets, the fill shows
    the dataset and the outline shows the law.
    """
    rows = _predictions(found, law, targets)
    if len(rows) > MOST_DOTS:
        rows = rows[np.sort(np.random.default_rng(0).choice(len(rows), MOST_DOTS, replace=False))]
    observed, predicted, beyond, error, held = rows.T
    runs, name = found.runs.take(held.astype(np.int64)), literal(title)
    line = {"width": 0} if colouring(found.runs) is None else {"width": theme.line(1.4), "color": category(i)}
    trace: Part = {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "legendgroup": name,
        "showlegend": False,
        "x": marks.pack(observed),
        "y": marks.pack(predicted),
        "customdata": np.stack([runs.ids.astype(float), beyond, error], axis=1),
        "marker": {"size": theme.marker(7), "color": category(i), "opacity": 0.75, "line": line},
        "hovertemplate": f"<b>{name}</b> · row %{{customdata[0]:.0f}}<br>observed  %{{x:.4~g}}"
        "<br>predicted  %{y:.4~g}<br>off by  %{customdata[2]:.2%}"
        "<br>%{customdata[1]:.1f} decades beyond<extra></extra>",
    }
    return dots.by_group(runs, trace, found.runs)


def _predictions(found: Validation, method: str, targets: Targets) -> Floats:
    """Return the predictions of a method for all cuts as an array (m, 5).

    The columns are observed value, predicted value, decades beyond the fitted runs, relative error, and position of the
    run in ``found.runs``.
    """
    parts = []
    for cut in found.cuts:
        keep = _wanted(cut, targets) & np.isfinite(cut.predicted.get(method, np.full(len(cut.held), np.nan)))
        if np.any(keep):
            held = cut.held[keep]
            numbers = (found.runs[found.y][held], cut.predicted[method][keep], cut.beyond[keep])
            parts.append(np.stack([*numbers, found.errors(cut, method)[keep], held], axis=1))
    return np.concatenate(parts) if parts else np.empty((0, 5))


def _identity(theme: Theme, seen: tuple[float, float]) -> Part:
    ends = np.array(seen)
    return marks.line(theme, ends, ends, GREY, 1.2, "dash", name="exact", showlegend=False)


def _line(theme: Theme, found: Validation, method: str, look: tuple[str, str], targets: Targets, title: str) -> Part:
    """Return the line of the mean error of a method, with one point per cut.

    The x value of a cut is the distance between the fitted runs and the furthest held-out run.
    """
    x = np.array([float(np.max(cut.beyond)) for cut in found.cuts])
    y = np.array([found.cut_error(cut, method, targets) for cut in found.cuts])
    name = literal(title)
    hover = f"<b>{name}</b><br>off by  %{{y:.2%}}<br>up to %{{x:.1f}} decades beyond<extra></extra>"
    drawn = marks.line(theme, x, np.where(np.isfinite(y), y, np.nan), look[0], 2, look[1], hovertemplate=hover)
    marker = {"size": theme.marker(8), "color": look[0]}
    return drawn | {
        "mode": "lines+markers", "marker": marker, "name": name, "legendgroup": name, "xaxis": "x2", "yaxis": "y2",
    }  # fmt: skip


def table(found: Validation) -> pd.DataFrame:
    """Return one row per cut, method and held-out run.

    The columns include the limit of the fitted runs, the distance beyond this limit in decades, and the observed and
    the predicted value.
    """
    parts = [
        pd.DataFrame(
            {
                "fitted up to": cut.limit, "row": found.runs.ids[cut.held], "decades beyond": cut.beyond,
                "best of its budget": cut.best, "method": method, "observed": found.runs[found.y][cut.held],
                "predicted": values, "relative error": found.errors(cut, method),
            }
        )
        for cut in found.cuts
        for method, values in cut.predicted.items()
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True).dropna(subset=["predicted"])


def _alt(found: Validation, laws: list[str], targets: Targets) -> str:
    errors = ", ".join(f"{m} {found.error(m, targets):.2%}" for m in (*laws[:4], *BASELINES))
    return (
        f"Predicted against observed {found.y} of runs that were left out, up to {found.furthest:.1f} decades beyond "
        f"the fitted runs; mean relative errors: {errors}."
    )
