"""Choice of the cells from which a question chooses, and the button that trains the chosen cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from isoplan.app.candidate_cells import FamilyCells, cells_of_family
from isoplan.app.cell_service import queue_of
from isoplan.app.planned_cells import of_answer, of_grid
from isoplan.app.views.planning.nearer_cells import family_of_table
from isoplan.app.views.training import costs, permission, standing
from isoplan.app.views.widgets.cache import HASHED
from isoplan.app.views.widgets.inputs import words
from isoplan.app.views.widgets.parts import distinct, escape_markdown, plural
from isoplan.app.views.widgets.state import choose_named
from isoplan.engine.cell_files import FILES, TITLES, write_cells
from isoplan.engine.costs import ComputeRule
from isoplan.engine.design.candidates import Candidates, candidates_of, left_out
from isoplan.engine.planning.questions.answer import Answer
from isoplan.engine.planning.questions.declaration import CellsInput
from isoplan.engine.schema import Role, Roles, Runs
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import snapshots, tables
from isoplan.trainers.backend.queue.sweep import Cap, launch
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.cell import Cell, Family
from isoplan.trainers.families import main_fields
from isoplan.trainers.grid import write_grid
from isoplan.trainers.ranges import Value, kind_of

TRAINED, GRID = "trained", "grid"
"""Keys of two sources in the link: the family that trained the runs, and a grid over N and D."""
LONGEST = 60
"""Maximum number of characters of the name of a table."""


@dataclass(frozen=True, eq=False)
class ListedCells:
    """The cells to choose from. ``of_family`` are the cells of ``family``; both are None for the cells of a table."""

    candidates: Candidates
    family: Family[Any] | None = None
    of_family: FamilyCells | None = None


def choose(
    db: Database, table_id: str | None, runs: Runs | None, rule: ComputeRule, source: CellsInput
) -> ListedCells | None:
    """Show the selection of the cells to choose from; return these cells, or None for a grid over N and D.

    If a family of cells trains runs like those of the table, this family is the first option. ``rule`` gives the
    compute of cells of another table.
    """
    family = family_of_table(db, table_id)
    own = None if family is None else _cells_like(db, table_id, runs, family)
    found = {one.id: one for one in tables.all(db) if not one.read_only}
    roles = {key: tables.roles(db, key) for key in found}
    listed = distinct({key: one.name[:LONGEST] for key, one in found.items() if _has_sizes(roles[key])})
    trained = {TRAINED: f"cells of the trainer {family.title}"} if family is not None and own is not None else {}
    names = {**trained, GRID: "any N and D", **{key: f"cells of {name}" for key, name in listed.items()}}
    words("from")
    chosen = choose_named(source.label, names, source.link, next(iter(names)), width=260, label_visibility="collapsed")
    if chosen == TRAINED and own is not None:
        return ListedCells(own.candidates, family, own)
    if chosen not in found:
        return None
    mapping = roles[chosen].of_cells(rule, [column.name for column in tables.columns(db, chosen)])
    cells = _cells_in((chosen, found[chosen].rows, mapping.model_dump_json()), db, mapping)
    for note in left_out(cells):
        st.caption(escape_markdown(note))
    return ListedCells(candidates_of(cells))


def _has_sizes(roles: Roles) -> bool:
    """Return whether a table has N, and D or C."""
    return bool(roles.column(Role.N) and (roles.column(Role.D) or roles.column(Role.C)))


@st.cache_resource(max_entries=16, show_spinner="Reading the cells", hash_funcs=HASHED)
def _cells_in(version: tuple[str, int, str], db: Database, _roles: Roles) -> Runs:
    """Return the sizes and costs in a table; ``version`` contains its id, its number of rows and its mapping."""
    return snapshots.runs(db, snapshots.take(db, version[0], _roles))


def _cells_like(db: Database, table_id: str | None, runs: Runs | None, family: Family[Any]) -> FamilyCells | None:
    """Return cells of ``family`` that are at least as large as the smallest run. Known cells are left out.

    A cell is known if it is in ``runs`` or in the queue.
    """
    known = set() if runs is None else set(map(str, runs.labels.get("run", ())))
    if db.folder is not None:
        known |= set(standing.look(queue_of(db.folder)).records)
    columns = () if table_id is None else tables.columns(db, table_id)
    fixed = {} if runs is None else fixed_fields(columns, runs, family)
    smallest = {} if runs is None else {name: float(runs[name].min()) for name in ("N", "D") if name in runs}
    return _cells_of(family.version, dict(fixed), smallest, frozenset(known), family)


@st.cache_resource(max_entries=16, show_spinner=False)
def _cells_of(
    version: str, fixed: dict[str, Value], smallest: dict[str, float], known: Collection[str], _family: Family[Any]
) -> FamilyCells | None:
    return cells_of_family(_family, fixed, smallest, known)


def fixed_fields(columns: Sequence[Column], runs: Runs, family: Family[Any]) -> Mapping[str, Value]:
    """Return the fields of ``family`` that have the same value in all ``runs`` of a table with these ``columns``.

    The field that names the group of a run is included if all runs have the same group. Fields with their default
    values, the two main fields and the fields of all families are left out.
    """
    left, found = {*main_fields(family), *Cell.model_fields}, dict[str, Value]()
    texts = {column.name: text for column in columns if (text := _only_value(column))}
    for name, category in runs.categories.items():
        if len(category.counts) == 1:
            texts[name] = next(iter(category.counts))
    if runs.roles.group and len(groups := set(runs.labels["group"])) == 1:
        texts[runs.roles.group] = str(groups.pop())
    for name, about in family.cell.model_fields.items():
        if name not in left and texts.get(name):
            value = _parse(texts[name], kind_of(about))
            found |= {name: value} if value != about.default else {}
    return found


def _only_value(column: Column) -> str:
    """Return the value of a column whose cells are all equal, as text; "" for any other column."""
    if column.missing or column.infinite:
        return ""
    if column.kind == "number":
        return repr(column.minimum) if column.minimum == column.maximum else ""
    return column.examples[0] if column.distinct == 1 and len(column.examples) == 1 else ""


def _parse(text: str, kind: str) -> Value:
    """Return the value of a field of the type ``kind``, read from the ``text`` of a table cell."""
    if kind == "boolean":
        return text.lower() in ("true", "1")
    return int(float(text)) if kind == "integer" else float(text) if kind == "number" else text


def download(answer: Answer, cells: ListedCells | None) -> None:
    """Show a menu that downloads the chosen cells as files of other tools, and as a grid if Isoplan trains them."""
    grid = cells.of_family.chosen(answer.rows) if cells is not None and cells.of_family and answer.rows else None
    family = cells.family if cells is not None else None
    planned = of_answer(answer) if grid is None or family is None else of_grid(grid, family)
    if not planned.cells or (cells is not None and not answer.rows):
        return
    with st.popover("Download cells", icon=":material/download:"):
        for form, title in TITLES.items():
            st.download_button(title, write_cells(planned, form), FILES[form], key=f"cells_{form}", on_click="ignore")
        if grid is not None:
            st.download_button("Isoplan grid", write_grid(grid), "grid.toml", key="cells_grid", on_click="ignore")


def offer(db: Database, cells: ListedCells, rows: Sequence[int]) -> None:
    """Show the estimate for the cells at ``rows`` and the button that trains them, if Isoplan can train them."""
    if cells.family is None or cells.of_family is None or not rows:
        return
    if reason := permission.why_not():
        st.caption(f":material/block: {escape_markdown(reason)}")
    if reason or db.folder is None:
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
