"""Loss against model size at each budget: runs as dots, law as lines, minima joined by the trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.figures import marks
from app.figures.axes import extent, log_axis, padded, title, value_axis
from app.figures.drawing import Drawing
from app.figures.palette import COMPUTE, compute_colour, scale
from app.figures.theme import WEB, Theme, blank
from engine.fitting.parabola import Parabola
from engine.planning.curves import Curve, Frontier
from engine.quantities import count, power10, power10_html
from engine.schema import Floats, Runs

HEIGHT = 520
MOST_BANDS = 8
PARABOLA_POINTS = 40


def draw(
    curves: Sequence[Curve],
    runs: Runs | None = None,
    y: str = "loss",
    path: Frontier | None = None,
    parabolas: Sequence[Parabola] = (),
    theme: Theme = WEB,
) -> Drawing:
    """Curves of a law (``curves``), of parabolas through single budgets, or both, each coloured by its compute.

    ``path`` joins the minima of ``curves``; the minima of ``parabolas`` are stars.
    """
    budgets = [c.C for c in curves] + [p.C for p in parabolas]
    shown = None if runs is None else marks.drawn(_of_budgets(runs, y), marks.MOST_DOTS)
    span = (min(budgets), max(budgets)) if budgets else (1.0, 10.0)
    window, values = _window(curves, parabolas, shown, y)
    figure = blank(
        theme, HEIGHT, "isoflop",
        xaxis=log_axis(theme, title("N"), *window),
        yaxis=value_axis(theme, y, *values),
        clickmode="event+select",
    )  # fmt: skip
    figure.update_layout(margin={"r": 96})
    figure.add_traces([
        *_bands(curves, span),
        *(t for c in curves for t in _curve(theme, c, y, span)),
        *(_parabola(theme, p, y, span) for p in parabolas),
        *_path(theme, path, values),
        *_minima(theme, curves, parabolas, y, span),
        *_runs(theme, shown, y, span),
        _ends(theme, curves or parabolas, window, values),
    ])  # fmt: skip
    return Drawing(figure, _alt(curves, parabolas, y, runs), _frame(curves, parabolas), "iso-flop-curves")


def _of_budgets(runs: Runs, y: str) -> Runs:
    """The runs that belong to a budget; all where the table has none."""
    if "budget" not in runs or y not in runs:
        return runs
    known = np.isfinite(runs["budget"])
    return runs.take(known) if np.any(known) else runs


def _window(
    curves: Sequence[Curve], parabolas: Sequence[Parabola], runs: Runs | None, y: str
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What the axes show at first: the runs and the minima, with room around them."""
    minima = [c.loss_best for c in curves] + [p.loss_star for p in parabolas]
    inside = [c.loss[c.inside] for c in curves]
    losses = [runs[y]] if runs is not None and y in runs else inside
    sizes = [runs["N"]] if runs is not None and "N" in runs else [c.N[c.inside] for c in curves]
    sizes = [*sizes, np.array([c.N_best for c in curves] + [p.N_star for p in parabolas])]
    return padded(*extent(*sizes, positive=True), 0.12), extent(*losses, np.array(minima))


def _bands(curves: Sequence[Curve], span: tuple[float, float]) -> list[go.Scatter]:
    if len(curves) > MOST_BANDS:
        return []
    return [
        marks.band(c.N, low, high, compute_colour(c.C, span), tint)
        for c in curves
        for low, high, tint in (
            (c.band.low95, c.band.high95, marks.TINT95),
            (c.band.low68, c.band.high68, marks.TINT68),
        )
        if np.any(np.isfinite(low) & np.isfinite(high))
    ]


def _curve(theme: Theme, c: Curve, y: str, span: tuple[float, float]) -> list[go.Scatter]:
    hover = f"C = {power10(c.C, 2)} FLOPs<br>N  %{{x:.3~s}}<br>{marks.literal(y)}  %{{y:.4~g}}<extra>law</extra>"
    return marks.law(theme, c.N, c.loss, c.inside, compute_colour(c.C, span), 2.0, hovertemplate=hover)


def _parabola(theme: Theme, p: Parabola, y: str, span: tuple[float, float]) -> go.Scatter:
    N = np.geomspace(p.N_low, p.N_high, PARABOLA_POINTS)
    hover = f"C = {power10(p.C, 2)} FLOPs<br>N  %{{x:.3~s}}<br>{marks.literal(y)}  %{{y:.4~g}}<extra>parabola</extra>"
    dash = "solid" if p.located else "dot"
    return marks.line(theme, N, p.predict(N), compute_colour(p.C, span), 2.0, dash=dash, hovertemplate=hover)


def _path(theme: Theme, path: Frontier | None, values: tuple[float, float]) -> list[go.Scatter]:
    """The minima joined; cut where it leaves the plot, so that it does not stretch the axes."""
    if path is None:
        return []
    return marks.law(
        theme, path.N, path.loss, path.inside, theme.text, 2.2, text=[power10(float(C), 2) for C in path.C],
        hovertemplate="<b>Compute-optimal</b><br>C = %{text} FLOPs<br>N*  %{x:.3~s}<br>%{y:.4~g}<extra></extra>",
    )  # fmt: skip


def _minima(
    theme: Theme, curves: Sequence[Curve], parabolas: Sequence[Parabola], y: str, span: tuple[float, float]
) -> list[go.Scatter]:
    """The minimum of each curve: a star where it lies in the sweep, an open one where it does not."""
    points = [(c.C, c.N_best, c.D_best, c.loss_best, True) for c in curves]
    points += [(p.C, p.N_star, p.D_star, p.loss_star, p.inside) for p in parabolas if np.isfinite(p.N_star)]
    if not points:
        return []
    hover = "<b>Minimum at {} FLOPs</b><br>N*  {}<br>D*  {}<br>{}  {:.4g}"
    return [
        go.Scatter(
            x=[p[1] for p in points],
            y=[p[3] for p in points],
            mode="markers",
            text=[
                hover.format(power10(p[0], 2), count(p[1], 3), count(p[2], 3), marks.literal(y), p[3]) for p in points
            ],
            hovertemplate="%{text}<extra></extra>",
            marker={
                "symbol": ["star" if p[4] else "star-open" for p in points],
                "size": theme.marker(13),
                "color": [compute_colour(p[0], span) for p in points],
                "line": {"color": theme.text, "width": theme.line(1)},
            },
        )
    ]


def _runs(theme: Theme, runs: Runs | None, y: str, span: tuple[float, float]) -> list[go.Scatter | go.Scattergl]:
    if runs is None or "N" not in runs or y not in runs:
        return []
    C = runs["budget"] if "budget" in runs and np.any(np.isfinite(runs["budget"])) else runs["C"]
    fill: dict[str, Any] = {
        "color": np.log10(C).astype(np.float32),
        "colorscale": scale(COMPUTE),
        "cmin": np.log10(span[0]),
        "cmax": np.log10(span[1] if span[1] > span[0] else span[0] * 10),
    }
    return [marks.dots(runs, runs["N"], runs[y], name="runs", marker=marks.outline(theme, 6, **fill))]


def _ends(
    theme: Theme, curves: Sequence[Curve | Parabola], window: tuple[float, float], values: tuple[float, float]
) -> go.Scatter:
    """The budget of each curve, right of where it leaves the plot."""
    words = []
    for c in curves:
        N, loss = _points(c)
        seen = np.flatnonzero((N <= window[1]) & (loss <= values[1]) & (loss >= values[0]))
        if seen.size:
            words.append((float(N[seen[-1]]), float(loss[seen[-1]]), f" {power10_html(c.C, 2)}"))
    apart = marks.unobstructed(words, values)
    if apart:
        x, at, text = apart[-1]
        apart[-1] = (x, at, text + " FLOPs")
    return marks.labels(theme, apart, "middle right")


def _points(c: Curve | Parabola) -> tuple[Floats, Floats]:
    if isinstance(c, Curve):
        return c.N, c.loss
    N = np.geomspace(c.N_low, c.N_high, PARABOLA_POINTS)
    return N, c.predict(N)


def _frame(curves: Sequence[Curve], parabolas: Sequence[Parabola]) -> pd.DataFrame:
    """One row a vertex: budget, N, D, value of the law and the ends of its bands."""
    parts = [
        pd.DataFrame({
            "line": "law", "C": c.C, "N": c.N, "D": c.D, "value": c.loss,
            "low68": c.band.low68, "high68": c.band.high68, "low95": c.band.low95, "high95": c.band.high95,
        })
        for c in curves
    ]  # fmt: skip
    parts += [
        pd.DataFrame(dict(zip(("N", "value"), _points(p), strict=True)) | {"line": "parabola", "C": p.C})
        for p in parabolas
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _alt(curves: Sequence[Curve], parabolas: Sequence[Parabola], y: str, runs: Runs | None) -> str:
    points = [(c.C, c.N_best, c.loss_best) for c in curves] or [(p.C, p.N_star, p.loss_star) for p in parabolas]
    if not points:
        return f"No budget to draw {y} against model size for."
    first, last = points[0], points[-1]
    seen = "" if runs is None else f" with {len(runs):,} runs"
    return (
        f"{y} against model size N at {len(points)} budgets{seen}. The optimum moves from N = {count(first[1])} "
        f"({y} {first[2]:.3g}) at {power10(first[0], 2)} FLOPs to N = {count(last[1])} ({y} {last[2]:.3g}) at "
        f"{power10(last[0], 2)} FLOPs."
    )
