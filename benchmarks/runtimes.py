"""Predictions of the training time of a run from other runs of its table, and FLOP/s of small and large models."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.runtime import fit_runtime

GRIDS = Path(__file__).parents[1] / "data" / "grids"
FEWEST = 12
"""Minimum number of runs of a table. Smaller tables are not tested."""
COLUMNS = (
    "table",
    "runs",
    "one left out",
    "90 %",
    "largest fifth",
    "90 %",
    "FLOP/s, small to large N",
    "ratio / sqrt(N)",
)


def run() -> Report:
    """Report one row for each bundled table that has N, D, C and seconds."""
    return Report(
        "Training time from the runs",
        "The bundled tables contain the training time of each run. The table shows the factor by which a prediction "
        "from all other runs is wrong (median and 90 % quantile), and the same factor for the fifth of the runs with "
        "the most compute, predicted from the other runs. The next columns are the FLOP/s for the smallest and the "
        "largest tenth of N, and their ratio divided by the ratio of the square roots of N.",
        COLUMNS,
        tuple(_line(name, *found) for name, found in _tables().items()),
    )


def _tables() -> dict[str, tuple[Floats, Floats, Floats, Floats]]:
    """Return the arrays N, D, C and seconds (n,) of each table, by its name."""
    found = {}
    for path in sorted(GRIDS.rglob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        cells = [[_number(row.get(name)) for name in ("N", "D", "C", "seconds")] for row in rows]
        known = [row for row in cells if all(x > 0 for x in row)]
        if len(known) >= FEWEST:
            N, D, C, seconds = np.array(known).T
            found[path.relative_to(GRIDS).with_suffix("").as_posix()] = (N, D, C, seconds)
    return found


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def _line(name: str, N: Floats, D: Floats, C: Floats, seconds: Floats) -> tuple[str, ...]:
    n = len(N)
    order = np.argsort(C, kind="stable")
    rest, largest = order[: -(n // 5)], order[-(n // 5) :]
    left = np.array([_off(np.delete(np.arange(n), i), np.array([i]), N, D, seconds)[0] for i in range(n)])
    ahead = _off(rest, largest, N, D, seconds)
    rate = C / seconds
    small, large = N <= np.quantile(N, 0.1), N >= np.quantile(N, 0.9)
    slow, fast = float(np.median(rate[small])), float(np.median(rate[large]))
    width = float(np.sqrt(np.median(N[large]) / np.median(N[small])))
    growth = f"{fast / slow / width:.2g}" if width > 1 else "-"
    factors = [f"{float(np.quantile(x, q)):.2f}" for x in (left, ahead) for q in (0.5, 0.9)]
    return (name, str(n), *factors, f"{slow:.1e} to {fast:.1e}", growth)


def _off(known: NDArray[np.int64], asked: NDArray[np.int64], N: Floats, D: Floats, seconds: Floats) -> Floats:
    """Return the error factors (m,) of the predicted times of the m runs ``asked``; 1 means an exact prediction.

    The times are predicted from the runs ``known``.
    """
    runtime = fit_runtime(N[known], D[known], seconds[known])
    assert runtime is not None
    return np.asarray(np.exp(np.abs(np.log(runtime.seconds(N[asked], D[asked]) / seconds[asked]))))
