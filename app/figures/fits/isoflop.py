"""Figure of the loss over model size N, one curve per compute budget: runs, law, minima, and the path of the minima."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, keys, lines
from isoplan.app.figures.marks.lines import Span, Word
from isoplan.app.figures.style.axes import extent, literal, log_axis, padded, tick_text, title, value_axis
from isoplan.app.figures.style.palette import COMPUTE, GREY, compute_colour, scale
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.estimators.isoflop import Parabola
from isoplan.engine.planning.drawing.curves import Curve, Frontier
from isoplan.engine.quantities import count, power10
from isoplan.engine.schema import Runs

HEIGHT = 520
MOST_BANDS = 8
"""Maximum number of curves for which uncertainty bands are drawn. The bands of more curves would overlap."""
PARABOLA_POINTS = 40


def draw(
    curves: Sequence[Curve],
    runs: Runs | None = None,
    y: str = "loss",
    path: Frontier | None = None,
    parabolas: Sequence[Parabola] = (),
    theme: Theme = WEB,
) -> Drawing:
    """Draw the loss over N: one line per curve of a law, and one line per parabola.

    Each line belongs to one budget, and its colour shows the compute of this budget. The frontier ``path`` connects the
    minima. A minimum outside the sweep of its budget is an open star.
    """
    budgets = [c.C for c in curves] + [p.C for p in parabolas]
    span = (min(budgets), max(budgets)) if budgets else (1.0, 10.0)
    shown = None if runs is None else dots.drawn(_of_budgets(runs), dots.MOST_DOTS)
    window, values = _window(curves, parabolas, shown, y)
    traces = [
        *_bands(curves, span, values),
        *(part for c in curves for part in _curve(theme, c, y, span)),
        *(_parabola(theme, p, y, span) for p in parabolas),
        *_path(theme, path, y),
        *dots.runs_over(shown, "N", y, _coloured(theme, shown, span)),
        *_minima(theme, curves, parabolas, y, span),
        _ends(theme, curves or parabolas, window, values),
        *_keys(theme, curves, parabolas, shown, path),
    ]
    figure = compose(
        theme, HEIGHT, "isoflop", traces, margin={"r": 96 if theme.width is None else 66}, clickmode="event+select",
        xaxis=log_axis(theme, title("N"), *window), yaxis=value_axis(theme, y, *values),
    )  # fmt: skip
    return Drawing(figure, _alt(curves, parabolas, y, runs), "iso-flop-curves", lambda: _table(curves, parabolas))


def _keys(
    theme: Theme, curves: Sequence[Curve], parabolas: Sequence[Parabola], runs: Runs | None, path: Frontier | None
) -> list[Part]:
    """Return the legend entries of the curves, their bands, the runs, the stars and the path of the minima."""
    colour = COMPUTE[len(COMPUTE) // 2]
    shown = bool(curves) and len(curves) <= MOST_BANDS and any(keys.is_known(c.band) for c in curves)
    inside = all(p.inside for p in parabolas if np.isfinite(p.N_star))
    return [
        *([keys.line(theme, "law at one budget", colour, 2.0)] if curves else []),
        *([keys.line(theme, "parabola at one budget", colour, 2.0)] if parabolas else []),
        *([] if all(p.located for p in parabolas) else [keys.line(theme, "no optimum located", colour, 2.0, "dot")]),
        *keys.intervals(theme, colour, shown),
        *keys.dots(runs, dots.outline(theme, 6)),
        keys.star(theme, "best <i>N</i>*", colour),
        *([] if inside else [keys.star(theme, "outside the sweep", colour, "star-open")]),
        *([keys.line(theme, keys.PATH, theme.text, 2.2)] if path is not None else []),
        *([keys.beyond(theme, GREY, shade=False)] if curves or path is not None else []),
    ]


def _of_budgets(runs: Runs) -> Runs:
    """Return the runs that have a nominal budget; if no run has one, return all runs."""
    known = np.isfinite(runs["budget"]) if "budget" in runs else np.zeros(len(runs), bool)
    return runs.take(known) if np.any(known) else runs


def _window(curves: Sequence[Curve], parabolas: Sequence[Parabola], runs: Runs | None, y: str) -> tuple[Span, Span]:
    """Return the initial ranges of both axes, which contain the runs and the minima, with a margin.

    If ``runs`` is None, the ranges contain the points of the curves within the range of the fitted runs.
    """
    best = np.array([(c.N_best, c.loss_best) for c in curves] + [(p.N_star, p.loss_star) for p in parabolas])
    best = best.reshape(-1, 2)
    if runs is not None and "N" in runs and y in runs:
        seen = [(runs["N"], runs[y])]
    else:
        seen = [(c.N[c.inside], c.loss[c.inside]) for c in curves]
    sizes, losses = ([pair[i] for pair in seen] for i in (0, 1))
    window = padded(*extent(*sizes, best[:, 0], positive=True, room=0), 0.15)
    return window, extent(*losses, best[:, 1])


def _bands(curves: Sequence[Curve], span: Span, values: Span) -> list[Part]:
    if len(curves) > MOST_BANDS:
        return []
    return [part for c in curves for part in lines.bands(c.N, c.band, compute_colour(c.C, span), values)]


def _curve(theme: Theme, c: Curve, y: str, span: Span) -> list[Part]:
    hover = f"C = {power10(c.C, 2)} FLOPs<br>N  %{{x:.3~s}}<br>{literal(y)}  %{{y:.4~g}}<extra>law</extra>"
    return lines.law(theme, c.N, c.loss, c.inside, compute_colour(c.C, span), 2.0, hovertemplate=hover)


def _parabola(theme: Theme, p: Parabola, y: str, span: Span) -> Part:
    """Return the line of a parabola over its sweep; the line is dotted if the optimum of the parabola is not used."""
    hover = f"C = {power10(p.C, 2)} FLOPs<br>N  %{{x:.3~s}}<br>{literal(y)}  %{{y:.4~g}}<extra>parabola</extra>"
    dash = "solid" if p.located else "dot"
    return lines.line(theme, *_points(p), compute_colour(p.C, span), 2.0, dash, hovertemplate=hover)


def _path(theme: Theme, path: Frontier | None, y: str) -> list[Part]:
    """Return the line of the compute-optimal N* and loss, which connects the minima."""
    if path is None:
        return []
    where = f"N*  %{{x:.3~s}}<br>{literal(y)}  %{{y:.4~g}}"
    hover = f"<b>Compute-optimal</b><br>C = %{{text}} FLOPs<br>{where}<extra></extra>"
    text = [power10(float(C), 2) for C in path.C]
    return lines.law(theme, path.N, path.loss, path.inside, theme.text, 2.2, text=text, hovertemplate=hover)


def _minima(theme: Theme, curves: Sequence[Curve], parabolas: Sequence[Parabola], y: str, span: Span) -> list[Part]:
    """Return the minimum of each curve as a star, which is open if the minimum is outside the sweep of its budget."""
    points = [(c.C, c.N_best, c.D_best, c.loss_best, True) for c in curves]
    points += [(p.C, p.N_star, p.D_star, p.loss_star, p.inside) for p in parabolas if np.isfinite(p.N_star)]
    marker = {
        "symbol": ["star" if inside else "star-open" for *_, inside in points],
        "size": theme.marker(13),
        "color": [compute_colour(C, span) for C, *_ in points],
        "line": {"color": theme.text, "width": theme.line(1)},
    }
    text = [
        f"<b>Minimum at {power10(C, 2)} FLOPs</b><br>N*  {count(N, 3)}<br>D*  {count(D, 3)}<br>{literal(y)}  {loss:.4g}"
        for C, N, D, loss, _ in points
    ]
    x, up = [p[1] for p in points], [p[3] for p in points]
    part = {"type": "scatter", "name": "minima", "mode": "markers", "x": x, "y": up, "text": text, "marker": marker}
    return [part | {"hovertemplate": "%{text}<extra></extra>"}] if points else []


def _coloured(theme: Theme, runs: Runs | None, span: Span) -> Part:
    """Return the marker of the runs. Its fill shows the compute of a run, on the colour scale of the lines."""
    if runs is None:
        return {}
    C = runs["budget"] if "budget" in runs and np.any(np.isfinite(runs["budget"])) else runs["C"]
    low, high = np.log10(span).tolist()
    fill = {"color": np.log10(C).astype(np.float32), "cmin": low, "cmax": high if high > low else low + 1}
    return dots.outline(theme, 6) | fill | {"colorscale": scale(COMPUTE)}


def _ends(theme: Theme, curves: Sequence[Curve | Parabola], window: Span, values: Span) -> Part:
    """Return the budgets as labels, each to the right of the point at which its curve leaves the plot."""
    words: list[Word] = []
    for c in curves:
        N, loss = _points(c)
        seen = np.flatnonzero((N >= window[0]) & (N <= window[1]) & (loss <= values[1]) & (loss >= values[0]))
        if seen.size:
            words.append((*_exit(N, loss, int(seen[-1]), window, values), f"\u2002{tick_text(c.C)}"))
    words = lines.unobstructed(theme, words, window, values)
    if words:
        x, y, text = words[-1]
        words[-1] = (x, y, f"{text} FLOPs")
    return lines.labels(theme, words, "middle right")


def _exit(N: Floats, loss: Floats, last: int, window: Span, values: Span) -> tuple[float, float]:
    """Return the point at which a curve leaves the plot: at the right edge, or at its ``last`` visible vertex."""
    if last + 1 < len(N) and N[last + 1] > window[1]:
        edge = window[1] * (1 - 1e-6)
        there = float(np.interp(np.log(edge), np.log(N), loss))
        if values[0] <= there <= values[1]:
            return edge, there
    return float(N[last]), float(loss[last])


def _points(c: Curve | Parabola) -> tuple[Floats, Floats]:
    """Return N and the loss at the vertices of a curve or a parabola."""
    if isinstance(c, Curve):
        return c.N, c.loss
    N = np.geomspace(c.N_low, c.N_high, PARABOLA_POINTS)
    return N, c.predict(N)


def _table(curves: Sequence[Curve], parabolas: Sequence[Parabola]) -> pd.DataFrame:
    """Return one row per vertex: kind of line, budget C, N, D, value, and the band limits of a law."""
    parts = []
    for c in curves:
        bands = {name: getattr(c.band, name) for name in ("low68", "high68", "low95", "high95")}
        parts.append(pd.DataFrame({"line": "law", "C": c.C, "N": c.N, "D": c.D, "value": c.loss, **bands}))
    for p in parabolas:
        N, value = _points(p)
        parts.append(pd.DataFrame({"line": "parabola", "C": p.C, "N": N, "value": value}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _alt(curves: Sequence[Curve], parabolas: Sequence[Parabola], y: str, runs: Runs | None) -> str:
    points = [(c.C, c.N_best, c.loss_best) for c in curves]
    points = points or [(p.C, p.N_star, p.loss_star) for p in parabolas if np.isfinite(p.N_star)]
    if not points:
        return f"No budget has an optimum of {y} over model size."
    first, last = min(points), max(points)
    seen = "" if runs is None else f" with {len(runs):,} runs"
    return (
        f"{y} against model size N at {len(points)} budgets{seen}. The optimum moves from N = {count(first[1])} "
        f"({y} {first[2]:.3g}) at {power10(first[0], 2)} FLOPs to N = {count(last[1])} ({y} {last[2]:.3g}) at "
        f"{power10(last[0], 2)} FLOPs."
    )
