"""Cells beyond the ranges of the grid of an autopilot, and the grid to which allowed cells are added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from isoplan.app.candidate_cells import FamilyCells, cells_of_family
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.planning.next_cells.answer import AXES
from isoplan.trainers.cell import Cell, Family
from isoplan.trainers.families import main_fields
from isoplan.trainers.grid import Grid, axes, cells
from isoplan.trainers.placing import size_axes
from isoplan.trainers.ranges import Value


def cells_beyond(grid: Grid, family: Family[Any], inside: Candidates) -> FamilyCells | None:
    """Return cells of ``family`` with a larger N or D than ``inside``, the cells of ``grid``.

    Their other fields have the values of the grid, and their seed is the first seed of the grid. N and D are at least
    the smallest of the grid. The result is None if there is no such cell, or if another field has several values in the
    grid, because the value for a new cell is then unknown.
    """
    asked = axes(grid, family)
    sizes = {axis.field for axis in size_axes(family).values()} & set(main_fields(family))
    others = {field: values for field, values in asked.items() if field not in sizes}
    if any(len(values) > 1 for field, values in others.items() if field not in Cell.model_fields):
        return None
    fixed: dict[str, Value] = {field: values[0] for field, values in others.items()}
    smallest = {axis: float(inside.columns[axis].min()) for axis in AXES}
    found = cells_of_family(family, fixed, smallest)
    if found is None:
        return None
    at = found.candidates.columns
    rows = np.flatnonzero(np.any([at[axis] > inside.columns[axis].max() for axis in AXES], axis=0))
    if not len(rows):
        return None
    return replace(found, candidates=found.candidates.take(rows), parts=tuple(found.parts[row] for row in rows))


def extended(grid: Grid, family: Family[Any], beyond: FamilyCells, ranges: Mapping[str, tuple[float, float]]) -> Grid:
    """Return a grid of the cells of ``grid``, in their order, and of the cells ``beyond`` within ``ranges`` of N and D.

    All cells are listed.
    """
    at = beyond.candidates.columns
    allowed = np.flatnonzero(np.all([at[axis] <= ranges[axis][1] for axis in AXES], axis=0))
    made = cells(grid, family)
    if len(allowed):  # a grid with an empty list of cells would give one cell with the default sizes
        made += cells(beyond.chosen(allowed.tolist()), family)
    values = {field: [getattr(cell, field) for cell in made] for field in family.cell.model_fields}
    usual = {field: about.default for field, about in family.cell.model_fields.items()}
    shared = {field: (x[0],) for field, x in values.items() if len(set(x)) == 1 and x[0] != usual[field]}
    listed = [field for field, x in values.items() if len(set(x)) > 1]
    parts = tuple({field: values[field][i] for field in listed} for i in range(len(made)))
    return Grid(grid.family, shared, grid.name, parts)
