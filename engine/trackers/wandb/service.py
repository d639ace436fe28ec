"""Runs of a project on the service of W&B, read through its public API. This module is not tested against the service.

Its queries are those of ``wandb.Api`` in W&B 0.31. Tests use a local server that answers such queries.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.folders import digest
from isoplan.engine.trackers.formats.servers import Server, ask, opener, understood
from isoplan.engine.trackers.formats.times import from_text
from isoplan.engine.trackers.run import State, TrackedRun
from isoplan.engine.trackers.wandb import values

PAGES, API = "https://wandb.ai", "https://api.wandb.ai"
"""Addresses of the web pages and of the API."""
STATES: Mapping[str, State] = {"finished": "finished", "running": "running", "failed": "failed", "crashed": "failed"}
_PAGE = """query Runs($entity: String!, $project: String!, $cursor: String) {
  project(name: $project, entityName: $entity) { runs(after: $cursor, first: 50, order: "+created_at") {
    edges { node { name displayName state config summaryMetrics tags group jobType sweepName createdAt heartbeatAt
      historyLineCount } }
    pageInfo { endCursor hasNextPage } } } }"""
_HISTORY = """query RunFullHistory($entity: String!, $project: String!, $name: String!, $samples: Int) {
  project(name: $project, entityName: $entity) { run(name: $name) { history(samples: $samples) } } }"""


def recognises(place: str) -> bool:
    """Return whether ``place`` is an address on wandb.ai, or on the server that ``WANDB_BASE_URL`` names."""
    own = _own_address()
    return place.startswith((f"{PAGES}/", *([f"{own}/"] if own else [])))


def marks(place: str) -> Mapping[str, str]:
    """Return a mark for each run, by run id, in the order of creation."""
    return {key: digest(run) for key, run in _runs(_server(place)).items()}


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the runs whose ids are in ``ids``."""
    server = _server(place)
    runs = _runs(server)
    for key in ids:
        if key in runs:
            count = runs[key].get("historyLineCount") or 1
            with understood(server):
                rows = _ask(server, _HISTORY, name=key, samples=count)["run"]["history"]
                yield _run(key, runs[key], [json.loads(row) for row in rows])


def _run(key: str, run: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> TrackedRun:
    texts = {"group": run["group"], "job_type": run["jobType"], "sweep": run["sweepName"], "tags": run["tags"]}
    tags = {name: ", ".join(text) if isinstance(text, list) else str(text) for name, text in texts.items() if text}
    config, summary = (json.loads(run[part] or "{}") for part in ("config", "summaryMetrics"))
    return TrackedRun(
        key,
        run["displayName"] or key,
        STATES.get(run["state"], "unknown"),
        from_text(run["createdAt"]),
        values.stored_config(config),
        values.plain_summary(summary),
        tags,
        values.row_histories(rows),
    )


def _runs(server: Server) -> dict[str, dict[str, Any]]:
    """Return the runs of the project as JSON objects by id."""
    found, page, seen = dict[str, dict[str, Any]](), {"endCursor": None, "hasNextPage": True}, set[str]()
    with understood(server):
        while page["hasNextPage"] and str(page["endCursor"]) not in seen:
            seen.add(str(page["endCursor"]))
            runs = _ask(server, _PAGE, cursor=page["endCursor"])["runs"]
            page = runs["pageInfo"] if runs["edges"] else {"hasNextPage": False}
            found |= {str(edge["node"]["name"]): edge["node"] for edge in runs["edges"]}
    return found


def _ask(server: Server, query: str, **variables: object) -> dict[str, Any]:
    """Send a query, and return the project in the answer. Raises PlannerError if there is no such project."""
    entity, _, project = server.experiment.partition("/")
    body = {"query": query, "variables": {"entity": entity, "project": project, **variables}}
    found = ask(server, "graphql", body=body)["data"]["project"]
    if found is None:
        raise PlannerError(
            f"{server.experiment}: there is no such project, or {server.access} gives no access to it. Check both."
        )
    return found


def _server(place: str) -> Server:
    """Return the server for an address ``https://wandb.ai/ENTITY/PROJECT``. ``WANDB_API_KEY`` contains the key."""
    own = _own_address()
    parts = re.match(r"/([^/?#]+)/([^/?#]+)", place.removeprefix(PAGES if place.startswith(PAGES) else own))
    if parts is None:
        raise PlannerError(f"{place}: the address has no project. Use an address such as {PAGES}/ENTITY/PROJECT.")
    key = os.environ.get("WANDB_API_KEY", "").strip()
    if not key:
        raise PlannerError(f"WANDB_API_KEY: there is no key. Copy your key from {PAGES}/authorize to this variable.")
    return Server(
        API if place.startswith(PAGES) else own,
        unquote(f"{parts[1]}/{parts[2]}"),
        "a server of W&B",
        "WANDB_API_KEY",
        "a project with fewer values",
        {"Authorization": f"Basic {base64.b64encode(f'api:{key}'.encode()).decode()}"},
        opener(),
    )


def _own_address() -> str:
    return os.environ.get("WANDB_BASE_URL", "").rstrip("/")
