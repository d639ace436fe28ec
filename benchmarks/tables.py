"""Simulated run tables of any length, as CSV files for benchmarks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

LAW = {"E": 1.82, "A": 480.0, "B": 2100.0, "alpha": 0.348, "beta": 0.366}


def write_runs(path: Path, rows: int, seed: int = 0) -> Path:
    """Write a CSV file with ``rows`` simulated runs of a fixed law, with a noise of 1 %, and return its path.

    The columns are params, tokens, flops, val_loss, lr and seed.
    """
    rng = np.random.default_rng(seed)
    n = np.round(10 ** rng.uniform(7, 10, rows))
    d = np.round(10 ** rng.uniform(8.5, 11.5, rows))
    loss = LAW["E"] + LAW["A"] * n ** -LAW["alpha"] + LAW["B"] * d ** -LAW["beta"]
    loss *= np.exp(rng.normal(0, 0.01, rows))
    columns = (n, d, 6 * n * d, loss, 10 ** rng.uniform(-4, -2, rows), rng.integers(0, 5, rows))
    header = "params,tokens,flops,val_loss,lr,seed"
    np.savetxt(path, np.column_stack(columns), "%.0f,%.0f,%.6e,%.6f,%.3e,%d", ",", header=header, comments="")
    return path
