"""Damage to each file in the folder of a training run (cell).

No cell is lost or duplicated, and no content of a file is executed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reliability.faults import checkpoints, damage
from benchmarks.reliability.faults.cells import PAUSE, add, loss, run_all, runner, workspace
from benchmarks.reliability.faults.damage import DAMAGES, Case
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import standings, state_of
from isoplan.trainers.backend.store.heartbeat import HeartbeatMonitor, lived
from isoplan.trainers.backend.store.record import NEWER, NO_SPEC, read_record
from tests import progress


def named(case: Case) -> str:
    return f"{case.file}-{case.damage}"


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> dict[Case, str]:
    """Return the outcome for each damaged cell that was waiting. One runner runs all these cells."""
    cases = damage.waiting_cases()
    return dict(zip(cases, damage.wait(tmp_path_factory.mktemp("waiting"), cases), strict=True))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[Case, str]:
    """Return the outcome of each damaged cell that was done."""
    cases = damage.done_cases()
    return dict(zip(cases, damage.end(tmp_path_factory.mktemp("done"), cases), strict=True))


@pytest.mark.parametrize("case", damage.waiting_cases(), ids=named)
def test_a_cell_that_waits_goes_on_or_says_what_to_do(waiting: dict[Case, str], case: Case) -> None:
    assert waiting[case] == case.expected


@pytest.mark.parametrize("case", damage.done_cases(), ids=named)
def test_a_cell_that_is_done_stays_done_with_one_row(done: dict[Case, str], case: Case) -> None:
    assert done[case] == case.expected


def test_files_that_are_damaged_while_their_cells_train_cost_no_cell(tmp_path: Path) -> None:
    root = workspace(tmp_path / "space")
    files = ("lease.json", "checkpoint", "beat-1", "events-1.jsonl", "log-1.txt")
    names = add(root, [{"seed": k} for k in range(len(files))])
    queue = Queue(root)
    (root / PAUSE).touch()
    process = runner(root, cores=len(files))
    try:
        for file, name in zip(files, names, strict=True):
            progress.wait((queue.folder(name) / "checkpoint").exists, root)
            DAMAGES["random bytes"](queue.folder(name) / file)
        (root / PAUSE).unlink()
        assert progress.end(process, root) == 0
    finally:
        process.kill()
        process.wait()
    for seed, record in enumerate(queue.scan()[name] for name in names):
        assert (record.state, record.result["metrics"]["loss"]) == ("done", loss(seed))  # type: ignore[index]


@pytest.mark.parametrize(
    "text", [b"", b"\xff\xfe\x00", b"host 99999999999999999999 5\n", b"host \xc2\xb2 5\n", b"host"]
)
def test_a_beat_that_is_damaged_is_not_alive_for_ever(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "beat-1").write_bytes(text)
    assert lived(tmp_path, 1) == 0
    beats = HeartbeatMonitor()
    assert beats.alive(tmp_path, 1)
    beats.seen[tmp_path.name, 1] = (text, beats.seen[tmp_path.name, 1][1] - 30)
    assert not beats.alive(tmp_path, 1)


@pytest.mark.parametrize(
    ("file", "text", "state"),
    [
        ("lease.json", '{"number": "two"}', "queued"),
        ("lease.json", '{"number": -1}', "queued"),
        ("lease.json", '{"number": 1, "given": "yesterday"}', "queued"),
        ("lease.json", "[" * 100_000, "queued"),
        ("result-1.json", '{"state": "stopped", "seconds": "long"}', "running"),
        ("result-1.json", '{"state": "stopped", "seconds": Infinity}', "running"),
        ("result-1.json", '{"state": ["done"]}', "running"),
        ("order.json", '{"priority": "first"}', "failed"),
        ("order.json", '{"cancelled": true, "new in a later version": 1}', "cancelled"),
        ("spec.json", '{"family": "sum", "cell": {}}', "failed"),
        ("spec.json", '{"family": "sum", "cell": {"x": "\\ud800"}}', "failed"),
    ],
)
def test_json_that_is_not_what_it_should_be(tmp_path: Path, file: str, text: str, state: str) -> None:
    root = workspace(tmp_path / "space")
    (name,) = add(root, [{}])
    queue = Queue(root)
    queue.end(name, queue.lease(name, "x"), "stopped", "runner")
    (queue.folder(name) / file).write_text(text)
    (record,) = Queue(root).scan().values()
    assert state_of(record, standings(())) == (state if record.begun else "waiting")
    assert record.state == state


def test_a_specification_of_another_cell_is_damage(tmp_path: Path) -> None:
    root = workspace(tmp_path / "space")
    one, two = add(root, [{"seed": 1}, {"seed": 2}])
    queue = Queue(root)
    (queue.folder(one) / "spec.json").write_bytes((queue.folder(two) / "spec.json").read_bytes())
    assert (queue.find(one).state, queue.find(one).damage) == ("failed", NO_SPEC)
    assert queue.find(two).state == "queued"


def test_a_cell_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    root = workspace(tmp_path / "space")
    (name,) = add(root, [{}])
    place = Queue(root).folder(name) / "spec.json"
    place.write_text(place.read_text().replace('"schema":1', '"schema":2'))
    before = place.read_bytes()
    assert add(root, [{}]) == [name]
    run_all(root)
    record = Queue(root).find(name)
    assert (record.state, record.result) == ("failed", {"state": "failed", "why": NEWER})
    assert place.read_bytes() == before
    assert sorted(one.name for one in place.parent.iterdir()) == ["spec.json"]


def test_a_folder_that_is_no_cell_is_passed_over(tmp_path: Path) -> None:
    root = workspace(tmp_path / "space")
    (root / "cells" / "notes").mkdir(parents=True)
    (root / "cells" / "file").write_text("x")
    assert Queue(root).scan() == {}
    assert read_record(root / "cells" / "gone") is None


@pytest.mark.parametrize("family", ["teacher-student", "amplitudes"])
def test_a_checkpoint_that_is_damaged_or_hostile_is_begun_again(
    tmp_path: Path, family: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    with capsys.disabled():  # printed text must reach the log of the cell
        expected = checkpoints.undisturbed(tmp_path / "undisturbed", family)
        for name in ("truncated", *checkpoints.FEW):
            how, cell = checkpoints.HOSTILE[name], checkpoints.CELLS[family]
            assert checkpoints.after(tmp_path / name, family, cell, how, expected) == checkpoints.EXPECTED
