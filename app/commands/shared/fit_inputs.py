"""A fit as input of a question: a JSON file with the fit, or a table of runs to which the command fits a law."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoplan.app.commands.shared import options, reading
from isoplan.app.commands.shared.output import read_fit_file
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.questions.declaration import FitInput

if TYPE_CHECKING:
    from isoplan.engine.fitting import Fit
    from isoplan.engine.fitting.types.unfitted import UnfittedRuns

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".xlsx", ".duckdb")
"""Endings of the names of table files. A file with another ending contains a fit."""
OPTIONS: Mapping[str, tuple[Any, Any]] = {
    "law": (Annotated[str, typer.Option(help="Law that is fitted to a table. Default: chinchilla.")], ""),
    "mapping": (options.Mapping, None),
    "metric": (options.MetricName, ""),
    "where": (options.Where, ""),
}
"""Annotation and default of each option that applies to a table. `isoplan fit` has the same annotations and
defaults."""
SHOWN = {"mapping": "--map", "metric": "--y"}
"""Names of options that differ from the names of their parameters."""


def table_options(one: FitInput) -> Iterator[inspect.Parameter]:
    """Yield the options with which a table is read and fitted, if ``one`` accepts a table."""
    if one.law:
        for name, (annotation, default) in OPTIONS.items():
            yield options.parameter(name, annotation, default)


def read_input(one: FitInput, name: str, group: str, texts: Mapping[str, Any]) -> Fit | UnfittedRuns:
    """Return the fit that the file ``name`` contains, or a fit to the runs if the file is a table of runs.

    If the table has too few runs for a fit, the runs are returned. ``texts`` are the options of ``table_options``.
    Raises PlannerError if the file cannot be read, if the law cannot be fitted for any other reason, or if options do
    not suit the kind of the file.
    """
    if not one.law or Path(name).suffix.lower() not in TABLES:
        if given := [SHOWN.get(option, f"--{option}") for option in OPTIONS if one.law and texts[option]]:
            raise PlannerError(f"{given[0]} applies to a table of runs, but {name} is a fit: leave {given[0]} out.")
        return read_fit_file(name, group)
    if group:
        raise PlannerError(f"--group selects a fit of a FIT.json, but {name} is a table of runs: use --where.")
    return _fit_table(Path(name), texts["law"] or one.law, texts)


def _fit_table(table: Path, law: str, texts: Mapping[str, Any]) -> Fit | UnfittedRuns:
    from isoplan.engine.fitting.single import fit_if_determined
    from isoplan.engine.fitting.types.spec import read_spec
    from isoplan.engine.store.columns.directions import split_direction

    column, direction = split_direction(texts["metric"])
    spec = read_spec("--", law=law, y=column or "loss")
    roles = reading.read_map(texts["mapping"] or [], column)
    runs = reading.read_table(table, roles, (column, direction), texts["where"], None)
    with reading.notes_of(runs):
        return fit_if_determined(spec, runs, texts["where"])
