"""`isoplan laws`: list the available laws."""

from __future__ import annotations

import math
import textwrap
from dataclasses import replace
from typing import Annotated, Any

import typer

from isoplan.app.commands.shared.output import say, say_json
from isoplan.engine.laws import CATALOGUE, EXAMPLE, ONE_AXIS, Law, typed_law

TYPED = replace(typed_law(EXAMPLE), summary="Any formula of columns and parameters. Example:")


def laws(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """List the laws that can be fitted."""
    if as_json:
        say_json({"schema": 1, "laws": [_object(law) for law in (*CATALOGUE, TYPED)]})
    else:
        say("\n\n".join(_entry(law) for law in (*CATALOGUE, TYPED)))


def _object(law: Law) -> dict[str, Any]:
    fields = ("name", "axis", "title", "summary", "needs", "reference", "latex")
    bounds = [
        {"name": p.name, "unit": p.unit, "meaning": p.meaning, "low": p.low if math.isfinite(p.low) else None}
        for p in law.params
    ]
    return {name: getattr(law, name) for name in fields} | {"parameters": bounds, "over": list(law.axis_roles)}


def _entry(law: Law) -> str:
    option = f"--law {law.name}" + (f" --axis {law.axis}" if law.axis else "")
    option += f' --formula "{EXAMPLE}"' if law is TYPED else ""
    title = law.family_title if law in ONE_AXIS else law.title
    about = [law.summary, f"Needs {law.needs}"]
    if law in ONE_AXIS:
        about.append(f"{law.axis} may be another column: {', '.join(law.axis_roles)}.")
    lines = [title, f"  {option}   {law.text}", *(_wrapped(text) for text in about)]
    width = max(len(p.name) for p in law.params)
    lines += [f"    {p.name:<{width}}  {p.meaning}" + (f" [{p.unit}]" if p.unit else "") for p in law.params]
    return "\n".join([*lines, _wrapped(law.reference)])


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="  ")
