"""Answers with several parts: print an answer, or write it to a file with ``isoplan.save``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from isoplan.engine.fitting import FitWarning
    from isoplan.engine.planning.answer.document import Document
    from isoplan.engine.planning.repeat import Between, SimulateOrRepeat, Worth

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Generic[Result]):
    """An answer: its numbers in ``result``, and its ``text`` as printed in the terminal.

    ``document`` is the source of files, None if the answer has no prices. ``notes`` describe how tables were read.
    """

    result: Result
    text: str
    document: Document | None
    warnings: tuple[FitWarning, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False, repr=False)
class Repeat(Answer[Any]):
    """Two ways to a loss in ``result``, the cheapest plan between them, and the value of the available samples."""

    result: SimulateOrRepeat
    between: Between | None = None
    worth: Worth | None = None
