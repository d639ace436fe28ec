"""Read runs directly from a file, for the terminal.

The table is imported into a database in memory. The workspace is not used, so the app can have it open.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import SINGLE_ROLES, Curves, LayoutOption, Metric, Role, Roles, RowsOfRun, Runs
from isoplan.engine.store.columns.column import AS_IS, Column, Conversion, read_conversion, text_kind
from isoplan.engine.store.columns.guess import (
    Guess,
    agreed_conversions,
    better,
    guess_curve_roles,
    guess_roles,
    proposed,
    with_guesses,
)
from isoplan.engine.store.columns.mapping import check_roles, like, unknown_column, uses
from isoplan.engine.store.columns.unit_names import COMPUTE, COUNTS, named_unit
from isoplan.engine.store.columns.unread_roles import why_not, withheld
from isoplan.engine.store.database.database import memory
from isoplan.engine.store.files.uploads import MAX_UPLOAD_BYTES
from isoplan.engine.store.tables import catalog, snapshots, tables
from isoplan.engine.store.tables.snapshots import Filter

_SINGLE = tuple(role.value for role in SINGLE_ROLES)
_MANY = {"metric": "metrics", "hyper": "hyper"}


@dataclass(frozen=True)
class TableBytes:
    """A table in memory.

    ``content`` are the bytes of a file in any supported format, and ``name`` is the name of the table.
    """

    content: bytes
    name: str

    def __str__(self) -> str:
        return self.name


def read_runs(
    path: Path | TableBytes,
    mapping: Mapping[str, str] | None = None,
    where: str = "",
    compute: ComputeRule | None = None,
    *,
    repeats: Literal["all", "mean", "once"] = "all",
    each: bool = False,
    pooled: tuple[str, ...] = (),
    agreed: tuple[str, ...] = (),
    derived: Mapping[str, str] | None = None,
    rows: RowsOfRun | None = None,
    sheet: str | None = None,
    inner: str | None = None,
    layout: LayoutOption = "auto",
    extra: tuple[str, ...] = (),
    offered: tuple[str, ...] = (),
) -> Runs:
    """Read the runs of a table file. ``mapping`` (role -> column) replaces roles of the suggested mapping.

    Roles are N, D, U, C, loss, epochs, budget, step, weight, group, seed, run and status. The roles ``metric`` and
    ``hyper`` take several columns joined by ``+``. An empty column (``C=``) removes the suggested column of a role. A
    text column in ``mapping`` is read as numbers by its proposed conversion if this conversion is unambiguous and fits
    every cell. A column in ``agreed`` (``COLUMN`` or ``COLUMN:conversion``) is always converted. ``derived`` maps roles
    to formulas. ``rows`` selects one row of each run that has several rows. If ``rows`` is None and the run names and
    steps show that the rows are points of training curves, the last row of each run is selected. Columns in ``extra``
    become hyperparameters, unless they already have a role. Columns in ``offered`` also become hyperparameters if the
    table has them and they are numeric. A table in a layout such as a pivot table is read as one row per run, unless
    ``layout`` is "plain". ``repeats``, ``each`` and ``pooled`` are fields of ``Roles``. The ``source`` of
    the runs is the path. Raises PlannerError for an unreadable file, an unknown role or column, or an invalid condition
    ``where``.
    """
    with open_table(
        path,
        mapping,
        where,
        agreed=agreed,
        derived=derived,
        rows=rows,
        pooled=pooled,
        sheet=sheet,
        inner=inner,
        layout=layout,
    ) as table:
        numbers = (
            c.name for c in table.columns if c.name in offered and c.name not in set(Role) and c.kind == "number"
        )
        changes = {"compute": compute or ComputeRule(), "repeats": repeats, "each": each}
        roles = _with_extra(table.roles, (*extra, *numbers)).model_copy(update=changes)
        check_roles(table.columns, roles)
        runs = table.read(roles)
        return replace(runs, notes=(*table.notes, *runs.notes), where=where)


@dataclass(frozen=True, eq=False)
class OpenTable:
    """An open table file that can be read under several mappings. ``roles`` is the mapping of ``open_table``."""

    columns: tuple[Column, ...]
    roles: Roles
    notes: tuple[str, ...]
    read: Callable[[Roles], Runs]

    def waiting(self, sizes: Mapping[str, str]) -> dict[str, str]:
        """Return the roles whose column is not read because the user has not accepted its conversion: role -> reason.

        The column of a role is the column in ``sizes`` (role -> column), or a column whose name matches the role. A
        role with an empty column in ``sizes`` is left out.
        """
        roles = self.roles.model_copy(update={name: column or None for name, column in sizes.items()})
        found = {role: why for role, why in withheld(self.columns, roles).items() if sizes.get(role) != ""}
        by_name = {c.name: c for c in with_guesses(self.columns) if c.name not in roles.conversions}
        picked = {name: by_name[column] for name, column in sizes.items() if column in by_name}
        needed = {
            name: why_not(c, name, roles)
            for name, c in picked.items()
            if c.conversion is not None and c.conversion.needed
        }
        return found | needed


@contextmanager
def open_table(
    path: Path | TableBytes,
    mapping: Mapping[str, str] | None = None,
    where: str = "",
    *,
    agreed: tuple[str, ...] = (),
    derived: Mapping[str, str] | None = None,
    rows: RowsOfRun | None = None,
    pooled: tuple[str, ...] = (),
    sheet: str | None = None,
    inner: str | None = None,
    layout: LayoutOption = "auto",
) -> Iterator[OpenTable]:
    """Open a table file for the block; the arguments and errors are those of ``read_runs``."""
    sent, name = table_bytes(path)
    with memory() as db:
        info = tables.add(db, sent, name, sheet=sheet, inner=inner, layout=layout)
        known = catalog.columns(db, info.id)

        def read(roles: Roles) -> Runs:
            runs = snapshots.runs(db, snapshots.take(db, info.id, roles, Filter(where=where)))
            return replace(runs, source=name if str(path) == "-" else str(path))

        roles = with_derived(with_mapping(known, mapping or {}, agreed), derived or {})
        roles = tables.history(db, info.id, roles, rows).model_copy(update={"pooled": pooled})
        check_roles(known, roles)
        yield OpenTable(known, roles, info.notes, read)


def read_cells(
    path: Path | TableBytes, mapping: Mapping[str, str] | None = None, compute: ComputeRule | None = None
) -> Runs:
    """Read the sizes and costs of cells (planned training runs) of a table file, with or without a loss.

    ``mapping`` is used as in ``read_runs``. ``compute`` gives C if no column contains it. Raises PlannerError for the
    same reasons as ``read_runs``.
    """
    with open_table(path, mapping, rows="all") as table:
        names = [column.name for column in table.columns]
        return table.read(table.roles.of_cells(compute or ComputeRule(), names))


def read_rows(path: Path | TableBytes) -> list[dict[str, bool | float | str]]:
    """Return the rows of a table file as they are: column -> value, without missing values.

    Raises PlannerError if the file cannot be read.
    """
    sent, name = table_bytes(path)
    with memory() as db:
        info = tables.add(db, sent, name)
        frame = tables.frame(db, info.id, limit=info.rows).iloc[:, 1:]
        records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    kinds = (bool, int, float, str)
    return [{str(n): x if isinstance(x, kinds) else str(x) for n, x in row.items() if x is not None} for row in records]


def read_curves(
    path: Path | TableBytes, runs: Runs, mapping: Mapping[str, str] | None = None, extra: tuple[str, ...] = ()
) -> Curves:
    """Return the training curves of a table file, linked to ``runs`` by the names of the runs.

    ``mapping`` is used as in ``read_runs``. Columns in ``extra`` that the file contains become hyperparameters, unless
    they already have a role. Raises PlannerError for the same reasons as ``read_runs``. Also raises PlannerError if the
    curves cannot be linked to the runs, or if no column measures the training progress.
    """
    sent, name = table_bytes(path)
    with memory() as db:
        info = tables.add(db, sent, name)
        known = catalog.columns(db, info.id)
        there = tuple(c.name for c in known if c.name in extra)
        roles = like(known, with_mapping(known, mapping or {}, guess=guess_curve_roles), runs.roles)
        roles = _with_extra(roles, there)
        check_roles(known, roles, "curves")
        curves = snapshots.curves(db, snapshots.take(db, info.id, roles), runs)
    return replace(curves, source=name if str(path) == "-" else str(path), notes=(*info.notes, *curves.notes))


def table_bytes(path: Path | TableBytes) -> tuple[Path | bytes, str]:
    """Return the table at a path that the user typed, and its name for sentences.

    The table is returned as a path if it is a plain file, otherwise as bytes. The path ``-`` means standard input. A
    pipe is read to its end, or up to the size limit of an upload. Raises PlannerError if the path does not exist or is
    a folder.
    """
    if isinstance(path, TableBytes):
        return path.content, path.name
    if str(path) == "-":
        return sys.stdin.buffer.read(MAX_UPLOAD_BYTES + 1), "standard input"
    if path.is_file():
        return path, path.name
    if path.is_dir():
        raise PlannerError(
            f"{path} is a folder: name a table file in it, or read the runs of a tracker with isoplan import."
        )
    if not path.exists():
        raise PlannerError(f"There is no file {path}: check the path.")
    try:
        with path.open("rb") as pipe:
            return pipe.read(MAX_UPLOAD_BYTES + 1), str(path)
    except OSError as error:
        raise PlannerError(f"{path} cannot be read ({error.strerror}): check the path and its permissions.") from None


def with_mapping(
    columns: tuple[Column, ...], mapping: Mapping[str, str], agreed: tuple[str, ...] = (), guess: Guess = guess_roles
) -> Roles:
    """Return the suggested mapping of ``columns``, with the roles in ``mapping`` replaced.

    A column in ``mapping`` loses its suggested role. ``agreed`` are the conversions that the user accepted.
    """
    asked = {role: _columns(role, text) for role, text in mapping.items()}
    names = [c.name for c in columns]
    for role, chosen in asked.items():
        for name in chosen:
            if name not in names:
                raise unknown_column(name, names, f"for {role}")
    named = {name for chosen in asked.values() for name in chosen}
    columns = with_guesses(columns)
    hows = read_agreed(names, agreed)
    hows |= {c.name: _select_reading(c, hows[c.name]) for c in columns if c.name in hows and c.two_readings}
    clean = {c.name for c in columns if c.conversion and _certain(c.conversion)}
    kinds = agreed_conversions(columns, dict.fromkeys(clean & named, "") | hows)
    if unclear := next((name for name in hows if name not in kinds), None):
        option = shlex.quote(f"{unclear}:millions")
        raise PlannerError(f"--convert {unclear!r}: no unit is recognised. Name it, as in --convert {option}.")
    guessed = guess(columns, kinds).model_dump()
    fields = {k: v for k, v in guessed.items() if k not in _SINGLE or v not in named}
    fields["metrics"] = [m for m in guessed["metrics"] if m["column"] not in named]
    fields["hyper"] = [name for name in guessed["hyper"] if name not in named]
    fields["conversions"] = kinds
    _refuse_units(columns, asked, kinds)
    for role, chosen in asked.items():
        if role == "metric":
            fields["metrics"] = [Metric(column=name, direction=better(name)) for name in chosen]
        elif role == "hyper":
            fields["hyper"] = chosen
        else:
            fields[role] = chosen[0] if chosen else None
    return Roles.model_validate(fields)


def with_derived(roles: Roles, derived: Mapping[str, str]) -> Roles:
    """Return the mapping with the formulas ``derived``; a role with a formula loses its suggested column."""
    free = {name: None for name in derived if name in _SINGLE}
    return Roles.model_validate({**roles.model_dump(), **free, "derived": dict(derived)})


def read_agreed(names: Sequence[str], agreed: Iterable[str]) -> dict[str, str]:
    """Parse texts ``COLUMN`` or ``COLUMN:conversion`` and return column -> conversion.

    The conversion is an empty string if the text contains none. The proposed conversion is then used.
    """
    found = {}
    for text in agreed:
        name, how = text, ""
        if text not in names:
            name, _, how = text.rpartition(":")
        if name not in names:
            raise unknown_column(name or text, list(names), "of --convert")
        if how:
            read_conversion(how, name)
        found[name] = how
    return found


def _select_reading(column: Column, how: str) -> str:
    """Return the conversion ``how`` for an ambiguous column if it selects one of the two possible number formats.

    If the ambiguous mark is a point, the format "thousands" is returned as "comma". In the format "comma", points
    separate thousands. Raises PlannerError if ``how`` selects no number format.
    """
    assert column.conversion is not None
    kind, plus, unit = how.partition("+")
    if kind == "thousands" and kind not in column.conversion.either:
        return f"comma{plus}{unit}"  # in the format "comma", points separate thousands
    if text_kind(how) is not None:
        return how
    options = (shlex.quote(f"{column.name}:{kind}{'+' if how else ''}{how}") for kind in column.conversion.either)
    raise PlannerError(
        f"--convert {column.name!r}: {column.two_readings}. Write {' or '.join(f'--convert {one}' for one in options)}."
    )


def _certain(conversion: Conversion) -> bool:
    """Return whether a proposed conversion contains no unit, can read every cell and is unambiguous."""
    return not conversion.about and conversion.fails == 0 and not conversion.ambiguous


def _refuse_units(columns: Sequence[Column], asked: Mapping[str, list[str]], kinds: Mapping[str, str]) -> None:
    """Raise PlannerError if a column that the user maps to a size or to compute needs a choice of its unit.

    A choice is needed if the name or the values of the column suggest a unit and ``kinds`` has no conversion for it.
    """
    for column in columns:
        roles = [role for role in (*COUNTS, *COMPUTE) if column.name in asked.get(role.value, ())]
        # A column may have no proposed conversion because another column got the role that the name of this column
        # suggests.
        named = named_unit(column) if roles and column.conversion is None else None
        if named is not None and roles[0] in named.roles:
            column = replace(column, conversion=proposed(column, named.how, roles[0]))
        unit = column.conversion
        if roles and unit is not None and unit.about and unit.needed and column.name not in kinds:
            quoted = shlex.quote(column.name)
            raise PlannerError(
                f"{roles[0]} (column {column.name!r}): its name or values suggest a unit. Read it {unit.about} with "
                f"{column.convert_option}, or unchanged with --convert {quoted}:{AS_IS}."
            )


def _with_extra(roles: Roles, extra: tuple[str, ...]) -> Roles:
    """Return the mapping with the columns ``extra`` added as hyperparameters, unless they already have a role."""
    used = {column for _, column in uses(roles)}
    return roles.model_copy(update={"hyper": (*roles.hyper, *(name for name in extra if name not in used))})


def _columns(role: str, text: str) -> list[str]:
    """Return the columns in one entry of a mapping, such as ``recall+ndcg``.

    Raises PlannerError if the role does not exist.
    """
    if role not in _SINGLE and role not in _MANY:
        listed = ", ".join([*_SINGLE, *_MANY])
        raise PlannerError(f"--map: there is no role {role!r}: use one of {listed}.")
    if role in _MANY:
        return [name for name in text.split("+") if name]
    return [text] if text else []
