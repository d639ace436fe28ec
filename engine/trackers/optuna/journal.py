"""Journal files of Optuna: one JSON object per change of a study or a trial."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.optuna.trial import METRIC_NAMES, Trial

BEGINNING = b'{"op_code":'
"""First bytes of a journal."""
MAX_LINE = 4 * 1024**2
"""Maximum size of one change in bytes."""
_STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
_CREATE_STUDY, _DELETE_STUDY, _STUDY_ATTRIBUTE = 0, 1, 3
_CREATE, _PARAM, _STATE, _POINT, _ATTRIBUTE = 4, 5, 6, 7, 8


def is_journal(file: Path) -> bool:
    """Return whether ``file`` is a journal."""
    try:
        with file.open("rb") as content:
            return content.read(len(BEGINNING)) == BEGINNING
    except OSError:
        return False


def trials(file: Path) -> dict[int, Trial]:
    """Return the trials of a journal by their ids, in the order of creation.

    An incomplete last line is left out. Raises PlannerError if any other line is not a record of Optuna.
    """
    studies: dict[int, dict[str, Any]] = {}
    found: dict[int, Trial] = {}
    for number, line in enumerate(_lines(file), 1):
        try:
            _apply(json.loads(line), studies, found)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
            raise PlannerError(f"{file}: line {number} is not a record of Optuna. Correct or remove it.") from None
    return {
        key: replace(trial, study=study["name"], metrics=study["metrics"])
        for key, trial in found.items()
        if (study := studies[int(trial.study)])["exists"]
    }


def _lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file. A line that is too long is split. A last line without a line break is left out."""
    with file.open("rb") as lines:
        while (line := lines.readline(MAX_LINE)).endswith(b"\n") or len(line) == MAX_LINE:
            yield line


def _apply(change: Mapping[str, Any], studies: dict[int, dict[str, Any]], found: dict[int, Trial]) -> None:
    """Apply a change as Optuna does: changes of deleted studies and of finished trials have no effect.

    In ``found``, the field ``study`` of a trial contains the key of its study in ``studies``, not the name.
    """
    kind = change["op_code"]
    if kind == _CREATE_STUDY:
        if all(study["name"] != change["study_name"] or not study["exists"] for study in studies.values()):
            studies[len(studies)] = {"name": str(change["study_name"]), "metrics": None, "exists": True, "trials": 0}
    elif kind <= _CREATE:
        study = studies.get(change["study_id"])
        if study is None or not study["exists"]:
            return
        if kind == _DELETE_STUDY:
            study["exists"] = False
        elif kind == _STUDY_ATTRIBUTE and METRIC_NAMES in change["system_attr"]:
            study["metrics"] = [str(name) for name in change["system_attr"][METRIC_NAMES]]
        elif kind == _CREATE:
            found[len(found)] = _created(change, study["trials"])
            study["trials"] += 1
    elif kind <= _ATTRIBUTE:
        trial = found.get(change["trial_id"])
        if trial is not None and trial.state in ("RUNNING", "WAITING"):
            found[change["trial_id"]] = _changed(kind, change, trial)


def _created(change: Mapping[str, Any], number: int) -> Trial:
    distributions = change.get("distributions", {})
    value = change.get("value")
    return Trial(
        str(change["study_id"]),
        number,
        _STATES[change.get("state", 0)],
        change["datetime_start"],
        {name: (stored, distributions[name]) for name, stored in change.get("params", {}).items()},
        dict(change.get("user_attrs", {})),
        change.get("values") or ([] if value is None else [value]),
        {int(step): value for step, value in change.get("intermediate_values", {}).items()},
    )


def _changed(kind: int, change: Mapping[str, Any], trial: Trial) -> Trial:
    if kind == _PARAM:
        stored = (change["param_value_internal"], change["distribution"])
        return replace(trial, params={**trial.params, change["param_name"]: stored})
    if kind == _STATE:
        start, values = change.get("datetime_start", trial.start), change["values"] or trial.values
        return replace(trial, state=_STATES[change["state"]], start=start, values=values)
    if kind == _POINT:
        trial.points[int(change["step"])] = change["intermediate_value"]  # type: ignore[index]
        return trial
    return replace(trial, attributes={**trial.attributes, **change["user_attr"]})
