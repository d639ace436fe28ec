"""Evidence from the user's run tables, for page, terminal and Python."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from isoplan.engine.errors import PlannerError
from isoplan.engine.mixtures import option
from isoplan.engine.mixtures import ways as ways_of
from isoplan.engine.planning.recommender.builder import REFITS, Built, Progress, build_evidence
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.columns import SIZES, Columns, find_columns, metric_name, metric_names
from isoplan.engine.planning.recommender.evidence import Evidence, with_fallback
from isoplan.engine.planning.recommender.run_table import Table, read_sweeps
from isoplan.engine.planning.recommender.sorting import SAID
from isoplan.engine.planning.scenario.fields import Place
from isoplan.engine.planning.scenario.typed_rules import option_name
from isoplan.engine.schema import SINGLE_ROLES, Curves, Roles, Runs

ORDER_SAID: tuple[Literal["N", "K", "s", "B"], ...] = ("N", "K", "s", "B")
"""Settings in the order of the sentence of ``summary``."""
ROLES = (*(role.value for role in SINGLE_ROLES), "metric", "hyper")


class NamedColumn(Protocol):
    """A column of a table. ``kind`` is "number", "text" or another type."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...


class OpenTable(Protocol):
    """A run table that can be read with different column mappings.

    ``isoplan.engine.store.files.table_files.OpenTable`` is such a table.
    """

    @property
    def columns(self) -> Sequence[NamedColumn]: ...
    @property
    def roles(self) -> Roles: ...
    @property
    def notes(self) -> Sequence[str]: ...
    def waiting(self, sizes: Mapping[str, str]) -> dict[str, str]: ...
    def read(self, roles: Roles) -> Runs: ...


@dataclass(frozen=True)
class Asked:
    """Request of the user: the serving ``metric`` as typed, and options of the fits.

    Several metrics are separated by commas; the first is the serving metric. A column name selects one of several
    columns with the same metric. ``refits`` is the number of resamples. ``progress`` is called with the completed
    fraction.
    """

    metric: str
    refits: int = REFITS
    seed: int = 0
    progress: Progress | None = None


def roles_of(named: Mapping[str, str]) -> dict[str, str]:
    """Return the ``named`` columns with a key that is a role of a column mapping.

    The other named columns are settings and metrics.
    """
    return {name: column for name, column in named.items() if name in ROLES}


def numeric(table: OpenTable) -> list[str]:
    """Return the names of the number columns, and of text columns that the user agreed to read as numbers."""
    return [c.name for c in table.columns if c.kind == "number" or c.name in table.roles.conversions]


def columns_of(table: OpenTable, named: Mapping[str, str], metric: str = "") -> Columns:
    """Return the columns of settings and metrics of a table.

    ``named`` are columns that the user named. They replace columns that are recognised by their names.
    """
    numbers = numeric(table)
    text = [c.name for c in table.columns if c.kind == "text"]
    spelled = {name.strip(): metric_name(name) for name in metric.split(",")}
    typed = {served: name for name, served in spelled.items() if served is not None and name in numbers}
    chosen = {name: column for name, column in named.items() if name not in ROLES or name in SIZES}
    return find_columns(numbers, table.roles, typed | chosen, text)


def find_sweeps(
    table: OpenTable, named: Mapping[str, str], metric: str = "", only: Setting | None = None, data_set: str = ""
) -> Table:
    """Return the sweeps of a table. Arguments and errors are those of ``columns_of`` and ``read_sweeps``."""
    waiting = table.waiting({name: column for name, column in named.items() if name in SIZES})
    columns = columns_of(table, named, metric)
    return read_sweeps(table.read, columns, only, waiting=waiting, data_set=data_set or None)


def evidence_of(
    table: OpenTable,
    named: Mapping[str, str],
    asked: Asked,
    *,
    only: Setting | None = None,
    curves: Callable[[Runs, tuple[str, ...]], Curves] | None = None,
    tell: Callable[[Iterable[str]], object],
    nothing: str = "",
) -> Evidence:
    """Return the evidence of a table for one metric.

    ``only`` is the setting that all runs of the table vary; None if the table may have several sweeps. ``curves`` reads
    the training curves of runs together with further columns. ``tell`` receives sentences on how the table was read.

    Raises PlannerError if ``only`` cannot be fitted. ``nothing`` is the text of the PlannerError for a table without a
    sweep or without the column of ``only``. If ``nothing`` is empty, such a table raises no error.
    """
    if nothing and only is not None and only not in columns_of(table, named, asked.metric).settings:
        raise PlannerError(nothing)
    sweeps = find_sweeps(table, named, asked.metric, only)
    if nothing and not sweeps.rows:
        raise PlannerError(nothing)
    sorted_runs = [] if only is not None else [sweeps.sentence]
    renamed = [f"{column} is read as {name}." for name, column in sweeps.columns.renamed.items()]
    tell([*table.notes, *sorted_runs, *left_out(sweeps), *([] if only is not None else renamed)])
    further = tuple(sweeps.columns.settings[name] for name in ("B",) if name in sweeps.columns.settings)
    built = build_evidence(
        sweeps, metric_names(asked.metric), curves=None if curves is None else lambda runs: curves(runs, further),
        refits=asked.refits, seed=asked.seed, progress=asked.progress,
    )  # fmt: skip
    if only is not None and only in built.errors:
        raise PlannerError(built.errors[only])
    return built.evidence


def summary(sweeps: Table, built: Built) -> str:
    """Return a sentence on the settings that the runs of a table determine, and a sentence for each renamed metric.

    Example: "32 runs: 20 determine N and D, 12 determine K, none determine the embedder share or the batch size.
    recall_at_10 is read as recall@10."
    """
    n = len(sweeps.runs)
    located = {"s": built.evidence.share, "K": built.evidence.negatives}
    adrift = [name for name, found in located.items() if found and not any(one.located for one in found)]
    parts = [
        f"{sweeps.counts[setting]} vary {SAID[setting]} but do not locate the optimum"
        if setting in adrift
        else f"{sweeps.counts[setting]} determine {SAID[setting]}"
        for setting in ORDER_SAID
        if setting in built.runs
    ]
    parts += [
        f"{sweeps.counts[setting]} vary {SAID[setting]} but cannot be fitted"
        for setting in ORDER_SAID
        if setting in built.errors and setting in sweeps.counts
    ]
    none = [SAID[setting] for setting in ORDER_SAID if setting not in sweeps.rows]
    parts += sweeps.unused
    parts += [f"none determine {' or '.join([', '.join(none[:-1]), none[-1]] if none[1:] else none)}"] if none else []
    renamed = [
        f"{column} is read as {name}." for name, column in sweeps.columns.renamed.items() if metric_name(column) == name
    ]
    return " ".join([f"{n} {'run' if n == 1 else 'runs'}: {', '.join(parts)}.", *renamed])


def left_out(sweeps: Table) -> list[str]:
    """Return sentences on what was not read from a table, and on which dataset is used.

    The sentences name the options that change this selection.
    """
    said = list(sweeps.runs.notes)
    said += [f"{role} is not read: {why}." for role, why in sweeps.waiting.items() if role in SIZES]
    if sweeps.rivals is not None:
        question, used = sweeps.rivals.question, sweeps.rivals.used
        other = next(value for value in question.counts if value != used)
        ways = f"{option(question.only(other))}, or --pool {shlex.quote(question.column)} to use all datasets together"
        said.append(f"{sweeps.rivals.sentence} Choose another dataset with {ways}.")
    return said + [f"{question.text} All runs are used: {ways_of(question)}." for question in sweeps.questions]


def combine(parts: Iterable[Evidence], place: Place) -> Evidence:
    """Combine the evidence of all ``parts``. Raises PlannerError if two of them determine the same setting."""
    whole = Evidence()
    for part in parts:
        for name in ("share", "negatives", "batch", "allocation"):
            if getattr(whole, name) and getattr(part, name):
                runs = option_name("runs", place)
                raise PlannerError(f"Option {runs}: two tables or fits determine the {name}. Leave one of them out.")
        whole = with_fallback(part, whole)
    return whole
