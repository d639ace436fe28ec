"""Reader of run tables: from a file or a DataFrame to the runs of a fit."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.scenario.typed_rules import read_typed_rule
from isoplan.options import Amount, as_text, as_tuple, check_choice, check_options

if TYPE_CHECKING:
    import pandas as pd

    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.schema import Curves, RowsOfRun, Runs
    from isoplan.engine.store.files.table_files import TableBytes
    from isoplan.options import Rule

    Table: TypeAlias = str | PathLike[str] | pd.DataFrame
    """The path of a CSV, TSV, JSON lines, Parquet, Excel or DuckDB file, or a DataFrame."""

_CONVERT = re.compile(r"(?<!of )--convert ((?:'[^']*'|[^\s',;)])+?)(?=[.,;:)]?(?:\s|$))")
"""Pattern of a terminal option ``--convert`` with its value in a sentence."""
_OPTION = re.compile(r"--([a-z]+)")


def runs(
    table: Table,
    *,
    where: str = "",
    metric: str = "",
    rule: Rule = "",
    n_p: Amount = "",
    convert: str | Iterable[str] = (),
    derive: Mapping[str, str] | None = None,
    rows: RowsOfRun | None = None,
    repeats: Literal["all", "mean", "once"] = "all",
    each: bool = False,
    pooled: str | Iterable[str] = (),
    extra: str | Iterable[str] = (),
    sheet: str | None = None,
    inner: str | None = None,
    **roles: str | Iterable[str] | None,
) -> Runs:
    """Read a table of training runs.

    Columns are guessed from their names and values. The notes of the result state how the table was read.

    Parameters
    ----------
    table : path or DataFrame
        A CSV, TSV, JSON lines, Parquet, Excel or DuckDB file, or a pandas DataFrame.
    where, metric : str
        An SQL condition that selects rows; a column to fit instead of the loss, "accuracy:max" with its direction.
    rule, n_p : str, ComputeRule, number
        C [FLOPs] from N and D if no column gives it: "6ND", "6npND" (``n_p`` tokens per sample),
        "zetaND:zeta=240", or a formula.
    convert : str or several
        Columns to convert: "COLUMN" or "COLUMN:HOW", as in "params:millions".
    derive : mapping
        Formulas for roles, as in {"D": "steps * batch_size"}.
    rows, repeats : str
        The row of a run that counts ("last", "best", "all"); treatment of repeats ("all", "mean", "once" for copies).
    each, pooled : bool, str or several
        Fit one law for each value of the role group; columns whose values are fitted as one law.
    extra : str or several
        Columns to read under their own names: for a relative error, an axis or a formula.
    sheet, inner : str
        The sheet of an Excel file, the table in a DuckDB file.
    **roles : str, several for hyper, or None for no column
        Columns by role: N="params", D="tokens", loss="val_loss", group="optimizer".

    Raises
    ------
    PlannerError
        The table cannot be read, or an option, a role or a column is wrong.
    """
    check_choice("rows", rows, (None, "all", "last", "best"))
    check_choice("repeats", repeats, ("all", "mean", "once"))
    compute = read_typed_rule(rule, as_text(n_p), "python") if isinstance(rule, str) else rule
    return read_table(
        table, _check_roles(roles), metric, compute, where=where, repeats=repeats, each=each, rows=rows,
        pooled=as_tuple(pooled), agreed=as_tuple(convert), derived=dict(derive or {}), extra=as_tuple(extra),
        sheet=sheet, inner=inner,
    )  # fmt: skip


def _check_roles(roles: Mapping[str, str | Iterable[str] | None]) -> dict[str, str]:
    """Return columns by role in the form of the table reader. Raises PlannerError for an unknown role."""
    from isoplan.engine.schema import SINGLE_ROLES

    check_options(roles, (*(role.value for role in SINGLE_ROLES), "hyper"), runs)
    return {name: "+".join(as_tuple(column or ())) for name, column in roles.items()}


def read_table(
    table: Table, roles: Mapping[str, str], metric: str = "", compute: ComputeRule | None = None, **how: Any
) -> Runs:
    """Return the runs of a table; ``how`` are the options of ``read_runs`` of the engine.

    ``metric`` is a column with or without its better direction. Raises PlannerError with Python option names.
    """
    from isoplan.engine.store.columns.directions import split_direction, with_direction, with_metric
    from isoplan.engine.store.columns.units import percent_note
    from isoplan.engine.store.files.table_files import read_runs

    column, direction = split_direction(metric)
    with python_names():
        made = read_runs(as_source(table), with_metric(dict(roles), column), compute=compute, **how)
    made = replace(made, notes=(*made.notes, *percent_note(made, column)))
    return with_direction(made, column, direction, "metric")


def read_curves(
    table: Table, runs: Runs, roles: Mapping[str, str], metric: str = "", extra: tuple[str, ...] = ()
) -> Curves:
    """Return the training curves of ``runs`` in a table. Raises PlannerError with Python option names."""
    from isoplan.engine.store.columns.directions import split_direction, with_direction, with_metric
    from isoplan.engine.store.files import table_files

    column, direction = split_direction(metric)
    with python_names():
        made = table_files.read_curves(as_source(table), runs, with_metric(dict(roles), column), extra)
    return with_direction(made, column, direction, "y")


def as_source(table: Table) -> Path | TableBytes:
    """Return the source for the engine: a path, or a DataFrame as Parquet. Raises PlannerError for another type."""
    if isinstance(table, str | PathLike):
        return Path(table)
    import pandas as pd

    from isoplan.engine.store.files.table_files import TableBytes

    if not isinstance(table, pd.DataFrame):
        raise PlannerError(f"Table: {type(table).__name__} is not a table. Use a path or a pandas DataFrame.")
    named = any(name is not None for name in table.index.names)
    frame = (table.reset_index() if named else table).rename(columns=str)
    content = io.BytesIO()
    try:
        frame.to_parquet(content, index=False)
    except (ValueError, TypeError, NotImplementedError) as error:
        why = " ".join(" ".join(map(str, error.args)).split())
        raise PlannerError(f"DataFrame: {why.rstrip('.')}. Give each column one name and one type.") from None
    return TableBytes(content.getvalue(), "DataFrame")


@contextmanager
def python_names() -> Iterator[None]:
    """Replace terminal options in the sentence of a PlannerError by the options of this package."""
    try:
        yield
    except PlannerError as error:
        text = with_python_names(str(error))
        if text == str(error):
            raise
        raise PlannerError(text) from None


def with_python_names(text: str) -> str:
    """Return a sentence with the options of this package in place of those of the terminal."""
    if "in the terminal" in text:
        return text
    named = _CONVERT.sub(lambda found: f"convert={''.join(shlex.split(found[1]))!r}", text)
    return _OPTION.sub(lambda found: "pooled" if found[1] == "pool" else found[1], named)
