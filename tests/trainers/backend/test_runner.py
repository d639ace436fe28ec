"""Training runs of a runner: a Dask cluster, programs, and killed processes."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from isoplan.trainers.backend.queue.cells import Queue
from tests import progress
from tests.trainers.conftest import add, run_all, running, wait_for


def all_done(cells: dict) -> bool:  # type: ignore[type-arg]
    return all(record.state == "done" for record in cells.values())


def test_cells_run_once_each_and_say_what_they_measured(root: Path) -> None:
    names = add(root, *({"size": n, "steps": s} for n in (1, 2) for s in (3, 4)))
    assert add(root, {"size": 1, "steps": 3}) == names[:1]
    cells = run_all(root)
    assert [cells[name].state for name in names] == ["done"] * 4
    assert [cells[name].number for name in names] == [1] * 4
    result = cells[names[1]].result
    assert result is not None
    assert result["metrics"] == {"loss": 1.25, "sum": pytest.approx(1 + 1 / 4 + 1 / 9 + 1 / 16), "steps run": 4.0}
    assert not (root / "cells" / names[1] / "checkpoint").exists()


def test_a_killed_worker_costs_only_the_way_since_the_checkpoint(root: Path) -> None:
    (name,) = add(root, {"steps": 30, "wait": 0.1})
    with running(root) as runner:
        wait_for(lambda cells: (root / "cells" / name / "checkpoint").exists(), root)
        workers = [
            c for c in psutil.Process(runner.pid).children(recursive=True) if "--multiprocessing-fork" in c.cmdline()
        ]
        holder = int((root / "cells" / name / "beat-1").read_text().split()[1])
        assert holder in [w.pid for w in workers]
        os.kill(holder, signal.SIGKILL)
        cells = wait_for(all_done, root)
    result = cells[name].result
    assert result is not None
    assert cells[name].number == 2
    assert result["metrics"]["sum"] == pytest.approx(sum(1 / k**2 for k in range(1, 31)), rel=1e-12)
    assert result["metrics"]["steps run"] < 30


def test_a_killed_runner_takes_its_workers_along_and_the_next_goes_on(root: Path) -> None:
    names = add(root, *({"steps": 25, "wait": 0.1, "size": n} for n in range(3)))
    with running(root) as runner:
        wait_for(lambda cells: (root / "cells" / names[0] / "checkpoint").exists(), root)
        children = psutil.Process(runner.pid).children(recursive=True)
        runner.kill()
        runner.wait()
    progress.wait(lambda: not [child for child in children if progress.lives(child)], why=lambda: children)
    cells = run_all(root)
    assert [cells[name].state for name in names] == ["done"] * 3
    assert [cells[name].deaths for name in names] == [0] * 3


def test_a_cell_that_kills_its_worker_three_times_has_failed(root: Path) -> None:
    bad, good = add(root, {"how": "dies"}, {"steps": 3})
    cells = run_all(root)
    assert cells[good].state == "done"
    assert cells[bad].state == "failed"
    assert cells[bad].result["why"] == "The process of this cell died 3 times: read its log."  # type: ignore[index]


def test_cancel_hold_and_retry(root: Path) -> None:
    first, second = add(root, {"steps": 200, "wait": 0.05}, {"steps": 200, "wait": 0.05, "size": 2})
    queue = Queue(root)
    with running(root, idle=20):
        wait_for(lambda cells: all((root / "cells" / name / "checkpoint").exists() for name in cells), root)
        queue.cancel([first])
        queue.hold([second])
        wait_for(lambda cells: (cells[first].state, cells[second].state) == ("cancelled", "held"), root)
        queue.retry([first])
        queue.hold([second], held=False)
        wait_for(lambda cells: all(r.state == "running" and r.number == 2 for r in cells.values()), root)
        queue.cancel([first, second])
        cells = wait_for(lambda cells: all(r.state == "cancelled" for r in cells.values()), root)
    assert cells[first].deaths == 0


def test_a_cell_that_is_deleted_while_the_folder_is_looked_at_is_passed_over(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = add(root, {"size": 1}, {"size": 2})
    scandir, other = os.scandir, Queue(root)

    def late(place: Path) -> list[os.DirEntry[str]]:
        monkeypatch.undo()
        found = list(scandir(place))
        other.delete([first])
        return found

    monkeypatch.setattr(os, "scandir", late)
    assert list(Queue(root).scan()) == [second]


def test_the_runner_outlives_the_deletion_of_waiting_cells(root: Path) -> None:
    (kept,) = add(root, {"steps": 60, "wait": 0.05})
    many = add(root, *({"size": n, "steps": 200} for n in range(2, 302)))
    with running(root, cores=1, idle=20) as runner:
        wait_for(lambda cells: cells[kept].state in ("running", "done"), root)
        queue = Queue(root)
        for name in many:
            if queue.find(name).state == "queued":
                queue.delete([name])
        cells = wait_for(lambda cells: all_done(cells), root)
        assert runner.poll() is None
    assert cells[kept].number == 1


def test_a_deaf_program_is_ended(root: Path) -> None:
    (name,) = add(root, {"how": "hangs"})
    with running(root, idle=20) as runner:
        wait_for(lambda cells: (root / "cells" / name / "beat-1").exists(), root)
        time.sleep(0.5)
        Queue(root).cancel([name])
        wait_for(lambda cells: cells[name].state == "cancelled", root)
        progress.wait(lambda: not programs(runner.pid), why=lambda: "The program lives on.")


def programs(runner: int) -> list[psutil.Process]:
    """Return the running ``counter.py`` programs below the process ``runner``.

    After the end of a worker, the operating system also ends the program of this worker.
    """
    found = []
    for child in psutil.Process(runner).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [child] if "counter.py" in str(child.cmdline()) else []
    return found
