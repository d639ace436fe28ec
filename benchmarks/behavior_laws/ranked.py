"""Rank correlations between metrics over the recommender cells, for both kinds of evaluation.

A cell is one training run. The metrics are computed within a batch ('local') and on the full catalogue ('full'). The
training loss is also a metric. In the behavioural paper (Sec. 7 and Tables 15 to 17), the cells of stage 1 differ in
their architecture and are evaluated within a batch. The cells of stage 2 differ in the number of negatives and are
evaluated on the full catalogue. Here, every cell is evaluated in both ways.
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
"""Names of the sweeps whose cells belong to a stage of the paper.

The sweep of batch sizes belongs to no stage, because it has its own budget and a fixed architecture.
"""
OTHER: dict[Stage, str] = {1: "full", 2: "local"}
"""For each stage: the kind of evaluation that the paper does not use in this stage.

The names of the metrics from this evaluation begin with this word.
"""
TRAIN: dict[Stage, str] = {1: "train_loss", 2: "train_in_batch"}
"""Column of the training loss, by stage. Its values are comparable between cells with different numbers of negatives.
"""
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
    """Return the cells of a stage with each metric from both evaluations, and with their training loss.

    A cell that is in several sweeps appears once. A missing value is NaN. Raises PlannerError if no sweep of the stage
    is trained.
    """
    other = {f"{OTHER[stage]}_{name}": way for name, way in JUDGED.items()}
    return _cells(folder, stage, {**JUDGED, **other, TRAIN[stage]: "min"})


def by_history(folder: Path, stage: Stage, metric: str) -> dict[str, float]:
    """Return, for each budget, the lowest rank correlation between two groups of events.

    The cells of the budget are ranked by ``metric`` in each group, and all pairs of groups are compared. One group
    contains all events. Each other group contains the events with one history length (behavioural paper, Sec. 7 (e),
    Fig. 22). A length is used if every cell has events of this length. The result is {} if there are fewer than two
    such lengths. A value is NaN if a budget has too few cells. Raises PlannerError if no sweep of the stage is trained.
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
        raise PlannerError(
            f"No sweep of stage {stage} of our own cells is trained yet: data/README.md explains how to train one."
        )
    cells = list(found.values())
    values = {name: numbers(cells, name) for name in ("budget", *ways)}
    metrics = tuple(Metric(column=name, direction=way) for name, way in ways.items() if name != "loss")
    roles = Roles(loss="loss" if "loss" in ways else None, budget="budget", metrics=metrics, run="run")
    return Runs(np.arange(len(cells)), values, roles, {"run": np.array(list(found))}, f"stage {stage}")


def by_budget(folder: Path, stage: Stage) -> tuple[Agreement, ...]:
    """Return the rank correlations of all pairs of metrics, one matrix for the cells of each budget.

    A correlation of 1 means that two metrics rank the cells in the same order.
    """
    return agreement(judged(folder, stage), "budget")


def pooled(folder: Path, stage: Stage) -> Agreement:
    """Return the rank correlations of all pairs of metrics over the cells of all budgets together.

    The budgets differ in compute, which changes every metric and therefore contributes to these correlations.
    """
    return agreement(judged(folder, stage))[0]
