"""Combine the runs of two tables in a new table: columns are matched by role, and units are converted.

The column ``table`` of the new table names the table from which each run comes. The two tables do not change.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.mixtures import is_yes
from isoplan.engine.schema import LABEL_ROLES, NUMERIC_ROLES, Category, Metric, Role, Roles, Runs
from isoplan.engine.store.columns.column import AS_IS, read_conversion
from isoplan.engine.store.columns.mapping import formula_columns
from isoplan.engine.store.columns.names import words
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.snapshots import MappedRows, Snapshot
from isoplan.engine.store.tables.tables import TableInfo

ORIGIN = "table"
"""Column of the new table that names the table of each run."""
SECONDS = "seconds"
RUN_HAS = ("N", "D", "C", "loss")
"""If one of these roles is mapped, runs without a value for this role are left out. The new table therefore maps such a
role only if both tables have it.
"""
SIZES = ("N", "D", "C")
"""At least one of these roles must be known in both tables."""
_LOSSES: Mapping[str, frozenset[str]] = {
    "a mean squared error": frozenset({"mse"}),
    "a root mean squared error": frozenset({"rmse"}),
    "a mean absolute error": frozenset({"mae"}),
    "an error rate": frozenset({"error", "wer", "cer", "accuracy", "acc"}),
    "a cross-entropy": frozenset({"ce", "bce", "xent", "nll", "crossentropy", "entropy", "logloss", "bpb"}),
}
"""Kinds of losses that cannot be combined, with the words in the names of their columns."""
_PERPLEXITY = frozenset({"perplexity", "ppl"})


@dataclass(frozen=True, eq=False)
class _Part:
    """One of the two tables: its entry, its name in the column ``table``, its rows, and its runs.

    ``rows`` contains all rows, and ``runs`` only the usable rows, with derived values.
    """

    info: TableInfo
    name: str
    snapshot: Snapshot
    rows: MappedRows
    runs: Runs

    @property
    def roles(self) -> Roles:
        return self.snapshot.roles

    def maps(self, role: str) -> bool:
        """Return whether a column or a formula of the table gives ``role``."""
        return self.roles.column(Role(role)) is not None or role in self.roles.derived


def combine(db: Database, first: str, second: str) -> TableInfo:
    """Store the runs of the tables with the ids ``first`` and ``second`` as a new table, and return it.

    Runs that are withdrawn from a table are not included. If only one table has N, D, C or the loss, the new table has
    this column but does not map it, because a run without it would be left out. If the same rows were combined before,
    the existing table is returned. Raises PlannerError if the tables have no size in common, if they have neither the
    loss nor a metric in common, or if the kind of the loss or the better direction of a metric differs.
    """
    parts = _read(db, first, second)
    _check(*parts)
    names, roles = _plan(parts)
    content = _parquet([_columns(part, parts, names) for part in parts])
    label = " + ".join(part.name.replace("/", "-") for part in parts)
    made = tables.add(db, content, label, provenance=_provenance(parts))
    if not made.known:
        tables.set_roles(db, made.id, roles)
    return made


def _read(db: Database, first: str, second: str) -> tuple[_Part, _Part]:
    if first == second:
        raise PlannerError("Table: a table cannot be added to itself. Choose another table.")
    infos = [tables.get(db, table_id) for table_id in (first, second)]
    for info in infos:
        if info.kind != "runs":
            raise PlannerError(f"Table: {info.name} contains training curves. Choose a table of runs.")
    same = infos[0].name == infos[1].name
    names = [f"{info.name} ({info.id[:6]})" if same else info.name for info in infos]
    taken = [snapshots.take(db, info.id) for info in infos]
    one, other = (
        _Part(info, name, snapshot, snapshots.mapped_rows(db, snapshot), snapshots.runs(db, snapshot))
        for info, name, snapshot in zip(infos, names, taken, strict=True)
    )
    return one, other


def _check(one: _Part, other: _Part) -> None:
    """Raise PlannerError if the runs of the two tables cannot be compared."""
    sizes = [[role for role in SIZES if not part.runs.lacks(role)] for part in (one, other)]
    if not set(sizes[0]) & set(sizes[1]):
        known = [" and ".join(found) or "no size" for found in sizes]
        raise PlannerError(
            f"Sizes: {one.name} has {known[0]}, and {other.name} has {known[1]}. Map N, D or C in both tables."
        )
    ways = [{m.column: m.direction for m in part.roles.metrics} for part in (one, other)]
    both = ways[0].keys() & ways[1].keys()
    losses = [part.maps("loss") for part in (one, other)]
    if not all(losses) and not both:
        part = other if losses[0] else one
        missing = "no column is read as the loss. Map a loss, or the same metric, in both tables"
        raise PlannerError(f"Loss of {part.name}: {part.runs.withheld.get('loss', missing)}.")
    for name in sorted(both):
        if ways[0][name] != ways[1][name]:
            raise PlannerError(
                f"Metric {name}: its better direction differs in the two tables. Change it in one table."
            )
    kinds = [_loss_kind(part.roles) for part in (one, other)]
    if all(losses) and all(kinds) and kinds[0] != kinds[1]:
        raise PlannerError(
            f"Loss: it is {kinds[0]} in {one.name} and {kinds[1]} in {other.name}. Map the same loss in both tables."
        )


def _loss_kind(roles: Roles) -> str:
    """Return the kind of loss, after conversion, that the name of the loss column implies; "" if it implies none."""
    name = roles.derived.get("loss") or roles.loss or ""
    how = roles.conversions.get(name)
    if words(name) & _PERPLEXITY:
        converted = how is not None and read_conversion(how, name).unit == "perplexity"
        return "a cross-entropy" if converted else "a perplexity"
    return next((kind for kind, known in _LOSSES.items() if words(name) & known), "")


@dataclass(frozen=True)
class _Names:
    """Names of the columns of the new table.

    ``numbers`` and ``labels`` are roles, which are also the names of their columns. ``metrics``, ``hyper`` and
    ``categories`` map the former name of a column to its new name.
    """

    numbers: tuple[str, ...]
    labels: tuple[str, ...]
    metrics: Mapping[str, str]
    hyper: Mapping[str, str]
    categories: Mapping[str, str]
    seconds: bool


def _plan(parts: Sequence[_Part]) -> tuple[_Names, Roles]:
    """Return the columns of the new table and its mapping."""
    rule, with_compute = _compute_rule(parts)
    mapped = {role for role in NUMERIC_ROLES if any(part.maps(role) for part in parts)}
    mapped |= {Role.C} if with_compute else set()
    numbers = tuple(role.value for role in NUMERIC_ROLES if role in mapped)
    labels = tuple(role.value for role in LABEL_ROLES if any(part.maps(role) for part in parts))
    seconds = any(part.rows.seconds is not None for part in parts)
    taken = {ORIGIN, *numbers, *labels, *([SECONDS] if seconds else [])}
    better = {m.column: m.direction for part in parts for m in part.roles.metrics}
    metrics = _free(better, taken)
    hyper = _free((name for part in parts for name in part.roles.hyper if name not in better), taken)
    flags = (
        name
        for part in parts
        for name, category in part.rows.categories.items()
        if category.kind != "other" and name not in (*hyper, part.roles.run, ORIGIN)
    )
    names = _Names(numbers, labels, metrics, hyper, _free(flags, taken), seconds)
    roles = Roles.model_validate(
        {name: name for name in (*numbers, *labels) if name not in RUN_HAS or all(name in part.runs for part in parts)}
        | {"metrics": [Metric(column=new, direction=better[old]) for old, new in metrics.items()]}
        | {"hyper": list(hyper.values()), "compute": rule, "conversions": _converted(parts, names)}
        | {"repeats": parts[0].roles.repeats if parts[0].roles.repeats == parts[1].roles.repeats else "all"}
    )
    return names, roles


def _compute_rule(parts: Sequence[_Part]) -> tuple[ComputeRule, bool]:
    """Return the compute rule of the new table, and whether its rows need a column of C.

    The column is needed if a table has C, if the rules differ, or if a rule reads further columns. It contains the
    measured C of each run, or the C computed by the rule of the table from which the run comes.
    """
    rules = [part.roles.compute for part in parts]
    own = [bool(set(formula_columns(part.roles))) for part in parts]
    measured = any(part.maps("C") for part in parts)
    return ComputeRule() if own[0] else rules[0], measured or any(own) or rules[0] != rules[1]


def _free(names: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Map each of ``names`` to a new name that is not in ``taken``, and add the new names to ``taken``."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        new = name
        while new in taken:
            new = f"{new} (column)"
        taken.add(new)
        found[name] = new
    return found


def _converted(parts: Sequence[_Part], names: _Names) -> dict[str, str]:
    """Return the columns of the new table that need the conversion AS_IS: column -> AS_IS.

    The name or the values of such a column wrongly suggest a unit. It is the column of a role that has AS_IS in the
    former table, or a metric or hyperparameter that is converted already but whose name contains the former unit.
    """
    renamed = {**names.metrics, **names.hyper}
    found: dict[str, str] = {}
    for part in parts:
        used = {part.roles.column(Role(role)): role for role in names.numbers}
        for name, how in part.roles.conversions.items():
            if name in renamed and read_conversion(how, name).unit:
                found[renamed[name]] = AS_IS
            elif name in used and how == AS_IS:
                found[used[name]] = AS_IS
    return found


def _columns(part: _Part, parts: Sequence[_Part], names: _Names) -> dict[str, Any]:
    """Return the columns (n,) of the rows of ``part`` in the new table."""
    n = len(part.rows.ids)
    found: dict[str, Any] = {ORIGIN: _origins(part)}
    empty = np.full(n, "", dtype=np.str_)
    found |= {role: part.rows.labels.get(role, empty) for role in names.labels}
    found |= {role: _numbers(part, role) for role in names.numbers}
    for old, new in {**names.metrics, **names.hyper}.items():
        mapped = old in part.roles.hyper or any(m.column == old for m in part.roles.metrics)
        found[new] = part.rows.cells[old] if mapped else np.full(n, np.nan)
    for old, new in names.categories.items():
        found[new] = _texts(part, parts, old)
    if names.seconds:
        found[SECONDS] = np.full(n, np.nan) if part.rows.seconds is None else part.rows.seconds[1]
    return found


def _origins(part: _Part) -> NDArray[np.str_]:
    """Return the table of each row. Rows of a combined table keep the names of its tables."""
    category = part.rows.categories.get(ORIGIN)
    if category is None:
        return np.full(len(part.rows.ids), part.name)
    return np.array([*category.values, part.name])[category.codes]


def _numbers(part: _Part, role: str) -> Floats:
    """Return the values (n,) of ``role``: its column, with derived values in empty cells; 1 for a missing weight."""
    n = len(part.rows.ids)
    if role == "weight" and not part.maps(role):
        return np.ones(n)
    values = np.array(part.rows.cells.get(role, np.full(n, np.nan)))
    if role in part.runs:
        at = np.searchsorted(part.rows.ids, part.runs.ids)
        values[at] = np.where(np.isnan(values[at]), part.runs[role], values[at])
    return values


def _texts(part: _Part, parts: Sequence[_Part], name: str) -> NDArray[np.str_]:
    """Return the values (n,) of the category ``name`` as text.

    If the table does not have this category, all its runs are kept: a flag of runs to exclude is not set, and a flag
    of runs to use is set. A category that is not a flag is then empty.
    """
    category = part.rows.categories.get(name)
    if category is not None:
        return np.array([*category.values, ""])[category.codes]
    other = next(one.rows.categories[name] for one in parts if name in one.rows.categories)
    return np.full(len(part.rows.ids), _unflagged(other))


def _unflagged(category: Category) -> str:
    if category.kind not in ("out", "keep"):
        return ""
    codes = np.arange(len(category.values), dtype=np.int8)
    raised = is_yes(Category(category.values, codes))
    wanted = category.kind == "keep"
    usual = [value for value, flag in zip(category.values, raised, strict=True) if flag == wanted]
    return usual[0] if usual else str(int(wanted))


def _parquet(parts: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the rows of the parts, one part after the other, as a Parquet file. Empty texts become missing cells."""
    import pandas as pd

    frame = pd.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    texts = [name for name, x in parts[0].items() if x.dtype.kind == "U"]
    frame[texts] = frame[texts].astype(object).replace("", None)
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _provenance(parts: Sequence[_Part]) -> str:
    sources = [
        f"{part.name} ({len(part.rows.ids):,} runs, SHA-256 {part.info.sha256[:12]}, "
        f"values {part.snapshot.values_hash[:12]})"
        for part in parts
    ]
    return f"Combined from {' and '.join(sources)}. Units are converted."
