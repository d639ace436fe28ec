"""Definition of a run: the roles of columns, and the runs to which a law is fitted.

A *role* is the meaning of a column for a law (N, D, C, loss, ...). The column mapping assigns columns to roles. It is
stored separately from the table, so a correction of the mapping does not change the table.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.costs import ComputeRule

Direction = Literal["min", "max"]
RowsOfRun = Literal["all", "last", "best"]
LayoutOption = Literal["auto", "plain"]
"""Choice of the user: "plain" reads the rows of a file unchanged, and "auto" reads the layout that they show."""


class Role(StrEnum):
    """The meaning of one column for a law. ``unused`` columns are stored and shown, but never fitted."""

    N = "N"
    D = "D"
    U = "U"
    C = "C"
    LOSS = "loss"
    METRIC = "metric"
    EPOCHS = "epochs"
    BUDGET = "budget"
    GROUP = "group"
    SEED = "seed"
    RUN = "run"
    STATUS = "status"
    STEP = "step"
    WEIGHT = "weight"
    HYPER = "hyperparameter"
    UNUSED = "unused"


ROLE_HELP: dict[Role, str] = {
    Role.N: "Trainable parameters of the model.",
    Role.D: "Training samples seen, including repeats: tokens, jets, events, phase-space points.",
    Role.U: "Unique training samples. Epochs are D / U.",
    Role.C: "Training compute in FLOPs. Without this column, C is computed from N and D by the compute rule.",
    Role.LOSS: "The loss that the law describes; smaller is better.",
    Role.METRIC: "Another measure of quality. Also choose whether larger or smaller is better.",
    Role.EPOCHS: "Passes over the unique samples.",
    Role.BUDGET: "The nominal compute budget (iso-FLOP group) of the run.",
    Role.GROUP: "A label that splits the table: architecture, input configuration, optimiser.",
    Role.SEED: "Random seed. Rows that differ only in their seed are repeats.",
    Role.RUN: "The name of the run. It is shown on hover and links training curves to their runs.",
    Role.STATUS: "How the run ended. Runs that are running, crashed, killed, failed or diverged are left out.",
    Role.STEP: "Training steps of the whole run. In a training curve: training steps up to each point.",
    Role.WEIGHT: "Weight of the run in the fit; zero leaves the run out.",
    Role.HYPER: "Any hyperparameter: learning rate, batch size, width.",
    Role.UNUSED: "Stored and shown, but not used by any law.",
}

# Numeric roles. At most one column of a table can have each of these roles.
NUMERIC_ROLES = (Role.N, Role.D, Role.U, Role.C, Role.LOSS, Role.EPOCHS, Role.BUDGET, Role.STEP, Role.WEIGHT)
LABEL_ROLES = (Role.GROUP, Role.SEED, Role.RUN, Role.STATUS)
SINGLE_ROLES = (*NUMERIC_ROLES, *LABEL_ROLES)
OVERFITS = "overfits"
"""Column of a run table: 1 if the run overfits, otherwise 0. The value describes the whole run, not one step."""
COST = "cost"
"""Column of a table of cells (planned runs): their costs, in the unit of the spend."""


_TEXT = ("suffix", "comma", "thousands")


class Metric(BaseModel):
    """A column that measures quality, and whether larger ("max") or smaller ("min") values are better."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    column: str
    direction: Direction = "max"


class Roles(BaseModel):
    """The column mapping of a table: role -> column name (spelled exactly as in the file).

    ``conversions`` maps columns to the conversions that the user accepted (``isoplan.engine.store.columns.column``). A
    conversion reads text as a number ("suffix": 1.2k, 3M, 4B; "comma": decimal comma; "thousands": 1,234,567) or
    changes the unit ("millions", "pf-days"). ``derived`` maps numeric roles to formulas over the columns: ``{"D":
    "steps * batch_size * seq_len"}``. ``repeats`` is the treatment of rows that differ only in their seed: "all" uses
    every row, "mean" averages the rows, and "once" uses one row of each set of exact copies. ``rows`` selects the rows
    of a run that has several rows: all, the last, or the one with the best loss. ``each`` requests one law for each
    value of ``group``. ``pooled`` are the columns with values that the user agreed to fit together. ``copies_kept``
    means that the user agreed to count exact copies as separate runs. ``samples_seen`` means that the user confirmed
    that D counts the samples seen in training. Default values of ``derived``, ``rows``, ``each``, ``pooled``,
    ``copies_kept`` and ``samples_seen`` are not written, because older snapshots must keep their hash.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    N: str | None = None
    D: str | None = None
    U: str | None = None
    C: str | None = None
    loss: str | None = None
    metrics: tuple[Metric, ...] = ()
    epochs: str | None = None
    budget: str | None = None
    group: str | None = None
    seed: str | None = None
    run: str | None = None
    status: str | None = None
    step: str | None = None
    weight: str | None = None
    hyper: tuple[str, ...] = ()
    compute: ComputeRule = Field(default_factory=ComputeRule)
    conversions: dict[str, str] = Field(default_factory=dict)
    repeats: Literal["all", "mean", "once"] = "all"
    derived: dict[str, str] = Field(default_factory=dict, exclude_if=operator.not_)
    rows: RowsOfRun = Field(default="all", exclude_if=lambda rows: rows == "all")
    each: bool = Field(default=False, exclude_if=operator.not_)
    pooled: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    copies_kept: bool = Field(default=False, exclude_if=operator.not_)
    samples_seen: bool = Field(default=False, exclude_if=operator.not_)

    @property
    def reading(self) -> str:
        """Units, formulas and row selection of the mapping in one line; empty if the table is used unchanged."""
        units = [f"{name}: {how}" for name, how in sorted(self.conversions.items()) if how not in _TEXT]
        formulas = [f"{role} = {formula}" for role, formula in sorted(self.derived.items())]
        rows = [] if self.rows == "all" else [f"{self.rows} row of each run"]
        return "; ".join([*units, *formulas, *rows])

    def of_cells(self, compute: ComputeRule, columns: Collection[str]) -> Roles:
        """Return the mapping of the sizes and costs alone, for cells (planned runs) with or without a loss.

        ``compute`` gives C if no column contains it. ``columns`` are the columns of the table. The column ``COST`` is
        read unless it already has a role.
        """
        sizes = {name: getattr(self, name) for name in ("N", "D", "U", "C", "epochs")}
        derived = {role: text for role, text in self.derived.items() if role in sizes}
        costs = {COST} & set(columns) - set(sizes.values())
        return Roles(
            **sizes,
            compute=compute,
            conversions=self.conversions,
            derived=derived,
            copies_kept=True,
            hyper=tuple(costs),
        )

    def column(self, role: Role) -> str | None:
        """Return the name of the column with the role ``role``; None if no column has this role."""
        value = getattr(self, role.value, None)
        return value if isinstance(value, str) else None

    def direction(self, y: str) -> Direction:
        """Return the better direction ("min" or "max") of ``y``, which is ``loss`` or the column of a metric."""
        return next((m.direction for m in self.metrics if m.column == y), "min")


CategoryKind = Literal["dataset", "split", "out", "keep", "other"]


@dataclass(frozen=True, eq=False)
class Category:
    """A column with few different values.

    ``values`` (k,) are its different values as text. ``codes`` (n,) is the index of the value of each run; -1 means an
    empty table cell. ``kind`` is the meaning that the name and the values suggest: "dataset"; "split" (train and test);
    "out" (a flag of runs to exclude); "keep" (a flag of runs to use); or "other". ``typed`` is the type of the cells.
    """

    values: tuple[str, ...]
    codes: NDArray[np.int8]
    kind: CategoryKind = "other"
    typed: Literal["text", "number", "bool", "date"] = "text"

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Category:
        """Return the same column for the runs at ``index`` (positions or mask)."""
        return replace(self, codes=self.codes[index])

    @property
    def counts(self) -> dict[str, int]:
        """Number of runs per value; the key "" means empty table cells. Values without runs are omitted."""
        found = np.bincount(self.codes.astype(np.int64) + 1, minlength=len(self.values) + 1).tolist()
        return {name: n for name, n in zip((*self.values, ""), (*found[1:], found[0]), strict=True) if n}


NOT_TRAINED = "that did not train"
"""Start of the reason why a run is left out if a column such as ``untrained`` marks this run."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows that no fit uses: their row ids, run names and reasons, each (k,).

    ``names`` are empty texts if the table has no column of run names. ``total`` is the number of rows before these rows
    were left out. It counts each repeated run, even if a fit uses the mean of the repeats.
    """

    ids: Ints
    names: NDArray[np.str_]
    why: NDArray[np.str_]
    total: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows by reason."""
        reasons, counts = np.unique(self.why, return_counts=True)
        return dict(zip(reasons.tolist(), counts.tolist(), strict=True))

    @property
    def untrained(self) -> int:
        """Number of rows that are left out because their models did not train."""
        return int(np.char.startswith(self.why, NOT_TRAINED).sum())


NOBODY = LeftOut(np.empty(0, np.int64), np.empty(0, np.str_), np.empty(0, np.str_))


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs to which a law is fitted: one row per run. Every array has length n and the order of ``ids``.

    ``values`` are float64 columns by *role*: "N", "D", "U", "C", "loss", "epochs", "budget", "step" and "weight", if
    the table contains or implies them. Metrics and hyperparameters are in ``values`` under their column names. "C" is
    always present if "N" and "D" are present: without a column of C, ``roles.compute`` computes it. "D" may be computed
    from C and N. "budget" is the nominal FLOPs of the run's iso-FLOP group, NaN for a run without a group. Every value
    that a fit uses is finite.

    ``labels`` are text columns by role: "group", "seed", "run", "status". ``categories`` are all columns with few
    values, by column name. ``left_out`` lists the excluded rows, and ``notes`` counts them. ``withheld`` maps a role to
    the reason why a column with a matching name was not used. ``seconds`` (n,) is the duration of each run in seconds,
    NaN if unknown, and ``seconds_from`` is the column that contains it. ``where`` is the SQL condition that selected
    the rows of a file, empty if all rows were selected.
    """

    ids: Ints
    values: Mapping[str, Floats]
    roles: Roles
    labels: Mapping[str, NDArray[np.str_]]
    source: str = ""
    sha256: str = ""
    notes: tuple[str, ...] = ()
    withheld: Mapping[str, str] = field(default_factory=dict)
    left_out: LeftOut = NOBODY
    categories: Mapping[str, Category] = field(default_factory=dict)
    seconds: Floats | None = None
    seconds_from: str = ""
    where: str = ""

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, role: str) -> Floats:
        return self.values[role]

    def __contains__(self, role: str) -> bool:
        return role in self.values

    def lacks(self, name: str) -> bool:
        """Return whether a law cannot use ``name``, because no column provides it or its column has an unknown unit."""
        return name not in self.values or (name in self.withheld and getattr(self.roles, name, None) is not None)

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Runs:
        """Return the runs at ``index`` (positions or mask), in the order of ``index``."""
        return replace(
            self,
            ids=self.ids[index],
            values={k: v[index] for k, v in self.values.items()},
            labels={k: v[index] for k, v in self.labels.items()},
            categories={k: v.take(index) for k, v in self.categories.items()},
            seconds=None if self.seconds is None else self.seconds[index],
        )


@dataclass(frozen=True, eq=False)
class Curves:
    """Training curves of m runs, with n measured points in total.

    ``names`` (m,) are the names of the runs. ``of`` (n,) is the index of the curve of each point, in ascending order;
    the points of a curve are in the order of training. ``values`` are float64 columns (n,). They include "step",
    "epochs", "D" (samples seen so far) and "C" (FLOPs used so far), if the table contains or implies them. They also
    include the loss, the metrics, and properties of the whole run ("N", "U", hyperparameters by column name). A
    property is repeated at each point of the curve of its run. NaN means not measured, infinity means that the run
    diverged. ``marks`` (m,) is the reason why a curve is excluded, empty for a valid curve. ``categories`` are the
    categories of the run table, with one code per curve (m,).
    """

    names: NDArray[np.str_]
    of: Ints
    values: Mapping[str, Floats]
    roles: Roles
    marks: NDArray[np.str_]
    source: str = ""
    sha256: str = ""
    snapshot: str = ""
    notes: tuple[str, ...] = ()
    categories: Mapping[str, Category] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, role: str) -> Floats:
        return self.values[role]

    def __contains__(self, role: str) -> bool:
        return role in self.values

    @property
    def starts(self) -> Ints:
        """Index of the first point of each curve, followed by n as the end of the last curve: shape (m + 1,)."""
        return np.searchsorted(self.of, np.arange(len(self.names) + 1)).astype(np.int64)

    def take(self, keep: NDArray[np.bool_]) -> Curves:
        """Return the curves that the mask ``keep`` (m,) selects, in unchanged order."""
        points = keep[self.of]
        return replace(
            self,
            names=self.names[keep],
            of=(np.cumsum(keep) - 1)[self.of[points]].astype(np.int64),
            values={name: x[points] for name, x in self.values.items()},
            marks=self.marks[keep],
        )
