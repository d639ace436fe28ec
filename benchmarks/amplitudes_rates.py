"""Speed of squared amplitudes: evaluations per second on one core. The size of rounding errors is measured too."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.report import Report
from isoplan.trainers.amplitudes.phase_space.flat import rambo
from isoplan.trainers.amplitudes.processes import PROCESSES, Process, squared_amplitude

ENERGY, TURNS = 1000.0, 5
SECONDS = 0.3
"""Approximate time of one measurement, in seconds."""


def run() -> Report:
    """Measure all built-in processes at points of flat phase space, and report one row per process."""
    return Report(
        "Squared amplitudes",
        f"Flat phase space at {ENERGY:g} GeV, all helicities and colours. Processor time of one thread, best of "
        f"{TURNS}. Currents: off-shell lines and external legs of the recursion, shared by all colour orders. "
        "Rounding: the change of |M|^2 under a rotation, median and largest. Goal: 20,000 points/s for Zgg and ttH.",
        ("process", "currents", "colour orders", "points/s", "rounding, median", "largest"),
        tuple(_row(process) for process in PROCESSES.values()),
    )


def _row(process: Process) -> tuple[str, ...]:
    few = _events(process, 1000)
    turned = few @ np.array([[1, 0, 0, 0], [0, 0.6, 0, 0.8], [0, -0.48, 0.8, 0.36], [0, -0.64, -0.6, 0.48]]).T
    began = time.process_time()
    change = np.abs(squared_amplitude(process, turned) / squared_amplitude(process, few) - 1)
    count = int(np.ceil(SECONDS / (time.process_time() - began) * 2)) * len(few)
    momenta = np.tile(few, (count // len(few), 1, 1))
    took = []
    for _ in range(TURNS):
        began = time.process_time()
        squared_amplitude(process, momenta)
        took.append(time.process_time() - began)
    return (
        process.title,
        str(len(process.plan.nodes)),
        str(len(process.plan.ends)),
        f"{float(f'{count / min(took):.2g}'):,.0f}",
        f"{np.median(change):.0e}",
        f"{change.max():.0e}",
    )


def _events(process: Process, count: int) -> np.ndarray:
    outgoing = rambo(np.full(count, ENERGY), process.masses[2:], np.random.default_rng(1))
    incoming = np.array([[1, 0, 0, 1], [1, 0, 0, -1]]) * ENERGY / 2
    return np.concatenate([np.broadcast_to(incoming, (count, 2, 4)), outgoing], axis=1)
