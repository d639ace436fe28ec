"""Readers of options: each converts the text of an option to values, or raises PlannerError with a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from isoplan.app.commands.shared.options import Repeats
from isoplan.app.commands.shared.output import note
from isoplan.engine.costs import ComputeRule, compute_rule
from isoplan.engine.costs.measured import FIELDS, rule_of
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.quantities import parse_flops, parse_number
from isoplan.engine.schema import Curves, Metric, RowsOfRun, Runs

Table = TypeVar("Table", Runs, Curves)
_OPTION = re.compile(r"--[a-z]+ (?:'[^']*'|[^ ,.;)]+)")
"""An option with its value in a sentence; used to find notes that repeat an error."""


def read_spec(*, law: str, axis: str | None, **options: Any) -> FitSpec:
    """Return the specification that the options name. Raises PlannerError for an unknown law or an invalid option."""
    try:
        spec = FitSpec(law=law, axis=axis, **options)
    except ValidationError as error:
        raise _bad_option(error) from error
    if law != "formula":  # which of its names are columns is only known after the table is read
        spec.find_law()
    return spec


def read_table(
    table: Path,
    roles: dict[str, str],
    metric: tuple[str, str],
    where: str,
    compute: ComputeRule,
    *,
    repeats: Repeats,
    convert: list[str] | None,
    sheet: str | None,
    inner: str | None,
    derive: list[str] | None = None,
    rows: RowsOfRun | None = None,
    extra: tuple[str, ...] = (),
    offered: tuple[str, ...] = (),
    each: bool = False,
    pooled: tuple[str, ...] = (),
) -> Runs:
    """Return the runs of a table file, read with the given options; ``metric`` is a column and its direction."""
    from isoplan.engine.store.columns.derive import read_derived
    from isoplan.engine.store.columns.units import percent_note
    from isoplan.engine.store.files.table_files import read_runs

    if table.is_dir():
        raise PlannerError(f"{table} is a folder: name a table file in it.")
    runs = read_runs(
        table,
        roles,
        where,
        compute,
        repeats=repeats,
        each=each,
        pooled=pooled,
        agreed=tuple(convert or ()),
        derived=read_derived(derive or ()),
        rows=rows,
        sheet=sheet,
        inner=inner,
        extra=extra,
        offered=offered,
    )
    runs = replace(runs, notes=(*runs.notes, *percent_note(runs, metric[0])))
    return with_direction(runs, *metric)


@contextmanager
def notes_of(runs: Runs) -> Iterator[None]:
    """Print the notes on how ``runs`` were read if the block fails, except those that the error repeats."""
    try:
        yield
    except PlannerError as error:
        ways = set(_OPTION.findall(str(error)))
        note(text for text in runs.notes if not ways.intersection(_OPTION.findall(text)))
        raise


def read_map(options: list[str], metric: str = "", **named: str) -> dict[str, str]:
    """Return roles -> columns from ``N=params,D=tokens``; a column with a comma is in double quotes.

    The fitted ``metric`` becomes one of the metrics. ``named`` contains roles with a separate option, empty if the
    option is not given. Raises PlannerError if an entry has no "=" or a role is named twice.
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
    metrics = found.get("metric", "")
    if metric and metric not in metrics.split("+"):
        found["metric"] = "+".join(name for name in (metrics, metric) if name)
    return found


def _split(option: str) -> list[str]:
    """Split one --map into entries at commas outside double quotes, and remove the quotes."""
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


def read_fixed(options: list[str]) -> dict[str, float]:
    """Return fixed parameters from ``E=0.32`` or ``alpha=0.3,beta=0.4``. Raises PlannerError if the text is invalid."""
    found = {}
    for option in (part for text in options for part in text.split(",")):
        name, equals, value = option.partition("=")
        if not equals or not name.strip():
            raise PlannerError(f"--fix cannot read {option!r}: write NAME=VALUE, as in --fix E=0.32.")
        if name.strip() in found:
            raise PlannerError(f"--fix names {name.strip()} twice: keep one.")
        found[name.strip()] = parse_number(value, f"value of {name.strip()} in --fix")
    return found


def read_bounds(options: list[str]) -> dict[str, tuple[float | None, float | None]]:
    """Return bounds from ``alpha=0:2,E=0:``, None for an open end. Raises PlannerError if the text is invalid."""
    found: dict[str, tuple[float | None, float | None]] = {}
    for option in (part for text in options for part in text.split(",")):
        name, equals, span = (part.strip() for part in option.partition("="))
        low, colon, high = (part.strip() for part in span.partition(":"))
        if not (name and equals and colon and (low or high)):
            raise PlannerError(f"--bound cannot read {option!r}: write NAME=LOW:HIGH, as in --bound alpha=0:2.")
        if name in found:
            raise PlannerError(f"--bound names {name} twice: keep one.")
        lower, upper = (parse_number(end, f"bound of {name} in --bound") if end else None for end in (low, high))
        found[name] = lower, upper
    return found


def read_priors(options: list[str]) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation by parameter from ``alpha=0.34+-0.02``. Raises PlannerError if invalid."""
    found = {}
    for option in (part for text in options for part in text.split(",")):
        name, equals, value = option.partition("=")
        mean, between, sd = value.replace("\N{PLUS-MINUS SIGN}", "+-").partition("+-")
        if not equals or not name.strip() or not between:
            raise PlannerError(f"--prior cannot read {option!r}: write NAME=MEAN+-SD, as in --prior alpha=0.34+-0.02.")
        if name.strip() in found:
            raise PlannerError(f"--prior names {name.strip()} twice: keep one.")
        found[name.strip()] = (
            parse_number(mean, f"mean of {name.strip()} in --prior"),
            parse_number(sd, f"standard deviation of {name.strip()} in --prior"),
        )
    return found


def read_names(options: list[str]) -> tuple[str, ...]:
    """Return the names in ``alpha,beta``, each once."""
    return tuple(dict.fromkeys(name.strip() for text in options for name in text.split(",") if name.strip()))


def read_error(option: str) -> float | str | None:
    """Return a relative error (0.1 or 10%), or the name of the column that contains it; None if the option is empty."""
    text, share = (option[:-1], 0.01) if option.endswith("%") else (option, 1.0)
    try:
        return float(text) * share
    except ValueError:
        return option or None


def read_metric(option: str) -> tuple[str, str]:
    """Return column and direction from ``accuracy:max``; the direction is empty if it is not given."""
    column, colon, direction = option.rpartition(":")
    return (column, direction) if colon and direction in ("min", "max") else (option, "")


def read_rule(rule: str, n_p: str) -> ComputeRule:
    """Return the compute rule of the options: 6ND, 6npND (the default with --n-p), NAME:FIELD=VALUE, or a formula."""
    name, colon, numbers = rule.partition(":")
    if (colon or name != "6npND") and name in FIELDS:
        return rule_of(name, _numbers(name, numbers, n_p), {})
    tokens = parse_number(n_p, "option --n-p") if n_p else 1.0
    if rule in ("", "6ND", "6npND"):
        if rule == "6ND" and n_p:
            raise PlannerError("--n-p requires --rule 6npND. Add it, or leave --n-p out.")
        if rule == "6npND" and not n_p:
            raise PlannerError("--rule 6npND needs the tokens per sample: add --n-p, as in --n-p 40.")
        return compute_rule(rule or ("6npND" if n_p else "6ND"), tokens)
    return compute_rule("formula", tokens, rule)


def _numbers(name: str, text: str, n_p: str) -> dict[str, str]:
    """Return the numbers of a rule from ``s=2%,h=188``, including that of --n-p."""
    found = {"n_p": n_p} if n_p else {}
    for entry in (e for e in text.split(",") if e.strip()):
        field, equals, value = (part.strip() for part in entry.partition("="))
        if not equals:
            raise PlannerError(f"--rule {name} cannot read {entry!r}: write {name}:{FIELDS[name][0]}=NUMBER.")
        if field in found:
            raise PlannerError(f"--rule {name} is given {field} twice: keep one.")
        found[field] = value
    return found


def read_named(text: str, option: str) -> tuple[str, str]:
    """Return the name and the value in the ``text`` of an ``option`` such as --metric R=5000."""
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip():
        raise PlannerError(f"{option} cannot read {text!r}: write NAME=VALUE, as in {option} R=5000.")
    return name.strip(), value


def read_budget(option: str) -> float:
    """Return the FLOPs of --budget. If the text has several meanings, print the one that is used."""
    reading = parse_flops(option, "option --budget")
    note(reading.notes(option))
    return reading.value


def read_training(
    file: Path, runs: Runs, roles: dict[str, str], metric: tuple[str, str], extra: tuple[str, ...]
) -> Curves:
    """Return the training curves of ``runs`` in a table file; ``metric`` is a column of it and its direction."""
    from isoplan.engine.store.files.table_files import read_curves

    if file.is_dir():
        raise PlannerError(f"{file} is a folder: name a table file in it.")
    return with_direction(read_curves(file, runs, roles, extra), *metric)


def with_direction(runs: Table, column: str, direction: str, option: str = "--y") -> Table:
    """Set the better direction of the fitted metric from ``direction``, else from its name.

    Raises PlannerError, which names ``option``, if neither determines the direction.
    """
    from isoplan.engine.store.columns.guess import known_direction

    if not direction:
        if known_direction(column) is None and any(m.column == column for m in runs.roles.metrics):
            either = f"{option} {column}:min or {option} {column}:max"
            raise PlannerError(f"Column {column!r}: say which way is better with {either}.")
        return runs
    metrics = tuple(
        Metric.model_validate({"column": m.column, "direction": direction}) if m.column == column else m
        for m in runs.roles.metrics
    )
    return replace(runs, roles=runs.roles.model_copy(update={"metrics": metrics}))


def _bad_option(error: ValidationError) -> PlannerError:
    first = error.errors()[0]
    option = "--" + str(first["loc"][0])
    return PlannerError(f"{option} {first['input']!r} is not possible: {first['msg'].lower()}.")
