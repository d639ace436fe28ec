"""The interface between a family of trainers and the backend: cells, their sizes, and their progress reports.

A cell is one training run. A subpackage of ``trainers`` with a function ``families(workspace)`` provides families. To
add a family, no other code needs to change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from isoplan.engine.errors import PlannerError

CELL_DIGITS = 20
"""Number of hexadecimal digits of a cell's name. In a million cells, the probability of two equal names is 1e-12."""


NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
"""Pattern of the name of a dataset, which is a folder or a file in the workspace."""
ZERO = "zero"
"""Key in the JSON schema of a field. Its value is the word that forms show instead of 0, such as ``automatic``."""
AUTOMATIC = {ZERO: "automatic"}
PROCESS = 0.6e9
"""Memory in bytes of a process that has imported torch and trains nothing."""
Device = Annotated[
    Literal["auto", "cpu"],
    Field(title="Device", description="auto: a GPU if there is one, otherwise the CPU; cpu: never a GPU."),
]


class Cell(BaseModel):
    """The settings of one training run, with every value that affects the result. Equal cells give equal results.

    A family adds fields with a title, a description and bounds. The grid editor shows the fields, and they become
    columns of the run table. The values are numbers, texts or booleans.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    seed: Annotated[int, Field(ge=0, lt=2**31, title="Seed", description="Seed of all random numbers of the cell.")] = 0
    threads: Annotated[int, Field(ge=1, le=256, title="Threads", description="CPU threads of the cell.")] = 1
    deterministic: Annotated[
        bool, Field(title="Deterministic", description="Use only operations that give the same result each time.")
    ] = True

    @field_validator("*")
    @classmethod
    def _is_text(cls, value: object) -> object:
        """Check that a text can be encoded in UTF-8, because half of a surrogate pair cannot be written to a file."""
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError("it has an invalid character: type it again") from None
        return value


C = TypeVar("C", bound=Cell)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a cell for a scaling law: parameters N, samples D, unique samples U, and compute C in FLOPs.

    C is an analytic count. A size is None if it is unknown before the training; the result of the cell then contains
    this size. ``seen`` is the number of samples that pass through the model. It is set if this number can differ
    from D. For example, D is the number of training points in the amplitudes paper.
    """

    N: float | None = None
    D: float | None = None
    U: float | None = None
    C: float | None = None
    seen: float | None = None

    @property
    def passed(self) -> float | None:
        """The number of samples that pass through the model during training, or None if unknown."""
        return self.D if self.seen is None else self.seen


@dataclass(frozen=True)
class Resources:
    """Resources that a cell needs: CPU cores, bytes of memory, and bytes of GPU memory (0: no GPU)."""

    cores: int = 1
    memory: float = 0.0
    gpu_memory: float = 0.0


class Stopped(Exception):
    """Raised by ``RunContext.step`` if the cell must end now.

    A family saves a last checkpoint and does not catch this exception.
    """


class Died(Exception):
    """Raised if a process of the training crashed or was killed.

    The training is then tried again. The cell fails after three such attempts without a new checkpoint.
    """


class CellError(PlannerError):
    """Raised if a cell cannot be trained. The message is one sentence for the user. The training is not tried again."""


class RunContext(Protocol):
    """Interface of a running cell to the backend: its device, its checkpoints, and its progress reports."""

    @property
    def number(self) -> int:
        """The number of this attempt of the cell, from 1."""

    @property
    def device(self) -> str:
        """The device: ``cpu``, or a GPU in the notation of torch, such as ``cuda:0``."""

    @property
    def folder(self) -> Path:
        """The folder of the cell for its files and checkpoints."""

    @property
    def resume(self) -> Path | None:
        """The checkpoint of an earlier attempt, or None."""

    @property
    def stopping(self) -> bool:
        """Whether the cell was asked to stop. If true, the family must save a checkpoint and raise ``Stopped``."""

    def step(self, step: int, total: int | None = None, /, **values: float) -> None:
        """Report that ``step`` of ``total`` steps are completed, and measured ``values`` by name, such as the loss.

        Call this method at every step; only a part of the points is stored. Raises Stopped if the cell was asked to
        stop.
        """

    @property
    def checkpoint_due(self) -> bool:
        """Whether a new checkpoint is due."""

    def save(self, write: Callable[[Path], None]) -> None:
        """Save a checkpoint: ``write`` writes a temporary file, which then replaces the last checkpoint."""


@dataclass(frozen=True)
class Preset:
    """A preset grid. ``fields`` maps field names to texts as typed into a form; ``about`` is a line on the purpose."""

    fields: Mapping[str, str]
    about: str = ""


@dataclass(frozen=True)
class TableColumns:
    """The columns of the bundled tables of a family.

    ``fields`` are fields of a cell, ``measured`` are measured values of a cell, and ``curve`` are measured values at
    each point of a training curve.
    """

    fields: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    curve: tuple[str, ...] = ("loss",)

    @property
    def rows(self) -> tuple[str, ...]:
        """The columns of a table with one row per cell."""
        return ("run", *self.fields, *self.measured, "seconds", "version")

    @property
    def points(self) -> tuple[str, ...]:
        """The columns of the table of curves, with one row per point."""
        return ("run", "update", "samples", *self.curve)


@dataclass(frozen=True, eq=False)
class Family(Generic[C]):
    """A kind of training, with the functions and texts that the backend and the pages need.

    - ``train(cell, context)`` trains a cell and returns its measured values by name.
    - ``sizes(cell)`` returns N, D, U and C, and ``needs(cell)`` the resources of a cell.
    - ``calibration_cell(cell)`` is a cell of about one second that measures the training speed of this machine. It is
      None if no shorter cell exists.
    - ``simulation(cells)`` is the core time in seconds to simulate the missing samples of ``cells`` before their
      training. It is None if this time was not measured.
    - ``check(cell)`` raises PlannerError if fields are incompatible.
    - ``loss`` is the name of the value that scaling laws describe. ``metrics`` maps the names of the other values to
      "min" (smaller is better) or "max" (larger is better).
    - ``title`` is the name for users, such as ``Jet tagger``. ``summary`` is one sentence about the models and the
      task.
    - ``main`` lists the fields that a form always shows: the model size and the number of samples. If ``main`` is
      empty, a form shows the first two numeric fields.
    - ``presets`` are initial grids by name, in lower case with hyphens. Forms show the preset "example" first.
      This preset trains within two minutes.
    - ``version`` must change if a change of the code changes the results of cells.
    - ``bundled`` are the columns of the tables that ``isoplan.trainers.bundle`` writes.
    """

    name: str
    title: str
    cell: type[C]
    train: Callable[[C, RunContext], Mapping[str, float]]
    sizes: Callable[[C], Sizes]
    needs: Callable[[C], Resources] = lambda cell: Resources(cores=cell.threads)
    calibration_cell: Callable[[C], C | None] = lambda cell: None
    simulation: Callable[[Sequence[C]], float | None] = lambda cells: None
    check: Callable[[C], None] = lambda cell: None
    loss: str = "loss"
    metrics: Mapping[str, Literal["min", "max"]] = field(default_factory=dict)
    presets: Mapping[str, Preset] = field(default_factory=dict)
    version: str = "1"
    bundled: TableColumns = TableColumns()
    summary: str = ""
    main: tuple[str, ...] = ()


def cell_name(family: Family[Any], cell: Cell) -> str:
    """Return the name of a cell, a hash of its family and all its fields.

    Equal cells have one name and run only once.
    """
    whole = {"family": family.name, "version": family.version, "cell": cell.model_dump(mode="json")}
    return hashlib.sha256(canonical(whole)).hexdigest()[:CELL_DIGITS]


def canonical(value: Any) -> bytes:
    """Return a unique JSON text of ``value``, with sorted keys and without spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()
