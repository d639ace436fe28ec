"""The loss over model size and samples: iso-loss and iso-FLOP lines, runs, and the compute-optimal trajectory."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.figures import marks
from app.figures.axes import log_axis, title
from app.figures.drawing import Drawing
from app.figures.palette import GREY, compute_colour
from app.figures.theme import WEB, Theme, blank
from engine.planning.contours import IsoLoss, iso_loss
from engine.planning.curves import Frontier, IsoFlop, Mask, Ribbon, Surface
from engine.planning.plan import Plan
from engine.quantities import count, power10, power10_html
from engine.schema import Floats, Runs

HEIGHT = 580
PLACE = "N*  %{x:.3~s}<br>D*  %{y:.3~s}"
LABEL_GAP, LABEL_APART = 0.024, 0.035
"""Room that a label takes along a line, and the least distance between two labels, as shares of an axis."""


def draw(
    surface: Surface, runs: Runs | None = None, y: str = "loss", plan: Plan | None = None, theme: Theme = WEB
) -> Drawing:
    """The surface, the runs that it was fitted to and, where given, the allocation of a plan."""
    figure = blank(
        theme, HEIGHT, "surface",
        xaxis=log_axis(theme, title("N"), surface.N[0], surface.N[-1], showgrid=False),
        yaxis=log_axis(theme, title("D"), surface.D[0], surface.D[-1], showgrid=False),
        clickmode="event+select",
    )  # fmt: skip
    figure.update_layout(margin={"t": 34})
    contours = iso_loss(surface)
    colours = marks.loss_colours(_coloured(surface, runs, y), theme, escape(y))
    figure.add_traces([
        _shade(surface, y, colours),
        *_iso_loss(theme, surface, contours),
        *_iso_flop(theme, surface),
        *_trajectory(theme, surface.path, (surface.ribbon95, surface.ribbon68)),
        *_runs(theme, runs, y, colours),
        *_plan(theme, plan),
    ])  # fmt: skip
    figure.add_shape(_beyond(surface))
    return Drawing(figure, _alt(surface, y, runs, plan), _frame(surface, contours), "loss-surface")


def _coloured(surface: Surface, runs: Runs | None, y: str) -> Floats:
    """What the loss scale spans: the runs, else the surface where the runs of the law were."""
    return runs[y] if runs is not None and y in runs else surface.loss[surface.inside]


def _shade(surface: Surface, y: str, colours: dict[str, Any]) -> go.Heatmap:
    """The loss as a faint colour, and what is hovered where no run is."""
    log = "tickvals" in colours["colorbar"]
    z = surface.loss.T
    return go.Heatmap(
        x=marks.pack(surface.N),
        y=marks.pack(surface.D),
        z=(np.log10(z) if log else z).astype(np.float32),
        customdata=z.astype(np.float32),
        opacity=0.28,
        zsmooth="best",
        zmin=colours["cmin"],
        zmax=colours["cmax"],
        colorscale=colours["colorscale"],
        showscale=False,
        hovertemplate=f"N  %{{x:.3~s}}<br>D  %{{y:.3~s}}<br>{marks.literal(y)} of the law  "
        "%{customdata:.4~g}<extra></extra>",
    )


def _iso_loss(theme: Theme, surface: Surface, contours: tuple[IsoLoss, ...]) -> list[go.Scatter]:
    """Lines of equal loss: all in two traces, broken where their labels stand."""
    places = _label_places(surface, contours)
    pieces = [_broken(line, places.get(i), surface) for i, line in enumerate(contours)]
    N, D = (np.concatenate([p[k] for p in pieces]) if pieces else np.empty(0) for k in (0, 1))
    inside = _inside(surface, N, D)
    lines = marks.law(theme, N, D, inside, GREY, 1.1)
    words = [(*places[i], _level(contours[i].level)) for i in places]
    return [*lines, marks.labels(theme, words, "middle center")]


def _broken(line: IsoLoss, place: tuple[float, float] | None, surface: Surface) -> tuple[Floats, Floats]:
    """The line with a gap around its label and one at its end."""
    N, D = np.append(line.N, np.nan), np.append(line.D, np.nan)
    if place is not None:
        near = (_share(N, place[0], surface.N) < LABEL_GAP) & (_share(D, place[1], surface.D) < LABEL_GAP)
        N, D = np.where(near, np.nan, N), np.where(near, np.nan, D)
    return N, D


def _share(x: Floats, at: float, axis: Floats) -> Floats:
    """How far ``x`` lies from ``at``, as a share of a log axis."""
    return np.asarray(np.abs(np.log(x / at)) / np.log(axis[-1] / axis[0]))


def _label_places(surface: Surface, contours: tuple[IsoLoss, ...]) -> dict[int, tuple[float, float]]:
    """Where each line carries its level: near its lower right end, unless another label stands there."""
    places: dict[int, tuple[float, float]] = {}
    for i, line in enumerate(contours):
        at = int(np.argmin(np.abs(np.log(line.N) - np.log(line.N[-1]) + 0.06 * np.log(surface.N[-1] / surface.N[0]))))
        place = (float(line.N[at]), float(line.D[at]))
        if all(_apart(place, other, surface) for other in places.values()):
            places[i] = place
    return places


def _apart(a: tuple[float, float], b: tuple[float, float], surface: Surface) -> bool:
    return bool(
        _share(np.asarray(a[0]), b[0], surface.N) > 3 * LABEL_GAP
        or _share(np.asarray(a[1]), b[1], surface.D) > LABEL_APART
    )


def _level(value: float) -> str:
    return marks.tick_text(value)


def _iso_flop(theme: Theme, surface: Surface) -> list[go.Scatter]:
    """Lines of equal compute, each labelled at its upper end."""
    lines = [line for line in surface.isoflops if len(line.N) > 1]
    if not lines:
        return []
    span = (lines[0].C, lines[-1].C)
    traces = [
        trace
        for line in lines
        for trace in marks.law(
            theme, line.N, line.D, _inside(surface, line.N, line.D), compute_colour(line.C, span), 1.8,
            hovertemplate=f"C = {power10(line.C, 2)} FLOPs<br>N  %{{x:.3~s}}<br>D  %{{y:.3~s}}<extra></extra>",
        )
    ]  # fmt: skip
    return [*traces, *_iso_flop_labels(theme, surface, lines)]


def _iso_flop_labels(theme: Theme, surface: Surface, lines: list[IsoFlop]) -> list[go.Scatter]:
    """Budgets above the plot where their line leaves it there, else inside at the left edge."""
    above = [line for line in lines if line.N[0] > surface.N[0] * 1.01]
    left = [line for line in lines if line not in above]
    return [
        marks.labels(theme, [(float(at.N[0]), float(at.D[0]), _flops(at, at is lines[-1])) for at in group], where)
        for group, where in ((above, "top center"), (left, "top right"))
        if group
    ]


def _flops(line: IsoFlop, last: bool) -> str:
    return power10_html(line.C, 1) + (" FLOPs" if last else "")


def _trajectory(theme: Theme, path: Frontier, ribbons: tuple[Ribbon, Ribbon]) -> list[go.Scatter]:
    """The compute-optimal N and D with the bands of their uncertainty."""
    bands = [
        marks.ribbon(np.append(r.N_low, r.N_high[::-1]), np.append(r.D_low, r.D_high[::-1]), theme.text, tint)
        for r, tint in zip(ribbons, (marks.TINT95, marks.TINT68), strict=True)
        if np.all(np.isfinite(r.N_low))
    ]
    text = [power10(float(C), 2) for C in path.C]
    return [
        *bands,
        *marks.law(
            theme, path.N, path.D, path.inside, theme.text, 2.6, text=text,
            hovertemplate=f"<b>Compute-optimal</b><br>C = %{{text}} FLOPs<br>{PLACE}<extra></extra>",
        ),
    ]  # fmt: skip


def _runs(theme: Theme, runs: Runs | None, y: str, colours: dict[str, Any]) -> list[go.Scatter | go.Scattergl]:
    if runs is None or "N" not in runs or "D" not in runs:
        return []
    shown = marks.drawn(runs, marks.MOST_DOTS)
    fill = colours | {"color": marks.loss_colours(shown[y], theme, y)["color"]} if y in shown else {"color": GREY}
    return [marks.dots(shown, shown["N"], shown["D"], name="runs", marker=marks.outline(theme, 7, **fill))]


def _plan(theme: Theme, plan: Plan | None) -> list[go.Scatter]:
    N, D = (plan.allocation[name].value if plan else None for name in ("N", "D"))
    if N is None or D is None:
        return []
    return [marks.plan_point(theme, N, D, f"<b>Plan</b><br>N*  {count(N, 3)}<br>D*  {count(D, 3)}")]


def _inside(surface: Surface, N: Floats, D: Floats) -> Mask:
    """Which points lie in the box of the runs."""
    (n_low, n_high), (d_low, d_high) = surface.region["N"], surface.region["D"]
    return np.asarray((N >= n_low) & (N <= n_high) & (D >= d_low) & (D <= d_high))


def _beyond(surface: Surface) -> dict[str, Any]:
    """Grey over everything that lies beyond the runs."""
    (n_low, n_high), (d_low, d_high) = surface.region["N"], surface.region["D"]
    outer = f"M{surface.N[0]},{surface.D[0]}H{surface.N[-1]}V{surface.D[-1]}H{surface.N[0]}Z"
    inner = f"M{n_low},{d_low}H{n_high}V{d_high}H{n_low}Z"
    return {
        "type": "path",
        "path": outer + inner,
        "fillrule": "evenodd",
        "fillcolor": GREY,
        "opacity": marks.BEYOND,
        "line": {"width": 0},
        "layer": "above",
    }


def _frame(surface: Surface, contours: tuple[IsoLoss, ...]) -> pd.DataFrame:
    """Lines in long form, one row a vertex: kind, value (level or FLOPs), N, D."""
    path = surface.path
    parts = [pd.DataFrame({"line": "iso-loss", "value": c.level, "N": c.N, "D": c.D}) for c in contours]
    parts += [pd.DataFrame({"line": "iso-FLOP", "value": c.C, "N": c.N, "D": c.D}) for c in surface.isoflops]
    parts += [pd.DataFrame({"line": "compute-optimal", "value": path.C, "N": path.N, "D": path.D, "loss": path.loss})]
    return pd.concat(parts, ignore_index=True)


def _alt(surface: Surface, y: str, runs: Runs | None, plan: Plan | None) -> str:
    (n_low, n_high), (d_low, d_high) = surface.region["N"], surface.region["D"]
    levels = f"iso-loss lines from {min(surface.levels):g} to {max(surface.levels):g}, " if surface.levels else ""
    seen = f"{len(runs):,} runs" if runs is not None else "the law"
    N, D = (plan.allocation[name].value if plan else None for name in ("N", "D"))
    asked = f" The plan is at N = {count(N)}, D = {count(D)}." if N is not None and D is not None else ""
    return (
        f"{y} over model size N and samples D: {levels}{len(surface.isoflops)} iso-FLOP lines, the compute-optimal "
        f"trajectory and {seen} between N {count(n_low)} and {count(n_high)}, D {count(d_low)} and {count(d_high)}."
        f"{asked}"
    )
