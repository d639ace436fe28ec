"""Cells of a family as candidates of the question "Next cells", and the grid of the chosen cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isoplan.engine.costs import ComputeRule
from isoplan.engine.design.candidates import Candidates, listed_candidates
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import as_typed
from isoplan.trainers.cell import Cell, Family, cell_name
from isoplan.trainers.families import main_fields, read_cell
from isoplan.trainers.grid import Grid, axes, cells
from isoplan.trainers.placing import reachable
from isoplan.trainers.ranges import Value, zero_word

NAME = "Next cells"
"""Name of a sweep of chosen cells."""


@dataclass(frozen=True, eq=False)
class FamilyCells:
    """Cells that a family can train, as ``candidates``.

    ``grid`` contains the fields that all cells share, and ``parts`` the other fields of each candidate. ``notes`` are
    sentences on cells that are left out.
    """

    candidates: Candidates
    grid: Grid
    parts: tuple[Mapping[str, Value], ...]
    notes: tuple[str, ...] = ()

    def chosen(self, rows: Sequence[int]) -> Grid:
        """Return the grid of the candidates at ``rows``, counted from 0."""
        return replace(self.grid, listed=tuple(self.parts[row] for row in rows))


def cells_of_grid(
    grid: Grid, family: Family[Any], known: Collection[str] = (), rule: ComputeRule | None = None
) -> FamilyCells:
    """Return the cells of ``grid`` that are not in the queue.

    ``known`` are the names of the cells in the queue. ``rule`` gives the compute of a cell if the family does not give
    it. Raises PlannerError if N or D of a cell is known only after its training, or if all cells are in the queue.
    """
    every = cells(grid, family)
    made = [cell for cell in every if cell_name(family, cell) not in known]
    gone = len(every) - len(made)
    if not made:
        raise PlannerError(f"Candidates: all {gone:,} cells of the grid are in the queue or finished. Add other cells.")
    varied = {field for field, values in axes(grid, family).items() if len(values) > 1}
    varied |= {field for part in grid.listed for field in part}
    fields = [field for field in family.cell.model_fields if field in (varied or grid.asked)]
    parts = tuple({field: getattr(cell, field) for field in fields} for cell in made)
    shared = {field: x for field, x in grid.asked.items() if field not in fields}
    notes = [f"{gone:,} of {len(every):,} cells of the grid are in the queue or finished. They are left out."]
    notes = notes if gone else []
    other = sorted(varied - {*main_fields(family), *Cell.model_fields})
    notes += [f"The grid varies {', '.join(other)}, which the law does not describe."] * bool(other)
    found = _candidates(family, made, parts, rule)
    return FamilyCells(found, replace(grid, asked=shared, listed=()), parts, tuple(notes))


def cells_of_family(
    family: Family[Any], fixed: Mapping[str, Value], smallest: Mapping[str, float], known: Collection[str] = ()
) -> FamilyCells | None:
    """Return cells over the sizes that ``family`` allows, with the fields ``fixed``; None if there is no such cell.

    ``smallest`` contains the smallest N and D of a cell. ``known`` are the names of cells that are trained or in the
    queue: another seed replaces the seed of such a cell.
    """
    parts, made = list[dict[str, Value]](), list[Cell]()
    for one in reachable(family, fixed):
        if any((getattr(one.sizes, name) or 0.0) < least for name, least in smallest.items()):
            continue
        cell = _unknown(family, read_cell(family, dict(one.fields)), known)
        seed: dict[str, Value] = {"seed": cell.seed} if cell.seed else {}
        parts.append({field: x for field, x in one.fields.items() if field not in fixed} | seed)
        made.append(cell)
    if not made:
        return None
    grid = Grid(family.name, {field: (value,) for field, value in fixed.items()}, NAME)
    return FamilyCells(_candidates(family, made, parts), grid, tuple(parts))


def _unknown(family: Family[Any], cell: Cell, known: Collection[str]) -> Cell:
    """Return the cell. If it is ``known``, return the cell with the next seed that gives an unknown cell."""
    while cell_name(family, cell) in known:
        cell = cell.model_copy(update={"seed": cell.seed + 1})
    return cell


def _candidates(
    family: Family[Any], made: Iterable[Cell], parts: Iterable[Mapping[str, Value]], rule: ComputeRule | None = None
) -> Candidates:
    sizes = [family.sizes(cell) for cell in made]
    N, D = (np.array([np.nan if (x := getattr(one, name)) is None else x for one in sizes]) for name in ("N", "D"))
    for name, x in (("N", N), ("D", D)):
        if np.isnan(x).any():
            raise PlannerError(
                f"Candidates: for a cell of the family {family.name}, {name} is unknown before its training. Give a "
                "table of cells with N, D and C."
            )
    counted = (rule or ComputeRule()).flops(N, D)
    C = np.array([own if one.C is None else one.C for one, own in zip(sizes, counted, strict=True)], float)
    settings = np.array([", ".join(_shown(family, *field) for field in part.items()) for part in parts], np.str_)
    return listed_candidates(N, D, C, settings=settings)


def _shown(family: Family[Any], field: str, value: Value) -> str:
    """Return a field with its value as text, such as "width 8". Some fields have a word for the value 0."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        word = zero_word(family.cell.model_fields[field])
        return f"{field} {word if word and value == 0 else as_typed(value)}"
    return f"{field} {value}"
