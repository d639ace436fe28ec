"""Runs of TensorBoard: folders of event files."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from isoplan.engine.trackers.formats.folders import contains, mark, read_yaml
from isoplan.engine.trackers.formats.nested import MAX_VALUES, flat
from isoplan.engine.trackers.formats.times import from_seconds
from isoplan.engine.trackers.run import Scalar, TrackedRun, by_step
from isoplan.engine.trackers.source import Source
from isoplan.engine.trackers.tensorboard.events import Value, events
from isoplan.engine.trackers.tensorboard.folders import RunFiles, is_event_file, run_files
from isoplan.engine.trackers.tensorboard.hparams import session

Points = dict[str, tuple["array[float]", "array[float]"]]
"""Steps and values by metric, in the order of logging."""


def recognises(place: str) -> bool:
    """Return whether ``place`` is an event file, or a folder with event files."""
    if Path(place).is_file():
        return is_event_file(Path(place).name)
    return contains(place, lambda names: any(map(is_event_file, names)))


def marks(place: str) -> Mapping[str, str]:
    """Return a mark for each run, by run id."""
    return {key: mark(run.files()) for key, run in run_files(place).items()}


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the runs whose ids are in ``ids``."""
    found = run_files(place)
    return (_run(key, found[key]) for key in ids if key in found)


def _run(key: str, files: RunFiles) -> TrackedRun:
    own, end = Points(), Points()
    hparams = list[Value]()
    times = [_collect(files.own, own, hparams), _collect(files.sessions, end, hparams)]
    for part, inside in files.parts.items():
        points = Points()
        times.append(_collect(inside, points, hparams))
        own |= {f"{part}/{name}": values for name, values in points.items()}
    recorded = session(hparams)
    settings = recorded.config or dict(pair for file in files.settings for pair in flat(read_yaml(file)).items())
    summary: dict[str, Scalar] = {name: values[-1] for name, (_, values) in end.items()}
    histories = {name: by_step(np.array(steps), np.array(values)) for name, (steps, values) in own.items()}
    return TrackedRun(key, key, recorded.state, _created(times), settings, summary, {}, histories)


def _collect(files: Iterable[Path], points: Points, hparams: list[Value]) -> float | None:
    """Add the scalars in ``files`` to ``points``, and the data of the plugin hparams to ``hparams``.

    Return the time of the first event, or None if there are no events.
    """
    start = None
    for file in files:
        for event in events(file):
            start = event.time if start is None else start
            for value in event.values:
                if value.number is None:
                    hparams.append(value)
                    continue
                if (known := points.get(value.tag)) is None:
                    if len(points) == MAX_VALUES:
                        continue
                    known = points[value.tag] = array("d"), array("d")
                known[0].append(event.step)
                known[1].append(value.number)
    return start


def _created(times: Iterable[float | None]) -> datetime | None:
    """Return the earliest of ``times`` (seconds since 1970) as a date in UTC, or None if there are no times."""
    first = min((time for time in times if time is not None), default=None)
    return None if first is None else from_seconds(first)


SOURCE = Source("tensorboard", "TensorBoard", recognises, marks, read)
"""The source of runs of TensorBoard."""
