"""Hostile stores: each gives one sentence within the limits of time and memory, and nothing from it is executed."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from isoplan.app.commands.tracked_runs import import_
from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers import reading, tables
from isoplan.engine.trackers.export import write_table
from isoplan.engine.trackers.formats.folders import read_yaml
from isoplan.engine.trackers.formats.sqlite import has_tables, opened
from isoplan.engine.trackers.mlflow.rest import server_at
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.run import TrackedRun
from isoplan.engine.trackers.wandb import service


def test_archives_are_unpacked_within_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header that unpacks to 1 GB, and millions of folders, need no memory of the process that imports."""
    monkeypatch.setattr(reading, "MEGABYTES", 700)
    header, folder = tarfile.TarInfo("x"), tarfile.TarInfo("d")
    header.type, header.size, folder.type = tarfile.XHDTYPE, 2**30, tarfile.DIRTYPE
    with gzip.open(tmp_path / "header.tgz", "wb", 1) as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(2**10):
            file.write(bytes(2**20))
    with gzip.open(tmp_path / "folders.tgz", "wb", 1) as file:
        file.write(folder.tobuf() * 250_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(PlannerError, match=r"header\.tgz cannot be read: it is damaged, or too large for memory"):
        import_runs(str(tmp_path / "header.tgz"))
    with pytest.raises(PlannerError, match=r"more than 200,000 files and folders"):
        import_runs(str(tmp_path / "folders.tgz"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_damaged_data_in_an_archive(tmp_path: Path, kind: int) -> None:
    """Errors of the compression give the same sentence as other damage."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("a/x.csv", b"step,loss\n" * 1000)
    content = bytearray(path.read_bytes())
    content[40:60] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(PlannerError, match=r"^a\.zip cannot be unpacked \(.+\): pack the folder again\.$"):
        import_runs(str(path))


def test_names_in_an_archive_that_are_no_text(tmp_path: Path) -> None:
    """Names that are not UTF-8 are refused. Signs that control a terminal are not repeated in a message."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("é.csv", b"1")
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(PlannerError, match="cannot be unpacked"):
        import_runs(str(path))
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        info = tarfile.TarInfo("\x1b[31mred/hparams.yaml")
        info.size = 6
        tar.addfile(info, io.BytesIO(b"a: [1,"))
        tar.addfile(tarfile.TarInfo("\x1b[31mred/metrics.csv"))
    with pytest.raises(PlannerError, match=r"^/[^\x1b]*/a\.tar/hparams\.yaml is not valid YAML"):
        import_runs(str(tmp_path / "a.tar"))


def test_a_cut_compressed_file(tmp_path: Path) -> None:
    """A compressed file that ends within its first bytes is no archive."""
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(range(256)) * 20)[:200])
    with pytest.raises(PlannerError, match="contains no runs of a known tracker"):
        import_runs(str(tmp_path / "a.gz"))


@pytest.mark.parametrize("text", ["!!bool x", "!!int ''", "!!float ''", "!!timestamp x"])
def test_yaml_with_values_of_wrong_types(tmp_path: Path, text: str) -> None:
    """The error names the file."""
    (tmp_path / "x.yaml").write_text(f"a: {text}\n")
    with pytest.raises(PlannerError, match=r"x\.yaml is not valid YAML"):
        read_yaml(tmp_path / "x.yaml")


def test_yaml_that_contains_itself(tmp_path: Path) -> None:
    """Twenty references of a mapping to itself would need years to flatten."""
    (tmp_path / "x.yaml").write_text("a: &a {" + ", ".join(f"k{i}: *a" for i in range(20)) + "}")
    with pytest.raises(PlannerError, match="an alias inside the value that it repeats"):
        read_yaml(tmp_path / "x.yaml")


def test_a_pipe_and_virtual_tables_are_no_database(tmp_path: Path) -> None:
    """Reading from a pipe may not end, and modules of virtual tables run much code for damaged content."""
    os.mkfifo(tmp_path / "mlflow.db")
    assert not has_tables(tmp_path / "mlflow.db", "runs")
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.executescript("CREATE TABLE params (a); CREATE VIRTUAL TABLE runs USING fts5(a)")
    assert has_tables(tmp_path / "a.db", "params")
    assert not has_tables(tmp_path / "a.db", "runs")
    with opened(tmp_path / "a.db") as database:
        assert database.execute("PRAGMA temp_store").fetchone() == (2,)  # in memory: no file grows without a limit


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    """Such signs become question marks, and the marks of the runs agree with their ids."""
    folder = os.fsencode(tmp_path) + b"/store/a\xff"
    os.makedirs(folder)
    Path(os.fsdecode(folder), "metrics.csv").write_text("step,loss\n0,1\n")
    Path(os.fsdecode(folder), "hparams.yaml").write_text('x: "\\uD800"\n')
    imported = import_runs(str(tmp_path / "store"))
    assert imported.tables.rows["run_id"].to_pylist() == ["a?"]
    assert list(imported.marks) == ["a?"]
    assert len(import_runs(str(tmp_path / "store"), known=imported.marks).tables.rows) == 0


def test_formulas_in_a_csv_file(tmp_path: Path) -> None:
    """A spreadsheet does not run names and texts of a store. Numbers are unchanged."""
    table = pa.table({"=run": ["=1+1", "@x", "-1.5", "plain"], "loss": [-1.0, 2.0, 3.0, 4.0]})
    write_table(table, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().replace('"', "").splitlines()
    assert lines == ["'=run,loss", "'=1+1,-1", "'@x,2", "-1.5,3", "plain,4"]


def test_a_password_is_not_sent_in_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is configured with https does not get the token by http."""
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "secret")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://tracking.example")
    assert "Authorization" in server_at("https://tracking.example").headers
    for other in ("http://tracking.example", "https://tracking.example.org", "https://tracking.example:1"):
        assert "Authorization" not in server_at(other).headers


def test_pages_of_wandb_that_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that always names the same next page is asked twice."""
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    asked = []

    def ask(server: object, query: str, cursor: object) -> dict[str, object]:
        asked.append(cursor)
        assert len(asked) < 5
        return {"runs": {"edges": [{"node": {"name": "a"}}], "pageInfo": {"endCursor": "x", "hasNextPage": True}}}

    monkeypatch.setattr(service, "_ask", ask)
    assert list(service.marks("https://wandb.ai/entity/project")) == ["a"]
    assert asked == [None, "x"]


def test_too_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs with different settings cannot give a table of any width."""
    monkeypatch.setattr(tables, "MAX_COLUMNS", 14)
    runs = [TrackedRun(str(i), "a", config={f"{i}.{j}": 1.0 for j in range(5)}) for i in range(3)]
    assert tables.as_tables(runs[:2]).rows.num_columns == 14
    with pytest.raises(PlannerError, match="The runs have 19 columns and the limit is 14: import fewer runs"):
        tables.as_tables(runs)


def test_control_characters_are_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The name of a setting cannot change the colour or the lines of a terminal."""
    (tmp_path / "a.json").write_text(json.dumps({"loss": 1, "config": {"a\x1b[31m\nb": 1}}))
    import_(str(tmp_path))
    assert "config.a [31m b, summary.loss." in capsys.readouterr().out
