"""Evidence from the recommender cells that Isoplan trained, for each setting of a recipe.

The folder of a log of events contains ``behavior_share.csv``, ``behavior_batch.csv``, ``behavior_allocation.csv``,
``behavior_negatives.csv`` and ``behavior_curves.csv``, which ``isoplan.trainers.bundle`` writes. ``Evidence.missing``
names missing tables. Stage 1 is evaluated batch-locally and stage 2 on the full catalogue, as in the behavioural paper.
C is computed by the step formula, which also determines the size of the cells of each budget.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec
from isoplan.engine.fitting.samples.curve_tables import shaped
from isoplan.engine.planning.recommender import Evidence, with_fallback
from isoplan.engine.planning.recommender.builder import OBJECTIVE, REFITS, Built, build_evidence
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.columns import find_columns
from isoplan.engine.planning.recommender.references import Rows, reference_rows
from isoplan.engine.planning.recommender.run_table import Table, read_sweeps
from isoplan.engine.quantities import count
from isoplan.engine.schema import LABEL_ROLES, NUMERIC_ROLES, Curves, Direction, Metric, Roles, Runs

FOLDER = Path(str(files("isoplan.data").joinpath("grids")))
LOGS = {"a synthetic log": FOLDER, "a log of video games": FOLDER / "games"}
"""Folder of the bundled tables for each log of events on which cells were trained."""
COLUMNS: dict[str, tuple[str, Direction]] = {
    "val_loss": ("loss", "min"),
    "recall@10": ("recall@10", "max"),
    "NDCG@10": ("NDCG@10", "max"),
    "MRR@10": ("MRR@10", "max"),
    "coverage@10": ("coverage@10", "max"),
}
"""For each metric of the paper: its column in the bundled tables, and its better direction ("max" or "min")."""
SWEEPS: dict[Setting, str] = {"s": "share", "B": "batch", "N": "allocation", "K": "negatives"}
SWEPT: dict[Setting, str] = {"s": "s", "B": "batch", "K": "negatives"}
"""The column that each sweep varies. The allocation sweep is missing, because it varies the role N instead."""
CANDIDATES: dict[Setting, str] = {"s": "batch-local", "B": "batch-local", "N": "batch-local", "K": "whole catalogue"}
"""Candidate items among which the cells of each sweep are evaluated."""
WORDS = ("run", "data", "softmax", "schedule", "version")
"""Columns that contain text. All other columns contain numbers."""


@cache
def evidence(folder: Path, metric: str) -> Evidence:
    """Return the evidence of the tables in ``folder`` for ``metric``.

    The field ``missing`` of the result contains the reason for each setting that has no evidence.
    """
    found, missing = Evidence(), dict[Setting, str]()
    for setting in SWEEPS:
        try:
            built = _built(folder, setting, metric)
        except PlannerError as error:
            missing[setting] = str(error)
            continue
        found = with_fallback(built.evidence, found)
        missing |= built.errors
    remarks = dict(found.remarks)
    if "N" in found.remarks or "N" not in missing:
        remarks["N"] = tuple(filter(None, (*found.remarks.get("N", ()), confounded(folder))))
    return replace(found, missing=missing, remarks=remarks)


def confounded(folder: Path) -> str:
    """Return a sentence on other quantities that change with N in the allocation sweep; empty if there are none.

    If such quantities exist, the fitted exponent a is not the exponent of N alone.
    """
    every = rows(folder, SWEEPS["N"])
    N, h, layers = (numbers(every, name) for name in ("N", "h_used", "layers_used"))
    said = []
    least = h == np.nanmin(h) if np.isfinite(h).any() else np.zeros(len(h), bool)
    if len(np.unique(N[least])) > 1 and not least.all():
        said.append(f"the width h has its minimum, {h[least][0]:g}, up to N = {count(float(N[least].max()), 3)}")
    if len(deep := np.unique(layers[np.isfinite(layers)])) > 1:
        said.append(f"the number of layers grows from {deep[0]:g} to {deep[-1]:g} with N")
    return f"Confounded: {' and '.join(said)}, so a is not the exponent of N alone." if said else ""


def counted(folder: Path, setting: Setting) -> Rows:
    """Return table rows that compare the cells of a sweep with baselines on the same log of events.

    The baselines are random guessing and item counts. The result is empty if the sweep is not trained.
    """
    if not rows(folder, SWEEPS[setting]):
        return ()
    return reference_rows(_table(folder, setting), setting)  # type: ignore[arg-type]


def counting(folder: Path) -> list[tuple[str, ...]]:
    """Return the table rows of ``counted`` for all sweeps.

    Each row begins with the name of the sweep and the kind of candidates.
    """
    return [
        (f"{sweep}, {CANDIDATES[setting]}", *line)
        for setting, sweep in SWEEPS.items()
        for line in counted(folder, setting)
    ]


def _built(folder: Path, setting: Setting, metric: str) -> Built:
    """Return the evidence of the sweep that varies ``setting``.

    Raises PlannerError if the sweep is not trained or its cells do not contain ``metric``.
    """
    runs = cells(folder, setting, metric)
    curves = _curves(folder, runs, metric) if setting == "B" else None
    read = None if curves is None else lambda _: curves
    return build_evidence(_table(folder, setting), (metric,), curves=read, settings=(setting,))


@cache
def _table(folder: Path, setting: Setting) -> Table:
    """Return the table of the sweep that varies ``setting``. All rows of the table belong to this sweep."""
    every, name = rows(folder, SWEEPS[setting]), f"behavior_{SWEEPS[setting]}.csv"
    numeric = [c for c in every[0] if c not in WORDS]
    named = Roles(N="N", D="D", C="C_step", budget="budget", loss="loss", run="run")
    return read_sweeps(lambda roles: _read(every, name, folder, roles), find_columns(numeric, named), setting)


def _read(every: Sequence[Mapping[str, str]], name: str, folder: Path, roles: Roles) -> Runs:
    """Return the rows of a table as runs with the mapping ``roles``; rows without a size or a loss are left out."""
    columns = {role.value: column for role in NUMERIC_ROLES if (column := roles.column(role)) is not None}
    columns |= {column: column for column in (*roles.hyper, *(m.column for m in roles.metrics))}
    values = {role: numbers(every, column) for role, column in columns.items()}
    labels = {role.value: np.array([row[column] for row in every]) for role in LABEL_ROLES
              if (column := roles.column(role)) is not None}  # fmt: skip
    digest = sha256((folder / name).read_bytes()).hexdigest()
    runs = Runs(np.arange(len(every)), values, roles, labels, name, digest)
    sized = [np.isfinite(values[role]) for role in ("N", "D", "C", "loss") if role in values]
    return runs.take(np.all(sized, axis=0)) if sized else runs


def budget(folder: Path) -> float | None:
    """Return the largest nominal budget in FLOPs of the share, allocation and negatives sweeps; None without sweeps."""
    settings: tuple[Setting, ...] = ("s", "N", "K")
    return max((float(row["budget"]) for setting in settings for row in rows(folder, SWEEPS[setting])), default=None)


def rows(folder: Path, sweep: str) -> list[dict[str, str]]:
    """Return the rows of a sweep's file as text: one row per trained cell, or one per curve point for "curves".

    The result is empty if the sweep is not trained.
    """
    path = folder / f"behavior_{sweep}.csv"
    return list(csv.DictReader(path.read_text("utf-8").splitlines())) if path.is_file() else []


def cells(folder: Path, setting: Setting, metric: str) -> Runs:
    """Return the finished cells of the sweep of ``setting`` that measure ``metric``.

    The runs have N, D, C, the budget, the setting that varies, and the column of the metric. Raises PlannerError if the
    sweep is not trained, or if no cell measures the metric.
    """
    name = SWEEPS[setting]
    every = rows(folder, name)
    if not every:
        raise PlannerError(f"Isoplan's {name} sweep is not trained yet: data/README.md explains how to train it.")
    y, direction = _column_of(metric)
    swept = (SWEPT[setting],) if setting in SWEPT else ()
    runs = _read(every, f"behavior_{name}.csv", folder, _roles(y, direction, swept))
    runs = runs.take(np.all([np.isfinite(x) for x in runs.values.values()], axis=0))
    if not len(runs):
        raise PlannerError(f"No cell of Isoplan's {name} sweep measures {metric}: choose another metric.")
    return runs


def updates(folder: Path, metric: str) -> Runs:
    """Return one run per batch size with the training steps that it needs to reach a target of ``metric``.

    The target is the best value that all cells reach. The column of the metric contains the training steps. Raises
    PlannerError if the batch sweep is not trained, or if its curves do not contain the metric.
    """
    runs = cells(folder, "B", metric)
    return shaped(_batch_spec(metric), runs, _curves(folder, runs, metric))


def behind(folder: Path, setting: Setting, metric: str) -> Runs:
    """Return the runs to which the curve of a setting is fitted.

    For the batch size B, these are the runs of ``updates``. For any other setting, these are the trained cells. Raises
    PlannerError if the sweep is not trained or does not contain ``metric``.
    """
    return updates(folder, metric) if setting == "B" else _built(folder, setting, metric).runs[setting]


def _column_of(metric: str) -> tuple[str, Direction]:
    if metric not in COLUMNS:
        raise PlannerError(
            f"The cells trained by Isoplan do not measure {metric!r}: choose one of {', '.join(COLUMNS)}."
        )
    return COLUMNS[metric]


def _roles(y: str, direction: Direction, swept: tuple[str, ...]) -> Roles:
    roles = Roles(N="N", D="D", C="C_step", budget="budget", hyper=swept, run="run")
    if y == "loss":
        return roles.model_copy(update={"loss": y})
    return roles.model_copy(update={"metrics": (Metric(column=y, direction=direction),)})


def numbers(every: Sequence[Mapping[str, str]], column: str) -> Floats:
    """Return a column as numbers (n,), with NaN for each empty cell.

    A column that is empty for all cells is not in the table. The result is then NaN for every row.
    """
    return np.array([float(row.get(column) or "nan") for row in every])


def _batch_spec(metric: str) -> FitSpec:
    return FitSpec(
        law="critical-batch", axis=SWEPT["B"], y=_column_of(metric)[0], objective=OBJECTIVE, bootstrap=REFITS
    )


def _curves(folder: Path, runs: Runs, metric: str) -> Curves:
    """Return the training curves of ``metric`` for the cells ``runs``, as a function of the training step."""
    y, _ = _column_of(metric)
    place = {name: i for i, name in enumerate(runs.labels["run"].tolist())}
    points = [row for row in rows(folder, "curves") if row["run"] in place and row.get(y)]
    if not points:
        raise PlannerError(
            f"The curves of the cells trained by Isoplan do not contain {metric}: choose another metric."
        )
    points.sort(key=lambda row: (place[row["run"]], float(row["update"])))
    of = np.array([place[row["run"]] for row in points])
    there, of = np.unique(of, return_inverse=True)
    known = runs.take(there)
    values = {"step": numbers(points, "update"), SWEPT["B"]: known[SWEPT["B"]][of], y: numbers(points, y)}
    roles = known.roles.model_copy(update={"step": "update"})
    return Curves(known.labels["run"], of, values, roles, np.full(len(known), ""), runs.source, runs.sha256)
