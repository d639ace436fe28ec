"""`isoplan laws`: list the catalogue."""

from __future__ import annotations

import textwrap
from typing import Annotated, Any

import typer

from app.commands.output import say, say_json
from engine.laws import LAWS, Law


def laws(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """List the laws that can be fitted."""
    if as_json:
        say_json({"schema": 1, "laws": [_object(law) for law in LAWS]})
    else:
        say("\n\n".join(_entry(law) for law in LAWS))


def _object(law: Law) -> dict[str, Any]:
    fields = ("name", "axis", "title", "summary", "needs", "reference", "latex")
    bounds = [{"name": p.name, "unit": p.unit, "meaning": p.meaning, "low": p.low} for p in law.params]
    return {name: getattr(law, name) for name in fields} | {"parameters": bounds}


def _entry(law: Law) -> str:
    option = f"--law {law.name}" + (f" --axis {law.axis}" if law.axis else "")
    lines = [f"{option}   {law.text}", *(_wrapped(text) for text in (law.summary, f"Needs {law.needs}"))]
    width = max(len(p.name) for p in law.params)
    lines += [f"    {p.name:<{width}}  {p.meaning}" + (f" [{p.unit}]" if p.unit else "") for p in law.params]
    return "\n".join([*lines, _wrapped(law.reference)])


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="  ")
