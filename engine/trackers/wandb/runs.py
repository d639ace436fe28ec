"""A run in ``.wandb`` files: the records of a run are read one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from isoplan.engine.trackers.formats.protobuf import fields, text
from isoplan.engine.trackers.formats.times import from_seconds
from isoplan.engine.trackers.run import State, TrackedRun
from isoplan.engine.trackers.wandb import values
from isoplan.engine.trackers.wandb.log import records
from isoplan.engine.trackers.wandb.messages import Item, items

ENDING = ".wandb"
"""Ending of the names of files ``run-ID.wandb``."""
_HISTORY, _SUMMARY, _CONFIG, _RUN, _EXIT = _WANTED = (2, 3, 5, 17, 18)
"""Numbers of the fields of a record. A record contains one of them, or one that is not needed."""
_TEXTS = {2: "entity", 3: "project", 6: "group", 7: "job_type", 12: "sweep"}
"""Numbers of the fields of a run that become tags."""
_RUN_CONFIG, _RUN_SUMMARY, _DISPLAY_NAME, _TAG, _START_TIME = 4, 5, 8, 10, 17
_NUMERIC = frozenset(b"-0123456789IN")
"""First characters of numbers in JSON, including infinity and NaN."""


@dataclass(eq=False)
class _Contents:
    """What has been read of a run. Settings and the summary are in JSON, by name."""

    name: str = ""
    state: State = "running"
    created: datetime | None = None
    config: dict[str, bytes] = field(default_factory=dict)
    summary: dict[str, bytes] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    points: values.Points = field(default_factory=dict)


def run_id(file: Path) -> str:
    """Return the ID of the run in a file ``run-ID.wandb``."""
    return file.name.removeprefix("run-").removesuffix(ENDING)


def read_run(key: str, files: Sequence[Path]) -> TrackedRun:
    """Return the run in ``files``. A run that was resumed has several files, in the order of time.

    A run without an exit code is running, because W&B writes the code when the run ends. Raises PlannerError if a file
    is not a file of W&B.
    """
    run = _Contents()
    for file in files:
        run.state = "running"
        for record in records(file):
            try:
                _read_record(run, record)
            except (ValueError, IndexError):  # the record is damaged
                continue
    summary = _decoded(run.summary)
    return TrackedRun(
        key,
        run.name or run_id(files[0]),
        run.state,
        run.created,
        values.plain_config(_decoded(run.config)),
        values.plain_summary(summary),
        run.tags | ({"tags": ", ".join(run.labels)} if run.labels else {}),
        values.histories(run.points, values.media_of(summary)),
    )


def _read_record(run: _Contents, record: bytes) -> None:
    for number, content in fields(record):
        if number in _WANTED and isinstance(content, bytes):
            if number == _HISTORY:
                _read_history(run, items(content)[0])
            elif number == _SUMMARY:
                _update(run.summary, *items(content))
            elif number == _CONFIG:
                _update(run.config, *items(content))
            elif number == _RUN:
                _read_settings(run, content)
            else:
                run.state = "failed" if dict(fields(content)).get(1) else "finished"
            return


def _read_history(run: _Contents, row: Sequence[Item]) -> None:
    """Add a row of the history. A row without a step is left out, as are values that are not numbers."""
    step = next((float(value) for name, value in row if name == "_step"), None)
    if step is not None:
        values.add(
            run.points, step, ((name, float(value)) for name, value in row if value[:1] and value[0] in _NUMERIC)
        )


def _read_settings(run: _Contents, message: bytes) -> None:
    """Read the name, the settings and the labels of a run. A later record replaces the labels."""
    run.labels = []
    for number, content in fields(message):
        if not isinstance(content, bytes):
            continue
        if number in (_RUN_CONFIG, _RUN_SUMMARY):
            _update(run.config if number == _RUN_CONFIG else run.summary, *items(content))
        elif number == _DISPLAY_NAME:
            run.name = text(content)
        elif number == _TAG:
            run.labels.append(text(content))
        elif number == _START_TIME and run.created is None:
            run.created = _time(content)
        elif number in _TEXTS and content:
            run.tags[_TEXTS[number]] = text(content)


def _time(message: bytes) -> datetime | None:
    """Return a time in UTC, or None if there is no such time."""
    parts = dict(fields(message))
    return from_seconds(int(parts.get(1, 0)) + int(parts.get(2, 0)) / 1e9)


def _update(known: dict[str, bytes], updated: Iterable[Item], removed: Iterable[Item]) -> None:
    """Update settings or a summary. A removed name is removed with the names inside it."""
    known.update(updated)
    for gone, _ in removed:
        for name in [name for name in known if name == gone or name.startswith(f"{gone}.")]:
            del known[name]


def _decoded(contents: dict[str, bytes]) -> dict[str, Any]:
    """Return the values in JSON. A value that is not valid JSON is left out."""
    decoded = {}
    for name, content in contents.items():
        with suppress(ValueError, RecursionError):
            decoded[name] = json.loads(content)
    return decoded
