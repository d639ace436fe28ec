"""Tests of standard input and output: commands read pipes and report output that cannot be written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from isoplan.engine.store.database.archive import MANIFEST
from isoplan.engine.store.database.damage import FILE, last_backup
from isoplan.engine.store.database.database import open_workspace
from tests.app.terminal.asking import ISOPLAN, Run, object_in, one_sentence, process

DEMO = Path(__file__).parents[3] / "data" / "demo"
GRID = 'family = "amplitudes"\n[cell]\nprocess = "Zg"\npoints = 100\nwidth = [8, 16]\n'


def test_a_grid_comes_through_a_pipe(tmp_path: Path) -> None:
    arguments = ("train", "-", "--workspace", tmp_path, "--dry-run", "--json")
    assert object_in(process(*arguments, given=GRID).stdout)["estimate"]["cells"] == 2
    # The argument "-" means standard input, even if a file with this name exists.
    (tmp_path / "-").write_text("no grid")
    assert process(*arguments, given=GRID).returncode == 0


def test_a_grid_that_cannot_be_read_is_named_standard_input_and_makes_no_workspace(tmp_path: Path) -> None:
    answer = process("train", "-", "--workspace", tmp_path / "new", given="width = [")
    assert answer.returncode == 2
    assert answer.stderr.startswith("isoplan: Standard input")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("source", ["-", "/dev/stdin"])
def test_a_backup_is_restored_from_a_pipe(run: Run, tmp_path: Path, source: str) -> None:
    space, new = tmp_path / "space", tmp_path / "new"
    with open_workspace(space):
        pass
    assert run("backup", tmp_path / "b.zip", "--workspace", space).code == 0
    with subprocess.Popen(["cat", tmp_path / "b.zip"], stdout=subprocess.PIPE) as cat:
        command = [*ISOPLAN, "restore", source, "--workspace", str(new)]
        done = subprocess.run(command, stdin=cat.stdout, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (new / FILE).exists()
    # The archive came through a pipe, so the new workspace cannot record the path of a backup.
    assert last_backup(new) is None


def test_half_a_backup_from_a_pipe_leaves_nothing(run: Run, tmp_path: Path) -> None:
    space, new = tmp_path / "space", tmp_path / "new"
    with open_workspace(space):
        pass
    assert run("backup", tmp_path / "b.zip", "--workspace", space).code == 0
    data = (tmp_path / "b.zip").read_bytes()
    command = [*ISOPLAN, "restore", "-", "--workspace", str(new)]
    done = subprocess.run(command, input=data[: data.index(MANIFEST.encode())], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"standard-input.zip is damaged" in done.stderr
    assert not new.exists()


def test_a_backup_to_standard_output_is_refused(run: Run, tmp_path: Path) -> None:
    one_sentence(run("backup", "-", "--workspace", tmp_path), "FILE: standard output is not possible")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_answer_to_a_full_disk_is_one_sentence(form: list[str]) -> None:
    command = [*ISOPLAN, "fit", str(DEMO / "jets_grid.csv"), "--law", "chinchilla", "--bootstrap", "0", *form]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "isoplan: The answer cannot be written: No space left on device."
    assert "Traceback" not in done.stderr
