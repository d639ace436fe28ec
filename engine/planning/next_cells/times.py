"""Training times and costs of cells, and the time of a round in which several cells train at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.design.cost_unit import FLOPS, HOURS, CostUnit
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.runtime import Runtime
from isoplan.engine.hardware.machine import HOUR
from isoplan.engine.planning.plan.utilisation import reached_shares
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.quantities import count


def cell_seconds(cells: Candidates, runtime: Runtime | None, prices: Prices | None) -> Floats | None:
    """Return the training times (m,) of ``cells`` in seconds; None if neither runs nor prices determine them.

    They follow from the measured times of the runs (``runtime``) or, if ``runtime`` is None, from the machine of
    ``prices``. A time on this machine is NaN if the user gave a utilisation that the model is too small to reach.
    """
    if runtime is not None:
        return runtime.seconds(cells.columns["N"], cells.columns["D"])
    if prices is None:
        return None
    machine = prices.machine
    slower = machine.utilisation / reached_shares(machine, cells.columns["N"])
    return HOUR * machine.hours(cells.compute) * slower


def cell_money(cells: Candidates, runtime: Runtime | None, prices: Prices | None) -> Floats | None:
    """Return the cost (m,) of training ``cells`` in the currency of ``prices``; None if an hour has no price.

    It is the price of all devices for the time ``cell_seconds``. Measured times are assumed to be those of the machine
    of ``prices``.
    """
    seconds = cell_seconds(cells, runtime, prices)
    if seconds is None or prices is None or prices.machine.price is None:
        return None
    return prices.machine.price * prices.machine.devices * seconds / HOUR


def predicted_cost(cells: Candidates, unit: CostUnit, runtime: Runtime | None, prices: Prices | None) -> Floats | None:
    """Return the cost (m,) of training ``cells`` in ``unit``: their compute, time or money; None if it is unknown.

    Raises PlannerError if ``unit`` is another currency than that of ``prices``.
    """
    if unit == FLOPS:
        return cells.compute
    if unit == HOURS:
        seconds = cell_seconds(cells, runtime, prices)
        return None if seconds is None else seconds / HOUR
    if prices is not None and prices.currency != unit.name:
        raise PlannerError(
            f"Spend: it is in {unit.name}, but the prices are in {prices.currency}. Give both in one currency."
        )
    return cell_money(cells, runtime, prices)


def in_unit(cells: Candidates, unit: CostUnit, runtime: Runtime | None, prices: Prices | None) -> Candidates:
    """Return ``cells`` with their costs in ``unit``: the listed costs, otherwise those of ``predicted_cost``.

    Raises PlannerError if a cost is unknown.
    """
    if cells.listed_cost is not None:
        return cells
    cost = predicted_cost(cells, unit, runtime, prices)
    if cost is None and unit == HOURS:
        raise PlannerError("Spend: the training time of a cell is unknown. Give a device, or runs with measured times.")
    if cost is None:
        raise PlannerError("Spend: the price of a cell is unknown. Give a device and the price of its hour.")
    if np.isnan(cost).any():
        raise _too_small(cells, cost, prices)
    return replace(cells, cost=cost)


def _too_small(cells: Candidates, cost: Floats, prices: Prices | None) -> PlannerError:
    """Return the error for ``cells`` whose ``cost`` is NaN: their models are too small for the machine."""
    assert prices is not None
    unknown = np.isnan(cost)
    largest = float(cells.columns["N"][unknown].max())
    return PlannerError(
        f"Spend: the training time of {int(unknown.sum()):,} of {len(cells):,} candidates is unknown. Models of "
        f"{count(largest)} parameters do not reach {prices.machine.share}. Give the share that you measured (the "
        "utilisation), or larger cells."
    )


def longest_chain(seconds: Sequence[float], side_by_side: int) -> float:
    """Return the time of cells that take ``seconds`` each, if at most ``side_by_side`` of them train at a time.

    The longest cell starts first. The next one starts as soon as fewer than ``side_by_side`` cells train.
    """
    chains = [0.0] * max(min(side_by_side, len(seconds)), 1)
    for one in sorted(seconds, reverse=True):
        chains[chains.index(min(chains))] += one
    return max(chains)
