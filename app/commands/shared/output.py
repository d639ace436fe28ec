"""What commands print: an answer on standard output, sentences beside it on standard error."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from isoplan.engine.errors import PlannerError

if TYPE_CHECKING:
    from isoplan.app.commands.shared.options import Format
    from isoplan.engine.fitting.types.result import FitWarning
    from isoplan.engine.planning.answer.document import Document

FIRST, BETWEEN = 1.0, 3.0
"""Seconds until a command says what it does, and between two lines of its progress."""
MANY = 5_000


def say(text: str) -> None:
    """Print an answer; where the terminal cannot show a character it gets an escape, and a closed pipe is no error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(text, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the exit of Python does not retry the rest
        if not isinstance(error, BrokenPipeError):
            raise PlannerError(f"The answer cannot be written: {error.strerror}.") from None


def say_json(answer: Mapping[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    say(json.dumps(answer, allow_nan=False))


def say_as(form: Format, text: str, document: Document, warnings: Iterable[FitWarning]) -> None:
    """Print an answer in that form, ``text`` for people; beside a file its ``warnings`` go to standard error."""
    if form == "text":
        say(text)
        return
    note(w.text for w in warnings)
    if form == "json":
        say_json(document.body)
        return
    from isoplan.engine.planning.answer.document import to_csv, to_markdown
    from isoplan.engine.planning.answer.latex import to_latex

    write = {"csv": to_csv, "markdown": to_markdown, "latex": to_latex}
    say((document.script if form == "python" else write[form](document)).rstrip("\n"))


@contextmanager
def progress(what: str, rows: int) -> Iterator[Callable[[float], None]]:
    """Say on standard error what a command does once it takes longer than a second, and then how far it is.

    Yields what takes the share that is done, 0 to 1. Without a terminal nothing is said of a table of fewer than
    ``MANY`` rows, so that scripts get the same text on a fast machine and on a slow one.
    """
    if rows < MANY and not sys.stderr.isatty():
        yield lambda _: None
        return
    due = time.monotonic() + BETWEEN

    def tell(part: float) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + BETWEEN
            note([f"{what}: {100 * part:.0f} %."])

    timer = threading.Timer(FIRST, note, ([f"{what}."],))
    timer.daemon = True
    timer.start()
    try:
        yield tell
    finally:
        timer.cancel()


def note(sentences: Iterable[str]) -> None:
    """Print each sentence on standard error."""
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")
    for sentence in sentences:
        print(f"isoplan: {sentence}", file=sys.stderr)
