"""Profile of a table's columns: kind, range, examples, a proposed conversion and a guessed role."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from isoplan.engine.schema import Role
from isoplan.engine.store.columns.conversions import OPEN, TextKind, text_kind

Kind = Literal["number", "text", "bool", "date"]


@dataclass(frozen=True)
class Conversion:
    """A conversion of a column to the numbers that a law needs, proposed and not yet applied.

    ``kind`` is a conversion of ``isoplan.engine.store.columns.conversions``. For text, ``changes`` cells would be read
    differently from their literal value; ``fails`` cells cannot be read and would count as missing. ``ambiguous``: the
    text has two readings. A comma may be decimal or separate thousands; in a file with decimal commas, a point may be
    decimal or separate thousands. ``about`` describes a unit, empty for text without one. ``needed``: unless the user
    accepts the conversion, the column does not get the role that its name suggests.
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
        """The proposal as a sentence."""
        kind = text_kind(self.kind)
        if kind is None:
            return f"Read {self.about}."
        how = {
            "suffix": "numbers with suffixes (1.2k, 3M, 4B, 10^20)",
            "comma": "numbers with a decimal comma",
            "point": "numbers with a decimal point",
            "thousands": "numbers with thousands separators",
        }[kind]
        how += f", {self.about}" if self.about else ""
        doubt = f" (a decimal {'point' if kind == 'comma' else 'comma'} fits as well)" if self.ambiguous else ""
        bad = f", {self.fails:,} cannot be read ({', '.join(self.failing_examples)})" if self.fails else ""
        return f"Read as {how}{doubt}: {self.changes:,} cells change{bad}."

    @property
    def either(self) -> tuple[TextKind, TextKind]:
        """The two readings of an ambiguous column."""
        return ("comma", "point") if text_kind(self.kind) == "comma" else ("comma", "thousands")


@dataclass(frozen=True)
class Column:
    """One column of a stored table, with its name in the file.

    ``missing`` counts empty cells and NaN, ``infinite`` infinities. ``minimum`` and ``maximum`` are over the finite
    numbers (None without any). ``whole`` states whether all of them are whole. ``distinct`` is an estimate. ``guess``
    is the role that name and values suggest, ``why`` the evidence for it. ``unread`` is the row id and the text of the
    first cell of a text column that cannot be read as a number, if there is one.
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
        """A cell that is not a number, formatted for a sentence; empty if none is known."""
        if self.unread is not None:
            return f"{self.unread[1]!r} in row {self.unread[0]}"
        return repr(self.examples[0]) if self.examples else ""

    @property
    def two_readings(self) -> str:
        """The two possible numbers of an ambiguous cell: "'1,584' may be 1.584 or 1584"; empty for other columns."""
        if self.conversion is None or not self.conversion.ambiguous:
            return ""
        if "point" in self.conversion.either:
            return self._two_readings_of_points
        cell = next((text for text in self.examples if "," in text), "")
        if not cell:
            return f"the commas of {self.name!r} may be decimal commas or separate thousands"
        return f"{cell!r} may be {cell.replace('.', '').replace(',', '.')} or {cell.replace(',', '')}"

    @property
    def _two_readings_of_points(self) -> str:
        cell = next((text for text in self.examples if "." in text), "")
        if not cell:
            return f"the points of {self.name!r} may be decimal points or thousands separators"
        return f"{cell!r} may be {cell.replace('.', '').strip()} or {float(cell):g} in a file with decimal commas"

    @property
    def convert_option(self) -> str:
        """The terminal option that accepts the proposed conversion."""
        if self.conversion and self.conversion.ambiguous:
            return convert_options(self.name, self.conversion.either)
        _, hows = OPEN.get(self.conversion.kind if self.conversion else "", ("", ("",)))
        return convert_options(self.name, hows)

    @property
    def way_to_numbers(self) -> str:
        """Instruction to the user: how to get a column with a proposed conversion read as numbers."""
        tick = f"tick its conversion on the Data page ({self.convert_option} in the terminal)"
        if self.two_readings:
            tick = f"say which on the Data page ({self.convert_option} in the terminal): {self.two_readings}"
        if self.conversion is None or not self.conversion.fails:
            return tick
        cells = f"{self.conversion.fails:,} such cell{'' if self.conversion.fails == 1 else 's'}"
        return f"correct it, or {tick}, which leaves {cells} empty"


def convert_options(name: str, hows: tuple[str, ...]) -> str:
    """Return the terminal options that convert column ``name`` by each of ``hows``; "" is the proposed conversion."""
    return " or ".join(f"--convert {shlex.quote(f'{name}:{how}' if how else name)}" for how in hows)


COLUMNS = TypeAdapter(tuple[Column, ...])
