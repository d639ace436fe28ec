"""A crash at each named moment of a runner and its workers, and of the ingest of finished cells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.reliability.faults.cells import ROOT, add, finish, loss, run_all, runner, workspace
from benchmarks.reliability.faults.checkpoints import AMPLITUDES
from benchmarks.reliability.faults.damage import runs
from benchmarks.reliability.faults.trial import Trial
from tests import progress
from trainers.backend.events import recent
from trainers.backend.points import VARIABLE
from trainers.backend.queue import Queue

RUNNER = ("cluster-starts", "after-lease", "before-result", "after-result")
CHECKPOINT = ("in-checkpoint", "after-checkpoint")
INGEST = ("before-ingest-commit", "after-ingest-commit")
CODE = "import sys; from pathlib import Path; from app.cells import ingest_if_free as f; print(f(Path(sys.argv[1])))"


def trials(place: Path) -> list[Trial]:
    """One for each moment."""
    found = [_runner(place / point, point) for point in RUNNER]
    found += [_cancel(place / "cancel"), *(_checkpoint(place / point, point) for point in CHECKPOINT)]
    return found + [_ingest(place / point, point) for point in INGEST]


def _death(root: Path, point: str) -> dict[str, str]:
    return {VARIABLE: f"{point}:{root / 'died'}"}


def _trial(point: str, expected: str, happened: str) -> Trial:
    return Trial("a process is killed at a named moment", f"`{point}`", expected, happened)


def _runner(root: Path, point: str) -> Trial:
    """Four cells; the first process that gets there dies, and a runner is started again where it was that."""
    add(workspace(root), [{"seed": k} for k in range(4)])
    for _ in range(3):
        process = runner(root, _death(root, point))
        progress.end(process, root)
        if all(record.state == "done" for record in Queue(root).scan().values()):
            break
    return _trial(point, "died once, 4 of 4 done once and right", f"{_died(root)}, {_right(root)}")


def _died(root: Path) -> str:
    return "died once" if (root / "died").exists() else "NOBODY DIED"


def _right(root: Path) -> str:
    records = list(Queue(root).scan().values())
    right = sum(
        r.state == "done"
        and (r.result or {})["metrics"]["loss"] == loss(r.cell["seed"])
        and [x["state"] for x in r.results.values()].count("done") == 1
        for r in records
    )
    return f"{right} of {len(records)} done once and right"


def _cancel(root: Path) -> Trial:
    """A worker that dies when it sees that its cell is cancelled."""
    (name,) = add(workspace(root), [{"steps": 400, "wait": 0.05}])
    process = runner(root, _death(root, "during-cancel"))
    try:
        progress.wait((Queue(root).folder(name) / "checkpoint").exists, root)
        Queue(root).cancel([name])
        progress.end(process, root)
    finally:
        process.kill()
        process.wait()
    return _trial("during-cancel", "died once, cancelled", f"{_died(root)}, {Queue(root).find(name).state}")


def _checkpoint(root: Path, point: str) -> Trial:
    """A worker that dies while its cell, which trains inside it, writes a checkpoint because it was held."""
    names = [add(workspace(part), [AMPLITUDES], "amplitudes")[0] for part in (root, root / "undisturbed")]
    queue = Queue(root)
    process = runner(root, _death(root, point))
    try:
        died = (root / "died").exists
        progress.wait(lambda: died() or any(one.step for one in recent(queue.folder(names[0]), 1)), root)
        queue.hold(names[:1])
        progress.wait(lambda: queue.find(names[0]).state in ("held", "done"), root)
        queue.hold(names[:1], held=False)
        progress.end(process, root)
    finally:
        process.kill()
        process.wait()
    run_all(root)
    undisturbed, record = finish(root / "undisturbed", names[1]), queue.find(names[0])
    same = (record.result or {})["metrics"].get("loss") == (undisturbed.result or {})["metrics"]["loss"]
    happened = f"{_died(root)}, {record.state}, loss {'right' if same else 'WRONG'}"
    return _trial(point, "died once, done, loss right", happened)


def _ingest(root: Path, point: str) -> Trial:
    """A process that dies while it makes rows of finished cells."""
    for name in add(workspace(root), [{"seed": k} for k in range(3)]):
        finish(root, name)
    command = [sys.executable, "-c", CODE, str(root)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **_death(root, point)}, capture_output=True)
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return _trial(
        point, "died once, 3 rows of 3 cells", f"{_died(root)}, {len(runs(root))} rows of {len(set(runs(root)))} cells"
    )
