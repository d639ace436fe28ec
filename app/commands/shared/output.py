"""Output of commands on standard output and standard error, and readers of the JSON that commands print."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoplan.engine.errors import PlannerError

if TYPE_CHECKING:
    from isoplan.app.commands.shared.options import Format
    from isoplan.engine.fitting.types.result import Fit, FitWarning
    from isoplan.engine.planning.answer.document import Document


FIRST, BETWEEN = 1.0, 3.0
"""Seconds before the first progress message of a command, and seconds between two messages."""
MANY = 5_000
"""Minimum number of table rows for which progress is printed if standard error is not a terminal."""
INTERRUPTED = 130
"""Exit code after Ctrl+C, the convention of shells."""


def say(text: str) -> None:
    """Print an answer. Characters that the terminal cannot show are escaped. A closed pipe is not an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(text, flush=True)
    except OSError as error:
        # Redirect stdout to the null device. Otherwise, Python would write the remaining output to the closed pipe at
        # exit and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise PlannerError(f"The answer cannot be written: {error.strerror}.") from None


def say_json(answer: Mapping[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    say(json.dumps(answer, allow_nan=False))


def say_as(form: Format, text: str, document: Document, warnings: Iterable[FitWarning]) -> None:
    """Print an answer in the given form. If the form is not text, ``warnings`` are printed on standard error."""
    if form == "text":
        say(text)
        return
    note(w.text for w in warnings)
    if form == "json":
        say_json(document.body)
        return
    from isoplan.engine.planning.answer.document import WRITERS

    say(WRITERS[form](document).rstrip("\n"))


@contextmanager
def progress(what: str, rows: int) -> Iterator[Callable[[float], None]]:
    """Print the activity ``what`` and its progress on standard error, if the activity takes longer than a second.

    Yields a function to call with the completed fraction, 0 to 1. If standard error is not a terminal, nothing is
    printed for tables with fewer than ``MANY`` rows. Scripts then get the same text on fast and on slow machines.
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


def read_fit_file(name: str, group: str = "") -> Fit:
    """Return the fit in the file ``name`` (``-`` for standard input).

    If the file has several groups, the fit of ``group`` is returned. Raises PlannerError if the file has no such fit.
    """
    from isoplan.engine.fitting.cards import read_fit

    return read_fit(read_object(name, "isoplan fit --json"), group)


def read_fits_file(name: str) -> list[Fit]:
    """Return the fits in the file ``name``: one, or one for each group. Raises PlannerError if the file has no fit."""
    from isoplan.engine.fitting.cards import read_fit

    raw = read_object(name, "isoplan fit --json")
    groups = raw.get("groups")
    return [read_fit(raw, group) for group in groups] if isinstance(groups, dict) and groups else [read_fit(raw)]


def read_object(name: str, command: str) -> dict[str, Any]:
    """Return the JSON object in the file ``name`` (``-`` for standard input), which ``command`` printed.

    Raises PlannerError if the file has no JSON object.
    """
    shown = "Standard input" if name == "-" else name
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
        raw = json.loads(text)
    except FileNotFoundError:
        raise PlannerError(f"There is no file {name}: check the path.") from None
    except IsADirectoryError:
        raise PlannerError(f"{name} is a folder. Name the file that `{command}` wrote.") from None
    except OSError as error:
        raise PlannerError(f"{name} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError):
        raise PlannerError(f"{shown} is not JSON. Give the output of `{command}`.") from None
    if not isinstance(raw, dict):
        raise PlannerError(f"{shown} contains no JSON object. Give the output of `{command}`.")
    return raw
