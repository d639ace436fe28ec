"""Speed and cross section of simulated events.

The speed is the number of unweighted events per second on one core. The cross section is compared with an integral over
flat phase space.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.report import Report
from isoplan.trainers.amplitudes.phase_space.sampler import POINTS
from isoplan.trainers.amplitudes.processes import PROCESSES, Process
from isoplan.trainers.amplitudes.simulate import Request, adapt, simulate
from tests.trainers.amplitudes.kinematics import flat_points

SECONDS = 4.0
"""Approximate simulation time of each process, in seconds."""


def run() -> Report:
    """Measure all built-in processes at 13 TeV, with the parton luminosity, and report one row per process."""
    return Report(
        "Events of amplitudes",
        "The events are simulated at 13 TeV with the parton luminosity and the cuts. Times are processor times of one "
        "thread. Adapting: time to adapt the grid, needed once. Points/s: points that pass the cuts, with the "
        "computation of their squared amplitudes. Efficiency: fraction of these points that become events. Against "
        f"flat: difference from the cross section of {POINTS:,} points of RAMBO, divided by the combined error. "
        "Overweights: contribution of points with weights above the cap to the cross section. Largest: largest weight "
        "of an event. Goal: 100 events/s for Zggg.",
        (
            "process",
            "sigma, pb",
            "against flat",
            "adapting, s",
            "points/s",
            "efficiency",
            "events/s",
            "overweights",
            "largest",
        ),
        tuple(_row(process) for process in PROCESSES.values()),
    )


def _row(process: Process) -> tuple[str, ...]:
    request = Request(process.name, 1)
    began = time.process_time()
    ready = adapt(request)
    adapting = time.process_time() - began
    began = time.process_time()
    few = simulate(request, ready)
    rate = few.passed * few.efficiency / (time.process_time() - began)
    n = int(np.clip(rate * SECONDS, 100, 50_000))
    began = time.process_time()
    sample = simulate(Request(process.name, n, seed=1), ready)
    took = time.process_time() - began
    flat = flat_points(ready.sampler.mapping, POINTS, np.random.default_rng(1))
    sigma = flat.weight.sum() / flat.tried
    error = np.sqrt((flat.weight**2).sum() / flat.tried - sigma**2) / np.sqrt(flat.tried)
    return (
        process.name,
        f"{sample.sigma:.4g} ± {sample.error:.1g}",
        f"{(sample.sigma - sigma) / np.hypot(sample.error, error):+.1f}",
        f"{adapting:.0f}",
        f"{float(f'{sample.passed / took:.2g}'):,.0f}",
        f"{sample.efficiency:.1%}",
        f"{float(f'{n / took:.2g}'):,.0f}",
        f"{sample.above:.3%}",
        f"{sample.largest:.2f}",
    )
