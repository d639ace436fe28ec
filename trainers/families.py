"""The model families of a workspace, from all subpackages of ``trainers`` with a function ``families(workspace)``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from isoplan import trainers
from isoplan.engine.errors import PlannerError
from isoplan.trainers.cell import Cell, Family
from isoplan.trainers.ranges import kind_of

FUNCTION = "families"
OWN = "command"
"""The subpackage for families that run programs of the user. These families come first in lists."""


@cache
def _folders() -> tuple[ModuleType, ...]:
    names = [found.name for found in pkgutil.iter_modules(trainers.__path__) if found.ispkg]
    names.sort(key=lambda name: (name != OWN, name))
    modules = [importlib.import_module(f"isoplan.trainers.{name}") for name in names]
    return tuple(module for module in modules if hasattr(module, FUNCTION))


def families(root: Path) -> dict[str, Family[Any]]:
    """Return all families of the workspace ``root`` by name, without importing training code.

    Raises PlannerError if a file that describes families cannot be read.
    """
    found = [family for module in _folders() for family in getattr(module, FUNCTION)(root)]
    return {family.name: family for family in found}


def find_family(name: str, root: Path) -> Family[Any]:
    """Return the family called ``name``. Raises PlannerError if the workspace has no such family."""
    known = families(root)
    if name not in known:
        raise PlannerError(f"There is no family {name!r} of cells: use {', '.join(known)}.")
    return known[name]


def own_fields(family: Family[Any]) -> list[str]:
    """Return the names of the fields that only this family has; the other fields are common to all families."""
    return [field for field in family.cell.model_fields if field not in Cell.model_fields]


def main_fields(family: Family[Any]) -> list[str]:
    """Return the fields that are always visible: ``family.main``, or the first two numeric fields if it is empty."""
    numbers = [f for f in own_fields(family) if kind_of(family.cell.model_fields[f]) in ("integer", "number")]
    return list(family.main) or numbers[:2]


def read_cell(family: Family[Any], raw: dict[str, Any]) -> Cell:
    """Return the cell that a JSON object describes.

    Raises PlannerError with the invalid field and its allowed values.
    """
    try:
        cell: Cell = family.cell.model_validate(raw)
    except ValidationError as error:
        raise PlannerError(why(error.errors()[0], family)) from error
    family.check(cell)
    return cell


def check_value(family: Family[Any], field: str, value: object) -> None:
    """Check one ``value`` for a ``field``, independent of other fields. Raises PlannerError if the value is invalid."""
    try:
        family.cell.model_validate({field: value})
    except ValidationError as error:
        for one in error.errors():
            if one["loc"][:1] == (field,):
                raise PlannerError(why(one, family)) from error


def why(first: Any, family: Family[Any]) -> str:
    """Return a sentence for users about ``first``, the first validation error of pydantic."""
    where = ".".join(str(part) for part in first["loc"]) or "cell"
    if first["type"] == "extra_forbidden":
        return f"The family {family.name} has no field {where!r}: use {', '.join(family.cell.model_fields)}."
    if first["type"] == "missing":
        return f"The field {where} of the family {family.name} is missing: give it a value."
    wrong = str(first["msg"])
    return f"The field {where} of the family {family.name} cannot be {first['input']!r}: {wrong[0].lower()}{wrong[1:]}."
