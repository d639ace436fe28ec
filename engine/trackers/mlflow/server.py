"""A tracking server of MLflow: its experiments, runs and logged values, read through the REST API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from isoplan.engine.trackers.formats.folders import digest
from isoplan.engine.trackers.formats.servers import Missing, Server, ask, understood
from isoplan.engine.trackers.mlflow.rest import API, pages, server_at
from isoplan.engine.trackers.mlflow.values import (
    NAME_TAG,
    STATES,
    SYSTEM_METRICS,
    created,
    history,
    labels,
    settings,
)
from isoplan.engine.trackers.run import History, TrackedRun
from isoplan.engine.trackers.source import is_address

PAGE = 1000
"""Number of experiments or runs in one answer."""
RUNS = 50
"""Number of runs in one request for values. The server allows 100."""
VALUES = 25_000
"""Maximum number of values in one answer. The server leaves out further values without an error."""
BULK = "ajax-api/2.0/mlflow/metrics/get-history-bulk"

Logged = dict[str, dict[str, list[Any]]]
"""Logged values by run id and metric, as JSON objects with step, timestamp and value."""


def recognises(place: str) -> bool:
    """Return whether ``place`` is an address. No request is sent: ``marks`` reports errors of the server."""
    return is_address(place)


def marks(place: str) -> Mapping[str, str]:
    """Return a mark for each run, by run id, sorted by start time. Deleted runs are left out.

    A mark depends on the state of the run, its params, its tags and the value of each metric at its last step. A new
    value at an earlier step does not change the mark.
    """
    server = server_at(place)
    with understood(server):
        return {key: digest(run) for key, run in _runs(server).items()}


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the runs whose ids are in ``ids``."""
    server = server_at(place)
    with understood(server):
        runs, names = _runs(server), _experiments(server)
        found = [key for key in ids if key in runs]
        for first in range(0, len(found), RUNS):
            block = {key: runs[key] for key in found[first : first + RUNS]}
            logged = _logged(server, block)
            for key, run in block.items():
                yield _run(key, run, names, logged[key])


def _experiments(server: Server) -> dict[str, str]:
    """Return the names of the experiments that are not deleted, by id."""
    query = (("max_results", str(PAGE)), ("view_type", "ACTIVE_ONLY"))
    found = pages(server, f"{API}experiments/search", "experiments", query)
    names = {str(one["experiment_id"]): str(one["name"]) for one in found}
    return {key: name for key, name in names.items() if server.experiment in ("", key)}


def _runs(server: Server) -> dict[str, Any]:
    """Return the runs that are not deleted, as JSON objects by id, sorted by start time."""
    experiments = list(_experiments(server))
    if not experiments:
        return {}
    body = {"experiment_ids": experiments, "max_results": PAGE, "run_view_type": "ACTIVE_ONLY"}
    found = list(pages(server, f"{API}runs/search", "runs", body=body))
    found.sort(key=lambda run: (int(run["info"].get("start_time", 0)), run["info"]["run_id"]))
    return {str(run["info"]["run_id"]): run for run in found}


def _logged(server: Server, runs: Mapping[str, Any]) -> Logged:
    """Return the logged values of runs, in as few requests as possible."""
    logged: Logged = {key: {} for key in runs}
    metrics = dict.fromkeys(str(one["key"]) for run in runs.values() for one in _pairs(run, "metrics"))
    for metric in (name for name in metrics if not name.startswith(SYSTEM_METRICS)):
        waiting = sorted(
            key for key, run in runs.items() if any(one["key"] == metric for one in _pairs(run, "metrics"))
        )
        while waiting:
            complete = _bulk(server, metric, waiting)
            for key in complete or waiting[:1]:
                logged[key][metric] = complete[key] if complete else _all_values(server, metric, key)
            waiting = waiting[max(len(complete), 1) :]
    return logged


def _bulk(server: Server, metric: str, ids: Sequence[str]) -> dict[str, list[Any]]:
    """Send one request for a metric, and return its values by run id for the runs that the answer contains completely.

    ``ids`` must be sorted. The result is empty if the values of the first run do not fit into one answer, or if the
    server does not support the request.
    """
    query = [("metric_key", metric), ("max_results", str(VALUES)), *(("run_id", key) for key in ids)]
    try:
        found = ask(server, BULK, query)["metrics"]
    except Missing:
        return {}
    values: dict[str, list[Any]] = {key: [] for key in ids}
    for one in found:
        values[one["run_id"]].append(one)
    if len(found) < VALUES:
        return values
    return {key: values[key] for key in ids[: ids.index(found[-1]["run_id"])]}


def _all_values(server: Server, metric: str, key: str) -> list[Any]:
    """Return all values of a metric of one run, with one request for each page."""
    query = (("run_id", key), ("metric_key", metric), ("max_results", str(VALUES)))
    return list(pages(server, f"{API}metrics/get-history", "metrics", query))


def _pairs(run: Mapping[str, Any], part: str) -> list[Any]:
    return run.get("data", {}).get(part) or []


def _run(
    key: str, run: Mapping[str, Any], experiments: Mapping[str, str], logged: Mapping[str, list[Any]]
) -> TrackedRun:
    info = run["info"]
    params, tags = (
        [(str(one["key"]), str(one.get("value", ""))) for one in _pairs(run, part)] for part in ("params", "tags")
    )
    return TrackedRun(
        key,
        str(info.get("run_name") or "") or dict(tags).get(NAME_TAG) or key,
        STATES.get(str(info.get("status")), "unknown"),
        created(float(info.get("start_time", 0))),
        settings(params),
        tags=labels(experiments.get(str(info.get("experiment_id")), ""), tags),
        histories={metric: _history(values) for metric, values in logged.items() if values},
    )


def _history(values: Sequence[Any]) -> History:
    """Return logged values as a history. The server writes values that are not finite as text, such as ``NaN``."""
    return history(*(np.array([float(one.get(part, 0)) for one in values]) for part in ("step", "timestamp", "value")))
