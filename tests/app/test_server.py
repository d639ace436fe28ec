"""Tests of the running server: start, health check, second start, ports, shared access, shutdown and log."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from isoplan.app.commands.serve import own_token
from isoplan.app.serving.server import OPTIONS, UPLOAD_MB, Start, listen
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.files.uploads import MAX_UPLOAD_BYTES
from tests import progress
from tests.server import Server, forked, free_port, running

ISOPLAN = str(Path(sys.executable).with_name("isoplan"))
TOKEN = "0123456789-token_of-a-test"


def isoplan(*arguments: str) -> subprocess.CompletedProcess[str]:
    return progress.run([ISOPLAN, *arguments])


def get(url: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    """Send a request, follow redirects, and return the status and body of the response, also of an error response."""
    asked = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=progress.LAST) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("server") / "workspace") as found:
        yield found


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("shared") / "workspace"
    with forked(folder, "--shared", env={"ISOPLAN_TOKEN": TOKEN}) as found:
        yield found


def test_it_answers_and_says_where_it_is(server: Server) -> None:
    assert get(server.url + "/healthz") == (200, "ok")
    assert get(server.url + "/_stcore/health")[0] == 200
    assert server.output.read_text().startswith(f"Isoplan is at {server.url}\nWorkspace: {server.workspace}\n")


def test_the_shell_names_us_and_asks_no_other_server(server: Server) -> None:
    for page in ("", "data", "fit", "explore", "plan"):
        status, html = get(f"{server.url}/{page}")
        assert status == 200
        assert "<title>Isoplan</title>" in html
        assert "BACKEND_BASE_URL" in html
        assert "http://" not in html.replace("http://www.w3.org", "").split("<body>")[1]
        assert "Streamlit app" not in html


def test_a_foreign_host_is_refused(server: Server) -> None:
    assert get(server.url, Host="evil.example") == (403, "This Isoplan server can be opened only at localhost.")


def test_a_websocket_of_another_site_is_refused(server: Server) -> None:
    address = server.url.replace("http", "ws") + "/_stcore/stream"
    with pytest.raises(InvalidStatus, match="403"), connect(address, origin=Origin("http://localhost:1")):
        pass
    with connect(address, origin=Origin(server.url), subprotocols=[Subprotocol("streamlit")]):
        pass


def test_a_second_start_names_the_first(server: Server) -> None:
    done = isoplan("app", "--no-browser", "--workspace", str(server.workspace))
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert server.url in done.stderr
    assert f"process {server.process.pid}" in done.stderr


def test_a_taken_port_is_named(server: Server, tmp_path: Path) -> None:
    port = server.url.rsplit(":", 1)[1]
    done = isoplan("app", "--no-browser", "--port", port, "--workspace", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == (
        f"isoplan: Port {port} is in use by another program: choose a free port with --port, or omit --port.\n"
    )


def test_without_a_port_the_next_free_one_is_taken() -> None:
    with listen("localhost", None) as first, listen("localhost", None) as second:
        assert 8501 <= first.getsockname()[1] < second.getsockname()[1]


def test_every_port_taken_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr("isoplan.app.serving.server.FIRST_PORT", taken.getsockname()[1])
        monkeypatch.setattr("isoplan.app.serving.server.PORTS_TRIED", 1)
        with pytest.raises(PlannerError, match="all in use: free one of them, or choose another port with --port"):
            listen("localhost", None)


def test_a_host_that_is_not_of_this_machine_is_named() -> None:
    with pytest.raises(PlannerError, match=r"--host 203\.0\.113\.9 is not an address of this machine"):
        listen("203.0.113.9", free_port())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_another_host_needs_shared(host: str) -> None:
    with pytest.raises(PlannerError, match=f"--host {host} accepts connections from other machines: add --shared"):
        Start(host=host)
    assert Start(host=host, shared=True).shared


def test_a_token_is_long_and_new_each_time() -> None:
    assert Start(shared=True).token != Start(shared=True).token
    assert len(Start(shared=True).token) >= 32
    assert Start(shared=True).token not in repr(Start(shared=True))


@pytest.mark.parametrize("token", ["short", "has a space in the middle", "ünïcode-is-not-allowed-here"])
def test_a_token_of_ones_own_must_be_good(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOPLAN_TOKEN", token)
    with pytest.raises(PlannerError, match="ISOPLAN_TOKEN needs at least 16 characters"):
        own_token()


def test_shared_pages_uploads_and_websockets_need_the_token(shared_server: Server) -> None:
    url = shared_server.url
    assert get(url)[0] == 401
    assert get(url + "/static/js/none.js")[0] == 401
    assert get(url + "/_stcore/upload_file/a/b", method="PUT")[0] == 401
    assert get(url + "/api/pdf", method="POST")[0] == 401
    assert get(url + "/healthz") == (200, "ok")
    with pytest.raises(InvalidStatus, match="403"), connect(url.replace("http", "ws") + "/_stcore/stream"):
        pass


def test_shared_the_printed_link_lets_in_and_leaves_the_address(shared_server: Server) -> None:
    link = shared_server.output.read_text().splitlines()[0].split()[-1]
    assert link == f"{shared_server.url}/?token={TOKEN}"
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(link) as answer:
        assert answer.url == shared_server.url + "/"
    with opener.open(shared_server.url + "/fit") as answer:
        assert answer.status == 200


def test_a_host_that_means_every_address_prints_a_link_for_this_machine_too(tmp_path: Path) -> None:
    with forked(tmp_path / "w", "--shared", "--host", "0.0.0.0", env={"ISOPLAN_TOKEN": TOKEN}) as found:
        lines = found.output.read_text().splitlines()
        assert lines[0] == f"Isoplan is at http://{socket.gethostname()}:{found.url.rsplit(':', 1)[1]}/?token={TOKEN}"
        assert lines[1] == f"and on this machine at {found.url}/?token={TOKEN}"
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(lines[1].split()[-1]) as answer:
            assert answer.url == found.url + "/"


@pytest.mark.parametrize("name", ["token", "%74oken"])
def test_shared_the_token_is_not_in_the_log(shared_server: Server, name: str) -> None:
    get(f"{shared_server.url}/?{name}={TOKEN}")
    with pytest.raises(InvalidStatus), connect(f"ws{shared_server.url[4:]}/_stcore/stream?{name}={TOKEN}"):
        pass
    assert TOKEN not in (shared_server.workspace / "logs" / "isoplan.log").read_text()


def test_the_end_closes_the_workspace_and_is_logged(tmp_path: Path) -> None:
    with forked(tmp_path / "workspace") as server:
        owner = json.loads((server.workspace / "owner.json").read_text())
        assert owner["pid"] == server.process.pid
        assert owner["url"] == server.url
    assert not (server.workspace / "owner.json").exists()
    assert not list(server.workspace.glob("*.wal"))
    log = (server.workspace / "logs" / "isoplan.log").read_text()
    assert f"workspace {server.workspace} opened at {server.url}" in log
    assert f"workspace {server.workspace} closed" in log
    assert "Traceback" not in log


def test_ctrl_c_ends_it_in_peace(tmp_path: Path) -> None:
    with running(tmp_path / "workspace") as server:
        server.process.send_signal(signal.SIGINT)
        assert progress.end(server.process) == 0
    assert len(server.output.read_text().splitlines()) == 3


def test_after_a_kill_the_workspace_opens_again(tmp_path: Path) -> None:
    with forked(tmp_path / "workspace") as server:
        server.process.kill()
        server.process.wait()
    with forked(tmp_path / "workspace") as again:
        assert get(again.url + "/healthz")[0] == 200


def test_a_workspace_that_is_a_file_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    done = isoplan("app", "--no-browser", "--workspace", str(file))
    assert done.returncode == 2
    assert str(file) in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_damaged_workspace_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "isoplan.duckdb").write_bytes(b"not a database" * 1000)
    done = isoplan("app", "--no-browser", "--workspace", str(tmp_path))
    assert done.returncode == 2
    assert "isoplan.duckdb" in done.stderr
    assert "Traceback" not in done.stderr


def test_streamlit_is_kept_quiet_and_safe() -> None:
    assert OPTIONS["browser.gatherUsageStats"] is False
    assert OPTIONS["server.fileWatcherType"] == "none"
    assert OPTIONS["server.enableXsrfProtection"] is True
    assert OPTIONS["client.showErrorDetails"] == "none"
    assert UPLOAD_MB * 2**20 == MAX_UPLOAD_BYTES
