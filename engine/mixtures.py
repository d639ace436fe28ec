"""Mixtures in a table: several datasets, a split into train and test, flagged runs, or a sweep of another setting.

Each mixture is a question to the user: how should the fit treat it? The column mapping stores an answer such as "one
law for each value" or "all values together". The row filter stores an answer such as "only one value". A question is
not asked again after its answer, or if its column has only one value left. The functions here only read the runs.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.schema import Category, Curves, Runs

MOST_DATASETS = 8
FEWEST_PER_VALUE = 3
"""Minimum mean number of runs per value of a dataset column. With fewer, the values likely identify single runs."""
YES = {"1", "true", "yes", "y", "t"}
OUT = {"outlier", "outliers", "excluded", "discarded", "dropped", "ignored", "invalid", "corrupt", "corrupted"}
OUT |= {"untrained", "diverged", "crashed", "failed", "bad", "broken"}
"""Words in a column name or a value that mark runs that should not be used."""
FINE = {"ok", "okay", "good", "fine", "normal", "inlier", "valid", "keep"}
"""Words in a column name or a value that mark runs that should be used."""
TRAIN = {"train", "training", "fit"}
VALIDATION = {"val", "valid", "validation", "dev", "eval", "evaluation"}
"""Words for validation data. Isoplan proposes to use validation data rather than test data."""
MEASURED_ON_BOTH = 0.9
"""Minimum fraction of rows that have a matching row (same N, D and C) in the other part of a split. At this fraction or
above, every run counts as measured on both parts.
"""


FEWEST_SIZES = 3
"""Minimum number of different sizes (N, D) of the runs with the usual value of a setting. With fewer sizes, a law over
N and D cannot be fitted to these runs alone.
"""
VALUES_PER_SIZE = 2
"""Minimum mean number of unusual values of a setting per size (N, D). With fewer values, the setting probably varies
with the size of the model and is not swept on its own.
"""

COPIED = "another row in every mapped number"
"""Phrase in a note on a table that marks copied rows. A fit recognises the note and does not count the copies again."""


Kind = Literal["dataset", "split", "flag", "setting"]


@dataclass(frozen=True)
class Question:
    """One question to the user about the column ``column``.

    ``counts`` is the number of runs per value; the key "" means empty cells of the table. ``keep`` contains the values
    that Isoplan proposes to use: a part of a split, the runs without a flag, or the usual value of a setting. It is
    empty for datasets. ``typed`` is the type of the cells.
    """

    kind: Kind
    column: str
    counts: Mapping[str, int]
    keep: tuple[str, ...] = ()
    typed: str = "text"

    @property
    def text(self) -> str:
        """The question in one or two sentences, with the values of the column and the number of runs of each value."""
        total = sum(self.counts.values())
        if self.kind == "flag":
            verb = "has" if self.left_out == 1 else "have"
            return f"{self.left_out:,} of {total:,} runs {verb} {self.column} = {_or(self.gone)}."
        if self.kind == "setting":
            verb = "varies" if self.left_out == 1 else "vary"
            return (
                f"{self.left_out:,} of {total:,} runs {verb} {self.column} at fixed sizes. The other runs have "
                f"{self.column} = {self.keep[0]}."
            )
        runs = ", ".join(f"{value or 'empty'} {n:,}" for value, n in self.counts.items())
        both = " Each run has a row for each value." if self.kind == "split" and not _is_training(self.keep[0]) else ""
        return f"Column {self.column!r} has {len(self.counts)} values: {runs} runs.{both}"

    @property
    def left_out(self) -> int:
        """Number of runs that are excluded if only the values in ``keep`` are used."""
        return sum(self.counts[value] for value in self.gone)

    @property
    def gone(self) -> list[str]:
        """Values that are not in ``keep``."""
        return [value for value in self.counts if value not in self.keep]

    def only(self, *values: str) -> str:
        """Return the SQL condition for the runs with one of ``values`` (default: one of ``keep``) in the column."""
        return condition(self.column, values or self.keep, self.typed)


def condition(column: str, values: tuple[str, ...], typed: str = "text") -> str:
    """Return the SQL condition for rows with one of ``values`` in ``column``; "" means an empty cell."""
    name = column if _bare(column) else '"' + column.replace('"', '""') + '"'
    known = [value if typed != "text" else "'" + value.replace("'", "''") + "'" for value in values if value]
    parts = [f"{name} = {known[0]}" if len(known) == 1 else f"{name} IN ({', '.join(known)})"] if known else []
    return " OR ".join([*parts, *([f"{name} IS NULL"] if "" in values else [])])


def _bare(column: str) -> bool:
    """Return whether SQL accepts the column name without quotes: it is an identifier and not an SQL keyword."""
    from sqlglot import tokenize

    if not (column.isidentifier() and column.isascii()) or column.lower() == "if":
        return False
    return [token.token_type.name for token in tokenize(column, "duckdb")] == ["VAR"]


def option(where: str) -> str:
    """Return the terminal option ``--where`` with the condition ``where``, quoted for a shell."""
    simple = not set('"$`\\!') & set(where)
    return f'--where "{where}"' if simple else f"--where {shlex.quote(where)}"


def ways(question: Question) -> str:
    """Return the options of ``isoplan fit`` that would answer the question, such as "--pool dataset"."""
    name = shlex.quote(question.column)
    if question.kind == "dataset":
        first = max(question.counts, key=question.counts.__getitem__)
        return f"--group {name} --each, {option(question.only(first))} or --pool {name}"
    return f"{option(question.only())} or --pool {name}"


def questions(runs: Runs) -> tuple[Question, ...]:
    """Return the questions about ``runs`` that the user has not answered.

    If two columns divide the runs in the same way, only the first column gives a question.
    """
    return tuple(
        _propose_held_out(ask(name, runs.categories[name]), runs)
        for name in _open(runs)
        if runs.categories[name].kind != "other"
    ) + tuple(question for name in _open(runs) for question in _ask_about_setting(name, runs))


def _ask_about_setting(name: str, runs: Runs) -> Iterator[Question]:
    """Yield a question if the runs sweep the hyperparameter ``name`` at fixed sizes, and also sweep the sizes N and D.

    More than half of the runs then have the usual value of the hyperparameter. The other runs have several values of
    the hyperparameter at each of their sizes.
    """
    category = runs.categories[name]
    sizes = [runs[role] for role in ("N", "D") if role in runs]
    if name not in runs.roles.hyper or category.kind != "other" or not sizes:
        return
    usual, n = max(category.counts.items(), key=lambda item: item[1])
    if not usual or 2 * n <= len(runs):
        return
    others = [value for value in category.counts if value != usual]
    swept = [_count_sizes(category, value, sizes) for value in others if value]
    fixed = set().union(*swept)
    if (
        len(_count_sizes(category, usual, sizes)) >= max(FEWEST_SIZES, len(fixed) + 1)
        and sum(map(len, swept)) >= VALUES_PER_SIZE * len(fixed) > 0
    ):
        keep = (usual, *([""] if "" in category.counts else []))
        yield Question("setting", name, category.counts, keep, category.typed)


def _propose_held_out(question: Question, runs: Runs) -> Question:
    """Propose the held-out part of a split (validation or test) if every run was measured on both parts.

    Returns the question with the held-out value in ``keep``. Any other question is returned unchanged.
    """
    sizes = [runs[role] for role in ("N", "D", "C") if role in runs]
    if question.kind != "split" or not sizes:
        return question
    category = runs.categories[question.column]
    training = _count_sizes(category, question.keep[0], sizes)
    for value in sorted(filter(None, question.gone), key=lambda v: v.strip().lower() not in VALIDATION):
        other = _count_sizes(category, value, sizes)
        if (training & other).total() >= MEASURED_ON_BOTH * max(training.total(), other.total()):
            return replace(question, keep=(value,))
    return question


def _count_sizes(category: Category, value: str, sizes: list[Floats]) -> Counter[tuple[float, ...]]:
    """Count the runs that have ``value`` in ``category``, separately for each size.

    ``sizes`` contains the columns N, D and C; a column that the table lacks is left out. A key is the size of a run in
    these columns.
    """
    at = category.codes == category.values.index(value)
    return Counter(zip(*(x[at].tolist() for x in sizes), strict=True))


def rows_to_leave_out(question: Question, runs: Runs) -> list[int]:
    """Return the row ids of the runs that are excluded if only the values in ``question.keep`` are used."""
    category = runs.categories[question.column]
    names = np.array([*category.values, ""])[category.codes]
    return [int(i) for i in runs.ids[np.isin(names, question.gone)]]


def pooled(runs: Runs) -> tuple[str, ...]:
    """Return the columns that divide the runs and still need a decision of the user.

    A fit of all ``runs`` pools the values of these columns.
    """
    return tuple(_open(runs))


def colouring(runs: Runs | Curves) -> tuple[str, Category] | None:
    """Return the column (name, category) that determines the colours of runs or curves in figures.

    Only columns that divide the runs are used; the result is None if there is no such column. If each group has its own
    law, the column of groups is preferred to a column of datasets. Otherwise, a column of datasets is preferred.
    """
    own = [runs.roles.group] if runs.roles.group in runs.categories else []
    sets = [name for name, category in runs.categories.items() if category.kind == "dataset"]
    order = [*own, *sets] if runs.roles.each else [*sets, *own]
    found = next((name for name in order if name and _mixes(runs.categories[name])), None)
    return (found, runs.categories[found]) if found else None


def _open(runs: Runs) -> Iterator[str]:
    roles = runs.roles
    answered = {*roles.pooled, *([roles.group] if roles.each and roles.group else [])}
    seen = {_partition(runs.categories[name]) for name in answered if name in runs.categories}
    for name, category in runs.categories.items():
        if name in answered or not _mixes(category):
            continue
        partition = _partition(category)
        if partition not in seen:
            seen.add(partition)
            yield name


def _mixes(category: Category) -> bool:
    """Return whether the column divides the runs: it has several values.

    A column of datasets must also have at most ``MOST_DATASETS`` values and enough runs per value.
    """
    counts = category.counts
    if category.kind != "dataset":
        return len(counts) > 1
    named = len(counts) - ("" in counts)
    return 2 <= len(counts) and named <= MOST_DATASETS and len(category.codes) >= FEWEST_PER_VALUE * len(counts)


def _partition(category: Category) -> bytes:
    """Return a key for the division of the runs by a column.

    Two columns have the same key if they divide the runs in the same way, even if the names of their values differ.
    """
    _, first, inverse = np.unique(category.codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int8).tobytes()


def ask(name: str, category: Category, kind: Kind | None = None) -> Question:
    """Return the question about a column, of the given ``kind``.

    Without ``kind``, the name and the values of the column determine the kind.
    """
    counts, typed = category.counts, category.typed
    if kind is None and category.kind == "split":
        keep = tuple(value for value in counts if _is_training(value))
        return Question("split", name, counts, keep, typed) if keep else Question("dataset", name, counts, typed=typed)
    if kind is None and category.kind in ("out", "keep"):
        keep = tuple(value for value in counts if _raised(value) == (category.kind == "keep"))
        return Question("flag", name, counts, keep, typed)
    return Question(kind or "dataset", name, counts, typed=typed)


def _is_training(value: str) -> bool:
    return value.strip().lower() in TRAIN


def is_yes(category: Category) -> NDArray[np.bool_]:
    """Return a mask (n,) of the runs that have the flag of ``category`` set."""
    raised = np.array([*map(_raised, category.values), False])
    return np.asarray(raised[category.codes], bool)


def _raised(value: str) -> bool:
    return value.strip().lower() in YES | OUT


def _or(values: list[str]) -> str:
    return " or ".join(value or "empty" for value in values)
