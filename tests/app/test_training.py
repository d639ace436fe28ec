"""Without an open browser, queued cells finish and become rows of a run table, even if a process is killed."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from isoplan.app import cell_service
from isoplan.app.cell_service import ingest
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.database import open_workspace, owner
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.heartbeat import is_held
from isoplan.trainers.backend.store.record import Record
from tests import progress
from tests.server import forked, log_of, rows_taken, stop
from tests.trainers.conftest import ROOT, add, run_all, wait_for, workspace

KEY = cell_index.table_of("counter")
HERE = {"PYTHONPATH": str(ROOT)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder of a new workspace."""
    return workspace(tmp_path / "space")


def all_done(found: dict[str, Record]) -> bool:
    return all(record.state == "done" for record in found.values())


def names_in_table(root: Path) -> list[str]:
    """Return the run names in the table of the family "counter". No process may have the workspace open."""
    with open_workspace(root) as db:
        return [str(name) for name in tables.frame(db, KEY)["run"]]


def runner_of(root: Path) -> psutil.Process:
    """Return the process of the runner that works on the workspace."""
    return psutil.Process(json.loads((root / "cells" / "runner.json").read_text())["pid"])


def test_queued_cells_finish_and_are_rows_with_no_browser_open(root: Path) -> None:
    names = add(root, *({"size": n, "steps": 3} for n in range(1, 5)))
    with forked(root, env=HERE):
        wait_for(all_done, root)
        progress.wait(lambda: rows_taken(root) == 4)
        more = add(root, {"size": 9, "steps": 4})
        wait_for(all_done, root)
        progress.wait(lambda: rows_taken(root) == 5)
    progress.wait(lambda: not is_held(root / "cells" / "runner.lock"))
    assert sorted(names_in_table(root)) == sorted([*names, *more])


def test_the_end_of_the_server_ends_its_runner_and_cells_keep_their_checkpoint(root: Path) -> None:
    (name,) = add(root, {"steps": 400, "wait": 0.05})
    with forked(root, env=HERE) as server:
        wait_for(lambda _: (root / "cells" / name / "checkpoint").exists(), root)
        runner = runner_of(root)
        stop(server.process)
        assert owner(root) is None
        progress.wait(lambda: not progress.lives(runner), root)
        (record,) = Queue(root).scan().values()
        assert (record.state, record.deaths) == ("queued", 0)
        assert (root / "cells" / name / "checkpoint").exists()


def test_a_killed_server_leaves_the_runner_and_the_next_one_takes_the_rows(root: Path) -> None:
    names = add(root, *({"size": n, "steps": 20, "wait": 0.1} for n in range(1, 4)))
    with forked(root, env=HERE) as server:
        wait_for(lambda found: any(r.state == "running" for r in found.values()), root)
        runner = runner_of(root)
        server.process.kill()
        server.process.wait()
        wait_for(all_done, root)
        assert runner.is_running()
        assert [r.number for r in Queue(root).scan().values()] == [1, 1, 1]
    with forked(root, env=HERE):
        progress.wait(lambda: rows_taken(root) == 3)
        runner.terminate()
    assert sorted(names_in_table(root)) == sorted(names)


@pytest.mark.parametrize(("point", "kept"), [("before-ingest-commit", 0), ("after-ingest-commit", 5)])
def test_a_server_killed_around_the_commit_loses_no_row_and_doubles_none(root: Path, point: str, kept: int) -> None:
    names = add(root, *({"size": n, "steps": 3} for n in range(1, 6)))
    run_all(root)
    died = root / "died"
    command = [str(Path(sys.executable).with_name("isoplan")), "app", "--no-browser", "--workspace", str(root)]
    done = progress.run(command, env={**os.environ, **HERE, "ISOPLAN_DIE_AT": f"{point}:{died}"})
    assert done.returncode == -signal.SIGKILL
    assert died.exists()
    with open_workspace(root) as db:
        assert len(cell_index.index(db)) == kept
        assert [t.rows for t in tables.all(db) if t.id == KEY] == ([kept] if kept else [])
    with forked(root, env=HERE):
        progress.wait(lambda: "workspace" in log_of(root))
        progress.wait(lambda: rows_taken(root) == 5 - kept)
        time.sleep(2.5)
    assert sorted(names_in_table(root)) == sorted(names)


def test_a_second_server_is_refused_and_the_first_goes_on(root: Path) -> None:
    command = [str(Path(sys.executable).with_name("isoplan")), "app", "--no-browser", "--workspace", str(root)]
    with forked(root, env=HERE):
        second = progress.run(command, env={**os.environ, **HERE})
        assert second.returncode == 2
        names = add(root, {"steps": 3})
        wait_for(all_done, root)
        progress.wait(lambda: "1 cell became a row" in log_of(root))
    assert names_in_table(root) == names


def test_where_training_is_off_no_runner_starts_and_rows_still_come(root: Path) -> None:
    done, waits = add(root, {"steps": 3}, {"steps": 4})
    queue = Queue(root)
    queue.end(done, queue.lease(done, "elsewhere"), "done", "", metrics={"loss": 1.0})
    with forked(root, "--shared", env=HERE):
        progress.wait(lambda: "1 cell became a row" in log_of(root))
        time.sleep(1.5)
        assert not (root / "cells" / "runner.lock").exists()
        assert not (root / "logs" / "runner.log").exists()
    assert queue.find(waits).state == "queued"
    assert names_in_table(root) == [done]


def test_what_goes_wrong_is_said_once_in_a_sentence_and_the_next_look_goes_on(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (name,) = add(root, {"steps": 3})
    queue = Queue(root)
    queue.end(name, queue.lease(name, "elsewhere"), "done", "", metrics={"loss": 1.0})
    looks: list[int] = []

    def sometimes(*arguments: object) -> object:
        looks.append(1)
        if len(looks) < 4:
            raise OSError(5, "Input/output error")
        return ingest(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(cell_service, "LOOK", 0.02)
    monkeypatch.setattr(cell_service, "ingest", sometimes)
    with open_workspace(root) as db, cell_service.looking_after(db, root, runs_cells=False):
        progress.wait(lambda: bool(tables.all(db)))
        assert tables.all(db)[0].rows == 1
    said = [r.getMessage() for r in caplog.records if r.name == "isoplan.cells" and r.levelname == "ERROR"]
    assert said == ["Finished cells are not yet added to their run tables: [Errno 5] Input/output error"]


def test_a_runner_that_fails_is_started_again_after_a_while(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    add(root, {"steps": 3})
    starts: list[float] = []

    def fails(*_: object) -> int:
        starts.append(time.monotonic())
        if len(starts) > 1:
            # No process has this id, as if the runner had ended immediately after its start.
            return 4_000_000
        raise PlannerError("The runner ended at once (no room): read logs/runner.log.")

    for name, value in {"LOOK": 0.02, "SOON": 0.5, "ensure_runner": fails}.items():
        monkeypatch.setattr(cell_service, name, value)
    with open_workspace(root) as db, cell_service.looking_after(db, root, runs_cells=True):
        progress.wait(lambda: len(starts) == 3)
    assert starts[1] - starts[0] >= 0.5
    assert starts[2] - starts[1] >= 1.0
    said = [r.getMessage() for r in caplog.records if r.name == "isoplan.cells"]
    assert said == ["Cells wait: The runner ended at once (no room): read logs/runner.log."]


def test_held_and_cancelled_cells_start_no_runner(root: Path) -> None:
    held, cancelled = add(root, {"steps": 3}, {"steps": 4})
    queue = Queue(root)
    queue.hold([held])
    queue.cancel([cancelled])
    with forked(root, env=HERE):
        time.sleep(2)
        assert not (root / "logs" / "runner.log").exists()
