"""Runs of Lightning's ``CSVLogger``: folders ``version_0``, ... with ``hparams.yaml`` and ``metrics.csv``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.folders import contains, mark, read_text, read_yaml, run_folders
from isoplan.engine.trackers.nested import flat
from isoplan.engine.trackers.run import History, TrackedRun
from isoplan.engine.trackers.source import Source

SETTINGS, METRICS = "hparams.yaml", "metrics.csv"
MAX_METRICS_BYTES = 200 * 1024**2
"""Largest size of a file with metrics."""


def marks(place: str) -> Mapping[str, str]:
    """Return the runs in ``place``: all folders that contain ``metrics.csv``."""
    return {key: mark((path / SETTINGS, path / METRICS)) for key, path in run_folders(place, _holds).items()}


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the runs ``ids``. The state of a run is unknown, because Lightning does not record it."""
    folders = run_folders(place, _holds)
    for key in ids:
        if (path := folders.get(key)) is not None:
            settings = read_yaml(path / SETTINGS) if (path / SETTINGS).is_file() else {}
            created = datetime.fromtimestamp((path / METRICS).stat().st_mtime, UTC).replace(tzinfo=None)
            yield TrackedRun(key, key, created=created, config=flat(settings), histories=_histories(path / METRICS))


def _holds(files: frozenset[str]) -> bool:
    return METRICS in files and SETTINGS in files


def _histories(file: Path) -> dict[str, History]:
    """Return the metrics of a CSV file with a column ``step``. An empty cell means that nothing was logged."""
    rows = csv.reader(io.StringIO(read_text(file, MAX_METRICS_BYTES)))
    header = next(rows, [])
    if "step" not in header:
        raise PlannerError(f"{file} has no column step: it is not a file of Lightning's CSVLogger.")
    columns = list(zip(*(row for row in rows if len(row) == len(header)), strict=True))
    values = {name: np.array([_number(cell) for cell in cells]) for name, cells in zip(header, columns, strict=False)}
    steps = values.pop("step", np.zeros(0))
    logged = {
        name: np.isfinite(steps) & np.array([cell != "" for cell in columns[header.index(name)]]) for name in values
    }
    return {name: History(steps[at], values[name][at]) for name, at in logged.items() if at.any()}


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


SOURCE = Source("lightning", "Lightning", lambda place: contains(place, _holds), marks, read)
"""The source of runs of Lightning."""
