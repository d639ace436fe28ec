"""`isoplan columns`: the role of each column of a table file, and the reason. The workspace is not opened."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoplan.app.commands.shared import options, reading
from isoplan.app.commands.shared.output import note, say, say_json
from isoplan.engine.planning.answer.format import aligned
from isoplan.engine.schema import Role

if TYPE_CHECKING:
    from isoplan.engine.store.columns.column_uses import ColumnUse
    from isoplan.engine.store.files.table_files import OpenTable

HEAD = ("column", "kind", "example", "role", "reason")


def columns(
    table: options.Table,
    mapping: options.Mapping = None,
    convert: options.Convert = None,
    derive: options.Derive = None,
    rows: options.RowsOfEachRun = None,
    sheet: options.Sheet = None,
    inner: options.Inner = None,
    layout: options.Layout = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the role of each column of a table, and the reason."""
    from isoplan.engine.store.columns.column_uses import column_uses
    from isoplan.engine.store.columns.derive import proposals, read_derived
    from isoplan.engine.store.columns.mapping import choice_notes
    from isoplan.engine.store.files.table_files import open_table

    derived = read_derived(derive or ())
    roles = reading.read_map(mapping or [])
    agreed = tuple(convert or ())
    with open_table(
        table, roles, agreed=agreed, derived=derived, rows=rows, sheet=sheet, inner=inner, layout=layout
    ) as opened:
        found = column_uses(opened.columns, opened.roles)
        proposed = proposals(opened.columns, opened.roles)
        notes = (*opened.notes, *choice_notes(opened.columns, opened.roles))
    if as_json:
        say_json(_json(str(table), found, opened, proposed, notes))
        return
    note(notes)
    lines = [HEAD, *((_shown(one.column.name), one.column.kind, _example(one), one.role, one.why) for one in found)]
    say("\n".join([*aligned(lines), "", *_without_column(opened, proposed)]).rstrip())


def _without_column(table: OpenTable, proposed: Mapping[str, str]) -> list[str]:
    """Return a line for each of N, D, C and the loss that no column gives: its formula, or how to give it one."""
    from isoplan.engine.store.columns.role_lines import role_lines

    lines = []
    for line in role_lines(table.columns, table.roles)[:4]:
        role = line.label.lower() if line.label == "Loss" else line.label
        way = f" Compute it with --derive {shlex.quote(f'{role} = {proposed[role]}')}." if role in proposed else ""
        lines += [] if line.columns else [f"{line.label}: {line.text}.{way}"]
    return lines


def _json(
    table: str, found: tuple[ColumnUse, ...], opened: OpenTable, proposed: Mapping[str, str], notes: tuple[str, ...]
) -> dict[str, Any]:
    listed = [
        {
            "name": one.column.name,
            "kind": one.column.kind,
            "examples": list(one.column.examples),
            "role": one.role,
            "conversion": opened.roles.conversions.get(one.column.name, ""),
            "why": one.why,
        }
        for one in found
    ]
    computed = dict(opened.roles.derived)
    if all(opened.roles.column(role) or role.value in computed for role in (Role.N, Role.D)):
        computed |= {} if opened.roles.C else {"C": opened.roles.compute.text.removeprefix("C = ")} | computed
    return {
        "schema": 1,
        "table": table,
        "columns": listed,
        "computed": computed,
        "proposed": dict(proposed),
        "notes": list(notes),
    }


def _example(one: ColumnUse) -> str:
    return _shown(one.column.examples[0]) if one.column.examples else ""


def _shown(text: str) -> str:
    """Return ``text`` on one line, without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
