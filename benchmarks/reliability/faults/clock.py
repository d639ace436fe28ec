"""A clock that jumps forward or back by a day while cells train. The clock of the computer itself is not changed.

The processes of a trial import the module ``sitecustomize`` when they start. The module ``sitecustomize`` reads an
offset in seconds from a file and adds the offset to the time.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.reliability.faults.cells import PAUSE, ROOT, add, loss, runner, workspace
from benchmarks.reliability.faults.damage import runs
from benchmarks.reliability.faults.trial import Trial
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.progress import used_hours
from isoplan.trainers.backend.queue.sweep import Cap, launch, read_sweeps
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid
from tests import progress, server

DAY = 86_400
VARIABLE = "ISOPLAN_TRIAL_CLOCK"
SHIFTED = f"""
import ctypes, datetime, gc, os, time
place = os.environ.get("{VARIABLE}")
if place:
    now, now_ns, moment = time.time, time.time_ns, datetime.datetime.now
    def offset():
        try:
            with open(place) as file:
                return int(file.read() or 0)
        except (OSError, ValueError):
            return 0
    time.time = lambda: now() + offset()
    time.time_ns = lambda: now_ns() + offset() * 10**9
    own = gc.get_referents(datetime.datetime.__dict__)[0]  # the dictionary of the type, which C code reads
    own["now"] = classmethod(lambda cls, tz=None: moment(tz) + datetime.timedelta(seconds=offset()))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))
"""
JUMPS = {"a day forwards": (0, DAY), "a day back": (0, -DAY), "forwards, and back again": (0, DAY, 0)}
CELLS = 6


@contextmanager
def shifted(place: Path) -> Iterator[Callable[[int], dict[str, str]]]:
    """Yield a function that sets the offset of the clock in seconds.

    The function returns the environment variables that give a process the shifted clock.
    """
    place.mkdir(parents=True)
    (place / "sitecustomize.py").write_text(SHIFTED)
    clock = place / "offset"

    def set_to(seconds: int) -> dict[str, str]:
        beside = clock.with_suffix(".new")
        beside.write_text(str(seconds))
        beside.replace(clock)
        return {VARIABLE: str(clock), "PYTHONPATH": os.pathsep.join((str(place), str(ROOT)))}

    yield set_to


def runner_trial(place: Path, name: str, jumps: tuple[int, ...]) -> Trial:
    """Train the cells of a sweep with a cap, by a runner, while the clock jumps."""
    root = workspace(place / "space")
    family = find_family("sum", root)
    launch(root, make_grid(family, {"seed": list(range(CELLS))}), family, cap=Cap(hours=1.0))
    (root / PAUSE).touch()
    with shifted(place / "clock") as set_to:
        process = runner(root, set_to(jumps[0]))
        try:
            for seconds in jumps[1:]:
                progress.wait(lambda: _training(root) >= 2, root)
                set_to(seconds)
                time.sleep(1.5)  # the runner writes and checks heartbeats meanwhile
            (root / PAUSE).unlink()
            code = progress.end(process, root)
        finally:
            process.kill()
            process.wait()
    records = Queue(root).scan()
    hours = used_hours(read_sweeps(root)[0], records, root)
    expected = f"runner ended with 0, {CELLS} of {CELLS} done and right in {CELLS} attempts, cap used as measured"
    return Trial("a clock that jumps under a runner", name, expected, _told(list(records.values()), code, hours))


def _training(root: Path) -> int:
    return sum((root / "cells" / name / "checkpoint").exists() for name in Queue(root).scan())


def _told(records: list[Record], code: int, hours: float) -> str:
    right = sum(r.state == "done" and (r.result or {})["metrics"]["loss"] == loss(r.cell["seed"]) for r in records)
    attempts = sum(record.number for record in records)
    seconds = sum(float((r.result or {}).get("seconds", 0.0)) for r in records)
    cap = "as measured" if abs(hours * 3600 - seconds) < 1e-6 and 0 < hours < 0.5 else f"{hours} h for {seconds} s"
    return f"runner ended with {code}, {right} of {CELLS} done and right in {attempts} attempts, cap used {cap}"


def app_trial(place: Path, name: str, jumps: tuple[int, ...]) -> Trial:
    """Run the app with its runner, without a browser, while the clock jumps.

    The cells must be trained and become rows.
    """
    root = workspace(place / "space")
    with shifted(place / "clock") as set_to, server.running(root, env=set_to(jumps[0])) as app:
        for k, seconds in enumerate(jumps):
            set_to(seconds)
            add(root, [{"seed": 2 * k}, {"seed": 2 * k + 1}])
            wanted = 2 * k + 2
            progress.wait(lambda wanted=wanted: became(root) == wanted, root)  # type: ignore[misc]
        printed = app.output.read_text()
    records = list(Queue(root).scan().values())
    right = sum(r.state == "done" and (r.result or {})["metrics"]["loss"] == loss(r.cell["seed"]) for r in records)
    many = 2 * len(jumps)
    happened = f"{right} of {many} right, {len(runs(root))} rows, {printed.count('Traceback')} tracebacks"
    return Trial(
        "a clock that jumps under the app", name, f"{many} of {many} right, {many} rows, 0 tracebacks", happened
    )


def became(root: Path) -> int:
    """Return the number of cells that became rows, read from the log of the app."""
    place = root / "logs" / "isoplan.log"
    return sum(map(int, re.findall(r"(\d+) cells? became", place.read_text()))) if place.exists() else 0


def trials(place: Path) -> list[Trial]:
    """Run each jump of the clock twice: with a runner, and with the app."""
    found = [runner_trial(place / f"runner{k}", *jump) for k, jump in enumerate(JUMPS.items())]
    return found + [app_trial(place / f"app{k}", *jump) for k, jump in enumerate(JUMPS.items())]
