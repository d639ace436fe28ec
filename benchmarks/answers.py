"""Processor time of plans, comparisons and curves for a fit with 1,000 resamples.

The time of each answer is compared with the time of one compute-optimal frontier, which is the lower limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.report import Report, ms
from isoplan.engine.fitting.solver.kernels import load
from isoplan.engine.planning.drawing.curves import frontier_curve, isoflop_curves, surface
from isoplan.engine.planning.optimum.frontier import frontier
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits, Question
from isoplan.engine.planning.scenario.prices import Inference
from isoplan.engine.planning.smaller.answer import lifetime, same_loss
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered

RESAMPLES, TRIES, BUDGET, TARGET = 1000, 7, 1e22, 2.1
COLUMNS = ("answer", "processor time", "over the floor")


def run() -> Report:
    """Measure each answer several times and report the shortest time."""
    load()
    fit = make_fit(EPOCH, scattered(EPOCH, RESAMPLES), ranges=RANGES)
    budget = Question("budget", BUDGET)
    answers: dict[str, Callable[[], object]] = {
        "plan of a budget": lambda: plan_budget(fit, BUDGET),
        "plan of a target": lambda: plan_target(fit, TARGET),
        "plan with unique samples limited": lambda: plan_budget(fit, BUDGET, limits=Limits(unique=1e10)),
        "smaller model of the same loss": lambda: same_loss(fit, budget),
        "size for the lifetime": lambda: lifetime(fit, budget, Inference(queries=1e11)),
        "loss surface": lambda: surface(fit),
        "iso-FLOP curves": lambda: isoflop_curves(fit),
        "frontier": lambda: frontier_curve(fit),
    }
    floor = _least(lambda: frontier(fit.law, fit.draws, np.full(RESAMPLES, BUDGET), fit.compute))
    rows = [(name, _least(answer)) for name, answer in answers.items()]
    return Report(
        "Answers from a fit",
        f"The fit has {RESAMPLES:,} resamples. Times are the shortest of {TRIES} tries. The floor is the time to "
        "compute the optimal N and D of one budget for every resample.",
        COLUMNS,
        (("floor", ms(floor), "1.0"), *((name, ms(took), f"{took / floor:.1f}") for name, took in rows)),
    )


def _least(answer: Callable[[], object]) -> float:
    answer()
    times = []
    for _ in range(TRIES):
        start = time.process_time()
        answer()
        times.append(time.process_time() - start)
    return min(times)
