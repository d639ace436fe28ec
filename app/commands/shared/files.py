"""Readers of the JSON that other commands printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.cards import read_fit
from isoplan.engine.fitting.types.result import Fit


def read_fit_file(name: str, group: str = "") -> Fit:
    """Return the fit in the file ``name`` (``-`` for standard input), or that of ``group`` if there are several.

    Raises PlannerError if there is none.
    """
    return read_fit(read_object(name, "isoplan fit --json"), group)


def read_fits_file(name: str) -> list[Fit]:
    """Return the fits in the file ``name``: one, or one per group. Raises PlannerError if there is none."""
    raw = read_object(name, "isoplan fit --json")
    groups = raw.get("groups")
    return [read_fit(raw, group) for group in groups] if isinstance(groups, dict) and groups else [read_fit(raw)]


def read_object(name: str, command: str) -> dict[str, Any]:
    """Return the JSON object that ``command`` printed to the file ``name`` (``-`` for standard input).

    Raises PlannerError if there is none.
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
