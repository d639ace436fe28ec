"""What the cells of our own grids say of each setting of a recommender: their tables as the evidence of a recipe.

A folder holds ``behavior_share.csv``, ``_batch``, ``_allocation``, ``_negatives`` and ``_curves`` as
``isoplan.trainers.bundle`` writes them; what is not there is named in ``Evidence.missing``. Stage 1 is judged
batch-locally and stage 2 on the whole catalogue, as in the behavioural paper. C is that of the step formula, by which
cells of one budget are sized.
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
from isoplan.engine.planning.recommender import Evidence
from isoplan.engine.planning.recommender.builder import OBJECTIVE, REFITS, Built, build_evidence, join
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.columns import find_columns
from isoplan.engine.planning.recommender.references import Rows, reference_rows
from isoplan.engine.planning.recommender.run_table import Table, read_sweeps
from isoplan.engine.quantities import count
from isoplan.engine.schema import LABEL_ROLES, NUMERIC_ROLES, Curves, Direction, Metric, Roles, Runs

FOLDER = Path(str(files("isoplan.data").joinpath("grids")))
LOGS = {"a synthetic log": FOLDER, "a log of video games": FOLDER / "games"}
"""Where the tables that come along lie, by what their cells were trained on."""
COLUMNS: dict[str, tuple[str, Direction]] = {
    "val_loss": ("loss", "min"),
    "recall@10": ("recall@10", "max"),
    "NDCG@10": ("NDCG@10", "max"),
    "MRR@10": ("MRR@10", "max"),
    "coverage@10": ("coverage@10", "max"),
}
"""The metrics by the names of the paper, the columns that hold them, and which direction is better."""
SWEEPS: dict[Setting, str] = {"s": "share", "B": "batch", "N": "allocation", "K": "negatives"}
SWEPT: dict[Setting, str] = {"s": "s", "B": "batch", "K": "negatives"}
"""The column that a sweep varies; allocation varies N."""
SIZES = {"N": "N", "D": "D", "C": "C_step", "budget": "budget"}
CANDIDATES: dict[Setting, str] = {"s": "batch-local", "B": "batch-local", "N": "batch-local", "K": "whole catalogue"}
"""Among what the cells of a sweep are judged."""
WORDS = ("run", "data", "softmax", "schedule", "version")
"""Columns of text."""


@cache
def evidence(folder: Path, metric: str) -> Evidence:
    """The evidence of the tables in ``folder`` for ``metric``; ``missing`` says why a setting has none."""
    found, missing = Evidence(), dict[Setting, str]()
    for setting in SWEEPS:
        try:
            built = _built(folder, setting, metric)
        except PlannerError as error:
            missing[setting] = str(error)
            continue
        found = join(found, built.evidence)
        missing |= built.errors
    remarks = dict(found.remarks)
    if "N" in found.remarks or "N" not in missing:
        remarks["N"] = tuple(filter(None, (*found.remarks.get("N", ()), confounded(folder))))
    return Evidence(found.share, found.batch, found.allocation, found.negatives, missing, remarks=remarks)


def confounded(folder: Path) -> str:
    """What changes with N among the cells of the allocation sweep, so that a is not the exponent of N alone."""
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
    """What guessing and counting reach on the log of a sweep and the cells beside it; none where it is not trained."""
    if not rows(folder, SWEEPS[setting]):
        return ()
    return reference_rows(_table(folder, setting), setting)  # type: ignore[arg-type]


def counting(folder: Path) -> list[tuple[str, ...]]:
    """``counted`` of every sweep, its name and its candidates before each line."""
    return [
        (f"{sweep}, {CANDIDATES[setting]}", *line)
        for setting, sweep in SWEEPS.items()
        for line in counted(folder, setting)
    ]


def _built(folder: Path, setting: Setting, metric: str) -> Built:
    """The evidence of the sweep of ``setting``. Raises PlannerError where it is not trained or lacks the metric."""
    runs = cells(folder, setting, metric)
    curves = _curves(folder, runs, metric) if setting == "B" else None
    read = None if curves is None else lambda _: curves
    return build_evidence(_table(folder, setting), (metric,), curves=read, settings=(setting,))


@cache
def _table(folder: Path, setting: Setting) -> Table:
    """The table of the sweep of ``setting`` with the sweeps that are found in it."""
    every, name = rows(folder, SWEEPS[setting]), f"behavior_{SWEEPS[setting]}.csv"
    numeric = [c for c in every[0] if c not in WORDS]
    named = Roles(N="N", D="D", C="C_step", budget="budget", loss="loss", run="run")
    return read_sweeps(lambda roles: _read(every, name, folder, roles), find_columns(numeric, named), setting)


def _read(every: Sequence[Mapping[str, str]], name: str, folder: Path, roles: Roles) -> Runs:
    """The rows of a table under ``roles``, those left out that have no value of a size or of the loss."""
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
    """The largest nominal budget of the sweeps of s, N and K, in FLOPs; None where none is trained."""
    settings: tuple[Setting, ...] = ("s", "N", "K")
    return max((float(row["budget"]) for setting in settings for row in rows(folder, SWEEPS[setting])), default=None)


def rows(folder: Path, sweep: str) -> list[dict[str, str]]:
    """The cells of a sweep (or the points of ``curves``) as text; none where it is not trained."""
    path = folder / f"behavior_{sweep}.csv"
    return list(csv.DictReader(path.read_text("utf-8").splitlines())) if path.is_file() else []


def cells(folder: Path, setting: Setting, metric: str) -> Runs:
    """Return the finished cells of the sweep of ``setting`` that measure ``metric``.

    They have the sizes, the setting, the metric and its column. Raises PlannerError for a sweep that is not trained,
    and where no cell measures the metric.
    """
    name = SWEEPS[setting]
    every = rows(folder, name)
    if not every:
        raise PlannerError(f"The {name} sweep of our own cells is not trained yet: data/README.md says how to.")
    y, direction = _column_of(metric)
    swept = (SWEPT[setting],) if setting in SWEPT else ()
    values = {role: numbers(every, column) for role, column in SIZES.items()}
    values |= {column: numbers(every, column) for column in (*swept, y)}
    runs = Runs(
        ids=np.arange(len(every)),
        values=values,
        roles=_roles(y, direction, swept),
        labels={"run": np.array([row["run"] for row in every])},
        source=f"behavior_{name}.csv",
        sha256=sha256((folder / f"behavior_{name}.csv").read_bytes()).hexdigest(),
    )
    runs = runs.take(np.all([np.isfinite(x) for x in values.values()], axis=0))
    if not len(runs):
        raise PlannerError(f"No cell of our own {name} sweep measures {metric}: choose another metric.")
    return runs


def updates(folder: Path, metric: str) -> Runs:
    """The updates, in the column of ``metric``, that each batch needs to the hardest value that all cells reach.

    Raises PlannerError where the sweep of batches is not trained, or its curves do not hold the metric.
    """
    runs = cells(folder, "B", metric)
    return shaped(_batch_spec(metric), runs, _curves(folder, runs, metric))


def behind(folder: Path, setting: Setting, metric: str) -> Runs:
    """The rows that the curve of a setting goes through: its cells, for B the updates of each. Raises PlannerError."""
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
    """A column (n,), NaN where a cell is empty; the table leaves out a column in which every cell would be."""
    return np.array([float(row.get(column) or "nan") for row in every])


def _batch_spec(metric: str) -> FitSpec:
    return FitSpec(
        law="critical-batch", axis=SWEPT["B"], y=_column_of(metric)[0], objective=OBJECTIVE, bootstrap=REFITS
    )


def _curves(folder: Path, runs: Runs, metric: str) -> Curves:
    """The metric of the cells ``runs`` on the way, by updates."""
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
