"""Damaged and hostile stores and servers of MLflow: each gives one sentence."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.mlflow import files, server
from isoplan.engine.trackers.mlflow.rest import server_at
from isoplan.engine.trackers.mlflow.values import history, labels, settings
from isoplan.engine.trackers.reading import import_runs

RUN = "a" * 32
META = f"lifecycle_stage: active\nrun_id: {RUN}\nrun_name: one\nstart_time: 1700000000000\nstatus: 3\n"


def test_values() -> None:
    """Params become numbers, only some tags of MLflow are imported, and values are sorted by step."""
    assert settings([("a", "1e3"), ("b", "True"), ("c", "[1, 2]"), ("d", "")]) == {
        "a": 1000.0,
        "b": True,
        "c": "[1, 2]",
    }
    tags = [("mine", "x"), ("mlflow.user", "me"), ("mlflow.source.git.commit", "f00"), ("experiment", "y")]
    assert labels("z", tags) == {"mine": "x", "mlflow.source.git.commit": "f00", "experiment": "z"}
    steps, values = np.array([2.0, 1, 2, 1]), np.array([5.0, np.nan, 4, np.finfo(float).max])
    logged = history(steps, np.array([1.0, 1, 2, 2]), values)
    np.testing.assert_array_equal((logged.steps, logged.values), ([1, 2], [np.inf, 4]))
    empty = history(*np.zeros((3, 0)))
    assert (len(empty.steps), len(empty.values)) == (0, 0)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a file store with one run, which has a metric ``loss`` of two values."""
    run = tmp_path / "mlruns/7" / RUN
    for folder in ("params", "metrics", "tags", "artifacts"):
        (run / folder).mkdir(parents=True)
    (run.parent / "meta.yaml").write_text(
        "artifact_location: x\nexperiment_id: '7'\nname: e\nlifecycle_stage: active\n"
    )
    (run / "meta.yaml").write_text(META)
    (run / "metrics/loss").write_text("1 3.5 0\n2 3.25 1\n")
    return tmp_path


def test_files_that_are_being_written(store: Path) -> None:
    """A line without an end is left out, and a run without meta.yaml is not yet a run."""
    (store / "mlruns/7" / RUN / "metrics/loss").write_text("1 3.5 0\n2 3.25 1\n3 3.1")
    (store / "mlruns/7" / ("b" * 32)).mkdir()
    (run,) = files.read(str(store), list(files.marks(str(store))))
    np.testing.assert_array_equal(run.histories["loss"].values, [3.5, 3.25])
    assert (run.name, run.state, run.tags["experiment"]) == ("one", "finished", "e")


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("metrics/loss", "1 abc 0\n", r"metrics/loss has a line that is not 'time value step': remove this line\.$"),
        ("metrics/loss", "\0\xff\n", r"metrics/loss has a line that is not"),
        ("meta.yaml", f"run_id: {RUN}\nname: [\n", r"meta\.yaml is not valid YAML"),
        ("params/n", "x" * 5_000_000, r"params/n has more than 4 MB"),
    ],
)
def test_damaged_files(store: Path, file: str, text: str, message: str) -> None:
    """The error names the file."""
    (store / "mlruns/7" / RUN / file).write_text(text)
    with pytest.raises(PlannerError, match=message):
        import_runs(str(store))


def test_hostile_files(store: Path, tmp_path: Path) -> None:
    """Tags in YAML are not executed, links are not followed, and artifacts are not opened."""
    run, secret = store / "mlruns/7" / RUN, tmp_path / "secret"
    secret.write_text("secret")
    (run / "params/key").symlink_to(secret)
    (run / "artifacts/model.pkl").write_bytes(b"cos\nsystem\n(S'touch x'\ntR.")
    (run / "meta.yaml").write_text(META.replace("one", "!!python/object/apply:os.system ['touch x']"))
    (store / "mlruns/8").symlink_to(store / "mlruns/7")
    (row,) = import_runs(str(store)).tables.rows.to_pylist()
    assert "config.key" not in row
    assert row["run"] == "['touch x']"
    assert not Path("x").exists()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return a database with the tables of MLflow and one run, whose values have wrong types."""
    file = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(file)) as made, made:
        made.executescript(
            """
            CREATE TABLE experiments (experiment_id, name, lifecycle_stage);
            CREATE TABLE runs (run_uuid, name, status, start_time, end_time, lifecycle_stage, experiment_id);
            CREATE TABLE params (key, value, run_uuid);
            CREATE TABLE metrics (key, value, timestamp, step, is_nan, run_uuid);
            CREATE TABLE latest_metrics (key);
            CREATE TABLE tags (key, value, run_uuid);
            INSERT INTO experiments VALUES (1, NULL, NULL);
            INSERT INTO runs VALUES ('r', x'ff41', 7, 'soon', NULL, NULL, 1),
                (NULL, 'no id', 'FAILED', 0, 0, 'active', 1);
            INSERT INTO params VALUES ('n', x'31', 'r'), (NULL, NULL, 'r');
            INSERT INTO metrics VALUES ('loss', 'x', 'y', 'z', 0, 'r'), ('loss', 2.5, 1, 1, 0, 'r'),
                (NULL, 1, 1, 1, 1, 'r');
            """
        )
    return file


def test_values_of_wrong_types(database: Path) -> None:
    """A database with values of wrong types is read as far as possible."""
    (row,) = import_runs(str(database)).tables.rows.to_pylist()
    assert (row["run"], row["status"], row["created"]) == ("\ufffdA", "unknown", None)
    assert (row["config.n"], row["summary.loss"]) == (1.0, 2.5)


def test_damaged_database(database: Path) -> None:
    """A database with damaged pages gives one sentence, and another database is not of MLflow."""
    content = bytearray(database.read_bytes())
    content[4096 * 2 :] = b"\x99" * (len(content) - 4096 * 2)
    database.write_bytes(content)
    with pytest.raises(PlannerError, match=r"mlflow\.db cannot be read \(database disk image is malformed\)"):
        import_runs(str(database))
    database.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    with pytest.raises(PlannerError, match=r"is not a store of MLflow: name the file mlflow\.db"):
        import_runs(str(database), "mlflow")


class Answers(BaseHTTPRequestHandler):
    """A server that answers every request in the same way, and records the headers of requests."""

    status: int = 200
    content: bytes = b""
    location: str = ""
    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        self.seen.append(dict(self.headers))
        self.send_response(self.status)
        if self.location:
            self.send_header("Location", self.location)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def answers() -> Iterator[tuple[str, type[Answers]]]:
    """Return the address of a server and the class that determines its answers."""
    handler = type("Handler", (Answers,), {"seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}", handler
        running.shutdown()


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (401, b"", "refuses access .status 401.: set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and"),
        (404, b"", "is not a tracking server of MLflow .status 404.: check the address"),
        (302, b"", "redirects to http://localhost:1/x: use the address of the server itself"),
        (500, b'{"message": "no space"}', "answers with status 500 .no space.: try again later"),
        (200, b"<html>", "is not a tracking server of MLflow: check the address"),
        (200, b"[" * 100_000, "is not a tracking server of MLflow: check the address"),
        (200, b'{"experiments": [{"id": 1}]}', "is not a tracking server of MLflow: check the address"),
        (200, b'{"experiments": 3}', "is not a tracking server of MLflow: check the address"),
    ],
)
def test_answers_of_other_servers(
    answers: tuple[str, type[Answers]], status: int, content: bytes, message: str
) -> None:
    """Each wrong answer gives one sentence. Redirects are not followed."""
    address, handler = answers
    handler.status, handler.content = status, content
    handler.location = "http://localhost:1/x" if status == 302 else ""
    with pytest.raises(PlannerError, match=f"^{address} {message}"):
        import_runs(address)


def test_endless_pages(answers: tuple[str, type[Answers]]) -> None:
    """A server that repeats the token of a page is not asked forever."""
    address, handler = answers
    handler.content = json.dumps({"experiments": [], "next_page_token": "again"}).encode()
    assert server.marks(address) == {}
    assert len(handler.seen) == 2


def test_access(answers: tuple[str, type[Answers]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The password goes only to the server that MLFLOW_TRACKING_URI names, and is not part of an address."""
    address, handler = answers
    handler.content = b"{}"
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "secret")
    for uri in ("", address, "http://elsewhere:5000"):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        server.marks(address)
    assert [seen.get("Authorization") for seen in handler.seen] == ["Basic bWU6c2VjcmV0"] * 2 + [None]
    assert "secret" not in repr(server_at(address))
    with pytest.raises(PlannerError, match="cannot contain a user name: remove it, and set MLFLOW_TRACKING_TOKEN"):
        server_at("https://me:secret@host")


def test_no_server() -> None:
    """A server that does not run gives the reason."""
    with pytest.raises(
        PlannerError, match=r"^http://127\.0\.0\.1:9 cannot be reached \(.*refused.*\): check the address"
    ):
        import_runs("http://127.0.0.1:9/")
