"""Simulated tables of each design: the confidence curve of the floor, at the true floor and at positions around it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.floors.designs import DESIGNS, FloorDesign
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting import FitSpec
from isoplan.engine.fitting.resampling.floor_profile import floor_confidence
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.solver import kernels

FOLDER = Path(__file__).parents[2] / "build" / "floors"
BLOCK = 50
"""Number of tables in a block."""
LIMITS = (0.68, 0.84, 0.95)
COLUMNS = ("p at floor", "p at zero", "resolved", "middle", *(f"limit {level}" for level in LIMITS))
"""Numbers that are stored for each table.

'p at floor' is the confidence that the floor is below its true value. 'p at zero' is the confidence that the floor is
below zero. 'resolved' is 1 if the floor is resolved, and otherwise 0. 'middle' is the floor at confidence 0.5. 'limit'
is the upper limit of the floor at each confidence in ``LIMITS``.
"""


def path(design: str, block: int) -> Path:
    """Return the path of the file that stores one block of tables."""
    name = "".join(c if c.isalnum() else "_" for c in design)
    return FOLDER / f"{name}-{block}.npz"


def work(design: str, block: int) -> str:
    """Simulate one block of tables, store the results, and return the name of their file."""
    kernels.load()
    FOLDER.mkdir(parents=True, exist_ok=True)
    d = next(d for d in DESIGNS if d.name == design)
    found = [table(d, block * BLOCK + i) for i in range(BLOCK)]
    out = path(design, block)
    half = out.with_suffix(".half.npz")
    np.savez_compressed(half, numbers=np.array([f[0] for f in found]), curves=np.array([f[1] for f in found]))
    half.rename(out)
    return out.stem


PLACES = np.linspace(-8, 8, 161)
"""Positions of the stored confidence curves: distances from the true floor, in units of the ``error`` of the design."""


def table(d: FloorDesign, seed: int) -> tuple[list[float], Floats]:
    """Simulate one table; return the numbers that ``COLUMNS`` names, and the confidence curve at ``PLACES``."""
    s = sample(FitSpec(seed=seed), d.runs(seed))
    found = floor_confidence(s, 0)
    assert found is not None
    targets = d.floor + PLACES * d.error
    numbers = [
        float(found.below(d.floor)),
        float(found.below(0.0)),
        float(found.resolved),
        found.upper(0.5),
        *(found.upper(level) for level in LIMITS),
    ]
    return numbers, found.below(targets)
