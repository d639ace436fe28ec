"""Training runs (cells) in a copy of a workspace: finished cells are unchanged, all others have no owner."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import IO

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import launch, read_sweeps
from isoplan.trainers.backend.store import copies, files
from isoplan.trainers.backend.store.copies import WHY, cell_names, frozen, sweep_files
from isoplan.trainers.backend.store.record import Record, beat_of, events_of, log_of
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid
from tests.trainers.conftest import add, run_all, running, wait_for, workspace


def copied(root: Path, target: Path) -> dict[str, Record]:
    """Copy the current cells of ``root`` into the workspace ``target`` and return their records."""
    workspace(target)
    for name in cell_names(root):
        with frozen(root / "cells" / name) as cell:
            assert cell is not None
            for file, source in cell.files.items():
                place = target / "cells" / name / file
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(read(source))
            states = cell.state
        assert Queue(target).find(name).state == states
    return Queue(target).scan()


def read(source: bytes | IO[bytes] | Path) -> bytes:
    if isinstance(source, bytes):
        return source
    return source.read_bytes() if isinstance(source, Path) else source.read()


def begin(root: Path, name: str, beats: int = 3) -> int:
    """Lease the next attempt of a cell, write the files of a running cell, and return the number of the attempt."""
    queue, folder = Queue(root), root / "cells" / name
    number = queue.lease(name, "runner-of-the-original", device="cpu")
    beat_of(folder, number).write_text(f"host 1 {beats:>12}\n")
    events_of(folder, number).write_text('{"step": 2, "at": 1.0, "total": 5, "loss": 1.5}\n')
    log_of(folder, number).write_text("hello\n")
    (folder / "checkpoint").write_text("[2, 1.25]")
    return number


def test_cells_stand_in_a_copy_as_nobody_runs_them(root: Path, tmp_path: Path) -> None:
    names = add(root, *({"size": n} for n in range(1, 9)))
    queued, held, cancelled, done, runs, waits, stops, again = names
    queue = Queue(root)
    queue.hold([held])
    queue.cancel([cancelled])
    queue.end(done, begin(root, done), "done", "", metrics={"loss": 1.0})
    (root / "cells" / done / "checkpoint").unlink()
    begin(root, runs)
    (root / "cells" / runs / f"{files.TEMPORARY}ab-checkpoint").write_text("half")
    (root / "cells" / runs / "own").mkdir()
    (root / "cells" / runs / "own" / "notes.txt").write_text("mine")
    (root / "cells" / runs / "link").symlink_to("/etc/passwd")
    queue.lease(waits, "runner-of-the-original", device="cuda:0")
    begin(root, stops)
    queue.cancel([stops])
    queue.end(again, begin(root, again), "died", "its process died", counts=True, seconds=4.0)
    begin(root, again)
    before = {place: place.read_bytes() for place in (root / "cells").rglob("*") if place.is_file()}
    original = {name: record.state for name, record in queue.scan().items()}

    found = copied(root, tmp_path / "copy")

    assert {name: record.state for name, record in found.items()} == {
        queued: "queued", held: "held", cancelled: "cancelled", done: "done", runs: "queued", waits: "queued",
        stops: "cancelled", again: "queued",
    }  # fmt: skip
    assert [original[name] for name in (runs, waits, stops, again)] == ["running", "running", "stopping", "running"]
    assert {place: place.read_bytes() for place in (root / "cells").rglob("*") if place.is_file()} == before
    cell = tmp_path / "copy" / "cells" / runs
    assert sorted(place.name for place in cell.iterdir()) == [
        "checkpoint", "events-1.jsonl", "lease.json", "log-1.txt", "own", "result-1.json", "spec.json",
    ]  # fmt: skip
    assert (cell / "checkpoint").read_text() == "[2, 1.25]"
    assert (cell / "own" / "notes.txt").read_text() == "mine"
    ended = json.loads((cell / "result-1.json").read_bytes())
    assert (ended["state"], ended["why"], ended["seconds"], ended["device"]) == ("stopped", WHY, 3.0, "cpu")
    assert found[waits].results[1]["device"] == "cuda:0"
    assert found[waits].results[1]["seconds"] == 0.0
    assert not (tmp_path / "copy" / "cells" / stops / "stop.json").exists()
    assert (found[again].number, sorted(found[again].results), found[again].deaths) == (2, [1, 2], 1)
    finished = tmp_path / "copy" / "cells" / done
    assert {f.name: f.read_bytes() for f in finished.iterdir()} == {
        place.name: place.read_bytes() for place in (root / "cells" / done).iterdir()
    }


def test_links_are_named_and_not_followed(root: Path) -> None:
    (name,) = add(root, {"size": 1})
    (root / "cells" / name / "all").symlink_to("/")
    with frozen(root / "cells" / name) as cell:
        assert cell is not None
        assert cell.links == ("all",)
        assert sorted(cell.files) == ["spec.json"]


def test_a_cell_that_is_gone_or_none_is_no_copy(root: Path) -> None:
    (root / "cells" / "empty").mkdir(parents=True)
    for name in ("gone", "empty"):
        with frozen(root / "cells" / name) as cell:
            assert cell is None
    assert cell_names(root) == ["empty"]
    assert cell_names(root / "nowhere") == []


def test_a_cell_that_changes_while_it_is_read_is_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell whose attempt ends between two reads is copied as a finished cell.

    The end of the attempt removes the checkpoint, so the copy must be read again.
    """
    (name,) = add(root, {"size": 1})
    number, small = begin(root, name), copies._small

    def ends(folder: Path) -> dict[str, bytes]:
        found = small(folder)
        if (folder / "checkpoint").exists():
            Queue(root).end(name, number, "done", "", metrics={"loss": 1.0})
            (folder / "checkpoint").unlink()
        return found

    monkeypatch.setattr(copies, "_small", ends)
    with frozen(root / "cells" / name) as cell:
        assert cell is not None
        assert cell.state == "done"
        assert "checkpoint" not in cell.files
        assert json.loads(read(cell.files["result-1.json"]))["state"] == "done"


def test_a_later_attempt_is_not_half_in_a_copy(root: Path) -> None:
    (name,) = add(root, {"size": 1})
    folder = root / "cells" / name
    begin(root, name)
    with frozen(folder) as cell:
        assert cell is not None
        checkpoint = cell.files["checkpoint"]
        Queue(root).end(name, 1, "stopped", "")
        number = begin(root, name)
        files.write_json(folder / "checkpoint", {"later": number})
        assert read(checkpoint) == b"[2, 1.25]"
    beat_of(folder, 9).write_text("")
    with frozen(folder) as cell:
        assert cell is not None
        assert not [file for file in cell.files if "9" in file or file.startswith("beat-2")]


def test_sweeps_are_read_whole(root: Path) -> None:
    family = find_family("counter", root)
    sweep = launch(root, make_grid(family, {"size": [1, 2]}), family)
    (root / "sweeps" / f"{files.TEMPORARY}x").mkdir()
    found = sweep_files(root)
    assert sorted(found) == [f"sweeps/{sweep.key}/order.json", f"sweeps/{sweep.key}/spec.json"]
    other = root / "other"
    for name, data in found.items():
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_bytes(data)
    assert read_sweeps(other) == read_sweeps(root)


def test_running_cells_go_on_in_both_and_end_the_same(root: Path, tmp_path: Path) -> None:
    names = add(root, *({"size": n, "steps": 30, "wait": 0.1} for n in (1, 2)))
    with running(root):
        wait_for(lambda _: all((root / "cells" / name / "checkpoint").exists() for name in names), root)
        found = copied(root, tmp_path / "copy")
        assert {record.state for record in found.values()} == {"queued"}
        ends = wait_for(lambda cells: all(record.state == "done" for record in cells.values()), root)
    assert [record.number for record in ends.values()] == [1, 1]
    again = run_all(tmp_path / "copy")
    for name in names:
        metrics = [cells[name].result["metrics"] for cells in (ends, again)]  # type: ignore[index]
        assert metrics[0]["loss"] == metrics[1]["loss"]
        assert metrics[0]["sum"] == pytest.approx(metrics[1]["sum"])
        assert 0 < metrics[1]["steps run"] < 30
        assert again[name].number == 2


def test_cells_are_whole_while_they_change_quickly(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts end and begin during all reads except the last. Every copy equals one state of the cell."""
    (name,) = add(root, {"size": 1})
    folder, small, random = root / "cells" / name, copies._small, Random(7)
    left, changes = 0, 0

    def change() -> None:
        nonlocal left, changes
        if not left or random.random() < 0.5:
            return
        left, changes = left - 1, changes + 1
        record = Queue(root).find(name)
        if record.state == "queued":
            begin(root, name)
        else:
            Queue(root).end(name, record.number, "stopped", "")

    def look(folder: Path) -> dict[str, bytes]:
        change()
        found = small(folder)
        change()
        return found

    monkeypatch.setattr(copies, "_small", look)
    for _ in range(30):
        left = copies.LOOKS - 1
        with frozen(folder) as cell:
            assert cell is not None
            assert cell.state == "queued"
            lease = json.loads(read(cell.files.get("lease.json", b'{"number": 0}')))
            results = [int(file[7:-5]) for file in cell.files if file.startswith("result-")]
            assert max(results, default=0) == lease["number"]
    assert changes > 30


def test_a_cell_that_changes_during_each_look_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = add(root, {"size": 1})
    small = copies._small

    def change(folder: Path) -> dict[str, bytes]:
        Queue(root).end(name, begin(root, name), "stopped", "")
        return small(folder)

    monkeypatch.setattr(copies, "_small", change)
    with (
        pytest.raises(PlannerError, match=f"Cell {name} changed during each of 20 reads. Run the backup again."),
        frozen(root / "cells" / name),
    ):
        pass
