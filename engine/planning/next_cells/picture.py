"""Charts of "Next cells": the map of the candidates, and the expected interval against the spend."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.choice import TIE
from isoplan.engine.design.cost_unit import FLOPS
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.planning.next_cells.answer import NextCells
from isoplan.engine.planning.next_cells.text import asked, percent
from isoplan.engine.planning.questions.chart import Axis, Chart, Curve, Marker, Points
from isoplan.engine.quantities import count, power10

SPACE = 3.0
"""Factor by which the axis of spends extends below the smallest spend and above the largest spend."""
EDGE, LEAST = 0.05, 1.3
"""EDGE: margin of an axis of the map, as a fraction of the axis. LEAST: smallest margin, as a factor."""
SIZES = "N  %{x:.3~s}<br>D  %{y:.3~s}<br>%{customdata}"
VALUE = "<br>alone narrower by %{marker.color:.1f} %"


def chart_map(found: NextCells) -> Chart:
    """Return the map of the candidates over N and D, with the runs, the advised cells and the target run.

    The value of a candidate is the percentage by which this candidate alone is expected to narrow the interval of the
    first narrowed quantity. The map omits candidates that cost more than the largest spend of the answer.
    """
    advice, fit, plan = found.advice, found.fit, found.plan
    assert fit.runs is not None
    cells, narrower = advice.candidates, 100 * advice.gains
    order = np.full(len(cells), np.nan)
    order[list(advice.cells)] = np.arange(1, len(advice.cells) + 1)
    others, advised = _places(found)

    def paid(cost: float) -> str:
        return f", cost {found.unit.write(cost)}" if found.charged or found.unit != FLOPS else ""

    def points(at: Sequence[int], hover: str, numbers: tuple[str, ...], key: str) -> Points:
        some = cells.take(at)
        again = found.repeats[list(at)].tolist()
        shown = (f"{power10(C)} FLOPs{paid(cost)}" for C, cost in zip(some.compute, some.cost, strict=True))
        texts = tuple(f"{text}{', repeat of a run' * own}" for text, own in zip(shown, again, strict=True))
        return Points(
            some.columns["N"], some.columns["D"], hover, texts, narrower[list(at)], "Narrower by [%]", numbers, key
        )

    shown = points(others, f"{SIZES}{VALUE}", (), "candidate")
    chosen = points(list(advised), f"<b>Cell %{{text}}</b><br>{SIZES}{VALUE}", tuple(advised.values()), "advised cell")
    runs = Points(
        fit.runs.columns["N"], fit.runs.columns["D"], f"<b>Run</b><br>{SIZES}",
        tuple(f"{escape(fit.spec.y)}  {fit.sign * y:.4g}" for y in fit.runs.y.tolist()), key="run",
    )  # fmt: skip
    N, D, C = (plan.allocation[name].value or np.nan for name in ("N", "D", "C"))
    target = f"<b>Target run</b><br>N*  {count(N, 3)}<br>D*  {count(D, 3)}<br>{power10(C)} FLOPs"
    return Chart(
        "next-cells-map",
        _alt(found, [*others, *advised]),
        _axis("Model size <i>N</i>", "parameters", shown.x, chosen.x, runs.x, N),
        _axis("Training samples <i>D</i>", sample_unit(fit), shown.y, chosen.y, runs.y, D),
        points=(runs, shown, chosen),
        markers=(Marker(N, D, target, key="target run"),),
        columns={
            **cells.columns,
            "C": cells.compute,
            "narrower": narrower,
            "cell": order,
            "repeat": found.repeats.astype(float),
        },
    )


def _places(found: NextCells) -> tuple[list[int], dict[int, str]]:
    """Return one candidate for each place in the map, because listed cells may have the same N and D.

    The first result contains the places without an advised cell; places whose cell costs more than every spend are
    omitted. The second result contains the places with advised cells, and the numbers of all these cells, such as
    "2, 3". The numbers are those of the table of cells.
    """
    at, numbers = found.advice.candidates.columns, dict[int, list[str]]()
    pairs = np.column_stack([at["N"], at["D"]])
    _, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    for number, cell in enumerate(found.advice.cells, 1):
        numbers.setdefault(int(first[place.ravel()[cell]]), []).append(str(number))
    most = max([found.spend, *(rung.spend for rung in found.advice.ladder)]) * (1 + TIE)
    others = [cell for cell in first.tolist() if cell not in numbers and found.advice.candidates.cost[cell] <= most]
    return others, {cell: ", ".join(texts) for cell, texts in numbers.items()}


def _axis(label: str, unit: str, *values: Floats | float) -> Axis:
    """Return the logarithmic axis of the map that contains all ``values``, with a margin at each end."""
    seen = np.concatenate([np.atleast_1d(x) for x in values])
    low, high = float(seen.min()), float(seen.max())
    margin = max((high / low) ** EDGE, LEAST)
    return Axis(label, low / margin, high * margin, unit, log=True)


def _alt(found: NextCells, cells: Sequence[int]) -> str:
    """Return the description of the map with the candidates ``cells``."""
    advice, allocation = found.advice, found.plan.allocation
    best = max(cells, key=lambda cell: float(advice.gains[cell]))
    N, D = (x[best] for x in (advice.candidates.columns["N"], advice.candidates.columns["D"]))
    at = " and ".join(f"{axis} = {count(allocation[axis].value or np.nan)}" for axis in ("N", "D"))
    return (
        f"{len(cells):,} candidates over model size N and training samples D; {len(advice.cells)} are advised. One "
        f"cell alone narrows the 68 % interval of {asked(found)} by at most {100 * advice.gains[best]:.2g} %, at "
        f"N = {count(N)} and D = {count(D)}. The target run is at {at}."
    )


def chart_ladder(found: NextCells) -> Chart:
    """Return the chart of the expected half width of the first narrowed quantity against the spend.

    Spends without a bounded interval are omitted.
    """
    advice = found.advice
    rungs = sorted((r for r in advice.ladder if np.isfinite(r.widths[0].expected)), key=lambda rung: rung.cost)
    spends = np.array([rung.cost for rung in rungs])
    expected, low, high = (
        np.array([100 * np.expm1(getattr(rung.widths[0], name)) for rung in rungs])
        for name in ("expected", "low", "high")
    )
    now, then = (100 * float(np.expm1(x)) for x in (advice.now[0], advice.after[-1][0].expected))
    bounded = np.r_[expected, then, 1.0][np.isfinite(np.r_[expected, then, 1.0])]
    seen = np.r_[bounded, now, high]
    top = 1.1 * min(float(np.max(seen[np.isfinite(seen)])), 3 * float(np.max(bounded)))
    band = (np.minimum(low, top), np.minimum(high, top)) if np.isfinite(low).all() else None
    ends = np.r_[spends, advice.cost]
    everywhere = np.ones(len(spends), bool)
    unit = found.unit
    star = Marker(advice.cost, then, f"<b>Advised</b><br>{unit.text(advice.cost)}<br>± {then:.2g} %")
    return Chart(
        "next-cells",
        f"Expected half width of the 68 % interval of {asked(found)} against the cost of the cells: now "
        f"{percent(advice.now[0])}, then {percent(advice.after[-1][0].expected)}.",
        Axis(unit.label, float(ends.min()) / SPACE, float(ends.max()) * SPACE, unit.name, log=True),
        Axis("Half width of the 68 % interval", 0.0, top, "%"),
        curves=(Curve(spends, expected, everywhere, everywhere, band=band,
                      hover=f"%{{x:{unit.digits}}} {unit.name}<br>± %{{y:.2g}} %<extra></extra>"),),
        markers=(star,) if np.isfinite(then) else (),
        columns={"spend": spends, "expected": expected, "low": low, "high": high},
    )  # fmt: skip
