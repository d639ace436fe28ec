"""A row filter that a user types as SQL: one boolean expression over the columns of a table, evaluated in a sandbox.

Only the SQL elements in ``_YES_OR_NO`` and ``_VALUES`` are allowed. Any other element causes an error. The condition is
evaluated in a separate DuckDB database in memory, which contains only the columns of the condition. This database
cannot access files or the network, and its configuration is locked.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
import sqlglot
from sqlglot import exp

from isoplan.engine.arrays import Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.columns.column import text_kind
from isoplan.engine.store.columns.mapping import unknown_column
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables.catalog import columns as columns_of
from isoplan.engine.store.tables.spelling import propose_spelling

MAX_LENGTH = 2000
MAX_NODES = 500
MAX_DEPTH = 60
"""Maximum nesting depth of a condition. The parser calls itself at least once per level, and Python limits recursion to
1000 calls.
"""
SECONDS = 5.0
MEMORY = "1GB"

# fmt: off
_YES_OR_NO: tuple[type[exp.Expr], ...] = (
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like,
    exp.ILike, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Boolean, exp.Contains, exp.StartsWith,
    exp.RegexpLike, exp.IsNan, exp.Column,
)
_VALUES: tuple[type[exp.Expr], ...] = (
    exp.Literal, exp.Null, exp.Identifier, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod,
    exp.Pow, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.DataType, exp.Abs, exp.Log, exp.Ln, exp.Exp, exp.Sqrt,
    exp.Lower, exp.Upper, exp.Length, exp.Trim, exp.Coalesce, exp.Nullif, exp.Round, exp.Floor, exp.Ceil, exp.Least,
    exp.Greatest,
)
# fmt: on
_CHAINS = (exp.And, exp.Or, exp.Add, exp.Sub, exp.Mul)
"""Operators that may be chained without a greater depth: ``a AND b AND c`` counts as one level."""
_COMPARISONS = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_TYPES = (*exp.DataType.NUMERIC_TYPES, *exp.DataType.TEXT_TYPES, exp.DataType.Type.BOOLEAN)
_HELP = "a condition compares columns with values, such as loss < 3 AND budget > 1e19"


def check(condition: str, columns: Sequence[str]) -> str:
    """Check a condition and return it as SQL with the names of the stored columns (``c0``, ``c1``, ...).

    ``columns`` are the column names in the file, in the order of the stored columns. A name in the condition must equal
    the name of a column; upper and lower case may differ if only one column fits. Raises PlannerError if the condition
    is not one expression of columns, constants, comparisons, arithmetic and allowed functions. For common syntax of
    other programs, such as ``N > 1B`` or ``&``, the message proposes the correct spelling.
    """
    try:
        return _checked(condition, columns)
    except PlannerError as error:
        proposal = "" if len(condition) > MAX_LENGTH else propose_spelling(condition)
        if not proposal:
            raise
        raise PlannerError(f"The condition {_short(condition)} cannot be read. {proposal}") from error


def _checked(condition: str, columns: Sequence[str]) -> str:
    tree = _parse(condition)
    for node in tree.walk():
        _check_node(node)
    if not isinstance(tree.unnest(), _YES_OR_NO):
        raise PlannerError(f"The value of the condition {_short(condition)} is neither true nor false: {_HELP}.")

    def physical(node: exp.Expr) -> exp.Expr:
        return exp.column(f"c{_resolve(node, columns)}") if isinstance(node, exp.Column) else node

    return tree.transform(physical).sql("duckdb", comments=False)


def matching_rows(db: Database, table_id: str, condition: str, conversions: Mapping[str, str] | None = None) -> Ints:
    """Return the ascending ids of the rows for which ``condition`` is true. Withdrawn rows are included.

    Text columns with a conversion in ``conversions`` are compared as numbers, in the units of the file. Raises
    PlannerError if ``check`` rejects the condition, if its evaluation fails, or if the evaluation takes longer than
    ``SECONDS``.
    """
    known = columns_of(db, table_id)
    checked = check(condition, [c.name for c in known])
    used = sorted({int(c.name[1:]) for c in sqlglot.parse_one(checked, dialect="duckdb").find_all(exp.Column)})
    fields = ["rid"]
    for i in used:
        kind = (conversions or {}).get(known[i].name)
        fields.append(f"{sql.numeric(known[i], i, kind)} AS c{i}" if text_kind(kind) else f"c{i}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        with db.read() as cursor:
            query = f"SELECT {', '.join(fields)} FROM {sql.data(table_id)} ORDER BY rid"
            cursor.execute(f"COPY ({query}) TO {sql.text(str(file))} (FORMAT parquet)")
        return _evaluate(file, checked, condition)


def _evaluate(file: Path, checked: str, condition: str) -> Ints:
    sandbox = duckdb.connect(":memory:", config={"memory_limit": MEMORY, "autoload_known_extensions": False})
    done = threading.Event()
    watch = threading.Thread(target=_stop_late, args=(sandbox, done), daemon=True)
    watch.start()
    try:
        sandbox.execute(f"CREATE TABLE runs AS SELECT * FROM read_parquet({sql.path(file)})")
        sandbox.execute("SET enable_progress_bar = false")
        sandbox.execute("SET enable_external_access = false")
        sandbox.execute("SET lock_configuration = true")
        found = sandbox.execute(f"SELECT rid FROM runs WHERE ({checked}) ORDER BY rid").fetchnumpy()["rid"]
        return np.asarray(found, dtype=np.int64)
    except duckdb.InterruptException:
        raise PlannerError(f"The condition {_short(condition)} took longer than {SECONDS:g} s: simplify it.") from None
    except duckdb.Error as error:
        raise PlannerError(
            f"The condition {_short(condition)} cannot be evaluated ({_reason(error)}): "
            "compare numbers with numbers and text with text in single quotes."
        ) from None
    finally:
        done.set()
        watch.join()
        sandbox.close()


def _stop_late(sandbox: duckdb.DuckDBPyConnection, done: threading.Event) -> None:
    """Interrupt the query if it is not ``done`` after ``SECONDS``.

    The interrupt is repeated, because an interrupt between two statements has no effect.
    """
    wait = SECONDS
    while not done.wait(wait):
        sandbox.interrupt()
        wait = 0.05


def _parse(condition: str) -> exp.Expr:
    if not condition.strip():
        raise PlannerError(f"The condition is empty: {_HELP}.")
    if len(condition) > MAX_LENGTH:
        raise PlannerError(
            f"The condition has {len(condition):,} characters and the limit is {MAX_LENGTH:,}: shorten it."
        )
    if not condition.isprintable() and any(0xD800 <= ord(c) < 0xE000 for c in condition):
        raise PlannerError(f"The condition {_short(condition)} contains an invalid character: type it again.")
    try:
        several = any(t.token_type.name == "SEMICOLON" for t in sqlglot.tokenize(condition, "duckdb"))
        found = sqlglot.parse(condition, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        raise PlannerError(
            f'The condition {_short(condition)} cannot be read: {_HELP}; quote unusual names as in "Model Size" > 1e9.'
        ) from None
    if several or len(found) != 1 or found[0] is None:
        raise PlannerError(f"The condition {_short(condition)} is more than one statement: remove the semicolon.")
    if sum(1 for _ in found[0].walk()) > MAX_NODES:
        raise PlannerError(f"The condition {_short(condition)} has too many terms: shorten it.")
    if _depth(found[0]) > MAX_DEPTH:
        raise PlannerError(
            f"The condition {_short(condition)} is nested more than {MAX_DEPTH} levels deep: simplify it."
        )
    return found[0]


def _depth(tree: exp.Expr) -> int:
    """Return the nesting depth of the condition. A loop is used, because recursion could exceed Python's limit."""
    depths = {id(tree): 1}
    for node in tree.walk(bfs=True):
        if node is not tree:
            parent = node.parent
            chained = type(node) is type(parent) and isinstance(node, _CHAINS) and node.arg_key == "this"
            depths[id(node)] = depths[id(parent)] + (not chained)
    return max(depths.values())


def _check_node(node: exp.Expr) -> None:
    if type(node) not in (*_YES_OR_NO, *_VALUES):
        raise PlannerError(f"The condition uses {_called(node)}, which is not allowed: {_HELP}.")
    if isinstance(node, _COMPARISONS) and isinstance(node.this, _COMPARISONS):
        first, chain = node.this, node.sql("duckdb")
        second = node.copy()
        second.set("this", first.expression.copy())
        raise PlannerError(
            f"The condition has two comparisons in a row in {_short(chain)}. Write {first.sql('duckdb')} AND "
            f"{second.sql('duckdb')}."
        )
    if isinstance(node, exp.DataType) and node.this not in _TYPES:
        raise PlannerError(f"The condition casts to {node.sql('duckdb')}: cast to a number or to text only.")
    if isinstance(node, exp.Column) and node.table:
        raise PlannerError(f"The condition names {node.sql('duckdb')}: write the column without its table.")


def _resolve(node: exp.Column, columns: Sequence[str]) -> int:
    name = node.name
    if name in columns:
        return list(columns).index(name)
    same = [i for i, column in enumerate(columns) if column.lower() == name.lower()]
    if len(same) == 1:
        return same[0]
    if same:
        listed = " and ".join(f'"{columns[i]}"' for i in same)
        raise PlannerError(
            f"The condition names {name!r}, which could be {listed}: write the exact name of the column."
        )
    hint = str(unknown_column(name, columns, "of the condition"))
    end = "? Text" if hint.endswith("?") else "; text"
    raise PlannerError(f"{hint.rstrip('.?')}{end} needs single quotes.")


def _called(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return f"{node.name}()"
    if isinstance(node, exp.Query):
        return "a subquery or UNION"
    if isinstance(node, exp.Func):
        return f"{node.sql_name().lower()}()"
    return type(node).__name__.upper()


def _reason(error: duckdb.Error) -> str:
    first = str(error).splitlines()[0]
    return first.partition(": ")[2][:120].rstrip(".") or first[:120]


def _short(condition: str) -> str:
    line = " ".join(condition.split())
    return repr(line if len(line) <= 60 else line[:59] + "…")
