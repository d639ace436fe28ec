"""What a cell is, what it returns, and what it streams while it runs: all that a family of trainers has to know.

A family is a folder of ``trainers`` whose package has ``families(workspace)``. Nothing else is touched to add one.
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
"""Hexadecimal digits of a cell's name: two of a million cells share one with probability 1e-12."""


class Cell(BaseModel):
    """One point of a grid: every number that the training depends on, so that the same cell gives the same run.

    A family adds fields of its own, each with a title, a description and bounds: they are what the grid editor asks for
    and what a row of the run table holds. Fields are plain values (numbers, words, yes or no).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    seed: Annotated[int, Field(ge=0, lt=2**31, title="Seed", description="Of everything random in the cell.")] = 0
    threads: Annotated[int, Field(ge=1, le=256, title="Threads", description="CPU threads of the cell.")] = 1
    deterministic: Annotated[
        bool, Field(title="Deterministic", description="Only operations that give the same digits every time.")
    ] = True

    @field_validator("*")
    @classmethod
    def _is_text(cls, value: object) -> object:
        """Half of a surrogate pair is no text: no file can hold it."""
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError("it has a character that is no text: type it anew") from None
        return value


C = TypeVar("C", bound=Cell)


@dataclass(frozen=True)
class Sizes:
    """What a law reads of a cell: parameters N, samples seen D, unique samples U, and C in FLOPs by analytic count.

    None where the family cannot say before the cell has run; what it reports then stands in its place. ``seen`` are
    the samples that pass through the model, where D counts something else (the paper on amplitudes: training points).
    """

    N: float | None = None
    D: float | None = None
    U: float | None = None
    C: float | None = None
    seen: float | None = None

    @property
    def passed(self) -> float | None:
        """Samples that pass through the model until the cell ends."""
        return self.D if self.seen is None else self.seen


@dataclass(frozen=True)
class Resources:
    """What a cell takes of a machine: CPU cores, bytes of memory, bytes of GPU memory (zero: no GPU)."""

    cores: int = 1
    memory: float = 0.0
    gpu_memory: float = 0.0


class Stopped(Exception):
    """Raised by ``RunContext.step`` when the cell must end now; a family lets it pass after its last checkpoint."""


class Died(Exception):
    """Raised if a process of the training crashed or was killed: the cell gets up to three attempts."""


class CellError(PlannerError):
    """A cell that cannot be trained: one sentence for the user. Trying again would not help."""


class RunContext(Protocol):
    """What a running cell is given: where it runs, where it left off, and where it says how it goes."""

    @property
    def number(self) -> int:
        """Which attempt of the cell this is, from 1."""

    @property
    def device(self) -> str:
        """``cpu``, or the GPU as torch names it, ``cuda:0``."""

    @property
    def folder(self) -> Path:
        """A folder of the cell's own for what it wants to keep, checkpoints included."""

    @property
    def resume(self) -> Path | None:
        """The checkpoint of an attempt before this one; None where there is none."""

    @property
    def stopping(self) -> bool:
        """Whether the cell has been asked to stop: save a checkpoint and raise ``Stopped``."""

    def step(self, step: int, total: int | None = None, /, **values: float) -> None:
        """Say how far the cell is (``step`` of ``total``) and what it measured: loss, samples, anything by name.

        Call it at every step: it keeps one point out of many. Raises Stopped where the cell was asked to stop.
        """

    @property
    def checkpoint_due(self) -> bool:
        """Whether the last checkpoint is old enough for another."""

    def save(self, write: Callable[[Path], None]) -> None:
        """Keep a checkpoint: ``write`` puts it into the file that it is given, which then replaces the last one."""


@dataclass(frozen=True)
class Preset:
    """A grid to begin with: ``fields`` as one types them into a form, and ``about``, in a line, what it is for."""

    fields: Mapping[str, str]
    about: str = ""


@dataclass(frozen=True, eq=False)
class Family(Generic[C]):
    """A kind of training.

    ``train(cell, stream)`` trains and returns what it measured by name; ``loss`` names the one that laws describe and
    ``metrics`` the others with the direction that is better. ``sizes(cell)`` says N, D, U and C.
    ``calibration_cell(cell)`` is a cell of about a second whose time gives the training speed of this machine; None if
    no shorter cell exists.
    ``simulation(cells)`` are the core seconds that cells simulate before they train, None where no time was measured.
    ``check(cell)`` raises CellError for fields that do not go together. ``presets`` are grids to begin with by name,
    words with hyphens; the one called example trains within a minute or two. Another ``version`` gives other results.
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


def cell_name(family: Family[Any], cell: Cell) -> str:
    """The name of a cell: a hash of its family and all its fields, so that the same cell is run once."""
    whole = {"family": family.name, "version": family.version, "cell": cell.model_dump(mode="json")}
    return hashlib.sha256(canonical(whole)).hexdigest()[:CELL_DIGITS]


def canonical(value: Any) -> bytes:
    """JSON that is the same for the same value: sorted, without spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()
