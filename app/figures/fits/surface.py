"""Figure of the loss over N and D: lines of equal loss and of equal compute, runs, and the compute-optimal path."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, keys
from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.marks.lines import Word
from isoplan.app.figures.style.axes import literal, log_axis, tick_text, title
from isoplan.app.figures.style.palette import COMPUTE, GREY, compute_colour
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.planning.drawing.contours import Contour, contours_of
from isoplan.engine.planning.drawing.curves import IsoFlop, Surface
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.quantities import count, power10
from isoplan.engine.schema import Runs

HEIGHT = 580
SHADES = 20
"""Number of steps of the colour scale of the loss in the background."""
APART, INSETS = 0.035, (0.06, 0.15, 0.3)
"""Positions of labels, as fractions of the axes: minimum distance between two labels, and possible distances of a label
from the end of its line. The first of these distances is preferred.
"""


def draw(
    surface: Surface, runs: Runs | None = None, y: str = "loss", plan: Plan | None = None, theme: Theme = WEB
) -> Drawing:
    """Draw the loss surface, the runs to which its law was fitted and, if given, N and D of a plan."""
    contours = contours_of(surface.N, surface.D, surface.loss, surface.levels)
    better = runs.roles.direction(y) if runs is not None else "min"
    colours = dots.loss_colours(_scaled(surface, runs, y), theme, literal(y), better)
    traces = [
        _shade(surface, y, colours, bar=runs is None),
        *_iso_loss(theme, surface, contours),
        *_iso_flop(theme, surface),
        *_trajectory(theme, surface),
        *_runs(theme, runs, y, colours),
        *_plan(theme, plan),
        *_keys(theme, surface, runs, plan, contours),
    ]
    figure = compose(
        theme, HEIGHT, "surface", traces, [_beyond(surface)], clickmode="event+select",
        margin={"t": 64 if theme.width is None else 42}, legend={"y": 1.05},
        xaxis=log_axis(theme, title("N"), surface.N[0], surface.N[-1], showgrid=False, automargin=False),
        yaxis=log_axis(theme, title("D"), surface.D[0], surface.D[-1], showgrid=False, automargin=False),
    )  # fmt: skip
    return Drawing(figure, _alt(surface, y, runs, plan), "loss-surface", lambda: _table(surface, contours))


def _keys(
    theme: Theme, surface: Surface, runs: Runs | None, plan: Plan | None, contours: tuple[Contour, ...]
) -> list[Part]:
    """Return the legend entries of the lines, tints, runs and the star."""
    budgets = any(len(line.N) > 1 for line in surface.isoflops)
    return [
        *keys.dots(runs, dots.outline(theme)),
        *([keys.line(theme, "equal loss", GREY, 1.1)] if contours else []),
        *([keys.line(theme, "equal compute", COMPUTE[len(COMPUTE) // 2], 1.8)] if budgets else []),
        keys.line(theme, keys.PATH, theme.text, 2.6),
        *keys.intervals(theme, theme.text, bool(np.isfinite(surface.ribbon68.N_low).all())),
        keys.beyond(theme, GREY),
        *([keys.star(theme, keys.BEST)] if _plan(theme, plan) else []),
    ]


def _scaled(surface: Surface, runs: Runs | None, y: str) -> Floats:
    """Return the values that set the range of the colour scale.

    The result contains the values ``y`` of ``runs``. If these values are not known, the result contains the losses of
    the surface. Only losses within the ranges of N and D of the fitted runs are included.
    """
    return runs[y] if runs is not None and y in runs else surface.loss[surface.inside]


def _shade(surface: Surface, y: str, colours: Part, bar: bool) -> Part:
    """Return the loss as faint colour steps, with values on hover. A smooth colour map takes twice as long to draw."""
    z, low, high = surface.loss.T, colours["cmin"], colours["cmax"]
    return {
        "type": "contour",
        "contours": {"start": low, "end": high, "size": (high - low) / SHADES, "coloring": "fill"},
        "line": {"width": 0},
        "x": marks.pack(surface.N),
        "y": marks.pack(surface.D),
        "z": dots.on_scale(z, colours),
        "customdata": z.astype(np.float32),
        "opacity": 0.28,
        "zmin": low,
        "zmax": high,
        "colorscale": colours["colorscale"],
        "showscale": bar,
        "colorbar": colours["colorbar"],
        "hovertemplate": f"N  %{{x:.3~s}}<br>D  %{{y:.3~s}}<br>{literal(y)}  %{{customdata:.4~g}}<extra>law</extra>",
    }


def _iso_loss(theme: Theme, surface: Surface, contours: tuple[Contour, ...]) -> list[Part]:
    """Return the lines of equal loss and their labels. Each line has a gap for its label."""
    if not contours:
        return []
    places = _label_places(theme, surface, contours)
    texts = [tick_text(line.level, 4) for line in contours]
    rooms = [theme.crowding * (0.006 + 0.0055 * len(text)) for text in texts]
    pieces = [_broken(line, places.get(i), rooms[i], surface) for i, line in enumerate(contours)]
    N, D = (np.concatenate([piece[k] for piece in pieces]) for k in (0, 1))
    lines = marks.law(theme, N, D, _inside(surface, N, D), GREY, 1.1)
    words = [(*place, texts[i]) for i, place in places.items()]
    return [*lines, marks.labels(theme, words, "middle center", name="iso-loss")]


def _broken(line: Contour, place: tuple[float, float] | None, room: float, surface: Surface) -> tuple[Floats, Floats]:
    """Return the vertices of a line, with NaN where a gap leaves space for its label.

    ``room`` is half the length of the gap as a fraction of the axes. The last vertex is NaN and separates the line
    from the next line.
    """
    N, D = np.append(line.N, np.nan), np.append(line.D, np.nan)
    if place is not None:
        near = (_share(N, place[0], surface.N) < room) & (_share(D, place[1], surface.D) < room)
        N, D = np.where(near, np.nan, N), np.where(near, np.nan, D)
    return N, D


def _share(x: Floats, at: float, axis: Floats) -> Floats:
    """Return the distance of ``x`` from ``at`` as a fraction of the length of a log axis."""
    return np.asarray(np.abs(np.log(x / at)) / np.log(axis[-1] / axis[0]))


def _label_places(theme: Theme, surface: Surface, contours: tuple[Contour, ...]) -> dict[int, tuple[float, float]]:
    """Return the positions of the labels of lines of equal loss, by the index of the line.

    A label is near the right end of its line, or further inside if another label is too close. A line without a free
    position has no label.
    """
    places: dict[int, tuple[float, float]] = {}
    budgets = [(float(line.N[1]), float(line.D[1])) for line in surface.isoflops if len(line.N) > 1]
    for i, line in enumerate(contours):
        along = _share(line.N, float(line.N[-1]), surface.N) + _share(line.D, float(line.D[-1]), surface.D)
        for inset in INSETS:
            at = int(np.argmin(np.abs(along - inset * theme.crowding)))
            N, D = float(line.N[at]), float(line.D[at])
            if all(_apart(theme, N, D, place, surface) for place in (*budgets, *places.values())):
                places[i] = (N, D)
                break
    return places


def _apart(theme: Theme, N: float, D: float, other: tuple[float, float], surface: Surface) -> bool:
    across, up = _share(np.asarray(N), other[0], surface.N), _share(np.asarray(D), other[1], surface.D)
    return bool(across > 2 * APART * theme.crowding or up > APART * theme.crowding)


def _iso_flop(theme: Theme, surface: Surface) -> list[Part]:
    """Return the lines of equal compute, and their budgets as labels at the upper ends."""
    lines = [line for line in surface.isoflops if len(line.N) > 1]
    if not lines:
        return []
    span = (lines[0].C, lines[-1].C)
    parts = [part for line in lines for part in _budget(theme, surface, line, compute_colour(line.C, span))]
    return [*parts, *_iso_flop_labels(theme, surface, lines)]


def _budget(theme: Theme, surface: Surface, line: IsoFlop, colour: str) -> list[Part]:
    hover = f"C = {power10(line.C, 2)} FLOPs<br>N  %{{x:.3~s}}<br>D  %{{y:.3~s}}<extra></extra>"
    return marks.law(theme, line.N, line.D, _inside(surface, line.N, line.D), colour, 1.8, hovertemplate=hover)


def _iso_flop_labels(theme: Theme, surface: Surface, lines: list[IsoFlop]) -> list[Part]:
    """Return the labels of the budgets.

    If a line starts at the upper edge of the plot, its label is above the plot. If it starts at the left edge, its
    label is inside the plot, next to this edge. The anchor of the label is the second vertex of the line and not the
    first, because the first vertex is on the edge, where Plotly sometimes omits a text because of rounding.
    """
    words: dict[str, list[Word]] = {"top center": [], "top right": []}
    for line in lines:
        text = tick_text(line.C) + (" FLOPs" if line is lines[-1] else "")
        words["top center" if line.N[0] > surface.N[0] * 1.01 else "top right"].append(
            (float(line.N[1]), float(line.D[1]), text)
        )
    return [marks.labels(theme, at, place, name="iso-FLOP") for place, at in words.items() if at]


def _trajectory(theme: Theme, surface: Surface) -> list[Part]:
    """Return the compute-optimal path of N and D, with its 68 % and 95 % bands."""
    path = surface.path
    ribbons = ((surface.ribbon95, marks.TINT95), (surface.ribbon68, marks.TINT68))
    bands = [
        marks.area(np.append(r.N_low, r.N_high[::-1]), np.append(r.D_low, r.D_high[::-1]), theme.text, tint)
        for r, tint in ribbons
        if np.all(np.isfinite(r.N_low) & np.isfinite(r.N_high))
    ]
    text = [power10(float(C), 2) for C in path.C]
    hover = "<b>Compute-optimal</b><br>C = %{text} FLOPs<br>N*  %{x:.3~s}<br>D*  %{y:.3~s}<extra></extra>"
    return [*bands, *marks.law(theme, path.N, path.D, path.inside, theme.text, 2.6, text=text, hovertemplate=hover)]


def _runs(theme: Theme, runs: Runs | None, y: str, colours: Part) -> list[Part]:
    if runs is None:
        return []
    shown = dots.drawn(runs, dots.MOST_DOTS)
    fill = colours | {"color": dots.on_scale(shown[y], colours)} if y in shown else {"color": GREY}
    return dots.runs_over(shown, "N", "D", dots.outline(theme) | fill)


def _plan(theme: Theme, plan: Plan | None) -> list[Part]:
    N, D = _allocated(plan)
    if N is None or D is None:
        return []
    return [marks.star(theme, N, D, f"<b>Plan</b><br>N*  {count(N, 3)}<br>D*  {count(D, 3)}")]


def _allocated(plan: Plan | None) -> tuple[float | None, float | None]:
    return (plan.allocation["N"].value, plan.allocation["D"].value) if plan is not None else (None, None)


def _inside(surface: Surface, N: Floats, D: Floats) -> Bools:
    """Return which points are within the ranges of N and D of the runs."""
    (n_low, n_high), (d_low, d_high) = surface.region["N"], surface.region["D"]
    return np.asarray((N >= n_low) & (N <= n_high) & (D >= d_low) & (D <= d_high))


def _beyond(surface: Surface) -> Part:
    """Return a grey shape that covers the plot outside the ranges of N and D of the runs."""
    (n_low, n_high), (d_low, d_high) = surface.region["N"], surface.region["D"]
    outer = f"M{surface.N[0]},{surface.D[0]}H{surface.N[-1]}V{surface.D[-1]}H{surface.N[0]}Z"
    inner = f"M{n_low},{d_low}H{n_high}V{d_high}H{n_low}Z"
    look = {"fillrule": "evenodd", "fillcolor": GREY, "opacity": marks.BEYOND, "line": {"width": 0}, "layer": "above"}
    return {"type": "path", "path": outer + inner, **look}


def _table(surface: Surface, contours: tuple[Contour, ...]) -> pd.DataFrame:
    """Return one row per vertex of all lines: kind of line, value (loss or FLOPs), N, D."""
    path = surface.path
    parts = [pd.DataFrame({"line": "iso-loss", "value": c.level, "N": c.N, "D": c.D}) for c in contours]
    parts += [pd.DataFrame({"line": "iso-FLOP", "value": c.C, "N": c.N, "D": c.D}) for c in surface.isoflops]
    parts += [pd.DataFrame({"line": "compute-optimal", "value": path.C, "N": path.N, "D": path.D, "loss": path.loss})]
    return pd.concat(parts, ignore_index=True)


def _alt(surface: Surface, y: str, runs: Runs | None, plan: Plan | None) -> str:
    (n_low, n_high), (d_low, d_high) = surface.region["N"], surface.region["D"]
    levels = f"iso-loss lines from {min(surface.levels):g} to {max(surface.levels):g}, " if surface.levels else ""
    seen = f"{len(runs):,} runs" if runs is not None else "the law"
    N, D = _allocated(plan)
    asked = f" The plan is at N = {count(N)}, D = {count(D)}." if N is not None and D is not None else ""
    return (
        f"{y} over model size N and samples D: {levels}{len(surface.isoflops)} iso-FLOP lines, the compute-optimal "
        f"trajectory and {seen} between N {count(n_low)} and {count(n_high)}, D {count(d_low)} and {count(d_high)}."
        f"{asked}"
    )
