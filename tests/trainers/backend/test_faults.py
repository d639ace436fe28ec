"""Processes that are killed at named points: no cell is lost or counted twice, and the results are correct."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from isoplan.trainers.backend.cluster.machine import Machine
from isoplan.trainers.backend.cluster.pool import Pool
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import Record, read_record, result_of
from isoplan.trainers.backend.worker.attempt_process import Attempt, run_cell
from isoplan.trainers.cell import Stopped
from tests import progress
from tests.trainers import inside
from tests.trainers.conftest import ROOT, add, running, start, wait_for

SUM = sum(1 / k**2 for k in range(1, 7))


@pytest.mark.parametrize("point", ["cluster-starts", "after-lease", "before-result", "after-result"])
def test_whoever_dies_wherever_all_cells_finish_once(root: Path, point: str) -> None:
    names = add(root, *({"size": n, "steps": 6} for n in range(3)))
    for _ in range(4):
        with running(root, die_at=point) as runner:
            progress.end(runner, root)
        if all(record.state == "done" for record in Queue(root).scan().values()):
            break
    assert (root / f"died-{point}").exists()
    cells = Queue(root).scan()
    assert sorted(cells) == sorted(names)
    for record in cells.values():
        assert record.state == "done"
        assert record.result is not None
        assert record.result["metrics"]["sum"] == pytest.approx(SUM, rel=1e-12)
        assert [r["state"] for r in record.results.values()].count("done") == 1
    assert not list((root / "cells").glob("**/.tmp-*"))


def test_death_in_a_cancel_leaves_a_cancelled_cell(root: Path) -> None:
    (name,) = add(root, {"steps": 100, "wait": 0.05})
    with running(root, die_at="during-cancel", idle=20):
        wait_for(lambda cells: (root / "cells" / name / "checkpoint").exists(), root)
        Queue(root).cancel([name])
        wait_for(lambda cells: cells[name].state == "cancelled", root)
    assert (root / "died-during-cancel").exists()


def alone(root: Path, cell: inside.Sum, point: str = "") -> Record:
    """Run one attempt of a cell in a separate process and return the record of the cell.

    If ``point`` is given, the process is killed at this point.
    """
    (family,) = inside.families(root)
    (name,) = Queue(root).add(family, [cell])
    number = Queue(root).lease(name, "test")
    code = (
        "import sys, isoplan.trainers.families as f\n"
        "from tests.trainers import inside\n"
        "f._folders = lambda: (inside,)\n"
        "from isoplan.trainers.backend.worker.attempt_process import run_cell\n"
        "run_cell(sys.argv[1], int(sys.argv[2]))\n"
    )
    more = {"ISOPLAN_DIE_AT": f"{point}:{root / f'died-{point}-{number}'}"} if point else {}
    subprocess.run(
        [sys.executable, "-c", code, str(root / "cells" / name), str(number)], cwd=ROOT, env={**os.environ, **more}
    )
    found = read_record(root / "cells" / name)
    assert found is not None
    return found


@pytest.mark.parametrize("point", ["in-checkpoint", "after-checkpoint"])
def test_a_checkpoint_is_whole_or_the_one_before(root: Path, point: str) -> None:
    cell = inside.Sum(terms=6)
    for _ in range(3):
        died = alone(root, cell, point)
        assert died.result is None
        Queue(root).lose(died.name, died.number, "test", own=True)
    kept = root / "cells" / died.name / "checkpoint"
    steps = {"in-checkpoint": None, "after-checkpoint": 3}[point]
    assert (json.loads(kept.read_text())[0] if kept.exists() else None) == steps
    done = alone(root, cell)
    assert done.state == "done"
    assert done.result is not None
    assert done.result["metrics"] == {"loss": pytest.approx(SUM, rel=1e-15), "ran": 6 - (steps or 0)}
    assert done.deaths == {"in-checkpoint": 3, "after-checkpoint": 0}[point]


def test_a_late_result_of_an_attempt_that_lost_the_cell_is_not_read(root: Path) -> None:
    (name,) = add(root, {"steps": 2})
    queue, folder = Queue(root), root / "cells" / name
    late = queue.lease(name, "one")
    queue.lose(name, late, "silent", own=False)
    now = queue.lease(name, "two")
    files.write_json(result_of(folder, late), {"number": late, "state": "done", "metrics": {"loss": -1.0}})
    record = queue.find(name)
    assert (record.state, record.result) == ("running", None)
    assert run_cell(str(folder), late) == "stale"
    assert run_cell(str(folder), now) == "done"
    assert queue.find(name).result["metrics"]["loss"] == 1.5  # type: ignore[index]


def test_a_full_disk_stops_a_cell_and_loses_nothing(root: Path) -> None:
    full = alone(root, inside.Sum(terms=6, how="full"))
    assert (full.state, full.result["why"]) == ("queued", "disk full")  # type: ignore[index]
    broken = alone(root, inside.Sum(terms=6, how="breaks"))
    assert (broken.state, broken.result["why"]) == ("failed", "The training ended with ValueError: nothing works.")  # type: ignore[index]
    assert "Traceback" in (root / "cells" / broken.name / "log-1.txt").read_text()


def test_a_cell_that_never_looks_is_ended_with_its_process(root: Path) -> None:
    cell = inside.Sum(terms=6, how="deaf")
    (family,) = inside.families(root)
    (name,) = Queue(root).add(family, [cell])
    Queue(root).stop(name, 1, "cancel")
    queue = Queue(root)
    number = queue.lease(name, "test")
    queue.stop(name, number, "cancel")
    assert number == 1
    queue._change(name)
    folder = root / "cells" / name
    code = (
        "import sys, isoplan.trainers.families as f\n"
        "from tests.trainers import inside\n"
        "f._folders = lambda: (inside,)\n"
        "from isoplan.trainers.backend.worker.attempt_process import run_cell\n"
        "run_cell(sys.argv[1], 1)\n"
    )
    ended = progress.run([sys.executable, "-c", code, str(folder)], cwd=ROOT)
    assert ended.returncode == 5
    assert queue.find(name).result["note"].startswith("The training did not stop")  # type: ignore[index]


def test_a_disk_without_room_starts_no_cell_and_the_runner_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isoplan.trainers.backend.runner import loop as runner

    (name,) = add(root, {"steps": 2})
    monkeypatch.setattr(files, "free", lambda root: 1e6)
    shift = runner.RunnerState(Queue(root), "test")
    assert runner.poll_once(shift, Pool(None, "", Machine(2, 0.0), root, lambda pool: ""))  # type: ignore[arg-type]
    assert shift.message == f"The disk of {root} is full: free some space, and the cells continue."
    assert Queue(root).find(name).state == "queued"


def test_two_runners_are_one(root: Path) -> None:
    add(root, {"steps": 40, "wait": 0.05})
    with running(root) as first:
        wait_for(lambda cells: all(r.state == "running" for r in cells.values()), root)
        second = start(root)
        assert progress.end(second, root) == 0
        assert first.poll() is None
        wait_for(lambda cells: all(r.state == "done" for r in cells.values()), root)
    assert all(r.number == 1 for r in Queue(root).scan().values())


def test_an_attempt_stops_where_it_is_asked(root: Path) -> None:
    (name,) = add(root, {})
    queue = Queue(root)
    number = queue.lease(name, "test")
    with Attempt(root / "cells" / name, number, "cpu") as attempt:
        attempt.step(1, 10, loss=2.0)
        queue.stop(name, number + 1, "another's")
        attempt.step(2, 10, loss=1.0)
        queue.stop(name, number, "cancel")
        with pytest.raises(Stopped):
            attempt.step(3, 10, loss=float("nan"))
    lines = [json.loads(line) for line in (root / "cells" / name / "events-1.jsonl").read_text().splitlines()]
    assert [(line["step"], line["loss"]) for line in lines] == [(1, 2.0), (2, 1.0), (3, "nan")]
