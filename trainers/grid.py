"""A grid of cells (training runs): read from ``GRID.toml`` or from a form, and written to a file.

The file contains ``family = "teacher-student"``, an optional ``name``, and a section ``[cell]``. A field of this
section is a value, a list, or a range such as ``width = "8..512 x 7"``. Every combination of the values is a cell. The
last field of the file varies fastest.

The file can also list cells: each section ``[[cells]]`` is one listed cell with a single value for each of its fields.
Each listed cell is combined with every combination of ``[cell]``.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import MOST_CELLS
from isoplan.trainers.cell import Cell, Family
from isoplan.trainers.families import check_value, families, find_family, read_cell
from isoplan.trainers.ranges import Asked, Kind, Range, Value, expand, kind_of, read_entry, read_typed, zero_word

KEYS = ("family", "name", "cell", "cells")
LONGEST_NAME = 100
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Grid:
    """A grid of training runs. ``asked`` contains the values and ranges of fields of the ``family``, in order.

    ``listed`` contains the listed cells: each has values of fields that are not in ``asked``. Each listed cell is
    combined with every combination of ``asked``. Fields that are in neither of them have their default value.
    """

    family: str
    asked: Mapping[str, Asked]
    name: str = ""
    listed: tuple[Mapping[str, Value], ...] = ()


def read_grid(path: Path, root: Path) -> Grid:
    """Return the grid in the file ``path``, or on standard input if ``path`` is "-".

    The family of the grid must exist in the workspace ``root``. Raises PlannerError if the grid cannot be read.
    """
    shown = "Standard input" if str(path) == "-" else str(path)
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PlannerError(f"There is no file {path}: check the path.") from None
    except IsADirectoryError:
        raise PlannerError(f"{path} is a folder: name the file of a grid.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PlannerError(f"{shown} cannot be read as a grid: {error}.") from None
    return parse_grid(text, root, shown)


def open_grid(path: Path, root: Path) -> Grid:
    """Return the grid in the file ``path``, or the preset that ``path`` names as FAMILY/PRESET.

    Raises PlannerError if neither exists.
    """
    known = families(root)
    if path.exists() or len(path.parts) != 2 or path.parts[0] not in known:
        return read_grid(path, root)
    family, preset = known[path.parts[0]], path.parts[1]
    if preset not in family.presets:
        there = f"use {', '.join(family.presets)}" if family.presets else "write a file"
        raise PlannerError(f"There is no file {path}, and the family {family.name} has no preset {preset!r}: {there}.")
    return typed_grid(family, family.presets[preset].fields, title_of(preset))


def title_of(preset: str) -> str:
    """Return the title of a preset on a page: ``share-sweep`` gives "Share sweep"."""
    return preset.replace("-", " ").capitalize()


def parse_grid(text: str, root: Path, what: str = "The grid") -> Grid:
    """Return the grid that the TOML in ``text`` describes.

    Raises PlannerError if the grid is invalid. ``what`` is the name of the grid in the error.
    """
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PlannerError(f"{what} cannot be read as TOML: {error}.") from None
    for key in raw:
        if key not in KEYS:
            raise PlannerError(
                f"{what} has the key {key!r}, but a grid has only family, name, [cell] and [[cells]]: remove the key."
            )
    family, name, cell = raw.get("family"), raw.get("name", ""), raw.get("cell", {})
    if not isinstance(family, str):
        raise PlannerError(f'{what} has no family: begin it with family = "teacher-student".')
    if not isinstance(name, str) or not isinstance(cell, dict):
        raise PlannerError(f"{what} is not a grid: write its name as text and its fields below [cell].")
    listed = raw.get("cells")
    if listed is not None and not (isinstance(listed, list) and listed and all(isinstance(x, dict) for x in listed)):
        raise PlannerError(f"{what} has cells that are not sections: write the fields of each cell below [[cells]].")
    return make_grid(find_family(family, root), cell, name, listed or ())


def make_grid(
    family: Family[Any], entries: Mapping[str, object], name: str = "", listed: Sequence[Mapping[str, object]] = ()
) -> Grid:
    """Return a grid from its ``entries``: a value, a list or a range for each field.

    ``listed`` contains the listed cells: one value for each of their fields. Raises PlannerError with the invalid
    field.
    """
    _known(family, entries)
    asked = {field: read_entry(raw, *_reading(family, field)) for field, raw in entries.items()}
    return Grid(family.name, asked, _name(name), tuple(_listed(family, asked, i, x) for i, x in enumerate(listed, 1)))


def _listed(
    family: Family[Any], asked: Mapping[str, Asked], number: int, entries: Mapping[str, object]
) -> dict[str, Value]:
    """Return the values of a listed cell. ``number`` is the position of its section in the file, from 1."""
    if not entries:
        raise PlannerError(f"Section {number} of [[cells]] is empty: set at least one field, or remove the section.")
    _known(family, entries)
    values: dict[str, Value] = {}
    for field, raw in entries.items():
        kind, name, zero = _reading(family, field)
        if field in asked:
            raise PlannerError(f"{name} is in [cell] and in [[cells]]: remove it from one of them.")
        parts = read_entry(raw, kind, name, zero)
        if isinstance(raw, list | tuple) or len(parts) != 1 or isinstance(parts[0], Range):
            raise PlannerError(f"{name} has a list or a range in section {number} of [[cells]]: give it one value.")
        values[field] = parts[0]
    return values


def typed_grid(family: Family[Any], texts: Mapping[str, str], name: str = "") -> Grid:
    """Return a grid from the ``texts`` of the fields of a form. An empty text means the default of the field.

    Raises PlannerError with the invalid field.
    """
    _known(family, texts)
    typed = {field: text for field, text in texts.items() if text.strip()}
    asked = {field: read_typed(text, *_reading(family, field)) for field, text in typed.items()}
    return Grid(family.name, asked, _name(name))


def check_typed(family: Family[Any], field: str, text: str) -> None:
    """Check the text of one field of a form, independent of other fields. Raises PlannerError if it is invalid."""
    for values in axes(typed_grid(family, {field: text}), family).values():
        for value in values:
            check_value(family, field, value)


def with_value(grid: Grid, field: str, value: Value) -> Grid:
    """Return the grid with a single ``value`` for ``field``, in the listed cells too."""
    return _with_values(grid, field, (value,), (value,))


def with_typed(grid: Grid, family: Family[Any], text: str) -> Grid:
    """Return the grid with new values for one field, in the listed cells too. ``text`` has the form FIELD=VALUES.

    Raises PlannerError if ``text`` is invalid.
    """
    field, _, values = text.partition("=")
    if not values.strip():
        raise PlannerError(f"{text!r} is not FIELD=VALUES: write a field with its values, as in width=8,16.")
    (asked,) = (typed := typed_grid(family, {field.strip(): values})).asked.values()
    return _with_values(grid, field.strip(), asked, axes(typed, family)[field.strip()])


def _with_values(grid: Grid, field: str, asked: Asked, values: Sequence[Value]) -> Grid:
    """Return the grid with the input ``asked`` for ``field``. ``values`` are the distinct values of ``asked``.

    If a listed cell contains the field, the field is removed from all listed cells. Each distinct remaining cell is
    then listed once for each of the values.
    """
    if not any(field in one for one in grid.listed):
        return replace(grid, asked={**grid.asked, field: asked})
    others = {tuple((k, v) for k, v in one.items() if k != field): None for one in grid.listed}
    if (many := len(others) * len(values)) > MOST_CELLS:
        raise _too_many(many, [field])
    return replace(grid, listed=tuple({**dict(other), field: value} for other in others for value in values))


def rename(grid: Grid, name: str) -> Grid:
    """Return the grid with another name. Raises PlannerError if the name is too long."""
    return replace(grid, name=_name(name))


def axes(grid: Grid, family: Family[Any]) -> dict[str, tuple[Value, ...]]:
    """Return the distinct values of each field that the grid sets.

    If some listed cells do not set a field, its values include its default.
    """
    fields = dict.fromkeys(field for one in grid.listed for field in one)
    filled = [{**_defaults(family, fields), **one} for one in grid.listed]
    listed = {field: tuple(dict.fromkeys(one[field] for one in filled if field in one)) for field in fields}
    return _product(grid, family) | listed


def _product(grid: Grid, family: Family[Any]) -> dict[str, tuple[Value, ...]]:
    """Return the distinct values of every field of ``[cell]``."""
    return {field: expand(asked, _kind(family, field)) for field, asked in grid.asked.items()}


def cells(grid: Grid, family: Family[Any]) -> list[Cell]:
    """Return the distinct cells of the grid: for each listed cell, every combination. The last field varies fastest.

    Raises PlannerError if a value is invalid or if a workspace cannot contain so many cells. The number of cells is
    checked before any cell is created.
    """
    found = _product(grid, family)
    many = math.prod(len(values) for values in found.values()) * max(len(grid.listed), 1)
    if many > MOST_CELLS:
        longest = sorted((field for field in found if len(found[field]) > 1), key=lambda field: -len(found[field]))
        raise _too_many(many, longest[:2])
    return list(dict.fromkeys(cell for one in grid.listed or ({},) for cell in _made(family, found, one)))


def _made(family: Family[Any], found: Mapping[str, tuple[Value, ...]], listed: Mapping[str, Value]) -> Iterator[Cell]:
    for values in itertools.product(*found.values()):
        yield read_cell(family, {**listed, **dict(zip(found, values, strict=True))})


def _too_many(many: int, fields: Sequence[str]) -> PlannerError:
    """Return the error about a grid of ``many`` cells. ``fields`` are the fields with most values, if any."""
    remedy = f"give fewer values to {' or '.join(fields)}" if fields else "list fewer cells"
    return PlannerError(f"The grid has {many:,} cells, but a workspace can contain {MOST_CELLS:,} at most: {remedy}.")


def write_grid(grid: Grid) -> str:
    """Return the text of a ``GRID.toml`` file from which the same grid can be read."""
    head = [f"family = {_toml(grid.family)}", *([f"name = {_toml(grid.name)}"] if grid.name else [])]
    fields = [f"{_key(field)} = {_entry(asked)}" for field, asked in grid.asked.items()]
    listed = [["", "[[cells]]", *(f"{_key(k)} = {_toml(v)}" for k, v in one.items())] for one in grid.listed]
    return "\n".join([*head, "", "[cell]", *fields, *itertools.chain.from_iterable(listed)]) + "\n"


def type_field(asked: Asked, zero: str = "") -> str:
    """Return the values of a field as text for a form. ``zero`` is the word for 0, or "" if there is none."""
    return ", ".join(
        zero if zero and not isinstance(part, Range | bool | str) and part == 0 else _as_typed(part) for part in asked
    )


def default_text(about: FieldInfo) -> str:
    """Return the default of a field as text for a form, or "" if the field has no default."""
    return "" if about.is_required() else type_field((about.default,), zero_word(about))


def where(family: Family[Any], field: str) -> str:
    """Return the name of a field for messages, such as "The field width of the family jets"."""
    return f"The field {field} of the family {family.name}"


def _known(family: Family[Any], entries: Mapping[str, object]) -> None:
    for field in entries:
        if field not in family.cell.model_fields:
            known = ", ".join(family.cell.model_fields)
            raise PlannerError(f"The family {family.name} has no field {field!r}: use {known}.")


def _reading(family: Family[Any], field: str) -> tuple[Kind, str, str]:
    """Return the kind of a field, its name for messages, and the word that forms show instead of 0."""
    return _kind(family, field), where(family, field), zero_word(family.cell.model_fields[field])


def _defaults(family: Family[Any], fields: Iterable[str]) -> dict[str, Any]:
    known = family.cell.model_fields
    return {field: known[field].default for field in fields if not known[field].is_required()}


def _kind(family: Family[Any], field: str) -> Any:
    return kind_of(family.cell.model_fields[field])


def _name(name: str) -> str:
    bare = " ".join(name.split())
    if len(bare) > LONGEST_NAME:
        raise PlannerError(f"The name of the grid has {len(bare)} characters: use at most {LONGEST_NAME}.")
    return bare


def _entry(asked: Asked) -> str:
    written = [_toml(part.text if isinstance(part, Range) else part) for part in asked]
    return written[0] if len(written) == 1 else f"[{', '.join(written)}]"


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _key(field: str) -> str:
    return field if _BARE.fullmatch(field) else _toml(field)


def _as_typed(part: Value | Range) -> str:
    if isinstance(part, Range):
        return part.text
    if isinstance(part, bool):
        return "yes" if part else "no"
    if isinstance(part, str) and (not part or part != part.strip() or set(part) & set(',"')):
        return '"' + part.replace('"', '""') + '"'
    return str(part)
