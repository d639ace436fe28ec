"""Number of cells at which the verdict on an optimum becomes and stays right, for advised values and an even grid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from benchmarks.report import Report
from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.solver.kernels import load
from isoplan.engine.fitting.types.optimum_location import Place
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.next_values.answer import next_values
from isoplan.engine.planning.next_values.typed import TypedValues
from isoplan.engine.schema import Roles, Runs

MOST, REFITS = 24, 100
"""MOST: maximum number of cells. REFITS: number of resamples of each fit."""
DEPTH = 0.1
"""Increase of the loss from the middle to an end of the sweep, if the optimum is in the middle."""
CASES: dict[str, tuple[float, Place]] = {
    "in the middle": (0.5, "inside"),
    "near an end": (0.87, "inside"),
    "outside": (-0.25, "outside left"),
}
"""For each case: position of the true optimum as a part of the sweep in logarithms, and the right verdict."""
NOISE = (0.01, 0.03)


@dataclass(frozen=True)
class Sweep:
    """A sweep of ``setting`` from ``low`` to ``high``, its ``law``, and its number of evenly spaced first cells."""

    setting: str
    law: str
    start: int
    low: float
    high: float
    whole: bool
    tables: int

    def grid(self, cells: int) -> Floats:
        """Return an even grid of ``cells`` values in logarithms."""
        x = np.geomspace(self.low, self.high, cells)
        return np.round(x) if self.whole else x

    def losses(self, x: Floats, best: float, noise: float, seed: int) -> Floats:
        """Return the losses of cells at ``x`` (n,), with an optimum at the part ``best`` and Gaussian noise."""
        u = 2 * (np.log(x / self.low) / np.log(self.high / self.low) - best)
        return np.asarray(2 + DEPTH * u**2 + noise * np.random.default_rng(seed).standard_normal(len(x)))

    def fitted(self, x: Floats, y: Floats) -> Fit:
        """Return the fit of the law to the cells."""
        runs = Runs(np.arange(len(x)), {"x": x, "loss": y}, Roles(loss="loss", hyper=("x",)), {})
        return fit(FitSpec(law=self.law, axis="x", objective="ols", bootstrap=REFITS), runs)


SWEEPS = (
    Sweep("embedder share", "log-parabola", 5, 0.01, 1.0, False, 12),
    Sweep("negatives", "log-parabola", 5, 16, 16384, True, 12),
    Sweep("embedder share", "starvation", 7, 0.01, 1.0, False, 4),
)


def is_right(made: Fit, right: Place) -> bool:
    """Return whether the verdict of the fit on its optimum is ``right``."""
    location = made.optimum_location
    return location is not None and location.place == right


def needed(verdicts: Iterator[bool], start: int) -> float:
    """Return the smallest number of cells from which on all ``verdicts`` up to ``MOST`` cells are right.

    ``verdicts`` are those of ``start`` cells, ``start`` + 1 cells, and so on. The result is infinite if the last
    verdict is wrong.
    """
    wrong = [n for n, right in zip(range(start, MOST + 1), verdicts, strict=False) if not right]
    least = wrong[-1] + 1 if wrong else start
    return least if least <= MOST else math.inf


def even(sweep: Sweep, best: float, right: Place, noise: float, seed: int) -> Iterator[bool]:
    """Yield whether the verdicts of even grids of successive numbers of cells are right."""
    for n in count(sweep.start):
        x = sweep.grid(n)
        yield is_right(sweep.fitted(x, sweep.losses(x, best, noise, 1000 * seed + n)), right)


def advised(sweep: Sweep, best: float, right: Place, noise: float, seed: int) -> Iterator[bool]:
    """Yield whether the verdicts are right if the advice adds one cell after another inside the sweep."""
    x = sweep.grid(sweep.start)
    y = sweep.losses(x, best, noise, 1000 * seed + len(x))
    while True:
        made = sweep.fitted(x, y)
        yield is_right(made, right)
        try:
            value = next_values(made, TypedValues((sweep.low, sweep.high)), cells=1, rounds=1).values[0]
        except PlannerError:  # raised if the optima of most resamples are far beyond one end
            assert made.law.optimum is not None
            value = sweep.low if np.nanmedian(made.law.optimum(made.draws)) < sweep.low else sweep.high
        x = np.append(x, value)
        y = np.append(y, sweep.losses(x[-1:], best, noise, 1000 * seed + 500 + len(x)))


def compare(sweep: Sweep, case: str, noise: float, first: int = 0) -> tuple[Floats, Floats]:
    """Return the numbers of cells (tables,) that the advice and an even grid need. ``first`` is the first seed."""
    best, right = CASES[case]
    seeds = range(first, first + sweep.tables)
    ours, theirs = (
        np.array([needed(verdicts(sweep, best, right, noise, seed), sweep.start) for seed in seeds])
        for verdicts in (advised, even)
    )
    return ours, theirs


def run() -> Report:
    """Simulate sweeps for each case, law and noise, and report the number of cells of both methods."""
    load()
    rows = []
    for sweep in SWEEPS:
        for case in CASES:
            for noise in NOISE:
                ours, theirs = compare(sweep, case, noise)
                far = theirs >= 2 * sweep.start
                rows.append((
                    sweep.setting, sweep.law, case, f"{noise:g}", *map(_shown, (ours, theirs)), _ratio(ours, theirs),
                    f"{np.sum(far)} of {len(far)}", _ratio(ours[far], theirs[far]),
                ))  # fmt: skip
    return Report(
        "Cells until the verdict on an optimum",
        f"Simulated sweeps with the loss 2 + {DEPTH:g} u^2, where u is the distance from the optimum in units of half "
        "of the sweep in logarithms, and Gaussian noise. The table contains the number of cells at which the "
        f"verdict becomes right and stays right up to {MOST} cells: median and, in brackets, quartiles. The advice "
        "starts from 5 (log-parabola) or 7 (starvation) even cells. Goal: at most half the cells of an even grid. This "
        "goal can be met only in a table in which the even grid needs at least twice the number of first cells. The "
        "last two columns count and compare only such tables.",
        ("setting", "law", "true optimum", "noise", "advised", "even grid", "median ratio (68 % of the bootstrap)",
         "tables that allow half", "ratio of these"),
        tuple(rows),
    )  # fmt: skip


def _shown(cells: Floats) -> str:
    low, middle, high = np.quantile(cells, (0.25, 0.5, 0.75), method="lower")
    return f"{_number(middle)} ({_number(low)} to {_number(high)})"


def _number(x: float) -> str:
    return f"over {MOST}" if math.isinf(x) else f"{x:.0f}"


def _ratio(ours: Floats, theirs: Floats) -> str:
    """Return the ratio of the medians with its bootstrap interval; numbers over ``MOST`` count as ``MOST`` + 1."""
    if not len(ours):
        return "-"
    one, other = (np.minimum(x, MOST + 1) for x in (ours, theirs))
    at = np.random.default_rng(0).integers(0, len(one), (1000, len(one)))
    drawn = np.median(one[at], axis=1) / np.median(other[at], axis=1)
    low, high = np.quantile(drawn, (0.16, 0.84))
    return f"{np.median(one) / np.median(other):.2f} ({low:.2f} to {high:.2f})"
