"""Helpers that run terminal commands and check their output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

LAW = ("--law", "chinchilla")
MAP = ("--map", "N=size,D=seen,loss=quality")
ISOPLAN = (sys.executable, "-c", "from isoplan.app.cli import main; main()")


class Answer(NamedTuple):
    """Exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Answer]


def process(*arguments: object, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``isoplan`` in a separate process with the text ``given`` on standard input."""
    command = [*ISOPLAN, *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


def object_in(text: str) -> dict[str, Any]:
    """Parse ``text`` as JSON and return the object."""

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is no JSON")

    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    return found


def one_sentence(answer: Answer, why: str) -> None:
    """Check that a command ended with exit code 2 and printed only one error line, which contains ``why``."""
    assert answer.code == 2
    assert answer.out == ""
    assert len(answer.err.splitlines()) == 1
    assert answer.err.startswith("isoplan: ")
    assert why in answer.err
