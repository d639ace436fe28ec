"""An autopilot that is killed makes the same decisions as an undisturbed one, and trains no cell twice."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import psutil
import pytest

from isoplan.app.autopilot.decisions import Decision
from isoplan.app.autopilot.rounds import run_rounds
from isoplan.app.autopilot.stored_decisions import DECISIONS, folder_of, keep_decisions, read_decisions
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import read_sweeps
from tests.app.autopilot.simulated import World, task
from tests.app.terminal.asking import ISOPLAN, object_in, process

ASKED = task(until=0.01)


class Killed(BaseException):
    """The end of the process."""


@cache
def undisturbed() -> tuple[Decision, ...]:
    """Return the decisions of an autopilot that nothing disturbs."""
    return World().run(ASKED)


PLACES = [
    (point, number)
    for number in range(1, 5)
    for point in ("before writing", "half a line", "after writing", "before training", "half trained", "after training")
]
"""Where the process is killed: the point within a round, and the number of the decision."""


@pytest.mark.parametrize(("point", "number"), PLACES)
def test_the_decisions_after_a_kill_are_those_of_an_undisturbed_autopilot(
    tmp_path: Path, point: str, number: int
) -> None:
    whole, world, key = undisturbed(), World(), ASKED.spec.key
    assert len(whole) > 4
    begun = list[str]()

    def here(name: str, decision: Decision) -> bool:
        return (name, decision.number) == (point, number) and point not in killed

    def keep(made: tuple[Decision, ...]) -> None:
        if here("before writing", made[-1]):
            raise kill()
        if here("half a line", made[-1]):
            keep_decisions(tmp_path, key, made)
            file = folder_of(tmp_path, key) / DECISIONS
            lines = file.read_bytes().splitlines(keepends=True)
            file.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
            raise kill()
        keep_decisions(tmp_path, key, made)
        if here("after writing", made[-1]):
            raise kill()

    def train(decision: Decision) -> None:
        if here("before training", decision):
            raise kill()
        names = [name for name in decision.cells if name not in world.done]
        if here("half trained", decision):
            names = names[: len(names) // 2]
        begun.extend(names)
        world.done |= set(names)
        if here("half trained", decision) or here("after training", decision):
            raise kill()

    killed = set[str]()

    def kill() -> Killed:
        killed.add(point)
        return Killed()

    with pytest.raises(Killed):
        run_rounds(ASKED, read_decisions(tmp_path, key), world.look, train, keep)
    made = run_rounds(ASKED, read_decisions(tmp_path, key), world.look, train, keep)
    assert made == whole == read_decisions(tmp_path, key)
    assert len(begun) == len(set(begun)) == len(world.done)


def test_a_real_process_is_killed_three_times(root: Path) -> None:
    asked = ("autopilot", str(root / "grid.toml"), "--budget", "1e8", "--until", "90 %", "--workspace", str(root))
    points = ("before-autopilot-decision", "after-autopilot-decision")
    for point in points:
        death = {"ISOPLAN_DIE_AT": f"{point}:{root / f'died-{point}'}"}
        ended = subprocess.run(
            [*ISOPLAN, *asked, "--yes"], env={**os.environ, **death}, capture_output=True, check=False
        )
        assert ended.returncode == -9, ended.stderr
    (folder,) = (root / "autopilots").iterdir()
    assert len((folder / DECISIONS).read_text().splitlines()) == 1
    assert not read_sweeps(root)

    running = subprocess.Popen(
        [*ISOPLAN, *asked, "--yes"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert running.stderr is not None
    while not any(record.state == "running" for record in Queue(root).scan().values()):
        assert running.poll() is None, running.stderr.read()
    psutil.Process(running.pid).kill()
    running.wait()
    first = (folder / DECISIONS).read_text()
    continued = process("autopilot", folder.name[:8], "--workspace", root, "--yes", "--json")
    assert continued.stdout, continued.stderr
    made = object_in(continued.stdout)["decisions"]
    assert (folder / DECISIONS).read_text().startswith(first), continued.stderr
    records = Queue(root).scan()
    assert sorted(name for one in made for name in one["cells"]) == sorted(records)
    assert all(record.number == 1 and record.state == "done" for record in records.values())

    # The file contains the printed decisions. Without this file, no decision is shown.
    kept = (folder / DECISIONS).read_text()
    (folder / DECISIONS).unlink()
    again = object_in(process(*asked, "--show", "--json").stdout)
    assert again["decisions"] == []
    assert [json.loads(line) for line in kept.splitlines()] == made
