"""Tables of amplitude cells (one training run each), simulated with a known law. They have the trainer's columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from isoplan.engine.planning.amplitude.cells import Point, TrainedCell, most_anchors, read_cells

POINTS = (100, 300, 1000, 3000, 10_000, 30_000)


def table(
    process: str = "Zgg",
    d: int = 5,
    alpha: float = 1.3,
    X_c: float = 10.0,
    K: float = 0.0,
    *,
    noise: float = 0.0,
    falling: Sequence[int] = (),
    points: Sequence[int] = POINTS,
    **fields: object,
) -> pd.DataFrame:
    """Return two cells, of 100,000 and 200,000 updates, for each of three seeds and each D in ``points``.

    The law is loss = K + (X_c / D)^alpha. The shorter cell has the loss of the law. The longer cell has a loss that is
    2 % lower. At each D in ``falling`` the cells are not converged: the loss is 5 times (shorter cell) or 3 times
    (longer cell) that of the law.
    """
    rng, rows = np.random.default_rng(7), []
    for seed in range(3):
        for D in points:
            loss = (K + (X_c / D) ** alpha) * np.exp(noise * rng.standard_normal())
            long, half = (3 * loss, 5 * loss) if D in falling else (loss / 1.02, loss)
            for iterations, reached in ((100_000, half), (200_000, long)):
                seen = float(iterations * min(D, 128))
                rows.append({
                    "run": f"{process}-{seed}-{D}-{iterations}", "process": process, "sqrt_s": 0, "parameters": 100_000,
                    "layers": 3, "objective": "mse", "target": "log", "parametrization": "mup", "seed": seed,
                    "N": 99_892, "D": D, "C": 6e5 * seen, "d": d, "loss": reached, "spread": 1.5, "dimension": d - 0.1,
                    "dimension_spread": 0.05, "dimension_inputs": d - 0.2, "width_used": 219, "layers_used": 3,
                    "rate_used": 0.01, "batch_used": min(D, 128), "updates": iterations, "seen": seen,
                    **fields,
                })  # fmt: skip
    return pd.DataFrame(rows)


def write(path: Path, *tables: pd.DataFrame) -> Path:
    """Write the concatenated tables as CSV and return the path."""
    pd.concat(tables).to_csv(path, index=False)
    return path


def cells(*tables: pd.DataFrame) -> tuple[TrainedCell, ...]:
    """Concatenate the tables and return their rows as trained cells."""
    return read_cells(pd.concat(tables).to_dict("records"), "table.csv")


def of(process: str = "Zgg", **fields: object) -> tuple[Point, ...]:
    """Simulate cells of one process. Return points: cells with the change of their loss if the compute C doubles."""
    return most_anchors(cells(table(process, **fields)), process)  # type: ignore[arg-type]
