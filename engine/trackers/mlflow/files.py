"""The file store of MLflow: a folder ``mlruns`` with experiment folders, which contain run folders.

A run has the file ``meta.yaml`` and the folders ``params``, ``metrics`` and ``tags`` with one file for each name. Its
folder ``artifacts`` is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.folders import MAX_LOG_BYTES, mark, read_text, read_yaml, walk
from isoplan.engine.trackers.mlflow.values import (
    NAME_TAG,
    STATES,
    SYSTEM_METRICS,
    created,
    history,
    imported_tag,
    labels,
    settings,
)
from isoplan.engine.trackers.run import History, TrackedRun

META = "meta.yaml"
PARTS = ("params", "metrics", "tags")
STATUSES = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
"""The status of a run by its number in ``meta.yaml``."""
# These patterns match top-level entries of meta.yaml: only those entries begin in the first column.
_DELETED = re.compile(r"^lifecycle_stage: *['\"]?deleted", re.MULTILINE)
_START = re.compile(r"^start_time: *(\d+)", re.MULTILINE)
_EXPERIMENT = re.compile(r"^artifact_location:", re.MULTILINE)
_RUN = re.compile(r"^run_(id|uuid):", re.MULTILINE)


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run, the folder of its experiment, and the start time in milliseconds since 1970."""

    path: Path
    experiment: Path
    start: int


def recognises(place: str) -> bool:
    """Return whether ``place`` is a folder ``mlruns``, contains one, or is the folder of an experiment."""
    try:
        return any(True for _ in _experiments(place))
    except (OSError, PlannerError):
        return False


def marks(place: str) -> Mapping[str, str]:
    """Return a mark for each run, by run id, sorted by start time. Deleted runs are left out."""
    return {key: mark(_files(run.path)) for key, run in _run_folders(place).items()}


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the runs whose ids are in ``ids``."""
    folders, experiments = _run_folders(place), dict[Path, str]()
    for key in ids:
        if (run := folders.get(key)) is not None:
            if run.experiment not in experiments:
                experiments[run.experiment] = str(read_yaml(run.experiment / META).get("name", run.experiment.name))
            yield _run(key, run.path, experiments[run.experiment])


def _experiments(place: str) -> Iterator[Path]:
    """Yield the folders of experiments. Deleted experiments are left out."""
    root = Path(place)
    store = root / "mlruns" if (root / "mlruns").is_dir() else root
    for folder in [root] if (root / META).is_file() else _inside(store):
        text = _meta(folder)
        if _EXPERIMENT.search(text) and not _RUN.search(text) and not _DELETED.search(text):
            yield folder


def _run_folders(place: str) -> dict[str, RunFolder]:
    """Return the folders of runs, by run id, sorted by start time. Deleted runs are left out."""
    found = []
    for experiment in _experiments(place):
        for path in _inside(experiment):
            text = _meta(path)
            if _RUN.search(text) and not _DELETED.search(text):
                start = _START.search(text)
                found.append(RunFolder(path, experiment, int(start[1][:18]) if start else 0))
    return {run.path.name: run for run in sorted(found, key=lambda run: (run.start, run.path.name))}


def _inside(folder: Path) -> list[Path]:
    """Return the folders in ``folder``, sorted by name. Symbolic links and hidden folders are left out."""
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise PlannerError(f"{folder} cannot be read ({error.strerror}): check its permissions.") from None
    return [path for path in inside if path.is_dir() and not path.is_symlink() and not path.name.startswith(".")]


def _meta(folder: Path) -> str:
    """Return the text of ``meta.yaml``, or an empty text if there is none."""
    file = folder / META
    return read_text(file) if file.is_file() and not file.is_symlink() else ""


def _files(run: Path) -> Iterator[Path]:
    """Yield the files that contain the data of a run."""
    yield run / META
    for part in PARTS:
        yield from (run / part / key for key in _keys(run / part))


def _keys(folder: Path) -> list[str]:
    """Return the names of params, metrics or tags in ``folder``.

    MLflow stores a name that contains a slash as a file in a subfolder.
    """
    if not folder.is_dir() or folder.is_symlink():
        return []
    return [(path / name).relative_to(folder).as_posix() for path, names in walk(str(folder)) for name in sorted(names)]


def _run(key: str, path: Path, experiment: str) -> TrackedRun:
    meta = read_yaml(path / META)
    tags = {
        name: _text(path / "tags" / name) for name in _keys(path / "tags") if imported_tag(name) or name == NAME_TAG
    }
    return TrackedRun(
        key,
        str(meta.get("run_name") or "") or tags.get(NAME_TAG) or key,
        STATES.get(_status(meta.get("status", 1)), "unknown"),
        _created(meta.get("start_time")),
        settings((name, _text(path / "params" / name)) for name in _keys(path / "params")),
        tags=labels(experiment, tags.items()),
        histories={
            name: _history(path / "metrics" / name)
            for name in _keys(path / "metrics")
            if not name.startswith(SYSTEM_METRICS)
        },
    )


def _text(file: Path) -> str:
    return read_text(file) if file.is_file() else ""


def _status(stored: Any) -> str:
    """Return the status of a run as text. ``meta.yaml`` contains a number or, in old stores, text."""
    return STATUSES.get(stored, "") if isinstance(stored, int) else str(stored)


def _created(stored: Any) -> datetime | None:
    return created(stored) if isinstance(stored, int | float) else None


def _history(file: Path) -> History:
    """Return the values of a metric. Each line of the file contains ``time value step``; further words are ignored.

    A last line without a line break is left out: MLflow may still be writing it. Raises PlannerError for a line
    of another form.
    """
    text = read_text(file, MAX_LOG_BYTES)
    lines = text[: text.rfind("\n") + 1].splitlines()
    words = [line.split() for line in lines if line]
    try:
        cells = [(*line[:2], line[2] if len(line) > 2 else "0") for line in words]
        times, values, steps = np.array(cells, float).reshape(-1, 3).T
    except ValueError:
        raise PlannerError(f"{file} has a line that is not 'time value step': remove this line.") from None
    return history(steps, times, values)
