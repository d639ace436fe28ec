"""Final losses that are predicted from training curves, on the bundled cells: error and coverage of the intervals.

All cells with one value of a setting, such as a width, are left out together. The curves of the other cells predict the
final losses after a quarter, half, and three quarters of the schedule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from benchmarks.report import Report
from isoplan.engine.curves.curve import TrainingCurve, curve_of
from isoplan.engine.curves.forecast import METHODS, End, predict_end

GRIDS = Path(__file__).parents[1] / "data" / "grids"
POSITIONS = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Source:
    """A bundled grid: its table and its curves, the setting that is left out, and the column of the final loss.

    If ``equal`` is the name of a column, only curves with the same value in this column predict a cell.
    """

    title: str
    table: str
    curves: str
    left_out: str
    end: str = "loss"
    equal: str = ""


SOURCES = (
    Source("jets, one width", "jets_one_pass", "jets_curves", "width"),
    Source("jets, one D", "jets_one_pass", "jets_curves", "D"),
    Source("recommender, one number of negatives", "behavior_negatives", "behavior_curves", "negatives"),
    Source(
        "recommender (games), one number of negatives", "games/behavior_negatives", "games/behavior_curves", "negatives"
    ),
    Source("recommender, one batch", "behavior_batch", "behavior_curves", "batch"),
    Source("amplitudes, one D of a process", "amplitudes_data", "amplitudes_curves", "D", "validation", "process"),
    Source("amplitudes, one width", "amplitudes_rates_mup", "amplitudes_curves", "width_used", "validation"),
)


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained cell: its curve, the value that is left out, and the value that other curves must have too."""

    curve: TrainingCurve
    left_out: object
    equal: object


def run() -> Report:
    """Predict each cell of each source by each method."""
    return Report(
        "Predicted final losses",
        "Cells with one value of a setting are left out; the curves of the other cells predict their final losses. "
        "The table contains the median relative error, the median half width of the 68 % interval, and the coverage "
        "of this interval with a 95 % binomial interval. Cells of a grid are not independent, so the binomial "
        "interval is too narrow. *current loss*: median relative change of the loss from this point of the schedule "
        "to the end.",
        ("cells left out", "schedule", "method", "cells", "current loss", "error", "half width", "coverage"),
        tuple(row for source in SOURCES for row in _rows(source)),
    )


def read_cells(source: Source) -> list[Trained]:
    """Return the trained cells of a bundled grid that have a curve."""
    table, points = (pd.read_csv(GRIDS / f"{name}.csv", dtype={"run": str}) for name in (source.table, source.curves))
    curves = dict(iter(points.groupby("run")))
    found = []
    for _, row in table.iterrows():
        if row["run"] in curves:
            at = curves[row["run"]]
            steps, loss = at["update"].to_numpy(float), at["loss"].to_numpy(float)
            curve = curve_of(steps / steps.max(), loss, float(row[source.end]), group=f"{row['D']:g}")
            found.append(Trained(curve, row[source.left_out], row[source.equal] if source.equal else ""))
    return found


def _rows(source: Source) -> Iterator[tuple[str, ...]]:
    cells = read_cells(source)
    for position in POSITIONS:
        for method in METHODS:
            if pairs := list(_predictions(cells, position, method)):
                yield (source.title, f"{position:.0%}", method, *_measures(pairs, position))


def _predictions(cells: Sequence[Trained], position: float, method: str) -> Iterable[tuple[TrainingCurve, End]]:
    for cell in cells:
        others = [one.curve for one in cells if one.left_out != cell.left_out and one.equal == cell.equal]
        end = predict_end(cell.curve.until(position), others, method)
        if end is not None:
            yield cell.curve, end


def _measures(pairs: Sequence[tuple[TrainingCurve, End]], position: float) -> tuple[str, ...]:
    now = [abs(math.log(curve.end) - curve.level(position)) for curve, _ in pairs]
    errors = [abs(math.log(end.loss / curve.end)) for curve, end in pairs]
    widths = [math.log(end.high / end.loss) for _, end in pairs]
    hits = sum(end.low <= curve.end <= end.high for curve, end in pairs)
    ends = binomtest(hits, len(pairs)).proportion_ci(0.95)
    medians = (f"{math.expm1(float(np.median(x))):.1%}" for x in (now, errors, widths))
    return str(len(pairs)), *medians, f"{hits / len(pairs):.2f} ({ends.low:.2f} to {ends.high:.2f})"
