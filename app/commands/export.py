"""`isoplan export`: write planned cells as a file of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoplan.app.commands.shared.output import note, say
from isoplan.engine.errors import PlannerError


def export(
    cells: Annotated[
        Path, typer.Argument(metavar="CELLS", help="Grid file (.toml), preset FAMILY/NAME, or table of cells (.csv).")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help=".yaml (W&B), .py (Optuna), .sh (Slurm) or .csv."),
    ] = None,
    form: Annotated[
        str, typer.Option("--as", metavar="wandb|optuna|slurm|csv", help="Format; by default that of the ending.")
    ] = "",
    workspace: Annotated[
        Path | None, typer.Option(file_okay=False, help="Workspace with the family of the grid.")
    ] = None,
) -> None:
    """Write planned cells for W&B, Optuna or Slurm, or as CSV."""
    from isoplan.app.planned_cells import of_file, write_file
    from isoplan.engine.cell_files import format_of, write_cells
    from isoplan.engine.store.folders import usual_folder

    if out is None and not form:
        raise PlannerError("Option -o: no file is given. Add -o FILE, or --as wandb to print the cells.")
    chosen = format_of(out or Path(), form)
    planned = of_file(cells, workspace or usual_folder())
    text = write_cells(planned, chosen)
    if out is None:
        say(text.rstrip("\n"))
        return
    write_file(out, text)
    many = len(planned.cells)
    note([f"{many:,} cell{'s are' if many != 1 else ' is'} in {out}."])
