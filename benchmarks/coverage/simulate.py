"""Simulated tables: fit each table and store the value and the intervals of each quantity.

Results are stored in blocks. A later call computes only the missing blocks.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage.designs import DESIGNS, Design
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting import Fit, FitSpec, fit
from isoplan.engine.fitting.solver import kernels
from isoplan.engine.fitting.types.parameters import parameters
from isoplan.engine.laws.terms import Const
from isoplan.engine.planning.answer.quantity import measure

FOLDER = Path(__file__).parents[2] / "build" / "coverage"
BLOCK = 100
"""Number of tables in a block."""
LEVELS = (0.68, 0.95)


def path(design: str, noise: str, method: str, refits: int, block: int) -> Path:
    """Return the path of the file that stores one block of tables."""
    return FOLDER / f"{design}-{noise}-{method}-{refits}-{block}.npz".replace(" ", "_").replace(",", "")


def work(job: tuple[str, str, str, int, int]) -> Path:
    """Simulate and fit one block of tables, store the results, and return the path of their file.

    ``job`` is (design, noise, method, refits, block). If the method resamples the runs, a second file is stored under
    the method ``percentile``. It contains the plain percentiles of the same refits.
    """
    design, noise, method, refits, block = job
    kernels.load()
    FOLDER.mkdir(parents=True, exist_ok=True)
    d = DESIGNS[design]
    found = [table(d, noise, method, refits, block * BLOCK + i) for i in range(BLOCK)]
    codes = np.array([text for _, text in found])
    for i, name in enumerate((method, "percentile")[: len(found[0][0])]):
        _keep(path(design, noise, name, refits, block), np.array([numbers[i] for numbers, _ in found]), codes)
    return path(*job)


def _keep(out: Path, numbers: Floats, codes: NDArray[np.str_]) -> None:
    half = out.with_suffix(".half.npz")
    np.savez_compressed(half, numbers=numbers, codes=codes)
    half.rename(out)


def table(design: Design, noise: str, method: str, refits: int, seed: int) -> tuple[list[Floats], str]:
    """Simulate and fit one table; return arrays of shape (q, 6) and the codes of the warnings as text.

    There is one row per quantity. A row contains the value, the ends of the 68 % interval, the ends of the 95 %
    interval, and the fraction of draws below the value. The ends are NaN if there is no interval. The first array is
    for ``method``. If the method resamples the runs, a second array contains the plain percentiles of the same refits.
    """
    spec = FitSpec(law=design.law, axis=design.axis, interval=method, bootstrap=refits, seed=seed)  # type: ignore[arg-type]
    made = fit(spec, design.runs(noise, seed))
    found = [_numbers(design, made)]
    if made.resampling.method == "bc":
        how = replace(made.resampling, method="percentile")
        plain = parameters(made.spec, made.theta, made.resamples, tuple(made.spec.fixed), how, made.confidence)
        found.append(_numbers(design, replace(made, resampling=how, parameters=plain)))
    return found, " ".join({w.code for w in made.warnings})


def _numbers(design: Design, made: Fit) -> Floats:
    rows = []
    for name, (_, value) in design.quantities().items():
        with np.errstate(all="ignore"):
            central, draws = float(value(made.values)), np.asarray(value(made.draws), float)
        parameter = next((p for p in made.parameters if p.name == name), None)
        q = parameter or measure(made, central, draws, "")
        below = np.mean(draws < central) + 0.5 * np.mean(draws == central)
        ends = [x for ci in (q.ci68, q.ci95) for x in (ci or (np.nan, np.nan))]
        rows.append([central, *ends, below])
    return np.array(rows)


def floor_name(design: Design) -> str:
    """Return the name of the parameter that is the floor in the law of ``design``."""
    return next(t.amplitude for t in design.find_law().terms if isinstance(t, Const))
