"""What commands print: an answer on standard output, sentences beside it on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from io import TextIOWrapper
from typing import Any


def say(text: str) -> None:
    """Print an answer; where the terminal cannot show a character it gets an escape, and a closed pipe is no error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_json(answer: Mapping[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    say(json.dumps(answer, allow_nan=False))


def note(sentences: Iterable[str]) -> None:
    """Print each sentence on standard error."""
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")
    for sentence in sentences:
        print(f"isoplan: {sentence}", file=sys.stderr)
