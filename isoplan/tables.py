"""Read run tables and training curves from a file or a DataFrame."""

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
    """Path of a CSV, TSV, JSON lines, Parquet, Excel or DuckDB file, or a pandas DataFrame."""

_CONVERT = re.compile(r"(?<!of )--convert ((?:'[^']*'|[^\s',;)])+?)(?=[.,;:)]?(?:\s|$))")
"""Pattern of the terminal option ``--convert`` and its value in a sentence."""
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
    where : str
        An SQL condition that selects rows, such as "budget > 1e19".
    metric : str
        A column to fit instead of the loss. "accuracy:max" also states that larger values are better.
    rule : str or ComputeRule
        Rule that gives C [FLOPs] from N and D if no column contains C: "6ND", "6npND", "zetaND:zeta=240", or a formula.
    n_p : number
        Tokens per sample, for "6npND" and formulas.
    convert : str or several
        Columns to convert: "COLUMN" or "COLUMN:HOW", as in "params:millions".
    derive : mapping
        Formulas for roles, as in {"D": "steps * batch_size"}.
    rows : str
        Rows that are used if a run has several rows: "last", "best" or "all". The default depends on the columns.
    repeats : str
        Rows that differ only in the seed: "all" uses every row, "mean" averages them, "once" skips exact copies.
    each : bool
        Fit one law for each value of the role group.
    pooled : str or several
        Columns, such as a dataset, whose different values are fitted together by one law.
    extra : str or several
        Columns to read under their own names, for a relative error, an axis or a formula.
    sheet : str
        The sheet of an Excel file.
    inner : str
        The table in a DuckDB file.
    **roles : str, several or None
        Columns by role: N="params", D="tokens", loss="val_loss", group="optimizer". The role hyper takes several
        columns. With None, no column has the role.

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
    """Return the columns as texts, by role; "+" joins several columns. Raises PlannerError for an unknown role."""
    from isoplan.engine.schema import SINGLE_ROLES

    check_options(roles, (*(role.value for role in SINGLE_ROLES), "hyper"), runs)
    return {name: "+".join(as_tuple(column or ())) for name, column in roles.items()}


def read_table(
    table: Table, roles: Mapping[str, str], metric: str = "", compute: ComputeRule | None = None, **how: Any
) -> Runs:
    """Return the runs of a table; ``how`` are keyword arguments of ``read_runs`` of the engine.

    ``metric`` is a column, with or without its better direction, as in "accuracy:max". A PlannerError names the options
    of Python, not those of the terminal.
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
    """Return the training curves of ``runs`` in a table. A PlannerError names the options of Python."""
    from isoplan.engine.store.columns.directions import split_direction, with_direction, with_metric
    from isoplan.engine.store.files import table_files

    column, direction = split_direction(metric)
    with python_names():
        made = table_files.read_curves(as_source(table), runs, with_metric(dict(roles), column), extra)
    return with_direction(made, column, direction, "y")


def as_source(table: Table) -> Path | TableBytes:
    """Return the input of the engine for a table: a path, or the bytes of a Parquet file for a DataFrame.

    Raises PlannerError for any other type.
    """
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
    """Replace terminal option names by Python option names in any PlannerError raised within the block."""
    try:
        yield
    except PlannerError as error:
        text = with_python_names(str(error))
        if text == str(error):
            raise
        raise PlannerError(text) from None


def with_python_names(text: str) -> str:
    """Return ``text`` with the Python names of options instead of the terminal names.

    A text that contains "in the terminal" is returned unchanged.
    """
    if "in the terminal" in text:
        return text
    named = _CONVERT.sub(lambda found: f"convert={''.join(shlex.split(found[1]))!r}", text)
    return _OPTION.sub(lambda found: "pooled" if found[1] == "pool" else found[1], named)
