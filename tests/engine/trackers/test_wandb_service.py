"""Import from the public API of W&B: a local server answers the queries. The service itself is not tested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.catalogue import find_source
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.wandb import source
from tests.engine.trackers.known import KNOWN, check_known, check_law


class _Service(BaseHTTPRequestHandler):
    """Answer the two queries with the known runs, in pages of 15 runs. Other projects do not exist."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        variables = body["variables"]
        if self.headers["Authorization"] != "Basic YXBpOnNlY3JldA==":
            self.send_error(401)
            return
        project: dict[str, Any] | None = None
        if (variables["entity"], variables["project"]) == ("a team", "sweep"):
            project = _history(int(variables["name"][2:]), variables) if "name" in variables else _page(variables)
        content = json.dumps({"data": {"project": project}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def _page(variables: dict[str, Any]) -> dict[str, Any]:
    first = int(variables["cursor"] or 0)
    nodes = [_node(i, run) for i, run in list(enumerate(KNOWN))[first : first + 15]]
    end = first + len(nodes)
    page = {"endCursor": str(end), "hasNextPage": end < len(KNOWN)}
    return {"runs": {"edges": [{"node": node} for node in nodes], "pageInfo": page}}


def _node(position: int, run: dict[str, Any]) -> dict[str, Any]:
    config = {"params": {"value": run["params"]}, "tokens": {"value": run["tokens"]}, "_wandb": {"value": {"a": 1}}}
    summary = {"val_loss": run["losses"][-1], "_step": len(run["losses"]) - 1, "h": {"_type": "histogram", "n": 2}}
    state = {"failed": "crashed"}.get(run["state"], run["state"])
    return {
        **{"name": f"id{position}", "displayName": run["name"], "state": state, "tags": ["a", "b"], "group": None},
        **{"config": json.dumps(config), "summaryMetrics": json.dumps(summary), "jobType": "", "sweepName": "s"},
        **{"createdAt": "2025-01-02T03:04:05Z", "heartbeatAt": "2025", "historyLineCount": len(run["losses"])},
    }


def _history(position: int, variables: dict[str, Any]) -> dict[str, Any]:
    rows = [{"_step": i, "_runtime": 1.5, "val_loss": loss} for i, loss in enumerate(KNOWN[position]["losses"])]
    return {"run": {"history": [json.dumps(row) for row in rows[: variables["samples"]]]}}


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the address of the server, which ``WANDB_BASE_URL`` names."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_runs_of_a_project(address: str) -> None:
    """Settings, losses, states and curves of all pages are read; unchanged runs are not read again."""
    imported = import_runs(f"{address}/a%20team/sweep?nw=1")
    rows, points = imported.tables.rows, imported.tables.points
    check_known(rows, points, states=True)
    check_law(rows)
    assert points.column_names == ["run", "step", "val_loss"]
    assert [name for name in rows.column_names if "." in name] == [
        *("config.params", "config.tokens", "summary.val_loss", "summary._step", "tags.sweep", "tags.tags")
    ]
    assert len(import_runs(f"{address}/a%20team/sweep", known=imported.marks).tables.rows) == 0


def test_problems_name_the_way_out(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong key, a project that does not exist and an address without a project are one sentence each."""
    with pytest.raises(PlannerError, match=r"^a team/x: there is no such project, or WANDB_API_KEY gives no access"):
        import_runs(f"{address}/a%20team/x")
    with pytest.raises(PlannerError, match="the address has no project"):
        import_runs(f"{address}/team")
    monkeypatch.setenv("WANDB_API_KEY", "other")
    with pytest.raises(PlannerError, match=r"refuses access \(status 401\): set WANDB_API_KEY\."):
        import_runs(f"{address}/a%20team/sweep")
    monkeypatch.delenv("WANDB_API_KEY")
    with pytest.raises(PlannerError, match=r"^WANDB_API_KEY: there is no key\. Copy your key from https://wandb\.ai"):
        import_runs("https://wandb.ai/team/sweep")
    assert find_source("https://wandb.ai/team/sweep") is source.SOURCE
    assert find_source("https://wandb.ai.example.org/team/sweep") is not source.SOURCE
