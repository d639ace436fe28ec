"""Training times and costs of cells, and the time of a round in which several cells train at the same time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware.machine import HOUR
from isoplan.engine.planning.scenario.prices import Prices


def cell_seconds(fit: Fit, cells: Candidates, prices: Prices | None) -> Floats | None:
    """Return the training times (m,) of ``cells`` in seconds; None if neither runs nor prices determine them.

    They follow from the measured times of the runs, otherwise from the machine of ``prices``. A time on this machine is
    NaN if the model is too small to reach the assumed fraction of its peak speed.
    """
    if fit.data.runtime is not None:
        return fit.data.runtime.seconds(cells.columns["N"], cells.columns["D"])
    if prices is None:
        return None
    return np.where(cells.columns["N"] < prices.machine.least, np.nan, HOUR * prices.machine.hours(cells.compute))


def cell_money(cells: Candidates, prices: Prices | None) -> Floats | None:
    """Return the cost (m,) of training ``cells`` in the currency of ``prices``; None if an hour has no price.

    A cost is NaN if the model is too small to reach the assumed fraction of the peak speed of the machine.
    """
    if prices is None or prices.machine.price is None:
        return None
    return np.where(cells.columns["N"] < prices.machine.least, np.nan, prices.machine.money(cells.compute))


def longest_chain(seconds: Sequence[float], side_by_side: int) -> float:
    """Return the time of cells that take ``seconds`` each, if at most ``side_by_side`` of them train at a time.

    The longest cell starts first. The next one starts as soon as fewer than ``side_by_side`` cells train.
    """
    chains = [0.0] * max(min(side_by_side, len(seconds)), 1)
    for one in sorted(seconds, reverse=True):
        chains[chains.index(min(chains))] += one
    return max(chains)
