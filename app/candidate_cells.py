"""Cells of a family as candidates of the question "Next cells", and the grid of the chosen cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isoplan.engine.design.candidates import Candidates, listed_candidates
from isoplan.engine.errors import PlannerError
from isoplan.trainers.cell import Family, Sizes
from isoplan.trainers.grid import Grid, axes, cells
from isoplan.trainers.placing import reachable
from isoplan.trainers.ranges import Value

NAME = "Next cells"
"""Name of a sweep of chosen cells."""


@dataclass(frozen=True, eq=False)
class FamilyCells:
    """Cells that a family can train, as ``candidates``.

    ``grid`` contains the fields that all cells share, and ``parts`` the other fields of each candidate.
    """

    candidates: Candidates
    grid: Grid
    parts: tuple[Mapping[str, Value], ...]

    def chosen(self, rows: Sequence[int]) -> Grid:
        """Return the grid of the candidates at ``rows``, counted from 0."""
        return replace(self.grid, listed=tuple(self.parts[row] for row in rows))


def cells_of_grid(grid: Grid, family: Family[Any]) -> FamilyCells:
    """Return the cells of ``grid``. Raises PlannerError if N, D or C of a cell is unknown before its training."""
    made = cells(grid, family)
    varied = {field for field, values in axes(grid, family).items() if len(values) > 1}
    varied |= {field for part in grid.listed for field in part}
    fields = [field for field in family.cell.model_fields if field in varied]
    parts = tuple({field: getattr(cell, field) for field in fields} for cell in made)
    shared = {field: x for field, x in grid.asked.items() if field not in varied}
    sizes = [family.sizes(cell) for cell in made]
    return FamilyCells(_candidates(family, sizes, parts), replace(grid, asked=shared, listed=()), parts)


def cells_of_family(
    family: Family[Any], fixed: Mapping[str, Value], smallest: Mapping[str, float]
) -> FamilyCells | None:
    """Return cells over the sizes that ``family`` allows, with the fields ``fixed``; None if there is no such cell.

    ``smallest`` contains the smallest N and D of a cell.
    """
    found = [
        one
        for one in reachable(family, fixed)
        if all((getattr(one.sizes, name) or 0.0) >= least for name, least in smallest.items())
    ]
    if not found:
        return None
    grid = Grid(family.name, {field: (value,) for field, value in fixed.items()}, NAME)
    parts = tuple({field: x for field, x in one.fields.items() if field not in fixed} for one in found)
    return FamilyCells(_candidates(family, [one.sizes for one in found], parts), grid, parts)


def _candidates(family: Family[Any], sizes: Sequence[Sizes], parts: Sequence[Mapping[str, Value]]) -> Candidates:
    for row, one in enumerate(sizes):
        if None in (one.N, one.D, one.C):
            raise PlannerError(
                f"Candidates: N, D or C of cell {row} of the family {family.name} is unknown before its training. Give "
                "a table of cells with these columns."
            )
    N, D, C = (np.array([getattr(one, name) for one in sizes], float) for name in ("N", "D", "C"))
    settings = np.array([", ".join(f"{field} {value}" for field, value in part.items()) for part in parts], np.str_)
    return listed_candidates(N, D, C, settings=settings)
