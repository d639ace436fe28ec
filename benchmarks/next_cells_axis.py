"""Number of cells of a sweep until the verdict on its optimum is right and stays: advised values and an even grid."""

from __future__ import annotations

import math

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

TABLES, MOST, REFITS = 20, 24, 100
SWEEP = (0.01, 1.0)
CURVATURE = 0.02
"""Curvature of the loss in ln x: the loss rises by 0.11 from the middle to an end of the sweep."""
START = {"log-parabola": 5, "starvation": 7}
"""Number of evenly spaced cells before the first advice."""
CASES: dict[str, tuple[float, Place]] = {
    "in the middle": (0.1, "inside"),
    "near an end": (0.55, "inside"),
    "outside": (0.003, "outside left"),
}
NOISE = (0.01, 0.03)


def losses(x: Floats, best: float, noise: float, seed: int) -> Floats:
    """Return the losses of cells at ``x`` (n,), with an optimum at ``best`` and Gaussian noise."""
    u = np.log(x / best)
    return 2 + CURVATURE * u**2 + noise * np.random.default_rng(seed).standard_normal(len(x))


def fitted(law: str, x: Floats, y: Floats) -> Fit:
    """Return the fit of ``law`` to the cells."""
    runs = Runs(np.arange(len(x)), {"x": x, "loss": y}, Roles(loss="loss", hyper=("x",)), {})
    return fit(FitSpec(law=law, axis="x", objective="ols", bootstrap=REFITS), runs)


def is_right(made: Fit, right: Place) -> bool:
    """Return whether the verdict of the fit on its optimum is ``right``."""
    location = made.optimum_location
    return location is not None and location.place == right


def needed(verdicts: dict[int, bool]) -> float:
    """Return the smallest number of cells from which on all ``verdicts`` are right; infinite if the last is wrong."""
    counts = sorted(verdicts)
    wrong = [n for n in counts if not verdicts[n]]
    return next((n for n in counts if not wrong or n > wrong[-1]), math.inf)


def even(law: str, best: float, right: Place, noise: float, seed: int) -> float:
    """Return the number of cells that an even grid needs. Each number of cells is a separate grid over the sweep."""
    verdicts = {}
    for n in range(START[law], MOST + 1):
        x = np.geomspace(*SWEEP, n)
        verdicts[n] = is_right(fitted(law, x, losses(x, best, noise, 1000 * seed + n)), right)
    return needed(verdicts)


def advised(law: str, best: float, right: Place, noise: float, seed: int) -> float:
    """Return the number of cells that the advice needs, with one cell after another inside the sweep."""
    x = np.geomspace(*SWEEP, START[law])
    y = losses(x, best, noise, 1000 * seed + len(x))
    verdicts = {}
    while True:
        made = fitted(law, x, y)
        verdicts[len(x)] = is_right(made, right)
        if len(x) == MOST:
            return needed(verdicts)
        try:
            value = next_values(made, TypedValues(SWEEP), cells=1, rounds=1).values[0]
        except PlannerError:  # most resamples have their optimum far beyond the same end of the sweep
            assert made.law.optimum is not None
            value = SWEEP[0] if np.nanmedian(made.law.optimum(made.draws)) < SWEEP[0] else SWEEP[1]
        x = np.append(x, value)
        y = np.append(y, losses(x[-1:], best, noise, 1000 * seed + 500 + len(x)))


def run() -> Report:
    """Simulate ``TABLES`` sweeps per case, law and noise, and report the median number of cells of both methods."""
    load()
    rows = []
    for law in START:
        for case, (best, right) in CASES.items():
            for noise in NOISE:
                both = [
                    (advised(law, best, right, noise, seed), even(law, best, right, noise, seed))
                    for seed in range(TABLES)
                ]
                ours, theirs = (np.array(x) for x in zip(*both, strict=True))
                rows.append((law, case, f"{noise:g}", *map(_shown, (ours, theirs)), _ratio(ours, theirs)))
    return Report(
        "Cells until the verdict on an optimum",
        f"{TABLES} simulated sweeps a case, x from {SWEEP[0]:g} to {SWEEP[1]:g}, loss 2 + {CURVATURE:g} (ln x/x*)^2 "
        "with Gaussian noise. Median number of cells (quartiles) from which on the verdict is right at every larger "
        f"number, up to {MOST}. The advice starts from {START['log-parabola']} (log-parabola) or {START['starvation']} "
        "even cells. Goal: at most half the cells of an even grid.",
        ("law", "true optimum", "noise", "advised", "even grid", "median ratio (68 % of the bootstrap)"),
        tuple(rows),
    )


def _shown(cells: Floats) -> str:
    low, middle, high = np.quantile(cells, (0.25, 0.5, 0.75), method="lower")
    return f"{_number(middle)} ({_number(low)} to {_number(high)})"


def _number(x: float) -> str:
    return f"over {MOST}" if math.isinf(x) else f"{x:.0f}"


def _ratio(ours: Floats, theirs: Floats) -> str:
    """Return the ratio of the medians with its bootstrap interval; numbers over ``MOST`` count as ``MOST`` + 1."""
    one, other = (np.minimum(x, MOST + 1) for x in (ours, theirs))
    at = np.random.default_rng(0).integers(0, len(one), (1000, len(one)))
    drawn = np.median(one[at], axis=1) / np.median(other[at], axis=1)
    low, high = np.quantile(drawn, (0.16, 0.84))
    return f"{np.median(one) / np.median(other):.2f} ({low:.2f} to {high:.2f})"
