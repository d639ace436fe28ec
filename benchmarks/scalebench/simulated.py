"""A simulated task: losses of a Chinchilla law with noise, two laws, and two groups with different floors."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

GROUPS = {"code": 0.8, "text": 1.8}
"""The loss floor of each group."""
NOISE = 0.005
SIZES, SAMPLES = np.geomspace(1e7, 1e9, 9), np.geomspace(2e8, 2e10, 9)
TEST = np.array([2e9, 4e9])
"""Sizes of the test cells."""
LAWS: dict[str, Any] = {
    "outputs": ["loss"],
    "cost": "6*N*D",
    "group": "group",
    "split": {"column": "split", "pool": "train", "test": "test"},
    "checkpoints": [0.01, 0.05, 0.1],
    "laws": [
        {
            "name": "two terms",
            "formula": "E + A/N^alpha + B/D^beta",
            "bounds": {"E": [0, 3], "A": [0, 1e5], "B": [0, 1e5], "alpha": [0.05, 1], "beta": [0.05, 1]},
        },
        {
            "name": "product",
            "formula": "E + A*N^(-alpha)*D^(-beta)",
            "bounds": {"E": [0, 3], "A": [0, 1e5], "alpha": [0.05, 1], "beta": [0.05, 1]},
        },
    ],
}


def write_task(folder: Path) -> tuple[Path, Path]:
    """Write the table and the laws of the task into ``folder``. Return their paths."""
    table, laws = folder / "simulated.csv", folder / "laws.json"
    random = np.random.default_rng(0)
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("split", "group", "N", "D", "loss"))
        pool, test = product(SIZES, SAMPLES), product(TEST, SAMPLES[-3:])
        cells = [*(("train", *cell) for cell in pool), *(("test", *cell) for cell in test)]
        for group, floor in GROUPS.items():
            for split, N, D in cells:
                loss = floor + 400 / N**0.34 + 410 / D**0.28
                rows.writerow((split, group, N, D, loss * np.exp(NOISE * random.standard_normal())))
    laws.write_text(json.dumps(LAWS, indent=1))
    return table, laws
