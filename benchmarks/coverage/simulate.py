"""Simulated tables, fitted: the value and the ends of every interval, kept block by block so that a run goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.coverage.designs import DESIGNS, Design
from engine.errors import PlannerError
from engine.fitting import Fit, FitSpec, fit, kernels
from engine.laws.law import Floats
from engine.laws.terms import Const
from engine.planning.quantity import measure

FOLDER = Path(__file__).parents[2] / "build" / "coverage"
BLOCK = 100
"""Tables in a block."""
LEVELS = (0.68, 0.95)


def path(design: str, noise: str, method: str, refits: int, block: int) -> Path:
    """Where a block of tables is kept."""
    return FOLDER / f"{design}-{noise}-{method}-{refits}-{block}.npz".replace(" ", "_").replace(",", "")


def work(job: tuple[str, str, str, int, int]) -> Path:
    """Fit one block of tables and keep what came out: design, noise, method, refits, block."""
    design, noise, method, refits, block = job
    kernels.load()
    d, out = DESIGNS[design], path(*job)
    found = [table(d, noise, method, refits, block * BLOCK + i) for i in range(BLOCK)]
    numbers, codes = (np.array(part) for part in zip(*found, strict=True))
    FOLDER.mkdir(parents=True, exist_ok=True)
    half = out.with_suffix(".half.npz")
    np.savez_compressed(half, numbers=numbers, codes=codes)
    half.rename(out)
    return out


def table(design: Design, noise: str, method: str, refits: int, seed: int) -> tuple[Floats, str]:
    """Value, low 68, high 68, low 95, high 95 of every quantity (q, 5), NaN where there is none, and warning codes."""
    spec = FitSpec(law=design.law, axis=design.axis, interval=method, bootstrap=refits, seed=seed)  # type: ignore[arg-type]
    asked = design.quantities()
    try:
        made = fit(spec, design.runs(noise, seed))
    except PlannerError:
        return np.full((len(asked), 5), np.nan), "refused"
    rows = [_row(made, name, value) for name, (_, value) in asked.items()]
    return np.array(rows), " ".join(sorted({w.code for w in made.warnings}))


def _row(made: Fit, name: str, value) -> list[float]:  # type: ignore[no-untyped-def]
    known = {p.name: p for p in made.parameters}
    if name in known:
        p = known[name]
        ends, central = (p.ci68, p.ci95), p.value
    else:
        with np.errstate(all="ignore"):
            central, draws = float(value(made.values)), np.asarray(value(made.draws), float)
        q = measure(made, central, draws, "")
        ends = (q.ci68, q.ci95)
    (a, b), (c, d) = (e or (np.nan, np.nan) for e in ends)
    return [central, a, b, c, d]


def floor_name(design: Design) -> str:
    """The name of the floor in a design's law."""
    return next(t.amplitude for t in design.find_law().terms if isinstance(t, Const))
