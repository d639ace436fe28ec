"""Kills of processes at a named point of the code.

The killed processes are a runner, its workers, and the process that adds finished cells as rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.reliability.faults.cells import ROOT, add, finish, loss, run_all, runner, workspace
from benchmarks.reliability.faults.checkpoints import AMPLITUDES
from benchmarks.reliability.faults.damage import runs
from benchmarks.reliability.faults.trial import Trial
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.attempt_curves import recent
from isoplan.trainers.backend.store.files import VARIABLE
from tests import progress

RUNNER = ("cluster-starts", "after-lease", "before-result", "after-result")
CHECKPOINT = ("in-checkpoint", "after-checkpoint")
REPEATS = 5
INGEST = ("before-ingest-commit", "after-ingest-commit")
CODE = (
    "import sys, pathlib; from isoplan.app.cell_service import ingest_if_free as f; print(f(pathlib.Path(sys.argv[1])))"
)


def trials(place: Path) -> list[Trial]:
    """Run one trial for each named point."""
    results = [_runner(place / point, point) for point in RUNNER]
    results += [_cancel(place / "cancel"), *(_checkpoint(place / point, point) for point in CHECKPOINT)]
    return results + [_ingest(place / point, point) for point in INGEST]


def _kill_at(root: Path, point: str) -> dict[str, str]:
    return {VARIABLE: f"{point}:{root / 'died'}"}


def _trial(point: str, expected: str, happened: str) -> Trial:
    return Trial("a process is killed at a named moment", f"`{point}`", expected, happened)


def _runner(root: Path, point: str) -> Trial:
    """Train four cells and kill the first process that reaches ``point``. Start runners until all cells are done."""
    add(workspace(root), [{"seed": k} for k in range(4)])
    for _ in range(3):
        process = runner(root, _kill_at(root, point))
        progress.end(process, root)
        if all(record.state == "done" for record in Queue(root).scan().values()):
            break
    happened = f"{_describe_kill(root)}, {_count_right(root)}"
    return _trial(point, "killed once, 4 of 4 cells done once with the right loss", happened)


def _describe_kill(root: Path) -> str:
    return "killed once" if (root / "died").exists() else "NOT KILLED"


def _count_right(root: Path) -> str:
    records = list(Queue(root).scan().values())
    right = sum(
        r.state == "done"
        and (r.result or {})["metrics"]["loss"] == loss(r.cell["seed"])
        and [x["state"] for x in r.results.values()].count("done") == 1
        for r in records
    )
    return f"{right} of {len(records)} cells done once with the right loss"


def _cancel(root: Path) -> Trial:
    """Cancel a running cell. Its worker is killed at the moment when it reads the order."""
    (name,) = add(workspace(root), [{"steps": 400, "wait": 0.05}])
    process = runner(root, _kill_at(root, "during-cancel"))
    try:
        progress.wait((Queue(root).folder(name) / "checkpoint").exists, root)
        Queue(root).cancel([name])
        progress.end(process, root)
    finally:
        process.kill()
        process.wait()
    return _trial("during-cancel", "killed once, cancelled", f"{_describe_kill(root)}, {Queue(root).find(name).state}")


def _checkpoint(root: Path, point: str) -> Trial:
    """Put a running cell on hold, and kill its worker at ``point``.

    At this point, the worker saves the checkpoint for the hold, or has just saved it. The cell trains in the process of
    the worker. A trial whose cell ended before the hold shows nothing, and is repeated.
    """
    for place in (root / str(k) for k in range(REPEATS)):
        trial = _hold(place, point)
        if (place / "died").exists():
            break
    return trial


def _hold(root: Path, point: str) -> Trial:
    """Run one trial of ``_checkpoint``."""
    names = [add(workspace(part), [AMPLITUDES], "amplitudes")[0] for part in (root, root / "undisturbed")]
    queue = Queue(root)
    process = runner(root, _kill_at(root, point))
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
    happened = f"{_describe_kill(root)}, {record.state}, loss {'right' if same else 'WRONG'}"
    return _trial(point, "killed once, done, loss right", happened)


def _ingest(root: Path, point: str) -> Trial:
    """Kill a process that adds finished cells as rows, and run it again."""
    for name in add(workspace(root), [{"seed": k} for k in range(3)]):
        finish(root, name)
    command = [sys.executable, "-c", CODE, str(root)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **_kill_at(root, point)}, capture_output=True)
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    happened = f"{_describe_kill(root)}, {len(runs(root))} rows of {len(set(runs(root)))} cells"
    return _trial(point, "killed once, 3 rows of 3 cells", happened)
