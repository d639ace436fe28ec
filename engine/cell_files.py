"""Files of planned cells for other tools: a W&B sweep, an Optuna script, a Slurm job array, and CSV.

A cell is one planned training run, given by its settings (name -> value). The files start the user's own program. All
names and values are quoted, because they may come from untrusted files.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.escaping import as_text

Value = bool | int | float | str
ENDINGS = {
    **dict.fromkeys((".yaml", ".yml"), "wandb"),
    **dict.fromkeys((".py",), "optuna"),
    **dict.fromkeys((".sh", ".sbatch", ".slurm"), "slurm"),
    ".csv": "csv",
}
"""File extension -> format."""
TITLES = {"wandb": "W&B sweep", "optuna": "Optuna script", "slurm": "Slurm array", "csv": "CSV"}
"""Format -> its name on pages."""
FILES = {"wandb": "sweep.yaml", "optuna": "enqueue.py", "slurm": "array.sh", "csv": "cells.csv"}
"""Format -> default file name."""
NEXT_CELLS, SIZES = "Next cells", ("row", "N", "D")
"""Name of the sweep of the cells that "Next cells" chooses, and the settings of each of these cells."""
COMBINED = "cell"
"""Parameter of a W&B sweep whose values are whole cells, as JSON text."""

WANDB_HEAD = f"""# Start with `wandb sweep FILE`, then `wandb agent`. train.py is your program.
# If the only parameter is {COMBINED}, each value is one cell: json.loads(wandb.config["{COMBINED}"])."""


@dataclass(frozen=True)
class PlannedCells:
    """Planned cells, in the order of training, and the name of their sweep."""

    name: str
    cells: tuple[Mapping[str, Value], ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all settings, in the order of the cells."""
        return tuple(dict.fromkeys(field for cell in self.cells for field in cell))


def chosen_cells(body: Mapping[str, Any]) -> PlannedCells:
    """Return the cells of a "Next cells" answer in JSON, in the order of training. Other answers contain no cells.

    A cell contains its sizes N and D. A cell from a list of the user also contains its row in this list.
    """
    cells = ({name: one[name] for name in SIZES if name in one} for one in body.get("next_cells", ()))
    return PlannedCells(NEXT_CELLS, tuple(cells))


def format_of(file: PurePath, chosen: str) -> str:
    """Return the format of a file: ``chosen`` or, if this is empty, the format of the file extension.

    Raises PlannerError if the format or the extension is unknown.
    """
    if chosen and chosen not in WRITERS:
        raise PlannerError(f"Option --as: {chosen!r} is unknown. Use one of {', '.join(WRITERS)}.")
    found = chosen or ENDINGS.get(file.suffix.lower(), "")
    if not found:
        raise PlannerError(f"{file}: the ending names no format. Use {', '.join(ENDINGS)}, or add --as wandb.")
    return found


def plain_value(value: Value) -> Value:
    """Convert a float such as 8.0 to an integer, because programs may require one. Return other values unchanged."""
    whole = isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 2**63
    return int(value) if whole else value


def write_wandb(planned: PlannedCells) -> str:
    """Return a sweep file of W&B: a grid of the settings, or a list of whole cells if the cells are not a full grid.

    The values of whole cells are JSON text in the parameter ``cell``.
    """
    values: dict[str, list[Value]] = {field: [] for field in planned.fields}
    for cell in planned.cells:
        for field, value in cell.items():
            values[field] += [] if value in values[field] else [value]
    every = {tuple(cell.items()) for cell in planned.cells}
    is_product = len(planned.cells) == len(every) == math.prod(map(len, values.values()))
    if not (is_product and all(len(cell) == len(values) for cell in planned.cells)):
        values = {COMBINED: [json.dumps(cell) for cell in planned.cells]}
    lines = [f"name: {_yaml(planned.name)}", "program: train.py", "method: grid", "parameters:"]
    for field, found in values.items():
        lines += [f"  {_yaml(field)}:", "    values:", *(f"      - {_yaml(value)}" for value in found)]
    return "\n".join([WANDB_HEAD, *lines]) + "\n"


def write_optuna(planned: PlannedCells) -> str:
    """Return a Python script that adds each cell to a study of Optuna. Running it again adds no duplicates."""
    cells = "\n".join(f"    {dict(cell)!r}," for cell in planned.cells)
    return f'''"""Add planned cells to a study of Optuna: python FILE [STORAGE]. Then your program optimises it."""

import sys

import optuna

NAME = {planned.name!r}
STORAGE = sys.argv[1] if len(sys.argv) > 1 else "sqlite:///optuna.db"
CELLS = [
{cells}
]

study = optuna.create_study(study_name=NAME, storage=STORAGE, direction="minimize", load_if_exists=True)
known = {{trial.user_attrs.get("cell") for trial in study.trials}}
for number, cell in enumerate(CELLS):
    if number not in known:
        study.enqueue_trial(cell, user_attrs={{"cell": number}})
'''


def write_slurm(planned: PlannedCells) -> str:
    """Return a script for ``sbatch``: a job array with one task for each cell. Settings are options of the program."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", planned.name).strip("-.") or "cells"
    cases = [f"{i}) set -- {' '.join(map(shlex.quote, _options(cell)))} ;;" for i, cell in enumerate(planned.cells)]
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={name}",
        f"#SBATCH --array=0-{len(planned.cells) - 1}",
        "# Start with: PROGRAM='python train.py' sbatch FILE. PROGRAM is your program; add #SBATCH lines as needed.",
        "set -eu",
        'case "$SLURM_ARRAY_TASK_ID" in',
        *cases,
        '*) echo "There is no cell $SLURM_ARRAY_TASK_ID." >&2; exit 2 ;;',
        "esac",
        'exec ${PROGRAM:-python train.py} "$@"',
    ]
    return "\n".join(lines) + "\n"


def write_csv(planned: PlannedCells) -> str:
    """Return the cells as CSV, one row for each cell. Texts that a spreadsheet would run as formulas are escaped."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(as_text, planned.fields))
    writer.writerows([as_text(cell.get(field, "")) for field in planned.fields] for cell in planned.cells)
    return out.getvalue()


WRITERS: Mapping[str, Callable[[PlannedCells], str]] = {
    "wandb": write_wandb,
    "optuna": write_optuna,
    "slurm": write_slurm,
    "csv": write_csv,
}


def write_cells(planned: PlannedCells, form: str) -> str:
    """Return the text of the file of ``planned`` in the format ``form``. Raises PlannerError if there is no cell."""
    if not planned.cells:
        raise PlannerError("Cells: there is no cell to write. Use an answer with chosen cells, or a list of cells.")
    pairs = (pair for cell in planned.cells for pair in cell.items())
    wrong = next((field for field, x in pairs if isinstance(x, float) and not math.isfinite(x)), "")
    if wrong:
        raise PlannerError(f"Cells: a value of {wrong!r} is not finite. Correct it.")
    cells = tuple({field: plain_value(x) for field, x in cell.items()} for cell in planned.cells)
    return WRITERS[form](PlannedCells(planned.name, cells))


def _options(cell: Mapping[str, Value]) -> list[str]:
    return [f"--{field}={value}" for field, value in cell.items()]


def _yaml(value: Value) -> str:
    """Return a value in YAML. Texts are in double quotes, with every unusual character escaped."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return re.sub(r"^(-?\d+)e", r"\1.0e", text)  # YAML 1.1 reads 1e+20 as text
    safe = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in value)
    return f'"{"".join(safe)}"'
