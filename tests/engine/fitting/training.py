"""Simulated training curves of a law with known parameters."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.schema import Curves, Direction, Metric, Roles, Runs

SURFACE = {"E": 1.7, "A": 400.0, "B": 2000.0, "alpha": 0.34, "beta": 0.37}
NOBODY = Runs(np.empty(0, np.int64), {}, Roles(), {})


def surface_curves(sizes: int, points: int, noise: float = 0.0, seed: int = 0, unit: float = 1.0) -> Curves:
    """Simulate one training curve per model size from the law with parameters SURFACE; ``unit`` divides N and D."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(sizes), points)
    N, D = np.geomspace(1e6, 1e9, sizes)[of], np.tile(np.geomspace(1e7, 4e11, points), sizes)
    v = SURFACE
    loss = (v["E"] + v["A"] * N ** -v["alpha"] + v["B"] * D ** -v["beta"]) * np.exp(noise * rng.normal(size=len(of)))
    return named({"N": N / unit, "D": D / unit, "C": 6 * N * D, "loss": loss, "step": D / 1e5}, of)


def named(values: dict[str, Floats], of: Ints, y: str = "loss", direction: Direction = "min") -> Curves:
    """Make curves from points; ``of`` gives the run of each point, and the runs are named r0, r1, ..."""
    metrics = () if y == "loss" else (Metric(column=y, direction=direction),)
    names = np.array([f"r{i}" for i in range(int(of.max()) + 1)])
    return Curves(names, of.astype(np.int64), values, Roles(run="run", metrics=metrics), np.zeros(len(names), "<U80"))
