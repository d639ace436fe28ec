"""Options of a question that chooses cells: the list of cells to choose from, and the file of the chosen cells."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
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
    from isoplan.engine.planning.questions.answer import Answer
    from isoplan.trainers.cell import Family

CANDIDATES, ROLES, GRID, WORKSPACE = "candidates", "map_candidates", "grid_file", "workspace"
OUT, AS = "out", "as_format"
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
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write the chosen cells: .toml (with --grid), .yaml, .py, .sh or .csv.",
    ),
]
As = Annotated[
    str | None,
    typer.Option("--as", metavar="wandb|optuna|slurm|csv", help="Format of --out; by default that of the ending."),
]


@dataclass(frozen=True, eq=False)
class ListedCells:
    """The cells to choose from.

    ``of_family`` contains the cells of --grid, and ``family`` is their family. Both are None without --grid.
    """

    candidates: Candidates
    of_family: FamilyCells | None = None
    family: Family[Any] | None = None


@dataclass(frozen=True)
class OutFile:
    """The file for the chosen cells, and its format. The format "" denotes a grid file of Isoplan."""

    path: Path
    form: str

    def write(self, answer: Answer, cells: ListedCells | None) -> None:
        """Write the chosen cells of ``answer``. Raises PlannerError if there are none, or if they cannot be written."""
        from isoplan.app.planned_cells import of_answer, of_grid, write_file
        from isoplan.engine.cell_files import write_cells
        from isoplan.trainers.grid import write_grid

        of_family = cells.of_family if cells is not None else None
        if cells is not None and not answer.rows:
            raise PlannerError(
                f"{self.path} is not written, because no cells are recommended for this spend. Change the spend."
            )
        grid = of_family.chosen(answer.rows) if of_family is not None else None
        if grid is None or cells is None or cells.family is None:
            write_file(self.path, write_cells(of_answer(answer), self.form))
        elif self.form:
            write_file(self.path, write_cells(of_grid(grid, cells.family), self.form))
        else:
            write_file(self.path, write_grid(grid))


def read_out(texts: Mapping[str, Any]) -> OutFile | None:
    """Return the file of --out; None without it. Raises PlannerError if the options contradict each other."""
    from isoplan.app.planned_cells import cannot_write
    from isoplan.engine.cell_files import format_of

    out, form = texts[OUT], texts[AS] or ""
    if out is None:
        if form:
            raise PlannerError("--as needs --out: add --out.")
        return None
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise cannot_write(out, "not a file in an existing folder")
    if texts[GRID] is not None and not form and out.suffix.lower() in ("", ".toml"):
        return OutFile(out, "")
    if texts[GRID] is None and not form and out.suffix.lower() == ".toml":
        raise PlannerError(
            "--out needs --grid for a .toml file: add --grid, or write another format, such as .yaml or .csv."
        )
    return OutFile(out, format_of(out, form))


def options(cells: CellsInput) -> Iterator[inspect.Parameter]:
    """Yield the options of a question that chooses from listed cells."""
    table = Annotated[Path | None, typer.Option(metavar="CELLS.csv", help=cells.help)]
    for name, kind in {CANDIDATES: table, ROLES: Columns, GRID: GridFile, WORKSPACE: Folder, OUT: Out, AS: As}.items():
        yield parameter(name, kind, None)


def read_listed(texts: Mapping[str, Any], rule: ComputeRule) -> ListedCells | None:
    """Return the cells that the options name; None if no option names cells.

    ``rule`` gives the compute of cells whose table has no column C. Raises PlannerError if the options contradict each
    other, or if the cells cannot be read.
    """
    table, grid = texts[CANDIDATES], texts[GRID]
    if table is not None and grid is not None:
        raise PlannerError("--candidates and --grid both list the cells to choose from: keep one.")
    for option, of in ((WORKSPACE, GRID), (ROLES, CANDIDATES)):
        if texts[option] and texts[of] is None:
            names = [f"--{name.replace('_', '-').removesuffix('-file')}" for name in (option, of)]
            raise PlannerError(f"{names[0]} needs {names[1]}: add {names[1]}.")
    if table is not None:
        return ListedCells(_read_table(table, texts[ROLES], rule))
    if grid is None:
        return None
    return _read_grid(grid, texts[WORKSPACE], rule)


def _read_table(file: Path, roles: list[str] | None, rule: ComputeRule) -> Candidates:
    from isoplan.engine.design.candidates import candidates_of, left_out
    from isoplan.engine.store.files.table_files import read_cells

    cells = read_cells(file, reading.read_map(roles or []), rule)
    candidates = candidates_of(cells)
    note(left_out(cells))
    return candidates


def _read_grid(file: Path, workspace: Path | None, rule: ComputeRule) -> ListedCells:
    from isoplan.app.candidate_cells import cells_of_grid
    from isoplan.engine.store.folders import default_folder
    from isoplan.trainers.backend.queue.cells import Queue
    from isoplan.trainers.families import find_family
    from isoplan.trainers.grid import open_grid

    root = workspace or default_folder()
    grid = open_grid(file, root)
    family = find_family(grid.family, root)
    found = cells_of_grid(grid, family, Queue(root).scan(), rule)
    note(found.notes)
    return ListedCells(found.candidates, found, family)
