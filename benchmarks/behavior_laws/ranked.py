"""Rank agreement of metrics over recommender cells trained by Isoplan, in both kinds of evaluation.

The metrics are batch-local, on the full catalogue, and the training loss. Behavioural, sec. 7 and Tables 15 to 17: the
paper evaluates the cells of stage 1, which differ in their architecture, batch-locally, and those of stage 2, which
differ in their negatives, on the full catalogue. Here every cell is evaluated both ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from isoplan.data.trained import numbers, rows
from isoplan.engine.agreement import Agreement, agreement
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Direction, Metric, Roles, Runs

Stage = Literal[1, 2]
SWEEPS: dict[Stage, tuple[str, ...]] = {1: ("share", "allocation"), 2: ("negatives",)}
"""Sweeps with the cells of a stage. The sweep of batches is left out: it has its own budget and does not vary the
architecture.
"""
OTHER: dict[Stage, str] = {1: "full", 2: "local"}
"""Prefix of the columns for the other kind of candidates."""
TRAIN: dict[Stage, str] = {1: "train_loss", 2: "train_in_batch"}
"""Training loss that is comparable between all cells of a stage, for any number of negatives."""
JUDGED: dict[str, Direction] = {
    "loss": "min",
    "entropy": "min",
    "recall@10": "max",
    "NDCG@10": "max",
    "NDCG@100": "max",
    "MRR@10": "max",
    "coverage@10": "max",
}


def judged(folder: Path, stage: Stage) -> Runs:
    """Return the cells of a stage, each once, with every metric both ways and their training loss; NaN if missing.

    Raises PlannerError if no sweep of the stage is trained.
    """
    other = {f"{OTHER[stage]}_{name}": way for name, way in JUDGED.items()}
    return _cells(folder, stage, {**JUDGED, **other, TRAIN[stage]: "min"})


def by_history(folder: Path, stage: Stage, metric: str) -> dict[str, float]:
    """Return the lowest rank correlation of ``metric`` between events of any two history lengths, or all, by budget.

    Behavioural, sec. 7 (e) and Fig. 22. A length counts if every cell has events of it. The result is empty if fewer
    than two lengths count, and NaN for too few cells. Raises PlannerError if no sweep of the stage is trained.
    """
    columns = {name for sweep in SWEEPS[stage] for row in rows(folder, sweep)[:1] for name in row}
    slices = (metric, *sorted(name for name in columns if name.startswith(f"{metric}/ctx_")))
    every = _cells(folder, stage, dict.fromkeys(slices, JUDGED[metric]))
    known = tuple(m for m in every.roles.metrics if np.isfinite(every[m.column]).all())
    if len(known) < 3:
        return {}
    found = replace(every, roles=every.roles.model_copy(update={"metrics": known}))
    return {a.name: float(a.rho.min()) for a in agreement(found, "budget")}


def _cells(folder: Path, stage: Stage, ways: Mapping[str, Direction]) -> Runs:
    found = {row["run"]: row for sweep in SWEEPS[stage] for row in rows(folder, sweep)}
    if not found:
        raise PlannerError(f"No sweep of stage {stage} of our own cells is trained yet: data/README.md says how to.")
    cells = list(found.values())
    values = {name: numbers(cells, name) for name in ("budget", *ways)}
    metrics = tuple(Metric(column=name, direction=way) for name, way in ways.items() if name != "loss")
    roles = Roles(loss="loss" if "loss" in ways else None, budget="budget", metrics=metrics, run="run")
    return Runs(np.arange(len(cells)), values, roles, {"run": np.array(list(found))}, f"stage {stage}")


def by_budget(folder: Path, stage: Stage) -> tuple[Agreement, ...]:
    """Compute the rank correlations of all pairs of metrics over the cells of each budget, 1 if both rank them
    alike.
    """
    return agreement(judged(folder, stage), "budget")


def pooled(folder: Path, stage: Stage) -> Agreement:
    """Compute the rank correlations over all budgets together, where compute changes every metric."""
    return agreement(judged(folder, stage))[0]
