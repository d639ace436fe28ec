"""A run as downloaded files: ``config.yaml``, ``wandb-summary.json``, ``wandb-metadata.json`` and a history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.folders import read_json, read_lines, read_yaml, written
from isoplan.engine.trackers.formats.records import json_objects
from isoplan.engine.trackers.formats.times import from_text
from isoplan.engine.trackers.run import History, TrackedRun
from isoplan.engine.trackers.wandb import values

CONFIG, SUMMARY, METADATA, HISTORY = "config.yaml", "wandb-summary.json", "wandb-metadata.json", "history.jsonl"
FILES = "files"
"""Name of the subfolder of a run folder in which W&B writes these files."""


def is_part(name: str) -> bool:
    """Return whether a file belongs to a downloaded run."""
    return name in (CONFIG, SUMMARY, METADATA) or _is_history(name)


def is_run(names: frozenset[str]) -> bool:
    """Return whether files with these names are a run. ``config.yaml`` alone is not: other programs use it too."""
    return SUMMARY in names or METADATA in names or (CONFIG in names and any(map(_is_history, names)))


def read_run(key: str, files: Sequence[Path]) -> TrackedRun:
    """Return the run in ``files``. Its state is unknown, because these files do not contain it.

    Raises PlannerError if a file is damaged or too large, or if there are several histories.
    """
    known = {file.name: file for file in files}
    logs = [file for file in files if _is_history(file.name)]
    if len(logs) > 1:
        raise PlannerError(
            f"{logs[0].parent} contains several histories: put the files of each run into its own folder."
        )
    metadata = read_json(known[METADATA]) if METADATA in known else {}
    config = read_yaml(known[CONFIG]) if CONFIG in known else {}
    return TrackedRun(
        key,
        key,
        created=from_text(metadata.get("startedAt")) or min(filter(None, map(written, files)), default=None),
        config=values.stored_config(config),
        summary=values.plain_summary(read_json(known[SUMMARY])) if SUMMARY in known else {},
        histories=_histories(logs[0]) if logs else {},
    )


def _is_history(name: str) -> bool:
    return name == HISTORY or name.endswith(f"-{HISTORY}")


def _histories(file: Path) -> dict[str, History]:
    """Return the metrics of a history: a JSON object per line, with the step as ``_step`` or ``step``.

    A damaged line is left out. Raises PlannerError if all lines are damaged.
    """
    found = values.row_histories(json_objects(read_lines(file)))
    if not found and any(map(str.strip, read_lines(file))):
        raise PlannerError(
            f"{file} contains no JSON objects with _step and a metric: it is not a history of W&B. Remove it."
        )
    return found
