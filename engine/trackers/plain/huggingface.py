"""Runs of the Trainer of Hugging Face.

The folder of a run contains ``trainer_state.json``, or checkpoints that contain this file. Pickled files, such as
``training_args.bin`` and the weights, are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.folders import (
    MAX_LOG_BYTES,
    contains,
    is_regular,
    mark,
    read_json,
    run_id,
    walk,
    written,
)
from isoplan.engine.trackers.formats.nested import flat
from isoplan.engine.trackers.formats.records import histories, numbers
from isoplan.engine.trackers.run import TrackedRun
from isoplan.engine.trackers.source import Source

STATE, RESULTS = "trainer_state.json", "all_results.json"
SETTINGS = ("config.json", "training_args.json")
_CHECKPOINT = re.compile(r"checkpoint-(\d{1,15})")
_CONFIG = ("max_steps", "num_train_epochs", "train_batch_size", "trial_params")
_SUMMARY = ("global_step", "epoch", "total_flos", "num_input_tokens_seen", "best_metric")


@dataclass(frozen=True)
class _Run:
    """The folder of a run, and the folders that contain its states.

    ``states`` contains the folder of the run first, if it has a state, and then the checkpoints in the order of steps.
    """

    path: Path
    states: tuple[Path, ...]


def marks(place: str) -> Mapping[str, str]:
    """Return the marks of the runs in ``place``, by run id. All checkpoints in one folder belong to one run."""
    return {key: mark(_files(run)) for key, run in _runs(place).items()}


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the runs with these ids. A run that has reached ``max_steps`` is finished. Other states are unknown."""
    runs = _runs(place)
    for key in ids:
        if (run := runs.get(key)) is not None:
            yield _read(key, run)


def _runs(place: str) -> dict[str, _Run]:
    """Return the runs by run id."""
    states: dict[Path, list[tuple[int, Path]]] = {}
    for path, files in walk(place):
        if STATE in files:
            step = _CHECKPOINT.fullmatch(path.name) if path != Path(place) else None
            states.setdefault(path.parent if step else path, []).append((int(step[1]) if step else -1, path))
    return {run_id(place, path): _Run(path, tuple(one for _, one in sorted(own))) for path, own in states.items()}


def _files(run: _Run) -> Iterator[Path]:
    """Yield the files of a run. The copies of the settings in its checkpoints are left out."""
    yield from (folder / STATE for folder in run.states)
    yield from (run.path / name for name in (RESULTS, *SETTINGS))


def _read(key: str, run: _Run) -> TrackedRun:
    folder, state = _state(run)
    config: dict[str, Any] = {}
    for name in SETTINGS:
        places = (folder, run.path, *reversed(run.states))
        file = next((path / name for path in places if is_regular(path / name)), None)
        config |= read_json(file) if file is not None else {}
    steps, most = (_count(state.get(name)) for name in ("global_step", "max_steps"))
    logged = [numbers(record) for record in state["log_history"] if isinstance(record, dict)]
    final = [record for record in logged if "train_runtime" in record]
    results = read_json(run.path / RESULTS) if is_regular(run.path / RESULTS) else {}
    reached = {name: value for name in _SUMMARY if (value := state.get(name))}
    return TrackedRun(
        key,
        key,
        "finished" if 0 < most <= steps else "unknown",
        written(folder / STATE),
        flat(config | {name: state.get(name) for name in _CONFIG}),
        flat({**(final[-1] if final else {}), **results, **reached}),
        histories=histories(record for record in logged if "train_runtime" not in record),
    )


def _state(run: _Run) -> tuple[Path, Mapping[str, Any]]:
    """Return the last state of a run, and the folder that contains this state.

    The state of the newest checkpoint is used, unless the state in the folder of the run has an equal or larger step.
    If a run stops while it writes a checkpoint, the state of this checkpoint is damaged. The previous checkpoint is
    used then.
    """
    found, errors = list[tuple[Path, Mapping[str, Any]]](), list[PlannerError]()
    for folder in reversed(run.states):
        if found and folder != run.path:
            continue
        try:
            state = read_json(folder / STATE, MAX_LOG_BYTES)
            if not isinstance(state.get("log_history"), list):
                raise PlannerError(
                    f"{folder / STATE} has no log_history, so it is not a state of the Trainer. Remove it."
                )
            found.append((folder, state))
        except PlannerError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return max(reversed(found), key=lambda one: _count(one[1].get("global_step")))


def _count(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


SOURCE = Source("huggingface", "Hugging Face", lambda place: contains(place, lambda files: STATE in files), marks, read)
"""The source of runs of the Trainer of Hugging Face."""
