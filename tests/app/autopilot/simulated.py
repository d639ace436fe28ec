"""A grid of cells (training runs) whose losses follow a known law, without any trainer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from isoplan.app.autopilot.decisions import Decision
from isoplan.app.autopilot.rounds import run_rounds
from isoplan.app.autopilot.specification import GridCells, Seen, Specification, Task
from isoplan.engine.design.candidates import listed_candidates
from tests.engine.design.tables import LAW, TRUTH

SIZES, SAMPLES = np.geomspace(1e4, 1e6, 6), np.geomspace(1e6, 1e8, 6)
N, D = (x.ravel() for x in np.meshgrid(SIZES, SAMPLES, indexing="ij"))
NAMES = tuple(f"{row:02d}" for row in range(len(N)))
GRID = GridCells(NAMES, (0,) * len(NAMES), listed_candidates(N, D, 6 * N * D))
SPEED = 1e14
"""FLOPs of a device hour."""
BUDGET = 1e15


def task(cap: float | None = 10.0, until: float = 0.02, seed: int = 0, budget: float = BUDGET) -> Task:
    """Return a task over the simulated grid. The cap is in device hours."""
    spec = Specification(family="simulated", cells=NAMES, budget=budget, until=until, seed=seed)
    return Task(spec, GRID, 4, cap)


@dataclass(eq=False)
class World:
    """The simulated queue: the finished and failed cells, and the decisions in the order of their training."""

    seed: int = 0
    noise: float = 0.01
    done: set[str] = field(default_factory=set)
    failing: frozenset[str] = frozenset()
    trained: list[Decision] = field(default_factory=list)
    kept: list[tuple[Decision, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        random = np.random.default_rng(self.seed)
        exact = LAW.predict(np.array(TRUTH), {"N": N, "D": D})
        self.loss = exact * np.exp(self.noise * random.standard_normal(len(N)))

    def look(self) -> Seen:
        """Return the cells as they are now."""
        rows = [row for row in GRID.rows(self.done) if NAMES[row] not in self.failing]
        cost = GRID.candidates.cost
        losses = {NAMES[row]: float(self.loss[row]) for row in rows}
        hours = {NAMES[row]: float(cost[row]) / SPEED for row in GRID.rows(self.done)}
        return Seen(losses, self.failing & self.done, hours)

    def train(self, decision: Decision) -> None:
        """Finish the cells of a decision."""
        self.trained.append(decision)
        self.done |= set(decision.cells)

    def run(self, task: Task, decisions: tuple[Decision, ...] = ()) -> tuple[Decision, ...]:
        """Continue the autopilot from ``decisions`` until it stops."""
        return run_rounds(task, decisions, self.look, self.train, self.kept.append)
