"""Replay of the protocol of ScaleBench (arXiv 2604.22753): how well laws predict expensive cells after a small spend.

A task has a pool of cells and expensive test cells. Cells of the pool are bought on the advice of ``engine/design``,
for at most 1, 5 and 10 % of the cost of the pool. The outputs of a cell are known only after it is bought. Each law is
fitted to the bought cells by plain least squares from 64 starts. Its score is R^2 over the test cells, from -1 to 1.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import Report
from benchmarks.scalebench.purchases import replay
from benchmarks.scalebench.simulated import write_task
from benchmarks.scalebench.task import Task, TaskLaw, read_task
from isoplan.engine.arrays import Floats

REPEATS, SIMULATED = 10, 3
"""Number of repeats of each law, for a given task and for the simulated task."""


@dataclass(frozen=True)
class Scores:
    """The scores (repeats, checkpoints) of a law."""

    law: TaskLaw
    scores: Floats


def scored(task: Task, repeats: int) -> Iterator[Scores]:
    """Yield the scores of each law of ``task``; repeat i has the seed i."""
    for law in task.laws:
        yield Scores(law, np.array([replay(task, law, seed) for seed in range(repeats)]))


def run(table: Path | None = None, laws: Path | None = None, repeats: int | None = None) -> Report:
    """Replay the task of the CSV file ``table`` with the laws in the JSON file ``laws``.

    Without both, a simulated task is replayed. Raises PlannerError if a file is wrong.
    """
    if table is None or laws is None:
        with tempfile.TemporaryDirectory() as folder:
            return _report("a simulated task", read_task(*write_task(Path(folder))), repeats or SIMULATED)
    return _report(table.name, read_task(table, laws), repeats or REPEATS)


def _report(name: str, task: Task, repeats: int) -> Report:
    found = list(scored(task, repeats))
    rows = [(one.law.name, str(len(one.law.names)), *_shown(one.scores)) for one in found]
    rows.append(("mean over laws", "", *_shown(np.array([one.scores.mean(axis=0) for one in found]))))
    columns = ("law", "parameters", *(f"{x:.0%} of the pool" for x in task.checkpoints))
    sentence = (
        f"R^2 over the test cells of {name} after the advised cells of the pool are bought: the mean and the standard "
        f"deviation over {repeats} repeats, and over laws in the last row. [scalebench.md](scalebench.md) describes "
        "the method and the files of a task."
    )
    return Report("ScaleBench", sentence, columns, tuple(rows))


def _shown(scores: Floats) -> tuple[str, ...]:
    return tuple(f"{m:.2f} ± {s:.2f}" for m, s in zip(scores.mean(axis=0), scores.std(axis=0), strict=True))
