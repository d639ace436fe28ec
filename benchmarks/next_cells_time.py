"""Time of the advice on the next cells, compared with the time of the fit."""

from __future__ import annotations

import time
from statistics import median

import numpy as np

from benchmarks.report import Report, ms
from isoplan.engine.design.candidates import listed_candidates
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.solver.kernels import load
from isoplan.engine.laws import get_law
from isoplan.engine.planning.next_cells.answer import next_cells
from isoplan.engine.planning.next_cells.typed import TypedSpend
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.schema import Roles, Runs

TRUTH = (0.5, 8.0, 30.0, 0.35, 0.37)
REFITS, CELLS, REPEATS = 1000, 12, 5
BUDGET = 1e16
SIDES = (25, 20)
"""Numbers of values of N and of D of the candidates: 500 in all."""


def run() -> Report:
    """Time the advice for 24 runs, 500 candidates and 1,000 refits, and the fit with these refits."""
    load()
    runs = _runs()
    spec = FitSpec(objective="ols-log", bootstrap=REFITS)
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e4, 3e7, SIDES[0]), np.geomspace(1e6, 1e9, SIDES[1])))
    listed = listed_candidates(N, D, 6 * N * D)
    law = fit(spec, runs)
    asked, spend = Question("budget", BUDGET), TypedSpend(share=0.05)
    next_cells(law, asked, spend, cells=CELLS, candidates=listed)
    fits, advices = [], []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        fit(spec, runs)
        fitted = time.perf_counter()
        next_cells(law, asked, spend, cells=CELLS, candidates=listed)
        fits.append(fitted - begun)
        advices.append(time.perf_counter() - fitted)
    return Report(
        "Time of the next cells",
        f"{len(runs)} runs, {len(listed)} candidates, {REFITS:,} refits, at most {CELLS} cells, five other spends; "
        f"median of {REPEATS}. Goal: 1 s on two cores.",
        ("advice", "fit", "advice / fit"),
        ((ms(median(advices)), ms(median(fits)), f"{median(advices) / median(fits):.2g}"),),
    )


def _runs() -> Runs:
    random = np.random.default_rng(0)
    N, D = 10 ** random.uniform(4, 6, 24), 10 ** random.uniform(6, 8, 24)
    loss = get_law("chinchilla").predict(np.array(TRUTH), {"N": N, "D": D}) * np.exp(0.01 * random.standard_normal(24))
    return Runs(np.arange(24), {"N": N, "D": D, "loss": loss, "C": 6 * N * D}, Roles(N="N", D="D", loss="loss"), {})
