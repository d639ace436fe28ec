"""Search for the settings, final metrics and curves of a run in a JSON object that has no fixed schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isoplan.engine.trackers.formats.nested import MAX_LEVELS, MAX_VALUES, as_float, scalar
from isoplan.engine.trackers.formats.records import CONFIGS, RESULTS, histories, is_loss, is_metric, numbers, step_name
from isoplan.engine.trackers.run import History, Scalar

MAX_LIST = 32
"""Largest length of a list that is stored as a setting. Longer lists are left out."""
MIN_CURVE = 3
"""Smallest length of a list of losses that is read as a curve if there is no list of steps."""
_EVALUATIONS = RESULTS | {"eval", "evals", "evaluation"}
_CURVES = frozenset({"history", "curve", "curves", "log", "logs"})

_Path = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Described:
    """Contents of a file of a run. ``config``, ``summary`` and ``histories`` have the same meaning as in TrackedRun."""

    config: Mapping[str, Scalar] = field(default_factory=dict)
    summary: Mapping[str, Scalar] = field(default_factory=dict)
    histories: Mapping[str, History] = field(default_factory=dict)


def describe(found: Mapping[str, Any]) -> Described:
    """Return the settings, metrics and curves in a JSON object.

    Values inside an object with a name such as ``config`` or ``args`` are settings. Values inside an object with a name
    such as ``metrics``, ``summary`` or ``eval`` are metrics. Elsewhere, numbers with the name of a metric are metrics,
    and other values are settings. Lists of metrics are curves if a list of steps has the same length. Without a list of
    steps, a list of at least ``MIN_CURVE`` losses is a curve. A list of objects with steps also contains curves.
    """
    config: dict[str, Scalar] = {}
    summary: dict[str, Scalar] = {}
    logged: dict[str, History] = {}
    lists: dict[int, dict[_Path, list[Any]]] = {}
    for (path, value), _ in zip(_leaves(found, (), 1), range(MAX_VALUES), strict=False):
        if _is_settings(path[:-1]):
            config |= _cell(path, value)
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            logged |= histories(numbers(one) for one in value)
        elif isinstance(value, list) and len(value) > 1 and all(one is None or _is_number(one) for one in value):
            lists.setdefault(len(value), {})[path] = value
        else:
            (summary if _is_result(path, value) else config).update(_cell(path, value))
    for group in lists.values():
        curves = _curves(group)
        logged |= curves
        used = {*curves, *((step_name(tuple(_name(path) for path in group)),) if curves else ())}
        for path, value in group.items():
            config |= _cell(path, value) if _name(path) not in used else {}
    return Described(config, summary, logged)


def _leaves(found: Mapping[str, Any], path: _Path, level: int) -> Iterator[tuple[_Path, Any]]:
    """Yield the values that are not objects, with their paths."""
    for key, value in found.items():
        if not isinstance(value, Mapping):
            yield (*path, str(key)), value
        elif level < MAX_LEVELS:
            yield from _leaves(value, (*path, str(key)), level + 1)


def _curves(lists: Mapping[_Path, list[Any]]) -> dict[str, History]:
    """Return the curves in ``lists``, which are lists of numbers with the same length."""
    names = {_name(path): values for path, values in lists.items()}
    step = step_name(tuple(names))
    length = len(next(iter(names.values())))
    if step:
        inside = {_name(path) for path in lists if _named(path[:-1], _CURVES | _EVALUATIONS)}
        metrics = [name for name in names if name != step and (is_metric(name) or name in inside)]
    else:
        metrics = [name for name in names if is_loss(name) and length >= MIN_CURVE]
    steps = names[step] if step else np.arange(length, dtype=float).tolist()
    rows = zip(steps, *(names[name] for name in metrics), strict=True)
    columns = (step or "step", *metrics)
    return histories(
        {name: as_float(one) for name, one in zip(columns, row, strict=True) if one is not None} for row in rows
    )


def _is_settings(containers: _Path) -> bool:
    return _named(containers, CONFIGS)


def _is_result(path: _Path, value: Any) -> bool:
    return _named(path[:-1], _EVALUATIONS) or (_is_number(value) and is_metric(path[-1]))


def _named(containers: Iterable[str], names: frozenset[str]) -> bool:
    return any(name.lower() in names for name in containers)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name(path: _Path) -> str:
    """Return the names in ``path`` joined by points. General names of containers, such as ``config``, are left out."""
    return ".".join((*(one for one in path[:-1] if one.lower() not in CONFIGS | RESULTS | _CURVES), path[-1]))


def _cell(path: _Path, value: Any) -> dict[str, Scalar]:
    """Return the value with its name as a dictionary, which is empty if the value is empty or a long list."""
    cell = None if isinstance(value, list) and len(value) > MAX_LIST else scalar(value)
    return {} if cell is None else {_name(path): cell}
