"""Settings and states of runs, as the plugin hparams of TensorBoard records them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from isoplan.engine.trackers.formats.nested import MAX_VALUES, scalar
from isoplan.engine.trackers.formats.protobuf import fields, text
from isoplan.engine.trackers.run import Scalar, State
from isoplan.engine.trackers.tensorboard.events import Value

_START, _END = 3, 4
_HPARAMS = 1
_STATUS, _END_TIME = 1, 2
_NUMBER, _STRING, _BOOL = 2, 3, 4
_STATES: Mapping[int, State] = {1: "finished", 2: "failed", 3: "running"}


@dataclass(frozen=True)
class Session:
    """The settings of a run, and how it ended."""

    config: Mapping[str, Scalar] = field(default_factory=dict)
    state: State = "unknown"


def session(values: Iterable[Value]) -> Session:
    """Return the settings and the state that ``values`` record. Values of other plugins have no effect.

    The state is used only if an end time is recorded: torch and Lightning record success when they write the
    settings, before the run ends. Damaged data has no effect.
    """
    config: Mapping[str, Scalar] = {}
    state: State = "unknown"
    for value in values:
        try:
            for number, message in fields(value.content):
                if number == _START and isinstance(message, bytes):
                    config, state = {**config, **_config(message)}, "unknown"
                elif number == _END and isinstance(message, bytes):
                    state = _state(message)
        except (ValueError, IndexError, struct.error):
            continue
    return Session(config, state)


def _config(message: bytes) -> dict[str, Scalar]:
    """Return the settings in a ``SessionStartInfo``."""
    config = dict[str, Scalar]()
    for number, item in fields(message):
        if number == _HPARAMS and isinstance(item, bytes) and len(config) < MAX_VALUES:
            entry = dict(fields(item))
            value = _setting(entry.get(2, b""))
            if value is not None:
                config[text(entry.get(1, b""))] = value
    return config


def _setting(message: int | bytes) -> Scalar | None:
    """Return the content of a ``google.protobuf.Value``, or None if it is not a number, text or truth value."""
    for number, value in fields(message if isinstance(message, bytes) else b""):
        if number == _NUMBER and isinstance(value, bytes):
            return float(struct.unpack("<d", value)[0])
        if number == _STRING:
            return scalar(text(value))
        if number == _BOOL:
            return bool(value)
    return None


def _state(message: bytes) -> State:
    """Return the state in a ``SessionEndInfo``."""
    end = dict(fields(message))
    status = end.get(_STATUS, 0)
    return _STATES.get(status, "unknown") if _END_TIME in end and isinstance(status, int) else "unknown"
