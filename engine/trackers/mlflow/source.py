"""The source of runs of MLflow: a tracking server, a database or a folder of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.mlflow import database, files, server
from isoplan.engine.trackers.run import TrackedRun
from isoplan.engine.trackers.source import Source

NAME, TITLE = "mlflow", "MLflow"
# Test for a database before files: a folder with a database can also contain a folder mlruns with artifacts.
_KINDS = tuple(Source(NAME, TITLE, kind.recognises, kind.marks, kind.read) for kind in (server, database, files))


def recognises(place: str) -> bool:
    """Return whether ``place`` is a store of MLflow, or an address."""
    return any(kind.recognises(place) for kind in _KINDS)


def marks(place: str) -> Mapping[str, str]:
    """Return a mark for each run, by run id, sorted by start time."""
    return _kind(place).marks(place)


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the runs whose ids are in ``ids``."""
    return _kind(place).read(place, ids)


def _kind(place: str) -> Source:
    kind = next((kind for kind in _KINDS if kind.recognises(place)), None)
    if kind is None:
        raise PlannerError(
            f"{place} is not a store of MLflow: name the file mlflow.db, the folder mlruns, or an address."
        )
    return kind


SOURCE = Source(NAME, TITLE, recognises, marks, read)
"""The source of runs of MLflow."""
