"""Logged values and summaries of a run, without the entries that W&B itself adds and without media."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from isoplan.engine.trackers.formats.nested import MAX_VALUES, flat
from isoplan.engine.trackers.run import History, Scalar

Points = dict[str, tuple["array[float]", "array[float]"]]
"""Steps and values by metric. The reader of a run appends to them."""
_TYPE = "_type"
"""Key of media (histograms, tables, images), which W&B stores as dictionaries."""
_KEPT = ("_step", "_runtime")
"""Entries added by W&B that are kept: the last step, and the duration in seconds."""


def add(points: Points, step: float, values: Iterable[tuple[str, float]]) -> None:
    """Add the values of a step. Entries added by W&B, and metrics beyond ``MAX_VALUES``, are left out."""
    for name, value in values:
        if (known := points.get(name)) is None:
            if name.startswith("_") or len(points) == MAX_VALUES:
                continue
            known = points[name] = array("d"), array("d")
        known[0].append(step)
        known[1].append(value)


def histories(points: Points, media: Iterable[str] = ()) -> dict[str, History]:
    """Return the logged values of each metric, without the numbers in ``media`` (names), such as image sizes."""
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
    """Flatten a nested summary, without media and without entries added by W&B, except ``_KEPT``."""
    values = flat(summary)
    inside = tuple(f"{name}." for name in media_of(values))
    return {
        name: value
        for name, value in values.items()
        if not name.startswith(inside) and (not name.startswith("_") or name in _KEPT)
    }


def plain_config(config: Mapping[str, Any]) -> dict[str, Scalar]:
    """Flatten nested settings, without the entry ``_wandb`` that W&B adds."""
    return flat({name: value for name, value in config.items() if name.partition(".")[0] != "_wandb"})


def stored_config(config: Mapping[str, Any]) -> dict[str, Scalar]:
    """Flatten stored settings. W&B stores a description with each setting, and its value under the key ``value``."""
    values = {
        name: one["value"] if isinstance(one, Mapping) and "value" in one else one
        for name, one in config.items()
        if name != "wandb_version"
    }
    return plain_config(values)


def row_histories(rows: Iterable[Mapping[str, Any]]) -> dict[str, History]:
    """Return the metrics in the rows of a history. The step has the name ``_step`` or ``step``."""
    points: Points = {}
    media = set[str]()
    for row in map(flat, rows):
        step = row.pop("_step" if "_step" in row else "step", None)
        if isinstance(step, float):
            add(points, step, ((name, value) for name, value in row.items() if isinstance(value, float)))
            media |= media_of(row)
    return histories(points, media)
