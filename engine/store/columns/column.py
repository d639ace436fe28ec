"""Columns of a table, and conversions of their cells to numbers. This module does not read the database.

A conversion is a short text in a mapping. It consists of a number format of text (``suffix``, ``comma``, ``point`` or
``thousands``), a unit (``millions``, ``pf-days``, ``log10``, ``perplexity``, ``H100@40%`` or ``1e6``), or both
(``thousands+millions``).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from pydantic import TypeAdapter

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware.catalogue import UTILISATION, Device, device
from isoplan.engine.hardware.machine import Machine
from isoplan.engine.schema import Role, Roles

Kind = Literal["number", "text", "bool", "date"]
TableKind = Literal["runs", "curves"]
"""Kind of a table: one row per run, or one row per point of a training curve."""
RUN_NEEDS = (Role.N, Role.D, Role.LOSS, Role.WEIGHT)
"""Roles that every fitted run needs: a run whose cell is empty in such a column is left out."""
TextKind = Literal["suffix", "comma", "point", "thousands"]
TEXT_KINDS: tuple[TextKind, ...] = get_args(TextKind)
TEXT_FORMATS: dict[TextKind, str] = {
    "suffix": "numbers with suffixes (1.2k, 3M, 4B, 10^20)",
    "comma": "numbers with a decimal comma",
    "point": "numbers with a decimal point",
    "thousands": "numbers with thousands separators",
}
"""Number formats of text cells, as phrases for a sentence."""
AS_IS = "as-is"
"""Conversion that leaves the numbers unchanged. The user chooses it if the column name wrongly suggests a unit."""
GPU_HOURS = "gpu-hours"
"""Proposed unit for a column of GPU-hours. The user must choose the device to complete it."""
LOGARITHM = "log"
"""Proposed unit for a logarithm whose base is not in the column name. The user must choose the base."""
OPEN: dict[str, tuple[str, tuple[str, ...]]] = {
    GPU_HOURS: ("GPU-hours of a device", ("H100",)),
    LOGARITHM: ("a logarithm without a stated base", ("log10", "ln")),
}
"""Proposals that the user must complete: proposal -> (description of the column, examples of complete conversions)."""
PF_DAY = 1e15 * 24 * 3600
FACTORS: dict[str, float] = {
    "millions": 1e6,
    "billions": 1e9,
    "trillions": 1e12,
    "gigaflop": 1e9,
    "teraflop": 1e12,
    "petaflop": 1e15,
    "exaflop": 1e18,
    "zettaflop": 1e21,
    "yottaflop": 1e24,
    "pf-days": PF_DAY,
}
FUNCTIONS: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "log10": (lambda x: np.power(10.0, x), "as the decimal logarithm, 10^x"),
    "log2": (np.exp2, "as the binary logarithm, 2^x"),
    "ln": (np.exp, "as the natural logarithm, e^x"),
    "perplexity": (np.log, "as perplexity, whose natural logarithm is the loss"),
    "percent": (lambda x: x / 100, "as percent, divided by 100"),
    AS_IS: (lambda x: x, "without conversion"),
}
"""Units that are converted by a function instead of a factor: unit -> (function, description for a sentence)."""


@dataclass(frozen=True)
class Reading:
    """A parsed conversion.

    ``text`` is the number format of text cells, or None for a numeric column. ``unit`` is the unit of the numbers, or
    empty. ``number`` is the number after "@", such as 0.4 for ``H100@40%``, or None.
    """

    text: TextKind | None
    unit: str
    number: float | None = None

    @property
    def about(self) -> str:
        """The unit as a phrase, such as "in millions"; empty without a unit."""
        if not self.unit:
            return ""
        if self.unit in FUNCTIONS:
            return FUNCTIONS[self.unit][1]
        if self.unit == "bits":
            what = f"nats per token ({self.number:g} bytes per token)" if self.number else "nats (times ln 2)"
            return f"as bits, converted to {what}"
        if (found := device(self.unit)) is not None:
            return f"as hours of {found.name} at {100 * (self.number or UTILISATION):g} % of its peak"
        name = {"pf-days": "PF-days (8.64e19 FLOPs)"}.get(self.unit, self.unit)
        return f"in {name}" if self.unit in FACTORS else f"in units of {self.unit}"

    def __call__(self, x: Floats) -> Floats:
        """Convert the numbers ``x`` (n,) of the column to the unit of its role.

        Infinite numbers in ``x`` stay infinite. For any other number, the result is NaN if the converted number is not
        finite.
        """
        with np.errstate(all="ignore"):
            converted = self._converted(x)
        return np.where(np.isinf(x), x, np.where(np.isfinite(converted), converted, np.nan))

    def one(self, x: float) -> float:
        """Convert one number to the unit of the role."""
        return float(self(np.array([x]))[0])

    def _converted(self, x: Floats) -> Floats:
        if not self.unit:
            return x
        if self.unit in FUNCTIONS:
            return FUNCTIONS[self.unit][0](x)
        if self.unit == "bits":
            return x * math.log(2) * (self.number or 1.0)
        if (found := device(self.unit)) is not None:
            return _machine(found, self.number).flops(x)
        return x * (FACTORS.get(self.unit) or float(self.unit))


def read_conversion(text: str, column: str) -> Reading:
    """Parse the conversion ``text`` of the column ``column``.

    Raises PlannerError if ``text`` is not a valid conversion. The message lists the valid conversions.
    """
    kind, plus, unit = text.partition("+")
    if kind in TEXT_KINDS:
        inner = read_conversion(unit, column) if plus else Reading(None, "")
        return Reading(next(k for k in TEXT_KINDS if k == kind), inner.unit, inner.number)
    unit, at, number = text.partition("@")
    if unit in (*FACTORS, *FUNCTIONS) and not at:
        return Reading(None, unit)
    if unit == GPU_HOURS:
        raise PlannerError(
            f"Conversion of {column!r}: GPU-hours need a device. Write {column}:H100 or {column}:A100@35%."
        )
    if unit == LOGARITHM:
        raise PlannerError(
            f"Conversion of {column!r}: the base of the logarithm is missing. Write {column}:log10 or {column}:ln."
        )
    if unit == "bits":
        return Reading(None, unit, _number(number, column) if at else None)
    if (found := device(unit)) is not None:
        share = _number(number, column) if at else None
        _machine(found, share)
        return Reading(None, found.name, share)
    if not at and _is_factor(unit):
        return Reading(None, unit)
    known = ", ".join((*TEXT_KINDS, *FACTORS, *FUNCTIONS, "bits", "a device such as H100"))
    raise PlannerError(f"Conversion of {column!r}: {text!r} is unknown. Use a factor such as 1e6, or one of {known}.")


def text_kind(text: str | None) -> TextKind | None:
    """Return the number format in a stored conversion, such as "comma"; None for a conversion of a numeric column."""
    return next((kind for kind in TEXT_KINDS if text is not None and text.partition("+")[0] == kind), None)


def _machine(found: Device, share: float | None) -> Machine:
    return Machine(found, utilisation=UTILISATION if share is None else share)


def _is_factor(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


def _number(text: str, column: str) -> float:
    bare, scale = (text[:-1], 0.01) if text.endswith("%") else (text, 1.0)
    if not _is_factor(bare):
        raise PlannerError(f"Conversion of {column!r}: {text!r} after @ is not a positive number. Write a number.")
    return float(bare) * scale


@dataclass(frozen=True)
class Conversion:
    """A conversion that is proposed for a column, to get the numbers that a law needs. It is not applied yet.

    ``kind`` is the conversion as the mapping stores it. For a column of text, ``changes`` counts the cells for which
    the conversion gives a new or a different number. ``fails`` counts the cells that the conversion cannot read; they
    would be missing. ``ambiguous`` is true if a comma or a point may be a decimal mark or a thousands separator.
    ``about`` describes the unit; it is empty without a unit. If ``needed`` is true, the column does not get the role
    that its name suggests until the user accepts the conversion.
    """

    kind: str
    changes: int
    fails: int
    failing_examples: tuple[str, ...] = ()
    ambiguous: bool = False
    about: str = ""
    needed: bool = True

    @property
    def text(self) -> str:
        """A sentence that proposes the conversion to the user."""
        kind = text_kind(self.kind)
        if kind is None:
            return f"Read {self.about}."
        how = TEXT_FORMATS[kind]
        how += f", {self.about}" if self.about else ""
        doubt = f" (a decimal {'point' if kind == 'comma' else 'comma'} is also possible)" if self.ambiguous else ""
        bad = f", {self.fails:,} cannot be read ({', '.join(self.failing_examples)})" if self.fails else ""
        return f"Read as {how}{doubt}: {self.changes:,} cells change{bad}."

    @property
    def words(self) -> int:
        """Number of cells that are words such as "diverged", if all other cells are plain numbers; otherwise 0."""
        plain = text_kind(self.kind) is not None and not (self.changes or self.ambiguous or self.about)
        return self.fails if plain else 0

    @property
    def either(self) -> tuple[TextKind, TextKind]:
        """The two possible number formats of an ambiguous column."""
        return ("comma", "point") if text_kind(self.kind) == "comma" else ("comma", "thousands")


@dataclass(frozen=True)
class Column:
    """One column of a stored table, with its name in the file.

    ``missing`` counts empty cells and NaN, and ``infinite`` counts infinities. ``minimum`` and ``maximum`` are the
    smallest and the largest finite number (None if there is none). ``whole`` is true if all finite numbers are whole.
    ``distinct`` is an estimate of the number of different values. ``guess`` is the role that the name and the values
    suggest, and ``why`` is the reason. For a text column, ``unread`` is the row id and the text of the first cell that
    is not a number (None if there is no such cell).
    """

    name: str
    kind: Kind
    missing: int = 0
    minimum: float | None = None
    maximum: float | None = None
    examples: tuple[str, ...] = ()
    conversion: Conversion | None = None
    guess: Role = Role.UNUSED
    why: str = ""
    whole: bool = False
    distinct: int = 0
    infinite: int = 0
    unread: tuple[int, str] | None = None

    @property
    def cell(self) -> str:
        """A cell that is not a number, quoted for a sentence; empty if no such cell is stored."""
        if self.unread is not None:
            return f"{self.unread[1]!r} in row {self.unread[0]}"
        return repr(self.examples[0]) if self.examples else ""

    @property
    def words(self) -> int:
        """Number of cells that are words such as "diverged", if all other cells are plain numbers; otherwise 0."""
        return self.conversion.words if self.conversion is not None else 0

    def describe_words(self, of: str = "") -> str:
        """Return a phrase for the cells that are words: "1 cell is not a number ('diverged' in row 3)".

        ``of`` is inserted after the number of cells.
        """
        if self.words == 1:
            return f"1 cell{of} is not a number ({self.cell})"
        return f"{self.words:,} cells{of} are not numbers ({self.cell}, ...)"

    @property
    def two_readings(self) -> str:
        """The two possible numbers of an ambiguous cell: "'1,584' may be 1.584 or 1584".

        Empty if the column is not ambiguous.
        """
        if self.conversion is None or not self.conversion.ambiguous:
            return ""
        points = "point" in self.conversion.either
        cell = next((text for text in self.examples if ("." if points else ",") in text), "")
        if not cell and points:
            return f"the points of {self.name!r} may be decimal points or thousands separators"
        if not cell:
            return f"the commas of {self.name!r} may be decimal commas or separate thousands"
        if points:
            return f"{cell!r} may be {cell.replace('.', '').strip()} or {float(cell):g} in a file with decimal commas"
        return f"{cell!r} may be {cell.replace('.', '').replace(',', '.')} or {cell.replace(',', '')}"

    @property
    def convert_option(self) -> str:
        """The terminal option that accepts the proposed conversion, such as ``--convert tokens:millions``."""
        if self.conversion and self.conversion.ambiguous:
            return convert_options(self.name, self.conversion.either)
        _, hows = OPEN.get(self.conversion.kind if self.conversion else "", ("", ("",)))
        return convert_options(self.name, hows)

    def way_to_numbers(self, role: str, roles: Roles, kind: TableKind = "runs") -> str:
        """Return an instruction to the user: what to do so that the column is read as numbers for ``role``.

        ``roles`` is the mapping of the table, and ``kind`` its kind.
        """
        if self.words:
            them = "it" if self.words == 1 else "them"
            way = leave_out_label(self.words, leaves_out_runs(role, roles, kind)).lower()
            return f"correct {them}, or {way} on the Data page ({self.convert_option} in the terminal)"
        tick = f"tick its conversion on the Data page ({self.convert_option} in the terminal)"
        if self.two_readings:
            tick = f"choose its reading on the Data page ({self.convert_option} in the terminal): {self.two_readings}"
        if self.conversion is None or not self.conversion.fails:
            return tick
        cells = f"{self.conversion.fails:,} such cell{'' if self.conversion.fails == 1 else 's'}"
        return f"correct it, or {tick}, which leaves {cells} empty"


def leaves_out_runs(role: str, roles: Roles, kind: TableKind = "runs") -> bool:
    """Return whether fits leave out a run whose cell of ``role`` is empty, in a table of this ``kind``.

    If the run is not left out, only this value is missing: fits use another row of the run, or compute D from C.
    """
    filled = role == Role.D and (roles.C is not None or "C" in roles.derived)
    return kind == "runs" and roles.rows == "all" and role in RUN_NEEDS and not filled


def leave_out_label(words: int, runs: bool) -> str:
    """Return the label of the action for ``words`` cells that contain words instead of numbers.

    The label is "Leave out 1 run" if ``runs`` is true: a run without a number in this column cannot be fitted.
    Otherwise the label is "Leave 1 cell empty".
    """
    s = "" if words == 1 else "s"
    return f"Leave out {words:,} run{s}" if runs else f"Leave {words:,} cell{s} empty"


def convert_options(name: str, hows: tuple[str, ...]) -> str:
    """Return the terminal options that convert the column ``name``, one for each conversion in ``hows``.

    An empty conversion means the proposed conversion of the column.
    """
    return " or ".join(f"--convert {shlex.quote(f'{name}:{how}' if how else name)}" for how in hows)


COLUMNS = TypeAdapter(tuple[Column, ...])
