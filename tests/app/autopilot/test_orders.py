"""Tests of pause, stop and changed limits of an autopilot, and of the processes that a server starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isoplan.app.autopilot import service, work
from isoplan.app.autopilot.orders import Orders
from isoplan.app.autopilot.queue_cells import look_at_cells
from isoplan.app.autopilot.rounds import run_rounds
from isoplan.app.autopilot.stored_decisions import (
    folder_of,
    keep_decisions,
    only_here,
    read_decisions,
    read_orders,
    stored_keys,
    write_orders,
)
from isoplan.app.autopilot.work import find_key, new_work, open_work, order
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import Cap, launch, read_sweeps
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import parse_grid
from tests.app.autopilot.conftest import GRID
from tests.app.autopilot.simulated import World, task


def made_work(root: Path) -> work.Work:
    grid = parse_grid(GRID, root)
    return new_work(root, grid, find_family(grid.family, root), budget=1e8, until=0.9)


def test_a_pause_ends_between_rounds_and_a_stop_gives_the_present_answer() -> None:
    whole, asked = World().run(task()), task()
    assert [one.kind for one in whole][:1] == ["start"]
    for wanted in ("pause", "stop"):
        world = World()

        def orders(world: World = world, wanted: Any = wanted) -> Orders:
            return Orders(wanted=wanted if len(world.trained) == 2 else "run", cap=Cap(10.0))

        made = run_rounds(asked, (), world.look, world.train, world.kept.append, orders)
        assert made[:2] == whole[:2]
        assert len(world.trained) == 2
        if wanted == "pause":
            assert len(made) == 2
        else:
            assert (made[2].kind, made[2].reason, made[2].width) == ("stop", "user", whole[2].width)
            assert made[2].sentence.endswith("You stopped it.")
        again = run_rounds(asked, made, world.look, world.train, world.kept.append)
        assert again == whole


def test_limits_change_between_rounds() -> None:
    world = World()

    def orders() -> Orders:
        later = bool(world.trained)
        return Orders(max_cells=2 if later else 4, cap=Cap(0.2 if later else 10.0))

    made = run_rounds(task(until=0.002), (), world.look, world.train, world.kept.append, orders)
    assert all(len(one.cells) <= 2 for one in made[1:])
    assert made[-1].reason in ("cap", "cells", "pays")
    assert made[-1].hours <= 0.2


def test_an_autopilot_opens_from_its_folder_and_orders_reach_its_sweep(tmp_path: Path) -> None:
    one = made_work(tmp_path)
    order(one, "run", Cap(2.0), 3)
    assert stored_keys(tmp_path) == (one.key,)
    assert find_key(tmp_path, one.key[:6]) == one.key
    assert find_key(tmp_path, "") == find_key(tmp_path, "zz") == ""
    again = open_work(tmp_path, one.key)
    assert (again.spec, again.cells.names) == (one.spec, one.cells.names)
    assert read_orders(tmp_path, one.key) == Orders(cap=Cap(2.0), max_cells=3)

    names = one.cells.names[:3]
    chosen = one.of_family.chosen(one.cells.rows(names))
    launch(tmp_path, chosen, one.family, cap=Cap(2.0))
    (first, *_) = World().run(task())
    keep_decisions(tmp_path, one.key, (first.model_copy(update={"cells": names, "hours": 0.5}),))
    order(one, "pause", Cap(3.0))
    (sweep,) = read_sweeps(tmp_path)
    assert (sweep.order.cap.hours, sweep.waits) == (2.5, "")
    order(one, "stop")
    (sweep,) = read_sweeps(tmp_path)
    assert sweep.waits == "cancelled"
    assert read_orders(tmp_path, one.key) == Orders(wanted="stop", cap=Cap(3.0), max_cells=3)


def test_damaged_files_pause_it_or_are_named(tmp_path: Path) -> None:
    one = made_work(tmp_path)
    order(one)
    folder = folder_of(tmp_path, one.key)
    (folder / "orders.json").write_text('{"wanted": "ru')
    assert read_orders(tmp_path, one.key).wanted == "pause"
    assert "orders.json is damaged" in read_orders(tmp_path, one.key).why
    (folder / "grid.toml").write_text(GRID.replace("16]", "16, 32]"))
    with pytest.raises(PlannerError, match="another version of the family teacher-student made its cells"):
        open_work(tmp_path, one.key)
    (folder / "spec.json").write_text("{")
    with pytest.raises(PlannerError, match=r"its file spec.json is damaged"):
        open_work(tmp_path, one.key)


def test_an_error_pauses_it_with_its_sentence(tmp_path: Path) -> None:
    one = made_work(tmp_path)
    order(one)

    def fail(_sweep: object, _watch: object) -> None:
        raise PlannerError("The disk is full: free some space.")

    with pytest.raises(PlannerError, match="disk is full"):
        work.run(one, fail, lambda _decision: None)
    assert read_orders(tmp_path, one.key) == Orders(wanted="pause", why="The disk is full: free some space.")
    made = work.run(one, lambda _sweep, _watch: None, lambda _decision: None)
    assert [x.kind for x in made] == ["start"]
    order(one)
    assert read_orders(tmp_path, one.key).why == ""
    work.run(one, lambda _sweep, _watch: None, lambda _decision: None)
    assert read_orders(tmp_path, one.key).why == "10 of its cells are paused, cancelled or deleted."
    assert len(read_decisions(tmp_path, one.key)) == 1


class Process:
    """A process that a test ends."""

    returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode

    def terminate(self) -> None:
        self.returncode = -15

    def wait(self, _timeout: float) -> None:
        pass


def test_a_server_starts_each_autopilot_that_should_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, made = made_work(tmp_path), list[Process]()

    def start(_root: Path, _key: str) -> Process:
        made.append(Process())
        return made[-1]

    monkeypatch.setattr(service, "_start", start)
    with service.autopilots(tmp_path) as look:
        look()
        assert not made
        order(one, "run")
        look()
        look()
        assert len(made) == 1
        made[0].returncode = -9  # the process was killed; it is started again, but not immediately
        look()
        assert len(made) == 1
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + service.SOON)
        look()
        assert len(made) == 2
        made[1].returncode = 1
        with only_here(tmp_path, one.key):
            look()
        for wanted in ("pause", "stop"):
            write_orders(tmp_path, one.key, Orders(wanted=wanted))
            look()
        assert len(made) == 2
        order(one, "run")
        look()
        assert len(made) == 3
    assert made[2].returncode == -15


def test_cells_are_stopped_early_only_if_the_orders_ask_and_have_then_ended(tmp_path: Path) -> None:
    one = made_work(tmp_path)
    assert order(one).stop_early == 0
    watched = list[list[str]]()

    def follow(_sweep: object, watch: Callable[[], list[str]]) -> None:
        watched.append(watch())
        queue = Queue(tmp_path)
        first, *others = read_decisions(tmp_path, one.key)[-1].cells
        queue.cancel([first], "Stopped early: it cannot change the answer.")
        queue.cancel(others)

    made = work.run(one, follow, lambda _decision: None)
    assert watched == [[]]
    seen = look_at_cells(tmp_path, one.cells.names)
    assert not seen.losses
    assert seen.failed == {made[0].cells[0]}  # the user cancelled the other cells
    orders = read_orders(tmp_path, one.key)
    assert (orders.wanted, orders.why) == ("pause", "9 of its cells are paused, cancelled or deleted.")
    assert order(one, stop_early=0.05).stop_early == 0.05
    assert order(one, "run").stop_early == 0.05
    assert order(one, stop_early=0.0).stop_early == 0
