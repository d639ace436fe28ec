"""A task of ScaleBench: its table, and its laws from a JSON file. docs/scalebench.md describes both files."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import Formula, Node, parse_formula

CHECKPOINTS = (0.01, 0.05, 0.1)
"""Default fractions of the cost of the pool at which the laws are tested."""
KEYS = {"outputs", "cost", "laws", "columns", "group", "split", "checkpoints"}
SPLIT = {"column": "split", "pool": "train", "test": "test"}


@dataclass(frozen=True, eq=False)
class TaskLaw:
    """A law of a task: one formula for each output, with ``names`` of p parameters and their bounds (p,).

    All other names in the formulas are columns.
    """

    name: str
    formulas: tuple[Formula, ...]
    names: tuple[str, ...]
    low: Floats
    high: Floats

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the formulas, by name."""
        return tuple(sorted(frozenset().union(*(f.names for f in self.formulas)) - set(self.names)))

    @property
    def tree(self) -> Node:
        """One tree for all outputs: the sum of (column ``output(i)``) * (formula of output i)."""
        if len(self.formulas) == 1:
            return self.formulas[0].tree
        parts = [
            Node("chain", (Node("name", name=output(i)), formula.tree), ("*",))
            for i, formula in enumerate(self.formulas)
        ]
        return Node("chain", tuple(parts), ("+",) * (len(parts) - 1))

    def predict(self, theta: Floats, columns: Mapping[str, Floats]) -> Floats:
        """Return the outputs (r, m, d) of m rows by the parameters ``theta`` (r, p); NaN where they are undefined."""
        values = dict(zip(self.names, theta.T[:, :, None], strict=True))
        m = len(next(iter(columns.values())))
        shape = np.zeros((len(theta), m))
        at = {name: columns[name] for name in self.columns}
        return np.stack([f.unchecked({**at, **values}) + shape for f in self.formulas], axis=-1)


@dataclass(frozen=True, eq=False)
class Rows:
    """m rows of a table: ``columns`` (m,) by name, the ``outputs`` (m, d), and the ``cost`` (m,) of each row."""

    columns: Mapping[str, Floats]
    outputs: Floats
    cost: Floats

    def __len__(self) -> int:
        return len(self.cost)


@dataclass(frozen=True, eq=False)
class Task:
    """A task: for each group the rows of the pool and the rows of the test, and the laws to fit."""

    groups: Mapping[str, tuple[Rows, Rows]]
    laws: tuple[TaskLaw, ...]
    checkpoints: tuple[float, ...]


def output(i: int) -> str:
    """Return the name of the column that is 1 in rows of output ``i`` and 0 in rows of other outputs."""
    return f"output {i}"


def read_task(table: Path, laws: Path) -> Task:
    """Return the task of the CSV file ``table`` with the laws in the JSON file ``laws``.

    Raises PlannerError with the file, the key or the column, and what to do.
    """
    given = _read_json(laws)
    text = _read_csv(table)
    split = {**SPLIT, **_is(laws, given, "split", dict, {})}
    outputs = tuple(_is(laws, given, "outputs", list))
    if not outputs or not all(isinstance(name, str) for name in outputs):
        raise _wrong(laws, "outputs", "is not a list of column names", "Give at least one column of the table")
    checkpoints = _checkpoints(laws, given)
    for name in (split["column"], *outputs):
        if name not in text:
            raise PlannerError(f"{table}: the column {name} is missing. Add it, or correct {laws}.")
    numbers = {name: x for name in text if (x := _numbers(text[name])) is not None}
    for name in outputs:
        if name not in numbers or not np.isfinite(numbers[name]).all():
            raise PlannerError(f"{table}: the column {name} contains values that are not numbers. Correct them.")
    columns = dict(numbers)
    for name, formula in _is(laws, given, "columns", dict, {}).items():
        columns[name] = _column(laws, f"columns.{name}", formula, columns)
    cost = _column(laws, "cost", _is(laws, given, "cost", str), columns)
    if not (cost > 0).all():
        raise _wrong(laws, "cost", f"is not positive in row {int(np.argmin(cost > 0))}", "Correct the formula")
    made = tuple(_law(laws, i, law, outputs, columns) for i, law in enumerate(_is(laws, given, "laws", list)))
    if not made:
        raise _wrong(laws, "laws", "is empty", "Give at least one law")
    read = sorted({name for law in made for name in law.columns})
    whole = Rows({name: columns[name] for name in read}, np.column_stack([numbers[n] for n in outputs]), cost)
    return Task(_groups(table, laws, given, text, split, whole), made, checkpoints)


def _groups(
    table: Path, laws: Path, given: Mapping[str, Any], text: Mapping[str, Sequence[str]], split: Any, whole: Rows
) -> dict[str, tuple[Rows, Rows]]:
    """Return the rows of the pool and of the test of each group."""
    of = np.array(text[split["column"]])
    group = given.get("group")
    if group is not None and group not in text:
        raise _wrong(laws, "group", f"names the column {group}, which {table} does not contain", "Correct it")
    label = np.array(text[group]) if group is not None else np.full(len(of), "all")
    groups = {}
    for name in np.unique(label):
        pool, test = ((label == name) & (of == split[part]) for part in ("pool", "test"))
        if not pool.any() or not test.any():
            part = "pool" if not pool.any() else "test"
            raise PlannerError(
                f"{table}: the group {name} has no row with {split['column']} = {split[part]}. Add rows, or correct "
                f"the key split in {laws}."
            )
        groups[str(name)] = (_take(whole, pool), _take(whole, test))
    return groups


def _take(rows: Rows, mask: Bools) -> Rows:
    return Rows({name: x[mask] for name, x in rows.columns.items()}, rows.outputs[mask], rows.cost[mask])


def _law(file: Path, i: int, law: Any, outputs: Sequence[str], columns: Mapping[str, Floats]) -> TaskLaw:
    key = f"laws[{i}]"
    if not isinstance(law, dict) or not isinstance(law.get("bounds"), dict) or "formula" not in law:
        raise _wrong(file, key, "has no formula or no bounds", 'Give an object with "formula" and "bounds"')
    texts = law["formula"]
    if isinstance(texts, str) and len(outputs) == 1:
        texts = {outputs[0]: texts}
    if not isinstance(texts, dict) or set(texts) != set(outputs):
        raise _wrong(
            file, f"{key}.formula", f"does not have one formula for each output ({', '.join(outputs)})", "Add them"
        )
    formulas = tuple(_parsed(file, f"{key}.formula", texts[name]) for name in outputs)
    names = tuple(law["bounds"])
    used = frozenset().union(*(f.names for f in formulas))
    for name in names:
        if name not in used:
            raise _wrong(file, f"{key}.bounds.{name}", "is not a parameter of the formula", "Remove it")
    for name in sorted(used - set(names)):
        if name not in columns:
            raise _wrong(
                file,
                f"{key}.formula",
                f"uses {name}, which has no bounds and is not a column of numbers",
                "Add its bounds",
            )
        if not np.isfinite(columns[name]).all():
            raise _wrong(
                file, f"{key}.formula", f"uses the column {name}, which has values that are not numbers", "Correct them"
            )
    ends = np.array([_ends(file, f"{key}.bounds.{name}", law["bounds"][name]) for name in names], float)
    return TaskLaw(str(law.get("name", f"law {i + 1}")), formulas, names, ends[:, 0], ends[:, 1])


def _ends(file: Path, key: str, ends: Any) -> tuple[float, float]:
    if isinstance(ends, list) and len(ends) == 2 and all(x is None or isinstance(x, int | float) for x in ends):
        low, high = (-math.inf if ends[0] is None else ends[0]), (math.inf if ends[1] is None else ends[1])
        if low < high:
            return low, high
    raise _wrong(file, key, "is not a pair of a lower and a higher number", "Correct it, and use null for no bound")


def _checkpoints(file: Path, given: Mapping[str, Any]) -> tuple[float, ...]:
    found = tuple(_is(file, given, "checkpoints", list, list(CHECKPOINTS)))
    right = all(isinstance(x, int | float) and 0 < x <= 1 for x in found) and list(found) == sorted(set(found))
    if not found or not right:
        raise _wrong(file, "checkpoints", "is not an increasing list of numbers above 0 and up to 1", "Correct it")
    return found


def _parsed(file: Path, key: str, text: Any) -> Formula:
    if not isinstance(text, str):
        raise _wrong(file, key, "is not a formula", "Write a text such as 6*N*D")
    try:
        return parse_formula(text)
    except PlannerError as error:
        raise PlannerError(f"{file}: {key}: {error}") from None


def _column(file: Path, key: str, text: Any, columns: Mapping[str, Floats]) -> Floats:
    """Return the values of the formula ``text`` in every row."""
    formula = _parsed(file, key, text)
    try:
        return formula(columns) + np.zeros(len(next(iter(columns.values()))))
    except PlannerError as error:
        raise PlannerError(f"{file}: {key}: {error}") from None


def _read_json(file: Path) -> dict[str, Any]:
    try:
        given = json.loads(file.read_text())
    except OSError as error:
        raise PlannerError(f"{file}: the file cannot be read ({error.strerror}). Correct the path.") from None
    except ValueError as error:
        raise PlannerError(f"{file}: the file is not valid JSON ({error}). Correct it.") from None
    if not isinstance(given, dict):
        raise PlannerError(f"{file}: the file is not a JSON object. Use the keys {', '.join(sorted(KEYS))}.")
    if unknown := sorted(set(given) - KEYS):
        raise _wrong(file, unknown[0], "is an unknown key", f"Use only {', '.join(sorted(KEYS))}")
    return given


def _read_csv(file: Path) -> dict[str, list[str]]:
    try:
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as error:
        raise PlannerError(f"{file}: the file cannot be read ({error.strerror}). Correct the path.") from None
    if not rows:
        raise PlannerError(f"{file}: the table has no rows. Use a CSV file with a header and rows.")
    if wrong := [i for i, row in enumerate(rows) if None in row or None in row.values()]:
        raise PlannerError(f"{file}: row {wrong[0]} does not have one value for each column. Correct it.")
    return {name: [row[name] for row in rows] for name in rows[0]}


def _numbers(texts: Sequence[str]) -> Floats | None:
    """Return the numbers of a column, NaN for an empty text; None if a text is not a number."""
    try:
        return np.array([float(x) if x.strip() else math.nan for x in texts])
    except ValueError:
        return None


def _is(file: Path, given: Mapping[str, Any], key: str, kind: type, default: Any = None) -> Any:
    if key not in given and default is not None:
        return default
    if not isinstance(given.get(key), kind):
        shown = {"list": "a list", "dict": "an object", "str": "a text"}[kind.__name__]
        raise _wrong(file, key, "is missing" if key not in given else f"is not {shown}", f"Give {shown}")
    return given[key]


def _wrong(file: Path, key: str, what: str, todo: str) -> PlannerError:
    return PlannerError(f"{file}: {key} {what}. {todo}.")
