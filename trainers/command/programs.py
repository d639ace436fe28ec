"""The programs that the operator of a workspace allows in ``programs.toml``. Each program is a family of cells.

A cell is one training run. In the browser, users select a program and cannot type a command. A command is a list of
arguments and is never passed to a shell.
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.trainers.cell import ZERO, Cell, Family, Preset, Resources, Sizes, canonical
from isoplan.trainers.command.process import NAME, train

FILE = "programs.toml"
EXAMPLE = Path(__file__).with_name(FILE)
"""Path of the bundled ``programs.toml`` with the example program of the documentation."""
PYTHON = "{python}"
"""Placeholder in a command, which is replaced by the path of the Python that runs Isoplan."""
EARLIER = {"isoplan.trainers.command.example": ".".join(("trainers", "command", "example"))}
"""Module of the bundled program, and its module name up to version 0.1.

The file ``programs.toml`` of an older workspace may contain the earlier name.
"""
Formula = Callable[[Mapping[str, ArrayLike]], Any]
KINDS: dict[str, type] = {"integer": int, "number": float, "text": str, "choice": str, "boolean": bool}


class FieldOf(BaseModel):
    """A field of a program's cells, as the operator describes it in ``programs.toml``.

    ``zero`` is a word such as ``automatic`` that forms show instead of 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["integer", "number", "text", "choice", "boolean"]
    title: str = ""
    description: str = ""
    default: int | float | str | bool | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    zero: str = ""


class Program(BaseModel):
    """A program: its ``command``, the fields of its cells, its metrics, and its resources.

    - ``main``: the fields that a form always shows.
    - ``sizes``: formulas that compute N, D, U and C (FLOPs) from the fields.
    - ``silence``: seconds without output after which the program counts as hanging.
    - ``short``: field values of a cell that takes about one second. This cell measures the speed of the program.
    - ``example``: an example grid, as a user types it into the fields.
    - ``environment``: names of additional environment variables that the program gets.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str = ""
    summary: str = ""
    main: tuple[str, ...] = ()
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    fields: dict[str, FieldOf] = {}
    loss: str = "loss"
    metrics: dict[str, Literal["min", "max"]] = {}
    sizes: dict[Literal["N", "D", "U", "C"], str] = {}
    silence: Annotated[float, Field(gt=0)] = 600.0
    memory_gb: Annotated[float, Field(ge=0)] = 0.0
    gpu_memory_gb: Annotated[float, Field(ge=0)] = 0.0
    short: dict[str, int | float | str | bool] = {}
    example: dict[str, str] = {}
    environment: tuple[str, ...] = ()

    @field_validator("command")
    @classmethod
    def _renamed(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        """Replace the earlier name of the bundled program by its present name."""
        names = {old: new for new, old in EARLIER.items()}
        return tuple(names.get(part, part) for part in command)

    @field_validator("sizes")
    @classmethod
    def _readable(cls, sizes: dict[str, str]) -> dict[str, str]:
        for formula in sizes.values():
            _formula(formula)
        return sizes

    @field_validator("environment")
    @classmethod
    def _names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not a name of a variable: write names without values")
        return names


def families(root: Path) -> tuple[Family[Any], ...]:
    """Return the programs of the workspace ``root`` and the bundled example.

    A program of the workspace with the name of the example replaces the example. Raises PlannerError if the file
    ``programs.toml`` has an error.
    """
    own = root / FILE
    found = {**_read(EXAMPLE, EXAMPLE.stat().st_mtime_ns)}
    if own.exists():
        found |= _read(own, own.stat().st_mtime_ns)
    return tuple(found.values())


@lru_cache(maxsize=16)
def _read(path: Path, changed: int) -> dict[str, Family[Any]]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlannerError(f"The programs in {path} cannot be read: {error}.") from error
    found = {}
    for name, described in raw.items():
        try:
            found[name] = _family(name, Program.model_validate(described))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in (name, *first["loc"]))
            raise PlannerError(f"{path}: {where} is wrong: {first['msg']}.") from error
        except PlannerError as error:
            raise PlannerError(f"{path}: {name}.sizes is wrong: {error}") from error
    return found


def _family(name: str, program: Program) -> Family[Any]:
    command = tuple(sys.executable if part == PYTHON else part for part in program.command)
    formulas: dict[str, Formula] = {size: _formula(text) for size, text in program.sizes.items()}
    return Family(
        name=name,
        title=program.title or name,
        cell=_cell_of(name, program),
        train=partial(train, command, program.loss, program.silence, program.environment),
        sizes=partial(_sizes, formulas),
        needs=lambda cell: Resources(cell.threads, program.memory_gb * 1e9, program.gpu_memory_gb * 1e9),
        calibration_cell=lambda cell: cell.model_copy(update=dict(program.short)) if program.short else None,
        loss=program.loss,
        metrics=program.metrics,
        presets={"example": Preset(program.example, "Trains within a minute or two.")} if program.example else {},
        version=_version(program.command),
        summary=program.summary,
        main=program.main,
    )


def _version(command: tuple[str, ...]) -> str:
    """Return the version of a program, a hash of its command.

    For the bundled program, the hash uses the module name of version 0.1. Cells that were trained with that version
    therefore have unchanged names.
    """
    return hashlib.sha256(canonical([EARLIER.get(part, part) for part in command])).hexdigest()[:12]


def _formula(text: str) -> Formula:
    """Return the function that computes a formula from the fields of a cell. Raises PlannerError if it is invalid."""
    return ComputeRule(rule="formula", formula=text).parsed


def _sizes(formulas: dict[str, Formula], cell: Cell) -> Sizes:
    """Return N, D, U and C of a cell, computed by the operator's formulas."""
    fields = {name: float(x) for name, x in cell.model_dump().items() if isinstance(x, (int, float))}
    return Sizes(**{size: float(formula(fields)) for size, formula in formulas.items()})


def _cell_of(name: str, program: Program) -> type[Cell]:
    """Return the model class of the cells of a program."""
    fields: dict[str, Any] = {}
    for field, described in program.fields.items():
        kind: Any = KINDS[described.kind]
        if described.kind == "choice":
            kind = Literal[described.choices]
        default: Any = ... if described.default is None else described.default
        about = Field(
            default, title=described.title or field, description=described.description,
            ge=described.minimum, le=described.maximum,
            json_schema_extra={ZERO: described.zero} if described.zero else None,
        )  # fmt: skip
        fields[field] = (kind, about)
    return create_model(f"Cell of {name}", __base__=Cell, **fields)
