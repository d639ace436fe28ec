"""Tables of recommender cells, simulated with known laws. They have the format of the trainer's tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from isoplan.data.trained import FOLDER
from isoplan.trainers.behavior.family import COLUMNS
from isoplan.trainers.behavior.scores.metrics import directions
from isoplan.trainers.bundle import write

BUDGETS = (1e11, 3e11, 1e12)
SHARES = (0.018, 0.036, 0.09, 0.15, 0.3, 0.47)
NEGATIVES = (0, 16, 64, 256, 1024, 4096)
BATCHES = {16: 14460, 32: 6835, 64: 3081, 128: 1287, 256: 484, 512: 162}
"""For each batch size of the grid, the number of training steps that the budget allows."""
WIDTHS = (9e3, 1.5e4, 6e4, 1.1e5, 3.5e5, 8.2e5)
S_STAR = {"loss": 0.06, "entropy": 0.05, "recall@10": 0.04, "NDCG@10": 0.08, "NDCG@100": 0.07, "MRR@10": 0.1}
K_STAR = {"recall@10": 300.0, "NDCG@10": 200.0, "NDCG@100": 250.0, "MRR@10": 100.0}
"""Optima of the embedder share s (``S_STAR``) and of the number of extra negatives K (``K_STAR``), by metric.

Loss, entropy and coverage improve up to the largest K, and coverage improves up to the largest share."""
B_CRIT = {"loss": 100.0, "entropy": np.inf, "recall@10": 60.0, "NDCG@10": 30.0, "MRR@10": np.inf}
N_AT, EXPONENT = 6e4, 0.6
"""Constants of the optimal size N* = N_AT * (C / 3e11)^EXPONENT for every metric. The compute C is in FLOPs."""
ZETA, A_C, B_C = 40.0, 0.85, 1.0
"""Constants of the compute rule C = ZETA * N^A_C * D^B_C."""
WAY = directions(histories=())

EVERY = ("share", "batch", "allocation", "negatives")
Law = Callable[[str, Any], float]


def write_sweeps(folder: Path, noise: float = 0.0, sweeps: tuple[str, ...] = EVERY) -> Path:
    """Write the tables of ``sweeps`` with ``noise`` (seed 0), copy the bundled grids, and return the folder."""
    rng = np.random.default_rng(0)
    make = {"share": _share, "batch": _batch, "allocation": _allocation, "negatives": _negatives}
    for sweep in sweeps:
        write(folder / f"behavior_{sweep}.csv", COLUMNS.rows, make[sweep](rng, noise))
        shutil.copy(FOLDER / f"behavior_{sweep}.toml", folder)
    if "batch" in sweeps:
        write(folder / "behavior_curves.csv", COLUMNS.points, _curves(rng, noise))
    return folder


def _row(rng: np.random.Generator, noise: float, run: str, law: Law, **known: Any) -> dict[str, Any]:
    """Return the table row of a cell. ``law`` gives the value of each metric as a loss: smaller is better."""
    stage = int(known.get("stage", 1))
    row: dict[str, Any] = {"run": run, "data": "synthetic", "seed": 0, "stage": stage, "share": 0.02, "batch": 64}
    row |= {"negatives": 0, "softmax": "mean", "schedule": "cosine", "N": 1e5, "D": 1e6, "s": 0.02, "seconds": 60}
    row |= {"version": "1.1", "rate_used": 0.006, **known}
    row |= {"C": 0.9 * row["budget"], "C_step": row["budget"]}
    row |= {name: _measured(name, law(name, row) * (1 + noise * rng.normal())) for name in WAY}
    other = "full" if stage == 1 else "local"
    row |= {f"{other}_{name}": row[name] for name in WAY}
    row |= {f"recall@10/ctx_{k}": row["recall@10"] * (1 if k < 10 else -1) for k in (3, 5, 10)}
    # The losses over the two kinds of candidates (in the batch, full catalogue) rank cells in opposite order.
    row[f"{other}_loss"] = 20 - row["loss"]
    return row | {"train_loss": row["loss"] + 0.1, "train_in_batch": 20 - row["loss"]}


def _measured(name: str, y: float) -> float:
    return y if WAY[name] == "min" else 1 - y / 10


def _share(rng: np.random.Generator, noise: float) -> list[dict[str, Any]]:
    def law(name: str, row: Mapping[str, Any]) -> float:
        y = np.log(row["s"] / S_STAR[name]) if name in S_STAR else 2 - np.log(row["s"])
        return float(5 + _floor(row) + (0.1 * y**2 if name in S_STAR else 0.1 * y))

    return [
        _row(rng, noise, f"s{i}-{C:g}", law, budget=C, s=s, share=s)
        for C in BUDGETS for i, s in enumerate(SHARES)
    ]  # fmt: skip


def _negatives(rng: np.random.Generator, noise: float) -> list[dict[str, Any]]:
    def law(name: str, row: Mapping[str, Any]) -> float:
        x = np.log(max(row["negatives"], 4))
        y = 0.03 * (x - np.log(K_STAR[name])) ** 2 if name in K_STAR else -0.05 * x
        return float(5 + _floor(row) + y)

    return [
        _row(rng, noise, f"K{K}-{C:g}", law, budget=C, stage=2, negatives=K)
        for C in BUDGETS for K in NEGATIVES
    ]  # fmt: skip


def _allocation(rng: np.random.Generator, noise: float) -> list[dict[str, Any]]:
    def law(name: str, row: Mapping[str, Any]) -> float:
        star = N_AT * (row["budget"] / 3e11) ** EXPONENT
        return float(5 + _floor(row) + 0.05 * np.log(row["N"] / star) ** 2)

    return [
        _row(rng, noise, f"N{N:g}-{C:g}", law, budget=C, N=N, D=(C / ZETA / N**A_C) ** (1 / B_C))
        for C in BUDGETS for N in WIDTHS
    ]  # fmt: skip


def _floor(row: Mapping[str, Any]) -> float:
    return float((row["budget"] / 1e11) ** -0.3)


def _batch(rng: np.random.Generator, noise: float) -> list[dict[str, Any]]:
    return [
        _row(rng, noise, f"B{B}", lambda name, row: 5.0 + row["batch"] / 1e4, budget=3e12, batch=B, schedule="constant")
        for B in BATCHES
    ]


def _curves(rng: np.random.Generator, noise: float) -> list[dict[str, Any]]:
    """Return the points of training curves. A metric is a function of steps / (1 + B_crit / B) for batch size B.

    The number of steps to any target is therefore S_min * (1 + B_crit / B). For infinite B it is S_min.
    """
    points = []
    for B, steps in BATCHES.items():
        looks = np.unique(np.round(steps * np.arange(1, 241) / 240))[1:]
        for update in looks[np.unique(np.geomspace(1, len(looks), 40).round().astype(int)) - 1]:
            point: dict[str, Any] = {"run": f"B{B}", "update": update, "samples": update * B * 17}
            for name, critical in B_CRIT.items():
                seen = update * B / 64 if np.isinf(critical) else update / (1 + critical / B)
                y = 4 + 4.5 * (1 + seen / 20) ** -0.35 + noise * rng.normal()
                point[name] = _measured(name, y)
            points.append(point)
    return points
