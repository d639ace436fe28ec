"""Runs of Lightning's ``CSVLogger``: folders ``version_0``, ... with ``metrics.csv`` and usually ``hparams.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.folders import (
    first_folders,
    is_regular,
    mark,
    read_lines,
    read_yaml,
    run_folders,
    written,
)
from isoplan.engine.trackers.formats.nested import flat
from isoplan.engine.trackers.formats.records import csv_records, histories, step_name
from isoplan.engine.trackers.run import TrackedRun
from isoplan.engine.trackers.source import Source

SETTINGS, METRICS = "hparams.yaml", "metrics.csv"


def recognises(place: str) -> bool:
    """Return whether a folder in ``place`` has both files, or is called ``version_*`` and has ``metrics.csv``."""
    return any(
        METRICS in files and (SETTINGS in files or path.name.startswith("version_"))
        for path, files in first_folders(place)
    )


def marks(place: str) -> Mapping[str, str]:
    """Return the marks of the runs in ``place``, by run id. Each folder that contains ``metrics.csv`` is a run."""
    return {key: mark((path / SETTINGS, path / METRICS)) for key, path in run_folders(place, _holds).items()}


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the runs with these ids. The state of a run is unknown, because Lightning does not record it."""
    folders = run_folders(place, _holds)
    for key in ids:
        if (path := folders.get(key)) is not None:
            settings = read_yaml(path / SETTINGS) if is_regular(path / SETTINGS) else {}
            file = path / METRICS
            logged = histories(csv_records(file))
            if not logged and not step_name(tuple(next(read_lines(file), "step").strip().split(","))):
                raise PlannerError(
                    f"{file} has no column step, so it is not a file of Lightning's CSVLogger. Remove it."
                )
            yield TrackedRun(key, key, created=written(file), config=flat(settings), histories=logged)


def _holds(files: frozenset[str]) -> bool:
    return METRICS in files


SOURCE = Source("lightning", "Lightning", recognises, marks, read)
"""The source of runs of Lightning."""
