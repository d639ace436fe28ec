"""Logged values and summaries of a run, without the entries that W&B itself adds and without media."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from isoplan.engine.trackers.formats.nested import MAX_VALUES, flat
from isoplan.engine.trackers.run import History, Scalar

Points = dict[str, tuple["array[float]", "array[float]"]]
"""Steps and values by metric, to which points are added while a run is read."""
_TYPE = "_type"
"""Key of media (histograms, tables, images), which W&B stores as dictionaries."""
_KEPT = ("_step", "_runtime")
"""Entries of W&B itself that are kept: the last step, and the duration in seconds."""


def add(points: Points, step: float, values: Iterable[tuple[str, float]]) -> None:
    """Add the values that were logged at a step. Entries of W&B itself, and too many metrics, are left out."""
    for name, value in values:
        if (known := points.get(name)) is None:
            if name.startswith("_") or len(points) == MAX_VALUES:
                continue
            known = points[name] = array("d"), array("d")
        known[0].append(step)
        known[1].append(value)


def histories(points: Points, media: Iterable[str] = ()) -> dict[str, History]:
    """Return the logged values of each metric. ``media`` are the names of media, whose sizes are not metrics."""
    inside = tuple(f"{name}." for name in media)
    return {
        name: History(np.array(steps), np.array(values))
        for name, (steps, values) in points.items()
        if not name.startswith(inside)
    }


def media_of(names: Iterable[str]) -> set[str]:
    """Return the names of the media among the names of nested values."""
    return {name.removesuffix(f".{_TYPE}") for name in names if name.endswith(f".{_TYPE}")}


def plain_summary(summary: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return a nested summary as one level, without media and without most entries of W&B itself."""
    values = flat(summary)
    inside = tuple(f"{name}." for name in media_of(values))
    return {
        name: value
        for name, value in values.items()
        if not name.startswith(inside) and (not name.startswith("_") or name in _KEPT)
    }


def plain_config(config: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return nested settings as one level, without the entry of W&B itself."""
    return flat({name: value for name, value in config.items() if name.partition(".")[0] != "_wandb"})


def stored_config(config: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return settings as W&B stores them: with a description, and the value under the key ``value``."""
    values = {
        name: one["value"] if isinstance(one, Mapping) and "value" in one else one
        for name, one in config.items()
        if name != "wandb_version"
    }
    return plain_config(values)


def row_histories(rows: Iterable[Mapping[str, Any]]) -> dict[str, History]:
    """Return the metrics of the rows of a history, with the step as ``_step`` or ``step``."""
    points: Points = {}
    media = set[str]()
    for row in map(flat, rows):
        step = row.pop("_step" if "_step" in row else "step", None)
        if isinstance(step, float):
            add(points, step, ((name, value) for name, value in row.items() if isinstance(value, float)))
            media |= media_of(row)
    return histories(points, media)
