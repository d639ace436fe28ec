"""Planned cells for files of other tools: cells of a grid, chosen cells of an answer, or the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isoplan.engine.cell_files import PlannedCells, chosen_cells
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.questions.answer import Answer
from isoplan.trainers.cell import Family
from isoplan.trainers.grid import Grid, cells, open_grid


def of_grid(grid: Grid, family: Family[Any]) -> PlannedCells:
    """Return the cells of ``grid`` with the fields that it sets."""
    given = {*grid.asked, *(field for part in grid.listed for field in part)}
    fields = [field for field in family.cell.model_fields if field in given]
    made = ({field: getattr(cell, field) for field in fields} for cell in cells(grid, family))
    return PlannedCells(grid.name or family.name, tuple(made))


def of_answer(answer: Answer) -> PlannedCells:
    """Return the chosen cells of an answer to "Next cells", with their sizes, in the order of training."""
    return chosen_cells(answer.document.body if answer.document is not None else {})


def of_file(file: Path, root: Path) -> PlannedCells:
    """Return the cells in a grid file or a preset of the workspace ``root``, or the rows of a table.

    Raises PlannerError if the file cannot be read.
    """
    from isoplan.engine.store.files.table_files import read_rows
    from isoplan.trainers.families import find_family

    if file.suffix.lower() == ".toml" or not file.suffix:
        grid = open_grid(file, root)
        return of_grid(grid, find_family(grid.family, root))
    return PlannedCells(file.stem, tuple(read_rows(file)))


def write_file(out: Path, text: str) -> None:
    """Write ``text`` to the file ``out``. Raises PlannerError if the file cannot be written."""
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise cannot_write(out, error.strerror or "") from None


def cannot_write(out: Path, why: str) -> PlannerError:
    """Return the error for a file that cannot be written."""
    return PlannerError(f"--out cannot write {out} ({why}): choose another file.")
