"""Trials of Optuna: SQLite storages (``sqlite:///study.db``) and journal files."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.folders import digest
from isoplan.engine.trackers.formats.sqlite import has_tables, opened
from isoplan.engine.trackers.optuna import journal
from isoplan.engine.trackers.optuna.trial import METRIC_NAMES, STATES, Trial, as_run
from isoplan.engine.trackers.run import TrackedRun
from isoplan.engine.trackers.source import Source

ENDINGS = (".db", ".sqlite", ".sqlite3", ".log", ".journal", ".jsonl")
"""Suffixes of the files in a folder that may be storages."""

_STARTED = f"state IN ({', '.join(repr(state) for state in STATES)})"
_MARKS = f"""
SELECT trial_id, state,
    (SELECT count(*) FROM trial_params AS p WHERE p.trial_id = t.trial_id),
    (SELECT count(*) FROM trial_intermediate_values AS i WHERE i.trial_id = t.trial_id),
    (SELECT group_concat(key || value_json) FROM trial_user_attributes AS u WHERE u.trial_id = t.trial_id),
    (SELECT value_json FROM study_system_attributes AS s WHERE s.study_id = t.study_id AND key = '{METRIC_NAMES}')
FROM trials AS t WHERE {_STARTED} ORDER BY trial_id
"""
_TRIAL = f"""
SELECT study_name, number, state, datetime_start,
    (SELECT value_json FROM study_system_attributes AS s WHERE s.study_id = t.study_id AND key = '{METRIC_NAMES}')
FROM trials AS t JOIN studies USING (study_id) WHERE trial_id = ? AND {_STARTED}
"""
_PARAMS = "SELECT param_name, param_value, distribution_json FROM trial_params WHERE trial_id = ? ORDER BY param_id"
_ATTRIBUTES = "SELECT key, value_json FROM trial_user_attributes WHERE trial_id = ? ORDER BY trial_user_attribute_id"
_VALUES = "SELECT value, value_type FROM trial_values WHERE trial_id = ? ORDER BY objective"
_POINTS = "SELECT step, intermediate_value, intermediate_value_type FROM trial_intermediate_values WHERE trial_id = ?"
_KINDS = {"INF_POS": math.inf, "INF_NEG": -math.inf, "NAN": math.nan}


def recognises(place: str) -> bool:
    """Return whether ``place`` is a storage of Optuna, or a folder that contains one."""
    return bool(_stores(Path(place)))


def marks(place: str) -> Mapping[str, str]:
    """Return a mark for each started trial, by id. The trials of a file are in the order of creation."""
    return {
        f"{file.name}/{key}": mark
        for file in _found(place)
        for key, mark in (_marks_of_journal(file) if journal.is_journal(file) else _marks_of_database(file)).items()
    }


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the trials whose ids are in ``ids``, as runs."""
    for file in _found(place):
        keys = {key: int(key.rpartition("/")[2]) for key in ids if key.rpartition("/")[0] == file.name}
        trials = _in_journal(file, keys) if journal.is_journal(file) else _in_database(file, keys)
        try:
            for key, trial in trials:
                yield as_run(key, trial)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
            raise PlannerError(f"{file} contains a damaged trial: delete the trial with Optuna.") from None


def _stores(path: Path) -> list[Path]:
    """Return the files with trials: ``path``, or files in the folder ``path``, but not in its subfolders."""
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
    except OSError:
        return []
    return [
        file
        for file in files
        if (file == path or file.suffix.lower() in ENDINGS)
        and file.is_file()
        and (file == path or not file.is_symlink())
        and (has_tables(file, "studies", "trials", "trial_params") or journal.is_journal(file))
    ]


def _found(place: str) -> list[Path]:
    files = _stores(Path(place))
    if not files:
        raise PlannerError(f"{place} contains no storage of Optuna: name its SQLite file or its journal file.")
    return files


def _marks_of_database(file: Path) -> dict[str, str]:
    with opened(file) as database:
        columns = database.execute("SELECT name FROM pragma_table_info('trial_intermediate_values')").fetchall()
        if ("intermediate_value_type",) not in columns:
            raise PlannerError(
                f"{file} is a storage of an old version of Optuna. Convert it with: "
                f"optuna storage upgrade --storage sqlite:///{file.name}"
            )
        return {str(key): digest(state) for key, *state in database.execute(_MARKS)}


def _in_database(file: Path, keys: Mapping[str, int]) -> Iterator[tuple[str, Trial]]:
    with opened(file) as database:
        for key, number in keys.items():
            if (row := database.execute(_TRIAL, (number,)).fetchone()) is not None:
                yield key, _trial(database, number, row)


def _trial(database: sqlite3.Connection, key: int, row: tuple[Any, ...]) -> Trial:
    study, number, state, start, metrics = row
    params = {name: (value, distribution) for name, value, distribution in database.execute(_PARAMS, (key,))}
    attributes = {name: json.loads(text) for name, text in database.execute(_ATTRIBUTES, (key,))}
    values = [_KINDS.get(kind, value) for value, kind in database.execute(_VALUES, (key,))]
    points = {step: _KINDS.get(kind, value) for step, value, kind in database.execute(_POINTS, (key,))}
    names = None if metrics is None else json.loads(metrics)
    return Trial(study, number, state, start, params, attributes, values, points, names)


def _marks_of_journal(file: Path) -> dict[str, str]:
    return {
        str(key): digest((trial.state, trial.params, trial.attributes, len(trial.points), trial.metrics))
        for key, trial in journal.trials(file).items()
        if trial.state in STATES
    }


def _in_journal(file: Path, keys: Mapping[str, int]) -> Iterator[tuple[str, Trial]]:
    trials = journal.trials(file)
    return ((key, trials[number]) for key, number in keys.items() if number in trials)


SOURCE = Source("optuna", "Optuna", recognises, marks, read)
"""The source of trials of Optuna."""
