"""Utilisation of a machine: assumed if the user gives none, or measured from the times of the runs.

A small model does not reach the usual utilisation. The assumed utilisation is then the largest that the planned model
reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.hardware import UTILISATION, Machine
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.quantities import count
from isoplan.engine.schema import Runs

ROUNDS, SETTLED = 12, 0.01
"""The plan is solved repeatedly to find its utilisation, at most ``ROUNDS`` times. The repetition ends if N changes by
less than the fraction ``SETTLED``.
"""
CODE = "utilisation"
LARGEST, FEWEST = 0.25, 4
"""The measured utilisation is computed from the runs with the most compute, which are the fraction ``LARGEST`` of all
runs with a measured time. At least ``FEWEST`` runs must have a measured time.
"""


def with_reached_utilisation(prices: Prices | None, size: Callable[[Prices], float]) -> Prices | None:
    """Return ``prices`` with a utilisation that the planned model reaches, if the user gave no utilisation.

    ``size`` returns the N of the plan for given prices; NaN if the plan has no N. The utilisation of a model of N
    parameters is at most ``UTILISATION * sqrt(N / Device.least)`` (see ``Machine.least``).
    """
    if prices is None or not prices.machine.assumed:
        return prices
    before = math.inf
    for _ in range(ROUNDS):
        N = size(prices)
        if not (math.isfinite(N) and N > 0) or abs(N - before) <= SETTLED * before < math.inf:
            break
        before, prices = N, reached(prices, N)
    return prices


def reached(prices: Prices, N: float) -> Prices:
    """Return ``prices`` with the utilisation that a model of ``N`` parameters reaches, if the user gave none."""
    machine = prices.machine
    if not machine.assumed:
        return prices
    # The final N of the plan may be smaller than this N, by at most the relative error SETTLED. Compute the utilisation
    # from the smallest possible N. The planned model then has at least this utilisation.
    share = float(_highest_shares(machine, (1 - SETTLED) * N))
    return replace(prices, machine=replace(machine, utilisation=share))


def reached_shares(machine: Machine, N: ArrayLike) -> Floats:
    """Return the utilisation that models of ``N`` parameters reach, in the shape of ``N``.

    If the user gave a utilisation, the result is this utilisation, and NaN for models that are too small to reach it.
    If the user gave no utilisation, the result is the highest utilisation that each model reaches.
    """
    if machine.assumed:
        return _highest_shares(machine, N)
    return np.where(np.asarray(N, float) < machine.least, np.nan, machine.utilisation)


def _highest_shares(machine: Machine, N: ArrayLike) -> Floats:
    return UTILISATION * np.minimum(np.sqrt(np.asarray(N, float) / machine.device.least), 1.0)


def utilisation_note(prices: Prices | None, N: float | None) -> tuple[FitWarning, ...]:
    """Return a note if the utilisation was lowered for a model of ``N`` parameters; otherwise an empty tuple."""
    if prices is None or N is None or not prices.machine.assumed or prices.machine.utilisation >= UTILISATION:
        return ()
    text = (
        f"Time and money are computed for {prices.machine.share}, the highest utilisation that a model of {count(N)} "
        "parameters reaches. If you measured the utilisation, give it."
    )
    return (FitWarning(CODE, text),)


def measured_utilisation(runs: Runs, rule: ComputeRule, machine: Machine) -> float | None:
    """Return the fraction of the peak of one device of ``machine`` that the largest runs reached.

    The result is the median of C / (seconds * peak) over the quarter of the runs with the most compute. C is computed
    from N and D by ``rule``; runs without N or D need a column of C. The result is None if fewer than ``FEWEST`` runs
    have a measured time and a compute. Raises PlannerError if the median exceeds 1.
    """
    sized = "N" in runs and "D" in runs
    if runs.seconds is None or not (sized or "C" in runs):
        return None
    C = rule.flops_anywhere(runs["N"], runs["D"]) if sized else runs["C"]
    known = np.isfinite(C) & np.isfinite(runs.seconds) & (C > 0) & (runs.seconds > 0)
    C, seconds = C[known], runs.seconds[known]
    if len(C) < FEWEST:
        return None
    largest = np.argsort(C, kind="stable")[-math.ceil(LARGEST * len(C)) :]
    share = float(np.median(C[largest] / (seconds[largest] * machine.peak)))
    if share > 1:
        raise PlannerError(
            f"Utilisation: the runs reach {float(f'{share:.2g}'):,g} times the peak of one {machine.device.name}. "
            "Choose the device that trained them."
        )
    return share
