"""Test of the verdict on the optimum of a sweep: inside the sweep, outside the sweep, or not located."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.report import Report
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.solver.kernels import load
from isoplan.engine.fitting.types.optimum_location import PLACES, Place
from isoplan.engine.laws import get_law
from isoplan.engine.schema import Roles, Runs

CURVES = 500
RUNS = 9
SWEEP = (0.005, 0.5)
NOISE = 0.005
"""Standard deviation of the noise, divided by the difference of the largest and the smallest loss of a curve."""
TRUTH = {"E": 2.0, "b": 0.07, "alpha": 0.6, "beta": 0.5}
MIDDLE = math.sqrt(SWEEP[0] * SWEEP[1])
CASES: dict[str, tuple[float, Place]] = {
    "optimum in the middle": (MIDDLE, "inside"),
    "a decade below the sweep": (SWEEP[0] / 10, "outside left"),
    "a decade above the sweep": (SWEEP[1] * 10, "outside right"),
    "flat within the noise": (MIDDLE, "not located"),
}


def simulated(case: str, total: int = CURVES) -> Iterator[Runs]:
    """Yield simulated sweeps of the law 'starvation' with Gaussian noise. ``case`` is the position of the optimum.

    For a flat sweep, the losses are scaled until their range equals the standard deviation of the noise in the other
    sweeps.
    """
    x = np.geomspace(*SWEEP, RUNS)
    y = _curve(CASES[case][0], x)
    noise = NOISE * float(np.ptp(y))
    if case == "flat within the noise":
        y = TRUTH["E"] + (y - TRUTH["E"]) * noise / float(np.ptp(y))
    for i in range(total):
        drawn = y + noise * np.random.default_rng((list(CASES).index(case), i)).normal(size=RUNS)
        yield Runs(np.arange(RUNS), {"x": x, "loss": drawn}, Roles(loss="loss", hyper=("x",)), {})


def said(case: str, law: str, refits: int, total: int = CURVES) -> tuple[Place, ...]:
    """Return the verdict for each simulated sweep of a case."""
    found = []
    for i, runs in enumerate(simulated(case, total)):
        made = fit(FitSpec(law=law, axis="x", objective="ols", bootstrap=refits, seed=i), runs)
        place = made.optimum_location
        assert place is not None
        found.append(place.place)
    return tuple(found)


def run() -> Report:
    """Simulate 500 sweeps per case, with 100 refits each, and report how often each verdict appears."""
    load()
    rows = []
    for case, (at, right) in CASES.items():
        places = said(case, "starvation", refits=100)
        shares = [f"{places.count(place) / len(places):.1%}" for place in PLACES]
        rows.append((case, f"{at:.3g}", right, *shares))
    return Report(
        "Verdicts on an optimum",
        f"{CURVES} simulated sweeps per case, each with {RUNS} runs from x = {SWEEP[0]:g} to {SWEEP[1]:g}. The loss is "
        f"E + a x^alpha + b x^-beta with E = {TRUTH['E']:g}, alpha = {TRUTH['alpha']:g}, beta = {TRUTH['beta']:g}. The "
        f"noise is {NOISE:.1%} of the range of the loss. Goal: the right verdict in 90 % of the sweeps of each case.",
        ("case", "true x*", "right verdict", *PLACES),
        tuple(rows),
    )


def _curve(best: float, x: Floats) -> Floats:
    """Return the losses at ``x`` of a curve with its optimum at ``best``. ``best`` determines the parameter ``a``."""
    alpha, beta, b = TRUTH["alpha"], TRUTH["beta"], TRUTH["b"]
    a = b * beta / alpha * best ** -(alpha + beta)
    law = get_law("starvation", "x")
    return law.predict([TRUTH["E"], a, b, alpha, beta], {"x": x})
