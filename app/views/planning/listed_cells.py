"""Choice of the cells from which a question chooses, and the button that trains the chosen cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from isoplan.app.candidate_cells import FamilyCells, cells_of_family
from isoplan.app.cell_service import queue_of
from isoplan.app.views.planning.nearer_cells import family_of_runs
from isoplan.app.views.training import costs, permission, standing
from isoplan.app.views.widgets.cache import runs_of
from isoplan.app.views.widgets.inputs import named_blank, words
from isoplan.app.views.widgets.parts import distinct, plural
from isoplan.app.views.widgets.state import table_of_fit
from isoplan.engine.design.candidates import Candidates, candidates_of
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.questions.declaration import CellsInput
from isoplan.engine.schema import Role
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.sweep import Cap, launch
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.cell import Cell, Family
from isoplan.trainers.families import main_fields
from isoplan.trainers.grid import write_grid
from isoplan.trainers.ranges import Value, kind_of

GRID = "any N and D"
TEXT = 60
"""Maximum number of characters of the name of a source."""


@dataclass(frozen=True, eq=False)
class ListedCells:
    """The cells to choose from. ``of_family`` are the cells of ``family``; both are None for the cells of a table."""

    candidates: Candidates
    family: Family[Any] | None = None
    of_family: FamilyCells | None = None


def choose(db: Database, fit: Fit, source: CellsInput) -> ListedCells | None:
    """Show the selection of the cells to choose from; return these cells, or None for a grid over N and D.

    The first option is the family that trains runs like those of ``fit``, if there is one.
    """
    family = family_of_runs(db, fit.hash)
    own = None if family is None else _trained(fit.hash, family.version, str(db.folder), db, fit, family)
    listed = {one.id: one for one in tables.all(db) if not one.read_only and _has_sizes(db, one.id)}
    names = distinct({key: one.name for key, one in listed.items()})
    named = {key: f"cells of {name}"[:TEXT] for key, name in names.items()}
    trained = f"cells of the trainer {family.title}" if family is not None and own is not None else ""
    words("from")
    chosen = named_blank(source.label, [*filter(None, [trained]), GRID, *named.values()], source.link, 260)
    if own is not None and chosen == trained:
        return ListedCells(own.candidates, family, own)
    key = next((key for key, name in named.items() if name == chosen), None)
    return None if key is None else ListedCells(candidates_of(runs_of(db, listed[key], "")[1]))


@st.cache_resource(max_entries=16, show_spinner=False)
def _trained(
    fit_hash: str, version: str, folder: str, _db: Database, _fit: Fit, _family: Family[Any]
) -> FamilyCells | None:
    """Return the cells of a family, from the smallest run of a fit, with the settings that all its runs share."""
    smallest = {name: _fit.data.ranges[name][0] for name in ("N", "D") if name in _fit.data.ranges}
    return cells_of_family(_family, fixed_fields(_db, _fit, _family), smallest)


def _has_sizes(db: Database, table: str) -> bool:
    """Return whether a table has N, and D or C."""
    roles = tables.roles(db, table)
    return bool(roles.column(Role.N) and (roles.column(Role.D) or roles.column(Role.C)))


def fixed_fields(db: Database, fit: Fit, family: Family[Any]) -> Mapping[str, Value]:
    """Return the fields of ``family`` that have the same value in all runs of the table of ``fit``.

    Fields with their default values, the two main fields and the fields of all families are left out.
    """
    key, left_out = table_of_fit(db, fit.hash), {*main_fields(family), *Cell.model_fields}
    fields = {name: about for name, about in family.cell.model_fields.items() if name not in left_out}
    found = dict[str, Value]()
    for column in tables.columns(db, key) if key is not None else ():
        value = _only_value(column)
        if column.name not in fields or value is None:
            continue
        value = int(value) if kind_of(fields[column.name]) == "integer" else value
        if value != fields[column.name].default:
            found[column.name] = value
    return found


def _only_value(column: Column) -> float | str | None:
    """Return the value of a column without empty cells in which all cells are equal; otherwise None."""
    if column.missing or column.infinite:
        return None
    if column.kind == "number":
        return column.minimum if column.minimum == column.maximum else None
    return column.examples[0] if column.distinct == 1 and len(column.examples) == 1 else None


def offer(db: Database, cells: ListedCells, rows: Sequence[int]) -> None:
    """Show the estimate for the cells at ``rows`` and the button that trains them, if Isoplan can train them."""
    if cells.family is None or cells.of_family is None or not rows or db.folder is None or permission.why_not():
        return
    queue, family, grid = queue_of(db.folder), cells.family, cells.of_family.chosen(rows)
    text = write_grid(grid)
    found = costs.preview(text, family.version, str(queue.root), grid, family)
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(f"Train {plural(len(rows), 'cell')}", type="primary", icon=":material/model_training:"):
            with writing(queue.root):
                made = launch(queue.root, grid, family)
            standing.changed()
            st.switch_page("views/train.py", query_params={"family": family.name, "sweep": made.key})
        costs.show_costs(costs.estimated(queue, family, found, text), Cap())
