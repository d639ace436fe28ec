"""Functions that read options. Each converts the text of an option to values or raises PlannerError."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from isoplan.app.commands.shared.output import note
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import parse_number
from isoplan.engine.schema import Curves, Runs
from isoplan.engine.store.columns.directions import with_direction, with_metric

_OPTION = re.compile(r"--[a-z]+ (?:'[^']*'|[^ ,.;)]+)")
"""Pattern of an option with its value in a sentence, such as --map 'D=tokens'."""


def read_table(
    table: Path,
    roles: dict[str, str],
    metric: tuple[str, str],
    where: str,
    compute: ComputeRule | None,
    *,
    convert: Iterable[str] | None = None,
    derive: Iterable[str] | None = None,
    **how: Any,
) -> Runs:
    """Return the runs of a table file; ``metric`` is the name of a column and its better direction.

    ``convert`` and ``derive`` are the texts of --convert and --derive. All other arguments are passed to ``read_runs``.
    """
    from isoplan.engine.store.columns.derive import read_derived
    from isoplan.engine.store.columns.units import percent_note
    from isoplan.engine.store.files.table_files import read_runs

    derived = read_derived(derive or ())
    runs = read_runs(table, roles, where, compute, agreed=tuple(convert or ()), derived=derived, **how)
    runs = replace(runs, notes=(*runs.notes, *percent_note(runs, metric[0])))
    return with_direction(runs, *metric, "--y")


@contextmanager
def notes_of(runs: Runs) -> Iterator[None]:
    """If the ``with`` block raises PlannerError, print the notes on how ``runs`` were read.

    A note is left out if the error message and the note propose the same option with the same value.
    """
    try:
        yield
    except PlannerError as error:
        ways = set(_OPTION.findall(str(error)))
        note(text for text in runs.notes if not ways.intersection(_OPTION.findall(text)))
        raise


def read_map(options: list[str], metric: str = "", **named: str) -> dict[str, str]:
    """Return columns by role from ``N=params,D=tokens``. A column name that contains a comma is in double quotes.

    The column ``metric`` is added to the metrics. ``named`` contains the columns of roles that have their own option,
    such as --group. A column in ``named`` is "" if its option is not given. Raises PlannerError if an entry has no "="
    or if a role is named twice.
    """
    found: dict[str, str] = {}
    for entry in (e for option in options for e in _split(option)):
        role, equals, column = entry.partition("=")
        if not equals or not role.strip():
            raise PlannerError(f"--map cannot read {entry!r}: write ROLE=COLUMN, as in --map N=params,D=tokens.")
        role = role.strip()
        if role in found:
            raise PlannerError(f"--map names the role {role} twice: keep one of {found[role]!r} and {column!r}.")
        found[role] = column.strip()
    for role, column in named.items():
        if column and role in found:
            raise PlannerError(f"--map and --{role} both name the {role}: keep one.")
        found |= {role: column} if column else {}
    return with_metric(found, metric)


def _split(option: str) -> list[str]:
    """Split the text of one --map at commas outside double quotes, and remove the quotes."""
    quoted, entries = False, [""]
    for character in option:
        quoted ^= character == '"'
        if character == "," and not quoted:
            entries.append("")
        elif character != '"':
            entries[-1] += character
    if quoted:
        raise PlannerError(f"--map has an open quote in {option!r}: close it.")
    return [entry for entry in entries if entry.strip()]


def read_fixed(options: Iterable[str]) -> dict[str, float]:
    """Return fixed parameters from ``E=0.32`` or ``alpha=0.3,beta=0.4``. Raises PlannerError if the text is invalid."""
    pairs = _read_pairs(options, "--fix", "NAME=VALUE", "E=0.32")
    return {name: parse_number(value, f"value of {name} in --fix") for name, value in pairs}


def read_bounds(options: Iterable[str]) -> dict[str, tuple[float | None, float | None]]:
    """Return the (low, high) bounds by parameter from ``alpha=0:2,E=0:``; an open end is None.

    Raises PlannerError if the text is invalid.
    """
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, span in _read_pairs(options, "--bound", "NAME=LOW:HIGH", "alpha=0:2", ":"):
        ends = (end.strip() for end in span.split(":", 1))
        low, high = (parse_number(end, f"bound of {name} in --bound") if end else None for end in ends)
        found[name] = low, high
    return found


def read_priors(options: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Return (mean, standard deviation) by parameter from ``alpha=0.34+-0.02``.

    Raises PlannerError if the text is invalid.
    """
    found = {}
    written = (text.replace("\N{PLUS-MINUS SIGN}", "+-") for text in options)
    for name, value in _read_pairs(written, "--prior", "NAME=MEAN+-SD", "alpha=0.34+-0.02", "+-"):
        mean, sd = value.split("+-", 1)
        found[name] = (
            parse_number(mean, f"mean of {name} in --prior"),
            parse_number(sd, f"standard deviation of {name} in --prior"),
        )
    return found


def _read_pairs(
    options: Iterable[str], option: str, form: str, example: str, separator: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield each name and value of texts such as ``NAME=VALUE,...``.

    If ``separator`` is not empty, each value must contain the separator and at least one other character. Raises
    PlannerError if a name is repeated or a text does not have the ``form``; the message shows ``example``.
    """
    names = set[str]()
    for entry in (part for text in options for part in text.split(",")):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not (name and equals and separator in value) or (separator and value == separator):
            raise PlannerError(f"{option} cannot read {entry!r}: write {form}, as in {option} {example}.")
        if name in names:
            raise PlannerError(f"{option} names {name} twice: keep one.")
        names.add(name)
        yield name, value


def read_names(options: list[str]) -> tuple[str, ...]:
    """Return the names in ``alpha,beta``, each once."""
    return tuple(dict.fromkeys(name.strip() for text in options for name in text.split(",") if name.strip()))


def read_named(text: str, option: str) -> tuple[str, str]:
    """Return the name and the value in the ``text`` of an ``option``, such as "R=5000" of --metric."""
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip():
        raise PlannerError(f"{option} cannot read {text!r}: write NAME=VALUE, as in {option} R=5000.")
    return name.strip(), value


def read_training(
    file: Path, runs: Runs, roles: dict[str, str], metric: tuple[str, str], extra: tuple[str, ...]
) -> Curves:
    """Return the training curves of ``runs`` from a table file.

    ``metric`` is a column of the file and the better direction of the metric, "min" or "max".
    """
    from isoplan.engine.store.files.table_files import read_curves

    return with_direction(read_curves(file, runs, roles, extra), *metric, "--y")
