"""Options of a question that chooses cells: the list of cells to choose from, and the file of the chosen cells."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoplan.app.commands.shared import reading
from isoplan.app.commands.shared.options import parameter
from isoplan.app.commands.shared.output import note
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.questions.declaration import CellsInput

if TYPE_CHECKING:
    from isoplan.app.candidate_cells import FamilyCells
    from isoplan.engine.design.candidates import Candidates

CANDIDATES, ROLES, GRID, WORKSPACE, OUT = "candidates", "map_candidates", "grid_file", "workspace", "out"
"""Names of the parameters. The parameter of ``--grid`` is named ``grid_file``, because other questions have a price
named ``grid``."""
Columns = Annotated[list[str] | None, typer.Option(metavar="ROLE=COLUMN,...", help="Columns of --candidates.")]
GridFile = Annotated[
    Path | None,
    typer.Option(
        "--grid", metavar="GRID.toml", help="Grid of the cells to choose from, as for `isoplan train`; or a preset."
    ),
]
Folder = Annotated[Path | None, typer.Option(file_okay=False, help="Workspace with the family of --grid.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE.toml", help="Write the chosen cells of --grid, for `isoplan train`."),
]


@dataclass(frozen=True, eq=False)
class ListedCells:
    """The cells to choose from, and the file ``out`` for the chosen cells.

    ``of_family`` contains the cells of --grid; None without --grid.
    """

    candidates: Candidates
    of_family: FamilyCells | None = None
    out: Path | None = None

    def write(self, rows: Sequence[int]) -> None:
        """Write the cells at ``rows`` to the file ``out``, if ``out`` is given.

        Raises PlannerError if there are no rows, or if the file cannot be written.
        """
        from isoplan.trainers.grid import write_grid

        if self.out is None or self.of_family is None:
            return
        if not rows:
            raise PlannerError(
                f"{self.out} is not written, because no cells are recommended for this spend. Change the spend."
            )
        try:
            self.out.write_text(write_grid(self.of_family.chosen(rows)), encoding="utf-8")
        except OSError as error:
            raise _cannot_write(self.out, error.strerror or "") from None


def _cannot_write(out: Path, why: str) -> PlannerError:
    return PlannerError(f"--out cannot write {out} ({why}): choose another file.")


def options(cells: CellsInput) -> Iterator[inspect.Parameter]:
    """Yield the options of a question that chooses from listed cells."""
    table = Annotated[Path | None, typer.Option(metavar="CELLS.csv", help=cells.help)]
    for name, kind in {CANDIDATES: table, ROLES: Columns, GRID: GridFile, WORKSPACE: Folder, OUT: Out}.items():
        yield parameter(name, kind, None)


def read_listed(texts: Mapping[str, Any], rule: ComputeRule) -> ListedCells | None:
    """Return the cells that the options name; None if no option names cells.

    ``rule`` gives the compute of cells whose table has no column C. Raises PlannerError if the options contradict each
    other, or if the cells cannot be read.
    """
    table, grid, out = texts[CANDIDATES], texts[GRID], texts[OUT]
    if table is not None and grid is not None:
        raise PlannerError("--candidates and --grid both list the cells to choose from: keep one.")
    for option, of in ((OUT, GRID), (WORKSPACE, GRID), (ROLES, CANDIDATES)):
        if texts[option] and texts[of] is None:
            names = [f"--{name.replace('_', '-').removesuffix('-file')}" for name in (option, of)]
            raise PlannerError(f"{names[0]} needs {names[1]}: add {names[1]}.")
    if table is not None:
        return ListedCells(_read_table(table, texts[ROLES], rule))
    if grid is None:
        return None
    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise _cannot_write(out, "not a file in an existing folder")
    found = _read_grid(grid, texts[WORKSPACE], rule)
    return ListedCells(found.candidates, found, out)


def _read_table(file: Path, roles: list[str] | None, rule: ComputeRule) -> Candidates:
    from isoplan.engine.design.candidates import candidates_of, left_out
    from isoplan.engine.store.files.table_files import read_cells

    cells = read_cells(file, reading.read_map(roles or []), rule)
    candidates = candidates_of(cells)
    note(left_out(cells))
    return candidates


def _read_grid(file: Path, workspace: Path | None, rule: ComputeRule) -> FamilyCells:
    from isoplan.app.candidate_cells import cells_of_grid
    from isoplan.engine.store.folders import default_folder
    from isoplan.trainers.backend.queue.cells import Queue
    from isoplan.trainers.families import find_family
    from isoplan.trainers.grid import open_grid

    root = workspace or default_folder()
    grid = open_grid(file, root)
    found = cells_of_grid(grid, find_family(grid.family, root), Queue(root).scan(), rule)
    note(found.notes)
    return found
