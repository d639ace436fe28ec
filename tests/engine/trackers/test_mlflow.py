"""Import of runs of MLflow, from stores that MLflow itself writes and from a server of MLflow."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

from isoplan.engine.trackers.mlflow import server
from isoplan.engine.trackers.reading import Imported, import_runs
from isoplan.engine.trackers.tables import RunTables
from tests import progress
from tests.engine.trackers.conftest import PYTHON, STORES, MakeStore
from tests.engine.trackers.known import KNOWN, check_known, check_law
from tests.server import free_port

KINDS = ("database", "files", "server")


@pytest.fixture(scope="module")
def stores(make_store: MakeStore) -> Iterator[dict[str, str]]:
    """Return the place of a store of each kind. The server reads a copy of the database."""
    folders = {kind: make_store("write_mlflow.py", kind, "extra") for kind in ("database", "files")}
    places = {kind: str(folder) for kind, folder in folders.items()}
    copy = Path(shutil.copytree(folders["database"], folders["database"] / "served"))
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [str(PYTHON), "-P", "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{copy}/mlflow.db"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    output = copy / "output.txt"
    with (
        output.open("w") as log,
        subprocess.Popen(
            command, cwd=copy, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        ) as process,
    ):
        try:
            progress.wait(lambda: _answers(address, process, output), copy, why=output.read_text)
            yield places | {"server": address}
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _answers(address: str, process: subprocess.Popen[bytes], output: Path) -> bool:
    assert process.poll() is None, output.read_text()
    try:
        with urlopen(f"{address}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def only_known(imported: Imported) -> Imported:
    """Return the import without the runs of the experiment ``other``."""
    rows, points = imported.tables.rows, imported.tables.points
    rows = rows.filter([name == "sweep / one" for name in rows["tags.experiment"].to_pylist()])
    names = set(rows["run"].to_pylist())
    points = points.filter([name in names for name in points["run"].to_pylist()]).drop_columns(["loss", "bad"])
    rows = rows.drop_columns(["summary.loss", "summary.bad"])
    return replace(imported, tables=RunTables(rows, points))


@pytest.mark.parametrize("kind", KINDS)
def test_known_runs(stores: dict[str, str], kind: str) -> None:
    """Settings, losses, states and curves are those that were logged, and the law is that of a plain table."""
    imported = import_runs(stores[kind])
    assert imported.title == "MLflow"
    known = only_known(imported)
    check_known(known.tables.rows, known.tables.points, states=True)
    check_law(known.tables.rows)
    first = known.tables.rows.slice(0, 1).to_pylist()[0]
    assert first["run"] == KNOWN[0]["name"]
    assert f"{first['created']:%Y-%m-%d %H:%M:%S}" == "2023-11-14 22:13:20"
    assert (first["config.optimizer"], first["config.lr"]) == ("AdamW", 1e-3)
    tags = {name: value for name, value in first.items() if name.startswith("tags.")}
    assert tags == {"tags.experiment": "sweep / one", "tags.group": "a b", "tags.mlflow.source.name": "train.py"}


@pytest.mark.parametrize("kind", KINDS)
def test_unusual_runs(stores: dict[str, str], kind: str) -> None:
    """Deleted runs and metrics of the machine are left out. The last of several values at one step counts."""
    tables = import_runs(stores[kind]).tables
    assert len(tables.rows) == len(KNOWN) + 2
    killed, empty = tables.rows.slice(len(KNOWN)).to_pylist()
    assert [killed["run"], empty["run"]] == [f"same name {run['run_id']}" for run in (killed, empty)]
    assert (killed["status"], killed["tags.experiment"]) == ("killed", "other")
    assert (killed["config.flag"], killed["config.text"], killed["config.n"]) == (True, "a\nb", 1000.0)
    assert (killed["summary.loss"], killed["summary.bad"]) == (2.0, -np.inf)
    assert not [name for name in tables.rows.column_names if "cpu" in name]
    assert (empty["status"], empty["config.n"], empty["summary.loss"]) == ("finished", None, None)
    points = tables.points.to_pandas()
    points = points[points["run"] == killed["run"]]
    assert points["step"].tolist() == [0, 1, 2, 3, 7]
    np.testing.assert_array_equal(points["loss"], [9, np.nan, np.nan, np.nan, 2])
    np.testing.assert_array_equal(points["bad"], [1, np.nan, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("kind", KINDS)
def test_one_more_value_changes_one_mark(stores: dict[str, str], kind: str) -> None:
    """A second import reads nothing, and after one more logged value it reads only that run."""
    place = stores[kind]
    first = import_runs(place)
    again = import_runs(place, known=first.marks)
    assert (again.marks, len(again.tables.rows)) == (first.marks, 0)
    command = [str(PYTHON), "-P", str(STORES / "write_mlflow.py"), place, sysconfig.get_paths()["purelib"]]
    subprocess.run([*command, place if kind == "server" else kind, "append"], check=True, capture_output=True)
    new = import_runs(place, known=first.marks)
    assert new.tables.rows["run"].to_pylist() == [KNOWN[0]["name"]]
    assert new.tables.rows["summary.val/loss"].to_pylist() == [1.25]
    assert sum(new.marks[key] != mark for key, mark in first.marks.items()) == 1


def test_places_of_the_stores(stores: dict[str, str]) -> None:
    """A store is also named by its database, its storage address, the folder mlruns, or one of its experiments."""
    database, files = Path(stores["database"]) / "mlflow.db", Path(stores["files"]) / "mlruns"
    assert import_runs(f"sqlite:///{database}").marks == import_runs(stores["database"]).marks
    assert import_runs(str(files)).marks == import_runs(stores["files"]).marks
    sizes = {
        path.name: len(import_runs(str(path)).marks)
        for path in files.iterdir()
        if path.name not in (".trash", "models")
    }
    assert sorted(sizes.values()) == [0, 2, len(KNOWN)]
    with closing(sqlite3.connect(database)) as opened:
        (other,) = opened.execute("SELECT experiment_id FROM experiments WHERE name = 'other'").fetchone()
    assert len(import_runs(f"{stores['server']}/#/experiments/{other}").marks) == 2


@pytest.mark.parametrize("most", [30, 250])
def test_long_curves_of_a_server(stores: dict[str, str], monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Curves are complete if one answer contains only a part of a run, or only some of the runs."""
    monkeypatch.setattr(server, "VALUES", most)
    runs = list(server.read(stores["server"], list(server.marks(stores["server"]))))
    lengths = [len(run.histories["val/loss"].steps) for run in runs[1 : len(KNOWN)]]
    assert lengths == [len(run["losses"]) for run in KNOWN[1:]]
    np.testing.assert_array_equal(runs[5].histories["val/loss"].values, KNOWN[5]["losses"])


def test_database_that_mlflow_writes(stores: dict[str, str], tmp_path: Path) -> None:
    """A database in WAL mode is read while a process has it open, with the values of the log."""
    file = shutil.copy(Path(stores["database"]) / "mlflow.db", tmp_path / "mlflow.db")
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        marks = import_runs(str(tmp_path)).marks
        with writer:
            writer.execute("UPDATE runs SET status = 'FAILED' WHERE status = 'RUNNING'")
        writer.execute("BEGIN IMMEDIATE")
        imported = import_runs(str(tmp_path), known=marks)
        assert imported.tables.rows["status"].to_pylist() == ["failed", "failed"]
