"""Evidence of recommender cells trained by Isoplan for each setting of a recipe.

A folder contains ``behavior_share.csv``, ``_batch``, ``_allocation``, ``_negatives`` and ``_curves`` as written by
``isoplan.trainers.bundle``; ``Evidence.missing`` names absent tables. Stage 1 is evaluated batch-locally and stage 2 on
the full catalogue, as in the behavioural paper. C is from the step formula, which also determines the size of cells of
one budget.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
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
"""Folders of the bundled tables, by the dataset of their cells."""
COLUMNS: dict[str, tuple[str, Direction]] = {
    "val_loss": ("loss", "min"),
    "recall@10": ("recall@10", "max"),
    "NDCG@10": ("NDCG@10", "max"),
    "MRR@10": ("MRR@10", "max"),
    "coverage@10": ("coverage@10", "max"),
}
"""Metrics by their names in the paper: column and better direction."""
SWEEPS: dict[Setting, str] = {"s": "share", "B": "batch", "N": "allocation", "K": "negatives"}
SWEPT: dict[Setting, str] = {"s": "s", "B": "batch", "K": "negatives"}
"""Column that a sweep varies; allocation varies N."""
CANDIDATES: dict[Setting, str] = {"s": "batch-local", "B": "batch-local", "N": "batch-local", "K": "whole catalogue"}
"""Candidates in the evaluation of each sweep."""
WORDS = ("run", "data", "softmax", "schedule", "version")
"""Text columns."""


@cache
def evidence(folder: Path, metric: str) -> Evidence:
    """Return the evidence of the tables in ``folder`` for ``metric``; ``missing`` gives the reason for a setting
    without any.
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
    return Evidence(found.share, found.batch, found.allocation, found.negatives, missing, remarks=remarks)


def confounded(folder: Path) -> str:
    """Describe what changes with N in the allocation sweep, so that a is not the exponent of N alone."""
    every = rows(folder, SWEEPS["N"])
    N, h, layers = (numbers(every, name) for name in ("N", "h_used", "layers_used"))
    said = []
    least = h == np.nanmin(h) if np.isfinite(h).any() else np.zeros(len(h), bool)
    if len(np.unique(N[least])) > 1 and not least.all():
        said.append(f"the width h stays at its least, {h[least][0]:g}, up to N = {count(float(N[least].max()), 3)}")
    if len(deep := np.unique(layers[np.isfinite(layers)])) > 1:
        said.append(f"the number of layers grows from {deep[0]:g} to {deep[-1]:g} with N")
    return f"Confounded: {' and '.join(said)}, so a is not the exponent of N alone." if said else ""


def counted(folder: Path, setting: Setting) -> Rows:
    """Return the results of guessing and counting on the log of a sweep and of its cells; empty if it is not
    trained.
    """
    if not rows(folder, SWEEPS[setting]):
        return ()
    return reference_rows(_table(folder, setting), setting)  # type: ignore[arg-type]


def counting(folder: Path) -> list[tuple[str, ...]]:
    """Return ``counted`` of every sweep, with its name and its candidates before each line."""
    return [
        (f"{sweep}, {CANDIDATES[setting]}", *line)
        for setting, sweep in SWEEPS.items()
        for line in counted(folder, setting)
    ]


def _built(folder: Path, setting: Setting, metric: str) -> Built:
    """Return the evidence of the sweep of ``setting``. Raises PlannerError if it is not trained or lacks the metric."""
    runs = cells(folder, setting, metric)
    curves = _curves(folder, runs, metric) if setting == "B" else None
    read = None if curves is None else lambda _: curves
    return build_evidence(_table(folder, setting), (metric,), curves=read, settings=(setting,))


@cache
def _table(folder: Path, setting: Setting) -> Table:
    """Return the table of the sweep of ``setting`` with the sweeps found in it."""
    every, name = rows(folder, SWEEPS[setting]), f"behavior_{SWEEPS[setting]}.csv"
    numeric = [c for c in every[0] if c not in WORDS]
    named = Roles(N="N", D="D", C="C_step", budget="budget", loss="loss", run="run")
    return read_sweeps(lambda roles: _read(every, name, folder, roles), find_columns(numeric, named), setting)


def _read(every: Sequence[Mapping[str, str]], name: str, folder: Path, roles: Roles) -> Runs:
    """Return the rows of a table under ``roles``, without rows that lack a size or the loss."""
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
    """Return the largest nominal budget of the sweeps of s, N and K in FLOPs; None if none is trained."""
    settings: tuple[Setting, ...] = ("s", "N", "K")
    return max((float(row["budget"]) for setting in settings for row in rows(folder, SWEEPS[setting])), default=None)


def rows(folder: Path, sweep: str) -> list[dict[str, str]]:
    """Return the cells of a sweep (or the points of ``curves``) as text; empty if it is not trained."""
    path = folder / f"behavior_{sweep}.csv"
    return list(csv.DictReader(path.read_text("utf-8").splitlines())) if path.is_file() else []


def cells(folder: Path, setting: Setting, metric: str) -> Runs:
    """Return the finished cells of the sweep of ``setting`` that measure ``metric``.

    They have the sizes, the setting, the metric and its column. Raises PlannerError for a sweep that is not trained,
    and if no cell measures the metric.
    """
    name = SWEEPS[setting]
    every = rows(folder, name)
    if not every:
        raise PlannerError(f"The {name} sweep of our own cells is not trained yet: data/README.md says how to.")
    y, direction = _column_of(metric)
    swept = (SWEPT[setting],) if setting in SWEPT else ()
    runs = _read(every, f"behavior_{name}.csv", folder, _roles(y, direction, swept))
    runs = runs.take(np.all([np.isfinite(x) for x in runs.values.values()], axis=0))
    if not len(runs):
        raise PlannerError(f"No cell of our own {name} sweep measures {metric}: choose another metric.")
    return runs


def updates(folder: Path, metric: str) -> Runs:
    """Return the training steps of each batch to the hardest value of ``metric`` that all cells reach.

    They are in the column of ``metric``. Raises PlannerError if the sweep of batches is not trained, or its curves do
    not contain the metric.
    """
    runs = cells(folder, "B", metric)
    return shaped(_batch_spec(metric), runs, _curves(folder, runs, metric))


def behind(folder: Path, setting: Setting, metric: str) -> Runs:
    """Return the runs behind the curve of a setting: its cells, for B the training steps of each batch.

    Raises PlannerError as ``updates`` does.
    """
    return updates(folder, metric) if setting == "B" else _built(folder, setting, metric).runs[setting]


def _column_of(metric: str) -> tuple[str, Direction]:
    if metric not in COLUMNS:
        raise PlannerError(f"Our own cells do not measure {metric!r}: choose one of {', '.join(COLUMNS)}.")
    return COLUMNS[metric]


def _roles(y: str, direction: Direction, swept: tuple[str, ...]) -> Roles:
    roles = Roles(N="N", D="D", C="C_step", budget="budget", hyper=swept, run="run")
    if y == "loss":
        return roles.model_copy(update={"loss": y})
    return roles.model_copy(update={"metrics": (Metric(column=y, direction=direction),)})


def numbers(every: Sequence[Mapping[str, str]], column: str) -> Floats:
    """Return a column (n,), NaN for an empty cell; a column that is empty in every cell is not in the table."""
    return np.array([float(row.get(column) or "nan") for row in every])


def _batch_spec(metric: str) -> FitSpec:
    return FitSpec(
        law="critical-batch", axis=SWEPT["B"], y=_column_of(metric)[0], objective=OBJECTIVE, bootstrap=REFITS
    )


def _curves(folder: Path, runs: Runs, metric: str) -> Curves:
    """Return the training curves of the metric of the cells ``runs``, by training steps."""
    y, _ = _column_of(metric)
    place = {name: i for i, name in enumerate(runs.labels["run"].tolist())}
    points = [row for row in rows(folder, "curves") if row["run"] in place and row.get(y)]
    if not points:
        raise PlannerError(f"The curves of our own cells do not hold {metric}: choose another metric.")
    points.sort(key=lambda row: (place[row["run"]], float(row["update"])))
    of = np.array([place[row["run"]] for row in points])
    there, of = np.unique(of, return_inverse=True)
    known = runs.take(there)
    values = {"step": numbers(points, "update"), SWEPT["B"]: known[SWEPT["B"]][of], y: numbers(points, y)}
    roles = known.roles.model_copy(update={"step": "update"})
    return Curves(known.labels["run"], of, values, roles, np.full(len(known), ""), runs.source, runs.sha256)
