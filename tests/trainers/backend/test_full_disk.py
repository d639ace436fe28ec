"""A workspace on a full disk: the error is one sentence, nothing is lost, and work continues when there is space."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import launch, read_sweeps
from isoplan.trainers.backend.runner.runner_process import runner_status
from isoplan.trainers.backend.store.files import DiskFull
from isoplan.trainers.backend.worker.attempt_process import run_cell
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid
from tests.conftest import skip_or_fail
from tests.trainers.conftest import add, running, wait_for, workspace


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Return a workspace on a separate disk of 64 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    asked = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(asked, capture_output=True).returncode != 0:
        skip_or_fail("root", "only root can mount a small disk")
    try:
        yield workspace(place / "space")
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(root: Path, leave: int = 0) -> Path:
    """Fill the disk of ``root`` until only ``leave`` bytes are free."""
    ballast = root / "ballast"
    with ballast.open("wb", buffering=0) as file:
        free = os.statvfs(root)
        left = free.f_bavail * free.f_frsize - leave
        try:
            while left > 0:
                left -= file.write(b"\0" * min(left, 1 << 20))
        except OSError:
            pass
    return ballast


def test_nothing_is_queued_where_nothing_can_be_written(small: Path) -> None:
    family = find_family("counter", small)
    ballast = fill(small)
    with pytest.raises(DiskFull, match=f"^The disk of {small}.* is full: free some space and try again\\.$"):
        launch(small, make_grid(family, {"size": [1, 2, 3]}), family)
    assert Queue(small).scan() == {}
    assert read_sweeps(small) == ()
    ballast.unlink()
    launch(small, make_grid(family, {"size": [1, 2, 3]}), family)
    assert len(Queue(small).scan()) == 3


def test_a_runner_waits_for_room_and_says_so(small: Path) -> None:
    names = add(small, {"steps": 4}, {"steps": 5})
    ballast = fill(small, leave=10_000_000)
    with running(small, idle=20):
        status = wait_for_message(small)
        assert status == f"The disk of {small} is full: free some space, and the cells continue."
        ballast.unlink()
        cells = wait_for(lambda cells: all(r.state == "done" for r in cells.values()), small)
    assert [cells[name].number for name in names] == [1, 1]


def wait_for_message(root: Path) -> str:
    found: list[str] = []

    def said(_: object) -> bool:
        status = runner_status(root)
        found[:] = [status.message] if status else []
        return bool(found) and "full" in found[0]

    wait_for(said, root)
    return found[0]


def test_a_cell_that_fills_the_disk_is_stopped_and_goes_on_from_its_checkpoint(small: Path) -> None:
    (name,) = add(small, {"steps": 3})
    queue = Queue(small)
    number = queue.lease(name, "test")
    ballast = fill(small)
    with pytest.raises(DiskFull):
        run_cell(str(queue.folder(name)), number)
    assert queue.find(name).result is None
    ballast.unlink()
    queue.end(name, number, "stopped", "disk full")
    assert run_cell(str(queue.folder(name)), queue.lease(name, "test")) == "done"
