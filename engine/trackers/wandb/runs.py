"""Reader of a run in ``.wandb`` files. It reads the records of the run in order."""

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
"""Suffix of a file ``run-ID.wandb``."""
_HISTORY, _SUMMARY, _CONFIG, _RUN, _EXIT = _WANTED = (2, 3, 5, 17, 18)
"""Field numbers of the messages that are read. Records with other messages are skipped."""
_TEXTS = {2: "entity", 3: "project", 6: "group", 7: "job_type", 12: "sweep"}
"""Names of tags by the field number of the text in a ``RunRecord``."""
_RUN_CONFIG, _RUN_SUMMARY, _DISPLAY_NAME, _TAG, _START_TIME = 4, 5, 8, 10, 17
_NUMERIC = frozenset(b"-0123456789IN")
"""First characters of numbers in JSON, including infinity and NaN."""


@dataclass(eq=False)
class _Contents:
    """Data of a run that have been read so far. Settings and the summary contain JSON by name."""

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
    """Return the run in ``files``. A resumed run has several files, which must be sorted by time.

    The state of a run without an exit code is running: W&B writes the code when the run ends. Raises PlannerError if
    a file is not a file of W&B.
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
    """Add a row of the history. Rows without a step and values that are not numbers are left out."""
    step = next((float(value) for name, value in row if name == "_step"), None)
    if step is not None:
        values.add(
            run.points, step, ((name, float(value)) for name, value in row if value[:1] and value[0] in _NUMERIC)
        )


def _read_settings(run: _Contents, message: bytes) -> None:
    """Read the name, the settings and the labels of a run. Its labels replace those of earlier records."""
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
    """Convert a protobuf ``Timestamp`` to a date in UTC. Return None if the date is out of range."""
    parts = dict(fields(message))
    return from_seconds(int(parts.get(1, 0)) + int(parts.get(2, 0)) / 1e9)


def _update(known: dict[str, bytes], updated: Iterable[Item], removed: Iterable[Item]) -> None:
    """Update settings or a summary. If a name is removed, the names nested in it are removed too."""
    known.update(updated)
    for gone, _ in removed:
        for name in [name for name in known if name == gone or name.startswith(f"{gone}.")]:
            del known[name]


def _decoded(contents: dict[str, bytes]) -> dict[str, Any]:
    """Decode the values from JSON. A value that is not valid JSON is left out."""
    decoded = {}
    for name, content in contents.items():
        with suppress(ValueError, RecursionError):
            decoded[name] = json.loads(content)
    return decoded
