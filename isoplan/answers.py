"""Answers with several parts: print an answer, or write it to a file with ``isoplan.save``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from isoplan.engine.fitting import FitWarning
    from isoplan.engine.planning.answer.document import Document

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Generic[Result]):
    """An answer: its numbers in ``result``, and its ``text`` as printed in the terminal.

    ``document`` is the source of files. ``notes`` describe how tables were read.
    """

    result: Result
    text: str
    document: Document
    warnings: tuple[FitWarning, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.text
