"""A file of the queue survives a power failure: its content and then its folder are flushed to the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from tests.trainers.conftest import add


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[str]]]:
    """Return a list that records every flush to the disk: the inode and, for a folder, its file names."""
    done: list[tuple[int, list[str]]] = []
    sync = os.fsync

    def record(handle: int) -> None:
        place = Path(f"/proc/self/fd/{handle}").resolve()
        done.append((os.fstat(handle).st_ino, sorted(os.listdir(place)) if place.is_dir() else []))
        sync(handle)

    monkeypatch.setattr(os, "fsync", record)
    return done


def test_a_new_file_is_flushed_before_its_rename_and_its_folder_after_it(
    tmp_path: Path, flushed: list[tuple[int, list[str]]]
) -> None:
    files.write_json(tmp_path / "result-1.json", {"state": "done"})
    file, folder = (tmp_path / "result-1.json").stat().st_ino, tmp_path.stat().st_ino
    assert flushed == [(file, []), (folder, ["result-1.json"])]


def test_the_folder_of_new_cells_is_flushed_with_their_names(root: Path, flushed: list[tuple[int, list[str]]]) -> None:
    names = add(root, {"size": 1}, {"size": 2})
    cells = Queue(root).cells.stat().st_ino
    last = [shown for inode, shown in flushed if inode == cells][-1]
    assert set(names) <= set(last)
