"""Tests of ``isoplan backup`` and ``isoplan restore`` without an open app: messages, refusals, temporary files."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

import pytest

from isoplan.app.backups import archives
from isoplan.app.backups.files import SECRET
from isoplan.engine.store.database import migration
from isoplan.engine.store.database.archive import MANIFEST
from isoplan.engine.store.database.damage import BACKUP_FILE, FILE, last_backup
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import launch, read_sweeps
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.engine.store.test_results import fitted
from tests.trainers.conftest import add, workspace


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """Create a workspace with a table, a fit and a sweep. Its path has spaces, quotes and non-ASCII letters."""
    root = workspace(tmp_path / 'it\'s "my" ñ 日本')
    with open_workspace(root) as db:
        table, made = fitted(db)
        results.save_fit(db, made, table_id=table.id)
    family = find_family("counter", root)
    launch(root, make_grid(family, {"size": [1, 2, 3]}), family)
    queue = Queue(root)
    name = min(queue.scan())
    queue.end(name, queue.lease(name, "test"), "done", "", metrics={"loss": 1.0})
    (root / "logs").mkdir()
    (root / "logs" / "isoplan.log").write_text("log")
    return root


def tree(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def beside(file: Path) -> list[str]:
    """Return the names of all files in the folder of ``file``, including hidden files."""
    return sorted(place.name for place in file.parent.iterdir())


def test_a_backup_is_restored_as_it_was(run: Run, space: Path, tmp_path: Path) -> None:
    file, before = tmp_path / "a backup.zip", tree(space)
    answer = run("backup", file, "--workspace", space)
    assert (answer.code, answer.err) == (0, "")
    size = file.stat().st_size
    assert re.fullmatch(
        rf"The backup {file} contains 1 table with 16 rows, 1 fit and 3 cells \(1 done, 2 queued\), [\d.]+ MB\. "
        "Its rows were compared with the workspace\\.\n",
        answer.out,
    )
    record = last_backup(space)
    assert record is not None
    assert record.path == str(file)
    after = tree(space)
    del after[BACKUP_FILE]
    assert after == before
    new = tmp_path / "new" / "space"
    answer = run("restore", file, "--workspace", new)
    assert (answer.code, answer.err) == (0, "")
    moment = f"{record.created:%Y-%m-%d %H:%M} UTC"
    assert answer.out.startswith(
        f"The workspace {new} is restored to its state of {moment}: 1 table with 16 rows, 1 fit and 3 cells"
    )
    restored = tree(new)
    unlike = {FILE, BACKUP_FILE}
    assert {n: d for n, d in restored.items() if n not in unlike} == {
        n: d for n, d in before.items() if n not in unlike and not n.startswith("logs/")
    }
    assert last_backup(new) == record
    with open_workspace(new) as db:
        assert [table.rows for table in tables.all(db)] == [16]
        assert results.rebuild(db, results.fits(db)[0].hash).startswith("Fitted again from its specification")
    assert read_sweeps(new) == read_sweeps(space)
    assert sorted(r.state for r in Queue(new).scan().values()) == ["done", "queued", "queued"]
    assert file.stat().st_size == size


def test_json_is_one_object(run: Run, space: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    made = object_in(run("backup", file, "--workspace", space, "--json").out)
    assert {**made, "created": "", "bytes": 0, "files": 0} == {
        "schema": 1, "file": str(file), "workspace": str(space), "created": "", "bytes": 0, "files": 0, "tables": 1,
        "rows": 16, "fits": 1, "cells": {"done": 1, "queued": 2}, "left_out": [],
    }  # fmt: skip
    assert made["bytes"] == file.stat().st_size
    restored = object_in(run("restore", file, "--workspace", tmp_path / "new", "--json").out)
    assert restored == {**made, "workspace": str(tmp_path / "new")}


def test_an_existing_file_is_replaced_only_by_force(run: Run, space: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    file.write_text("mine")
    one_sentence(
        run("backup", file, "--workspace", space), "b.zip exists: name another file, or replace it with --force."
    )
    assert file.read_text() == "mine"
    assert not (space / BACKUP_FILE).exists()
    assert run("backup", file, "--workspace", space, "--force").code == 0
    assert zipfile.is_zipfile(file)
    one_sentence(run("backup", tmp_path, "--workspace", space), "is a folder: name a file for the backup.")
    one_sentence(run("backup", tmp_path / "no" / "b.zip", "--workspace", space), "There is no folder")
    inside = space / "cells" / "b.zip"
    one_sentence(run("backup", inside, "--workspace", space), "is inside the cells folder of the workspace")
    assert beside(file) == ["b.zip", space.name]


def test_a_file_made_meanwhile_is_not_overwritten(
    run: Run, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, check = tmp_path / "b.zip", archives.check_rows

    def slow(*arguments: object) -> None:
        check(*arguments)  # type: ignore[arg-type]
        file.write_text("somebody else's")

    monkeypatch.setattr(archives, "check_rows", slow)
    one_sentence(run("backup", file, "--workspace", space), "b.zip exists")
    assert file.read_text() == "somebody else's"
    assert beside(file) == ["b.zip", space.name]


def test_a_workspace_that_is_missing_or_none_is_one_sentence_and_nothing_is_created(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_sentence(run("backup", tmp_path / "b.zip", "--workspace", tmp_path / "nowhere"), "There is no folder")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"cat")
    one_sentence(run("backup", tmp_path / "b.zip", "--workspace", tmp_path / "photos"), "is not a workspace")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    one_sentence(run("backup", tmp_path / "b.zip"), f"There is no workspace at {tmp_path / 'home' / '.isoplan'}")
    one_sentence(run("restore", tmp_path / "b.zip"), "There is no file")
    assert sorted(place.name for place in tmp_path.rglob("*")) == ["cat.png", "home", "photos"]


def test_without_a_name_the_folder_of_the_user_is_meant(
    run: Run, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert run("backup", tmp_path / "b.zip", "--workspace", space).code == 0
    assert run("restore", tmp_path / "b.zip").code == 0
    assert (tmp_path / "data" / "isoplan" / FILE).exists()
    assert run("backup", tmp_path / "c.zip").code == 0


def test_an_empty_workspace_and_one_without_a_database(run: Run, tmp_path: Path) -> None:
    open_workspace(tmp_path / "empty").close()
    answer = run("backup", tmp_path / "a.zip", "--workspace", tmp_path / "empty")
    assert "contains 0 tables with 0 rows, 0 fits and 0 cells, " in answer.out
    add(workspace(tmp_path / "cells only"), {"size": 1})
    answer = run("backup", tmp_path / "b.zip", "--workspace", tmp_path / "cells only")
    assert "contains 0 tables with 0 rows, 0 fits and 1 cell (1 queued), " in answer.out
    assert not (tmp_path / "cells only" / FILE).exists()
    for name in ("a", "b"):
        assert run("restore", tmp_path / f"{name}.zip", "--workspace", tmp_path / name).code == 0
        open_workspace(tmp_path / name).close()


def test_files_that_belong_to_no_copy_are_left_out(run: Run, space: Path, tmp_path: Path) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n"
    for name, text in {
        "owner.json": "{}", "isoplan.layout5.duckdb": "old", ".cache/x": "x", "jobs/out": "x",
        "cells/runner.json": "{}", "cells/runner.lock": "",
        "keys/key.pem": key, "keys/ca.pem": "-----BEGIN CERTIFICATE-----\n", "id": key,
        "server.key": "der", "jets/mine/train/a.root": "root", "jets/mine/train/prepared/b": "made", "train.py": "pass",
        "jets/mine/train/.lock": "", "tmpab12cd_9/bytes": "arriving", "uploads/.part-x": "arriving", "big": "",
    }.items():  # fmt: skip
        (space / name).parent.mkdir(parents=True, exist_ok=True)
        (space / name).write_text(text)
    (space / "big").write_text(key + "x" * SECRET)
    (space / "jets" / "far").symlink_to("/")
    (space / "amplitudes").symlink_to("/")
    os.mkfifo(space / "pipe")
    (space / "cluster.toml").write_text(
        'kind = "address"\nscheduler = "tls://h:1"\nca = "keys/ca.pem"\ncert = "keys/ca.pem"\nkey = "big"\n'
    )
    first = run("backup", space / "earlier.zip", "--workspace", space)
    assert first.code == 0, first.err
    answer = run("backup", tmp_path / "b.zip", "--workspace", space, "--json")
    assert object_in(answer.out)["left_out"] == [
        "amplitudes (a link)", "big (a private key)", "id (a private key)", "jets/far (a link)",
        "keys/key.pem (a private key)", "server.key (a private key)",
    ]  # fmt: skip
    assert answer.err == (
        "isoplan: Not in the backup: amplitudes (a link), big (a private key), id (a private key) and 3 more.\n"
    )
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        names = {n for n in archive.namelist() if not n.startswith(("cells/", "sweeps/", "uploads/"))}
    assert names == {
        "mimetype", MANIFEST, FILE, "programs.toml", "cluster.toml", "train.py", "keys/ca.pem",
        "jets/mine/train/a.root",
    }  # fmt: skip
    assert run("restore", tmp_path / "b.zip", "--workspace", tmp_path / "new").code == 0


def test_own_folders_that_are_links_are_followed(run: Run, space: Path, tmp_path: Path) -> None:
    for name in ("uploads", "cells"):
        (space / name).rename(tmp_path / name)
        (space / name).symlink_to(tmp_path / name)
    answer = run("backup", tmp_path / "b.zip", "--workspace", space, "--json")
    assert (object_in(answer.out)["cells"], object_in(answer.out)["left_out"]) == ({"done": 1, "queued": 2}, [])
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert len([name for name in archive.namelist() if name.startswith("uploads/")]) == 1


def test_a_name_that_is_not_unicode_is_one_sentence(run: Run, space: Path, tmp_path: Path) -> None:
    (space / os.fsdecode(b"caf\xe9.csv")).write_text("x")
    one_sentence(run("backup", tmp_path / "b.zip", "--workspace", space), "is not UTF-8: rename it and try again.")
    assert beside(tmp_path / "b.zip") == [space.name]


def test_an_older_layout_is_kept_and_migrated_after_the_restore(
    run: Run, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = migration.SCHEMA + 1
    monkeypatch.setattr(migration, "SCHEMA", newer)
    monkeypatch.setattr(migration, "MIGRATIONS", {newer - 1: ("ALTER TABLE fits ADD COLUMN starred BOOLEAN",)})
    before = (space / FILE).read_bytes()
    assert run("backup", tmp_path / "b.zip", "--workspace", space).code == 0
    assert (space / FILE).read_bytes() == before
    assert run("restore", tmp_path / "b.zip", "--workspace", tmp_path / "new").code == 0
    with open_workspace(tmp_path / "new") as db, db.read() as cursor:
        assert migration.schema_of(cursor) == newer
    assert (tmp_path / "new" / f"isoplan.layout{newer - 1}.duckdb").exists()


def test_a_damaged_database_is_no_backup_and_says_where_the_last_one_is(run: Run, space: Path, tmp_path: Path) -> None:
    assert run("backup", tmp_path / "good.zip", "--workspace", space).code == 0
    good = (space / FILE).read_bytes()
    (space / FILE).write_bytes(good[:4096] + os.urandom(len(good) - 4096))
    answer = run("backup", tmp_path / "b.zip", "--workspace", space)
    one_sentence(answer, "is damaged: it is not a readable database")
    assert f"Restore the last backup: isoplan restore {tmp_path / 'good.zip'} --workspace" in answer.err
    assert beside(tmp_path / "b.zip") == ["good.zip", space.name]
    space.rename(tmp_path / "damaged")
    assert run("restore", tmp_path / "good.zip", "--workspace", space).code == 0


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a file", "is a file."),
        ("full", "is not empty: name another folder"),
        ("space", "already contains a workspace: rename it"),
    ],
)
def test_a_folder_in_use_is_not_restored_into(run: Run, space: Path, tmp_path: Path, name: str, why: str) -> None:
    assert run("backup", tmp_path / "b.zip", "--workspace", space).code == 0
    (tmp_path / "a file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    before = tree(tmp_path)
    answer = run("restore", tmp_path / "b.zip", "--workspace", space if name == "space" else tmp_path / name)
    one_sentence(answer, why)
    assert tree(tmp_path) == before


def test_an_empty_folder_is_restored_into_and_keeps_its_mode(run: Run, space: Path, tmp_path: Path) -> None:
    assert run("backup", tmp_path / "b.zip", "--workspace", space).code == 0
    (tmp_path / "new").mkdir(mode=0o700)
    inode = (tmp_path / "new").stat().st_ino
    assert run("restore", tmp_path / "b.zip", "--workspace", tmp_path / "new").code == 0
    now = (tmp_path / "new").stat()
    assert (now.st_ino, now.st_mode & 0o777) == (inode, 0o700)
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == [
        "backup.json", "cells", FILE, "programs.toml", "sweeps", "uploads",
    ]  # fmt: skip


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("damage", ["cut", "byte", "rows", "other"])
def test_a_damaged_archive_leaves_nothing_behind(
    run: Run, space: Path, tmp_path: Path, damage: str, exists: bool
) -> None:
    file = tmp_path / "b.zip"
    assert run("backup", file, "--workspace", space).code == 0
    data = file.read_bytes()
    if damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "byte":
        at = data.index(b"run,N,D,loss")
        file.write_bytes(data[:at] + b"x" + data[at + 1 :])
    elif damage == "rows":
        with zipfile.ZipFile(file) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        files[MANIFEST] = files[MANIFEST].replace(b'"rows":16', b'"rows":17')
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    else:
        file.write_text("N,loss\n")
    target = tmp_path / "deep" / "er" / "new"
    if exists:
        target.mkdir(parents=True)
    why = {"rows": "The table", "other": "is not a backup of Isoplan"}.get(damage, "b.zip is damaged (")
    one_sentence(run("restore", file, "--workspace", target), why)
    assert (tmp_path / "deep").exists() == exists
    assert not exists or list(target.iterdir()) == []
    assert beside(file) == sorted(["b.zip", space.name, *(["deep"] if exists else [])])
