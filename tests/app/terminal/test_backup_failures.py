"""Tests of ``isoplan backup`` with a full disk, an interruption, a second backup, or a database in use."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from isoplan.app.backups import requests
from isoplan.engine.store.database.damage import BACKUP_FILE, FILE
from tests import progress
from tests.app.terminal.asking import ISOPLAN, Answer, Run, one_sentence, process
from tests.app.terminal.test_backup import beside
from tests.app.terminal.test_backup import space as space
from tests.conftest import skip_or_fail
from tests.engine.store.test_database import HOLD_FILE, other_process


def test_a_full_disk_is_one_sentence_and_nothing_is_left(run: Run, space: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (space / "uploads" / "large").write_bytes(os.urandom(4_000_000))
    assert run("backup", tmp_path / "b.zip", "--workspace", space).code == 0
    for size, asked in ((1, "backup"), (4, "backup"), (7, "backup"), (2, "restore")):
        with small_disk(disk, size):
            before = beside(disk / "b.zip")
            if asked == "backup":
                answer = run("backup", disk / "b.zip", "--workspace", space)
                one_sentence(answer, f"The disk of {disk}")
                assert "is full: free some space and try again." in answer.err
            else:
                answer = run("restore", tmp_path / "b.zip", "--workspace", disk / "new")
                one_sentence(answer, f"MB and the disk of {disk} has")
            assert beside(disk / "b.zip") == before == []


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[None]:
    """Mount a disk of ``megabytes`` MB at ``place``, or skip the test if the disk cannot be mounted."""
    asked = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(asked, capture_output=True, check=False).returncode != 0:
        skip_or_fail("root", "only root can mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_backup_leaves_nothing(space: Path, tmp_path: Path, sign: signal.Signals) -> None:
    with (space / "uploads" / "large").open("wb") as file:
        # A sparse file of 20 GB needs no disk space, but the copy takes long enough to be interrupted.
        file.truncate(20_000_000_000)
    command = [*ISOPLAN, "backup", str(tmp_path / "b.zip"), "--workspace", str(space)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asked:
        progress.wait(lambda: any(place.stat().st_size > 10_000_000 for place in tmp_path.glob(".b.zip.*.part")))
        asked.send_signal(sign)
        out, err = asked.communicate()
    assert (asked.returncode, out, err) == (130, "", "isoplan: Nothing was written.\n")
    assert beside(tmp_path / "b.zip") == [space.name]
    assert not (space / BACKUP_FILE).exists()


def test_two_backups_at_once_are_both_right(space: Path, tmp_path: Path) -> None:
    commands = [[*ISOPLAN, "backup", str(tmp_path / f"{k}.zip"), "--workspace", str(space)] for k in range(3)]
    commands.append(commands[0])
    running = [subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for c in commands]
    answers = [Answer(one.returncode, *heard) for one in running for heard in [progress.heard(one)]]
    assert sorted(answer.code for answer in answers) == [0, 0, 0, 2]
    assert [("exists" in answer.err) for answer in answers if answer.code] == [True]
    for k in range(3):
        done = process("restore", tmp_path / f"{k}.zip", "--workspace", tmp_path / f"new{k}")
        assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob(".*"))


def test_another_program_that_has_the_database_open_is_named(
    run: Run, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "STILL", 0.5)
    with other_process(HOLD_FILE, space / FILE) as holder:
        answer = run("backup", tmp_path / "b.zip", "--workspace", space)
    one_sentence(answer, f"is locked by process {holder.pid}: end that program")
    assert beside(tmp_path / "b.zip") == [space.name]


def test_a_workspace_that_cannot_be_written_is_backed_up(run: Run, space: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, 64):
        shutil.copytree(space, disk / "space")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        answer = run("backup", tmp_path / "b.zip", "--workspace", disk / "space")
    assert answer.code == 0, answer.err
    why = "The path of this backup is not recorded: the workspace cannot be written (Read-only file system)."
    assert answer.err == f"isoplan: {why}\n"
