"""What an autopilot works on: the question, the cells (training runs) of a grid, and the limits of their training."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from isoplan.app.candidate_cells import FamilyCells, cells_of_grid
from isoplan.engine.costs import ComputeRule
from isoplan.engine.costs.measured import fit_powers, fit_zeta
from isoplan.engine.design.candidates import MOST, Candidates
from isoplan.engine.design.spread import FREEDOM
from isoplan.engine.errors import PlannerError
from isoplan.engine.laws import get_law
from isoplan.engine.planning.next_cells.answer import AXES
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.quantities import power10
from isoplan.trainers.cell import CELL_DIGITS, Cell, Family, canonical, cell_name
from isoplan.trainers.grid import Grid, cells

SAME_RUN = frozenset(Cell.model_fields)
"""Fields that a law does not describe, such as the seed. Cells of equal N and D may differ in them."""
PROPORTIONAL = 0.01
"""Largest scatter of ln C about zeta N D at which C counts as proportional to N D."""


class Specification(BaseModel):
    """The question and the cells from which the autopilot chooses.

    ``cells`` are the names of the cells of the grid, in its order. Either ``budget`` (in FLOPs) or ``target_loss`` is
    given. The answer is known well enough if the half width of its 68 % interval is at most ``until``, a fraction of
    the answer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    family: str
    cells: tuple[str, ...]
    law: str = "chinchilla"
    budget: float | None = None
    target_loss: float | None = None
    until: float = 0.05
    seed: int = 0

    @property
    def key(self) -> str:
        """A hash of the specification. It does not depend on the limits, so an autopilot can continue with other
        limits."""
        return hashlib.sha256(canonical(self.model_dump(mode="json"))).hexdigest()[:CELL_DIGITS]

    @property
    def question(self) -> Question:
        """The question for a planner."""
        if self.budget is not None:
            return Question("budget", self.budget)
        return Question("target", self.target_loss or 0.0)

    @property
    def quantity(self) -> str:
        """The quantity to narrow as a phrase, such as "the loss at 10^20 FLOPs"."""
        if self.budget is not None:
            return f"the loss at {power10(self.budget)} FLOPs"
        return f"the compute for a loss of {self.target_loss:.4g}"

    @property
    def enough(self) -> float:
        """The largest half width of the interval that is small enough, in logarithms."""
        return math.log1p(self.until)

    @property
    def fewest(self) -> int:
        """Number of finished cells from which the law is fitted."""
        return len(get_law(self.law).names) + FREEDOM


@dataclass(frozen=True, eq=False)
class GridCells:
    """The cells of a grid: their ``names`` (m) and ``seeds`` (m), and their sizes and compute as ``candidates`` (m).

    The candidates are listed cells: ``candidates.row`` (m) is the position of each cell in ``names``.
    """

    names: tuple[str, ...]
    seeds: tuple[int, ...]
    candidates: Candidates

    @cached_property
    def rule(self) -> ComputeRule:
        """The compute rule of a budget, fitted to N, D and C of the cells.

        The rule is C = zeta N D. If the cells scatter around this rule by more than ``PROPORTIONAL``, and if their N
        and D vary independently, the exponents of N and D are fitted, too.
        """
        at = self.candidates
        found = fit_zeta(at.columns["N"], at.columns["D"], at.compute)
        if found.scatter > PROPORTIONAL:
            with suppress(PlannerError):
                found = fit_powers(at.columns["N"], at.columns["D"], at.compute)
        return found.rule

    def rows(self, names: Iterable[str]) -> list[int]:
        """Return the rows of the cells ``names``, in the order of the grid."""
        wanted = set(names)
        return [row for row, name in enumerate(self.names) if name in wanted]


@dataclass(frozen=True, eq=False)
class Task:
    """A specification with its cells and limits.

    ``cells`` begins with the cells of the specification; a user can have added others. ``beyond`` are cells of the
    family with a larger N or D than the grid has; None if there is no such cell. They are trained only after a user has
    added them. ``max_cells`` is the maximum number of cells per round. ``cap`` is the maximum device time in hours for
    all cells of the autopilot together; None means no limit.
    """

    spec: Specification
    cells: GridCells
    max_cells: int = 4
    cap: float | None = None
    beyond: Candidates | None = None


@dataclass(frozen=True)
class Seen:
    """The cells of the grid as the queue shows them.

    ``losses`` are the losses of the finished cells by name. ``failed`` are the cells that ended without a loss.
    ``hours`` is the device time of each cell so far.
    """

    losses: Mapping[str, float]
    failed: frozenset[str] = frozenset()
    hours: Mapping[str, float] = field(default_factory=dict)


def read_grid_cells(grid: Grid, family: Family[Any]) -> tuple[GridCells, FamilyCells]:
    """Return the cells of ``grid`` in two forms: for the decisions, and to make the grid of the chosen cells.

    Raises PlannerError if N, D or C of a cell is unknown, if there are too many cells, or if cells of equal N and D
    differ in a setting: a law over N and D cannot describe this difference.
    """
    made = cells(grid, family)
    if len(made) > MOST:
        raise PlannerError(f"Grid: {len(made):,} cells are too many. Give a grid of at most {MOST:,} cells.")
    found = cells_of_grid(grid, family)
    _check_settings(family, made, found.candidates)
    names = tuple(cell_name(family, cell) for cell in made)
    return GridCells(names, tuple(cell.seed for cell in made), found.candidates), found


def _check_settings(family: Family[Any], made: list[Cell], found: Candidates) -> None:
    first: dict[tuple[float, float], Cell] = {}
    for cell, n, d in zip(made, found.columns["N"], found.columns["D"], strict=True):
        other = first.setdefault((float(n), float(d)), cell)
        for name in family.cell.model_fields:
            if name not in SAME_RUN and getattr(cell, name) != getattr(other, name):
                raise PlannerError(
                    f"Grid: {name} differs between cells of equal N and D, but the law describes only N and D. Give "
                    f"{name} one value."
                )


def check_task(task: Task) -> None:
    """Raise PlannerError if the law or the grid cannot answer the question."""
    spec, law = task.spec, get_law(task.spec.law)
    if set(law.axes) != set(AXES) or law.estimator != "surface":
        raise PlannerError(f"Option --law: {law.name} is not a surface over N and D. Use chinchilla.")
    for axis in AXES:
        if len(np.unique(task.cells.candidates.columns[axis])) < 2:
            raise PlannerError(f"Grid: all its cells have the same {axis}. Give it cells of different {axis}.")
    if len(task.cells.names) < spec.fewest:
        raise PlannerError(
            f"Grid: it has {len(task.cells.names)} cells, but {law.name} needs {spec.fewest} (its "
            f"{len(law.names)} parameters and {FREEDOM} more). Give it more cells."
        )
