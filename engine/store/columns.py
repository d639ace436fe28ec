"""What is known of a table's columns: kind, range, examples, a proposed conversion and a guessed role."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from engine.schema import Role

Kind = Literal["number", "text", "bool", "date"]
ConversionKind = Literal["suffix", "comma", "thousands"]


@dataclass(frozen=True)
class Conversion:
    """A way to read a text column as numbers, proposed and not yet applied.

    ``changes`` cells would be read differently from what they say as they stand; ``fails`` cells cannot be read
    and would count as missing. ``ambiguous``: a decimal comma would fit as well as a thousands separator.
    """

    kind: ConversionKind
    changes: int
    fails: int
    failing_examples: tuple[str, ...] = ()
    ambiguous: bool = False

    @property
    def text(self) -> str:
        """The proposal in a sentence."""
        how = {
            "suffix": "numbers with suffixes (1.2k, 3M, 4B, 10^20)",
            "comma": "numbers with a decimal comma",
            "thousands": "numbers with thousands separators",
        }[self.kind]
        doubt = " (a decimal comma would fit as well)" if self.ambiguous else ""
        bad = f", {self.fails:,} cannot be read ({', '.join(self.failing_examples)})" if self.fails else ""
        return f"Read as {how}{doubt}: {self.changes:,} cells change{bad}."


@dataclass(frozen=True)
class Column:
    """One column of a stored table, as the file names it.

    ``missing`` counts empty cells and NaN, ``infinite`` infinities; ``minimum`` and ``maximum`` are over the finite
    numbers (None without any); ``whole`` says that all of them are whole; ``distinct`` is an estimate.
    ``guess`` is the role that name and values suggest, ``why`` says from what. ``unread`` is the row id and the text of
    the first cell that cannot be read as a number, in a text column that has one.
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
        """A cell that is no number, as a sentence names it; empty where none is known."""
        if self.unread is not None:
            return f"{self.unread[1]!r} in row {self.unread[0]}"
        return repr(self.examples[0]) if self.examples else ""

    @property
    def way_to_numbers(self) -> str:
        """What to do about a column of text with a proposed conversion, so that it is read as numbers."""
        tick = f"tick its conversion on the Data page (--convert {shlex.quote(self.name)} in the terminal)"
        if self.conversion is None or not self.conversion.fails:
            return tick
        cells = f"{self.conversion.fails:,} such cell{'' if self.conversion.fails == 1 else 's'}"
        return f"correct it, or {tick}, which leaves {cells} empty"


COLUMNS = TypeAdapter(tuple[Column, ...])
