"""Combine the runs of two tables in a new table: columns are matched by role, and units are converted.

The column ``table`` of the new table names the table from which each run comes. The two tables do not change.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.mixtures import is_yes
from isoplan.engine.schema import LABEL_ROLES, NUMERIC_ROLES, Metric, Role, Roles, Runs
from isoplan.engine.store.columns.categories import category_kind, totals
from isoplan.engine.store.columns.column import AS_IS, read_conversion
from isoplan.engine.store.columns.loss_kinds import LossKind, loss_kind
from isoplan.engine.store.columns.mapping import formula_columns, unique_or_seen
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.runs import FINISHED, REPEATED
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
_COMBINED = "Combined from "
"""Start of the provenance of a combined table."""


@dataclass(frozen=True, eq=False)
class _Part:
    """One of the two tables: its entry, its name in the column ``table``, its rows, their origins, and its runs.

    ``rows`` contains all rows to copy, and ``origins`` (n,) the table from which each row comes. ``runs`` contains only
    the usable rows, with derived values; repeated runs are not averaged.
    """

    info: TableInfo
    name: str
    snapshot: Snapshot
    rows: MappedRows
    origins: NDArray[np.str_]
    runs: Runs

    @property
    def roles(self) -> Roles:
        return self.snapshot.roles

    def maps(self, role: str) -> bool:
        """Return whether a column or a formula of the table gives ``role``."""
        return self.roles.column(Role(role)) is not None or role in self.roles.derived

    def gives(self, role: str) -> bool:
        """Return whether a column or a formula of the table gives ``role`` in a known unit."""
        return self.maps(role) and not self.runs.lacks(role)


def combine(db: Database, first: str, second: str) -> TableInfo:
    """Store the runs of the tables with the ids ``first`` and ``second`` as a new table, and return it.

    Runs that are withdrawn from a table, summary rows and removed copies are not included. If only one table has N, D,
    C or the loss, the new table has this column but does not map it, because a run without it would be left out. If the
    same rows were combined before with the same mapping, the existing table is returned. Raises PlannerError if the
    tables have no size in common, or neither the loss nor a metric. Also raises PlannerError if a loss is not converted
    to nats or to a fraction, if the kind of the loss or the better direction of a metric differs, or if it is unclear
    whether D of a table counts the samples seen.
    """
    parts = _read(db, first, second)
    _check(*parts)
    names, roles = _plan(parts)
    content = _parquet([_columns(part, parts, names) for part in parts], roles)
    label = " + ".join(part.name.replace("/", "-") for part in parts)
    made = tables.add(db, content, label, provenance=_provenance(parts, roles.compute))
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
    one, other = (_part(db, info, name) for info, name in zip(infos, names, strict=True))
    return one, other


def _part(db: Database, info: TableInfo, name: str) -> _Part:
    """Return the table ``info`` without summary rows, and without the copies that its mapping leaves out."""
    snapshot = snapshots.take(db, info.id)
    if column := unique_or_seen(tables.columns(db, info.id), snapshot.roles):
        raise PlannerError(
            f"D of {name}: column {column!r} counts either the samples seen or the unique samples. Answer this "
            f"question on the Data page of {name}."
        )
    repeats = "once" if snapshot.roles.repeats == "once" else "all"
    runs = snapshots.runs(db, replace(snapshot, roles=snapshot.roles.model_copy(update={"repeats": repeats})))
    rows = snapshots.mapped_rows(db, snapshot)
    removed = runs.left_out.ids[runs.left_out.why == REPEATED]
    rows = rows.take(~totals(rows.labels, len(rows.ids))[0] & ~np.isin(rows.ids, removed))
    origins = np.full(len(rows.ids), name)
    if info.provenance.startswith(_COMBINED) and ORIGIN in rows.categories:
        category = rows.categories[ORIGIN]
        origins = np.array([*category.values, name])[category.codes]
        rows = replace(rows, categories={key: x for key, x in rows.categories.items() if key != ORIGIN})
    return _Part(info, name, snapshot, rows, origins, runs)


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
                f"Metric {name}: higher values are better in one table, lower values in the other. Change one table."
            )
    if all(losses):
        _check_losses(one, other)


def _check_losses(*parts: _Part) -> None:
    """Raise PlannerError if a loss has a unit, or if the losses differ in kind or in the data of the measurement.

    The column of the new table is called ``loss``. Its name no longer shows the unit, so the unit must be converted.
    """
    kinds = [_loss_kind(part) for part in parts]
    for part, kind in zip(parts, kinds, strict=True):
        if kind.unit:
            raise PlannerError(f"Loss of {part.name}: it is {kind.unit}. Convert its unit, or map another loss.")
    (one, other), (first, second) = (part.name for part in parts), kinds
    way = "Map the same loss in both tables."
    if first.kind and second.kind and first.kind != second.kind:
        raise PlannerError(f"Loss: it is {first.kind} in {one} and {second.kind} in {other}. {way}")
    if first.data and second.data and first.data != second.data:
        raise PlannerError(f"Loss: it is of {first.data} data in {one} and of {second.data} data in {other}. {way}")


def _loss_kind(part: _Part) -> LossKind:
    losses = part.runs["loss"]
    return loss_kind(part.roles, losses.min(initial=np.inf), losses.max(initial=-np.inf))


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
    mapped = {role for role in NUMERIC_ROLES if any(part.gives(role) for part in parts)}
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
        if category.kind != "other" and name not in (*hyper, part.roles.run)
    )
    names = _Names(numbers, labels, metrics, hyper, _free(flags, taken), seconds)
    roles = Roles.model_validate(
        {
            name: name
            for name in (*numbers, *labels)
            if name not in RUN_HAS or not any(part.runs.lacks(name) for part in parts)
        }
        | {"metrics": [Metric(column=new, direction=better[old]) for old, new in metrics.items()]}
        | {"hyper": list(hyper.values()), "compute": rule, "conversions": _converted(parts, names)}
        | {"pooled": _pooled(parts, names)}
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
    measured = any(part.gives("C") for part in parts)
    return ComputeRule() if own[0] else rules[0], measured or any(own) or rules[0] != rules[1]


def _free(names: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Map each of ``names`` to a new name that is not in ``taken``, and add the new names to ``taken``."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        new = name
        while new in taken:
            new = f"column.{new}"  # a prefix that ends with a dot does not change the meaning of a category
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


def _pooled(parts: Sequence[_Part], names: _Names) -> list[str]:
    """Return the columns of the new table with values that the user agreed to fit together.

    A column is included if the mapping of each table that has this column contains the agreement.
    """
    groups = {part.roles.group: Role.GROUP.value for part in parts if part.roles.group}
    renamed = {**groups, **names.hyper, **names.categories}
    pooled = {name for part in parts for name in part.roles.pooled}
    asked = {name for part in parts for name in part.rows.categories if name not in part.roles.pooled}
    return list(dict.fromkeys(new for old, new in renamed.items() if old in pooled - asked))


def _columns(part: _Part, parts: Sequence[_Part], names: _Names) -> dict[str, Any]:
    """Return the columns (n,) of the rows of ``part`` in the new table."""
    n = len(part.rows.ids)
    found: dict[str, Any] = {ORIGIN: part.origins}
    found |= {role: _labels(part, role) for role in names.labels}
    found |= {role: _numbers(part, role) for role in names.numbers}
    for old, new in {**names.metrics, **names.hyper}.items():
        mapped = old in part.roles.hyper or any(m.column == old for m in part.roles.metrics)
        found[new] = part.rows.cells[old] if mapped else np.full(n, np.nan)
    for old, new in names.categories.items():
        found[new] = _category(part, parts, old, new)
    if names.seconds:
        found[SECONDS] = np.full(n, np.nan) if part.rows.seconds is None else part.rows.seconds[1]
    return found


def _labels(part: _Part, role: str) -> NDArray[np.str_]:
    """Return the texts (n,) of ``role``; empty if the table does not have it.

    The status of a usable run is "finished": the meaning of a status can depend on the other rows of its table.
    """
    texts = part.rows.labels.get(role)
    if texts is None:
        return np.full(len(part.rows.ids), "", dtype=np.str_)
    return np.where(np.isin(part.rows.ids, part.runs.ids), FINISHED[0], texts) if role == Role.STATUS else texts


def _numbers(part: _Part, role: str) -> Floats:
    """Return the values (n,) of ``role``: its column, with derived values in empty cells; 1 for a missing weight.

    All values are NaN if the unit of the column is unknown.
    """
    n = len(part.rows.ids)
    if role == Role.WEIGHT and not part.maps(role):
        return np.ones(n)
    if part.runs.lacks(role):
        return np.full(n, np.nan)
    values = np.array(part.rows.cells.get(role, np.full(n, np.nan)))
    at = np.searchsorted(part.rows.ids, part.runs.ids)
    values[at] = np.where(np.isnan(values[at]), part.runs[role], values[at])
    return values


def _category(part: _Part, parts: Sequence[_Part], old: str, new: str) -> NDArray[Any]:
    """Return the values (n,) of the category ``old`` in the column ``new``.

    They are the numbers 0 and 1 for a flag, and texts for any other category. If the values 0 and 1 would not be
    recognised as a flag in a column of this name (for example "notes"), the values of the flag are the texts "ok" and
    "outlier". If the table does not have the flag, all its runs are kept. A missing category that is not a flag is
    empty.
    """
    n, category = len(part.rows.ids), part.rows.categories.get(old)
    kinds = {one.rows.categories[old].kind for one in parts if old in one.rows.categories}
    if not kinds & {"out", "keep"}:
        return np.full(n, "") if category is None else np.array([*category.values, ""])[category.codes]
    raised = np.full(n, "keep" in kinds) if category is None else is_yes(category)
    return raised.astype(float) if category_kind(new, ("0", "1")) in kinds else np.where(raised, "outlier", "ok")


def _parquet(parts: Sequence[Mapping[str, Any]], roles: Roles) -> bytes:
    """Return the rows of the parts, one part after the other, as a Parquet file. Empty texts become missing cells.

    The metadata of the file contain the mapping ``roles``, so that another mapping gives another table.
    """
    import pandas as pd

    frame = pd.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    texts = [name for name, x in parts[0].items() if x.dtype.kind == "U"]
    frame[texts] = frame[texts].astype(object).replace("", None)
    frame.attrs["mapping"] = roles.model_dump_json()
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _provenance(parts: Sequence[_Part], rule: ComputeRule) -> str:
    sources = [
        f"{part.name} ({len(part.rows.ids):,} runs, SHA-256 {part.info.sha256[:12]}, "
        f"values {part.snapshot.values_hash[:12]})"
        for part in parts
    ]
    return f"{_COMBINED}{' and '.join(sources)}. Units are converted.{_about_rules(parts, rule)}"


def _about_rules(parts: Sequence[_Part], rule: ComputeRule) -> str:
    """Return the compute rules as sentences, if a table has another rule than the new table; otherwise empty."""
    one, other = (part.roles.compute for part in parts)
    if one != other:
        listed = " and ".join(f"{part.roles.compute.text} in {part.name}" for part in parts)
        return f" The compute rules differ: {listed}. Plans use {rule.text}."
    return "" if one == rule else f" The compute rule of both tables is {one.text}. Plans use {rule.text}."
