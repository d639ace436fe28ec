"""Sweeps on disk: identity, damaged files, hold, cap and priority of a sweep, and its progress."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue import sweep as sweeps
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.progress import (
    Pace,
    describe_simulation,
    describe_states,
    device_seconds,
    over_cap,
    pace,
    progress,
    used_hours,
)
from isoplan.trainers.backend.queue.sweep import (
    NO_ORDER,
    Cap,
    CellPolicy,
    Sweep,
    SweepOrder,
    find_sweep,
    hold,
    launch,
    read_sweeps,
    set_cap,
    standings,
    state_of,
)
from isoplan.trainers.backend.store.record import CELLS, Order, Record
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid, parse_grid
from tests.trainers.conftest import run_all, running, wait_for


def launched(root: Path, entries: dict[str, Any], name: str = "", cap: Cap | None = None) -> Sweep:
    counter = find_family("counter", root)
    return launch(root, make_grid(counter, entries, name), counter, cap=cap)


def record(name: str, number: int = 0, **more: Any) -> Record:
    return Record(name, "counter", {"threads": 2}, "", Order(), number, **more)


def test_the_same_cells_are_one_sweep_whatever_their_order(root: Path) -> None:
    first = launched(root, {"size": [1, 2, 3], "steps": 4}, "First")
    again = launched(root, {"steps": 4, "size": [3, 1, 2, 2]}, "Second")
    assert first == again
    assert read_sweeps(root) == (first,)
    assert (first.name, first.family, len(first.cells)) == ("First", "counter", 3)
    assert first.flops == (24.0, 48.0, 72.0)
    assert parse_grid(first.grid, root) == make_grid(
        find_family("counter", root), {"size": [1, 2, 3], "steps": 4}, "First"
    )
    assert set(Queue(root).scan()) == set(first.cells)
    other = launched(root, {"size": [1, 2], "steps": 4})
    assert [s.key for s in read_sweeps(root)] == [first.key, other.key]
    assert set(other.cells) < set(first.cells)


def test_a_sweep_is_found_by_its_key_its_beginning_or_its_name(root: Path) -> None:
    first, _ = launched(root, {"size": 1}, "First"), launched(root, {"size": 2}, "Second")
    assert find_sweep(root, first.key) == find_sweep(root, first.key[:12]) == find_sweep(root, "First") == first
    with pytest.raises(PlannerError, match="There is no sweep 'Third' in this workspace"):
        find_sweep(root, "Third")
    with pytest.raises(PlannerError, match="There is no sweep ''"):
        find_sweep(root, "")


def test_what_is_asked_of_a_sweep_writes_no_file_of_a_cell(root: Path) -> None:
    sweep = launched(root, {"size": [1, 2]})
    files = sorted((root / CELLS).rglob("*"))
    stamps = [file.stat().st_mtime_ns for file in files]
    sweeps.put_first(root, sweep.key, 5)
    sweeps.hold(root, sweep.key)
    assert (find_sweep(root, sweep.key).order.priority, find_sweep(root, sweep.key).waits) == (5, "held")
    sweeps.cancel(root, sweep.key)
    told = standings(read_sweeps(root))
    assert {state_of(r, told) for r in Queue(root).scan().values()} == {"cancelled"}
    assert sorted((root / CELLS).rglob("*")) == files
    assert [file.stat().st_mtime_ns for file in files] == stamps
    assert launched(root, {"size": [1, 2]}).waits == ""
    assert find_sweep(root, sweep.key).order.priority == 5


def test_a_cancelled_cell_is_queued_again_when_its_grid_is_launched_again(root: Path) -> None:
    sweep = launched(root, {"size": [1, 2]})
    Queue(root).cancel(sweep.cells[:1])
    launched(root, {"size": [1, 2]})
    assert [r.state for r in Queue(root).scan().values()] == ["queued", "queued"]


def test_a_sweep_whose_cells_do_not_fit_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoplan.trainers.backend.queue.cells.MOST_CELLS", 3)
    with pytest.raises(PlannerError, match="too many for one workspace"):
        launched(root, {"size": [1, 2, 3, 4]})
    assert read_sweeps(root) == ()
    assert Queue(root).scan() == {}


def test_a_forgotten_sweep_leaves_its_cells(root: Path) -> None:
    sweep = launched(root, {"size": [1, 2]})
    sweeps.forget(root, sweep.key)
    assert read_sweeps(root) == ()
    assert len(Queue(root).scan()) == 2


def test_files_that_are_no_sweep_are_passed_over(root: Path) -> None:
    sweep = launched(root, {"size": 1})
    (root / "sweeps" / "empty").mkdir()
    (root / "sweeps" / "torn").mkdir()
    (root / "sweeps" / "torn" / "spec.json").write_text('{"cells": ')
    assert read_sweeps(root) == (sweep,)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"priority": "x"}', '{"cap": 3}', '{"cap": {"hours": "all"}}'])
def test_a_sweep_whose_orders_are_damaged_spends_nothing(root: Path, text: str) -> None:
    sweep = launched(root, {"size": 1})
    (root / "sweeps" / sweep.key / "order.json").write_text(text)
    (damaged,) = read_sweeps(root)
    assert (damaged.waits, damaged.order.why) == ("held", NO_ORDER.why)
    set_cap(root, sweep.key, Cap(2.0))
    hold(root, sweep.key, held=False)
    (sweep,) = read_sweeps(root)
    assert (sweep.waits, sweep.order.why, sweep.order.cap.hours) == ("", "", 2.0)


@pytest.mark.parametrize("text", ["", "{}", '{"cells": ["a"], "flops": ["x"]}'])
def test_a_sweep_whose_specification_is_damaged_comes_back_with_its_grid(root: Path, text: str) -> None:
    sweep = launched(root, {"size": 1})
    (root / "sweeps" / sweep.key / "spec.json").write_text(text)
    assert read_sweeps(root) == ()
    assert launched(root, {"size": 1}).cells == sweep.cells


def test_a_cap_counts_no_attempt_before_the_sweep_whatever_the_clock_says(root: Path) -> None:
    (name,) = launched(root, {"size": 1}).cells
    queue = Queue(root)
    queue.end(name, queue.lease(name, "x"), "stopped", "runner", seconds=3600.0, begun="2999-01-01T00:00:00+00:00")
    sweep = launched(root, {"size": [1, 2]})
    assert used_hours(sweep, queue.scan(), root) == 0
    queue.end(name, queue.lease(name, "x"), "stopped", "runner", seconds=7200.0, begun="1999-01-01T00:00:00+00:00")
    assert used_hours(sweep, queue.scan(), root) == 2


ORDERS = st.lists(st.tuples(st.sampled_from(["", "held", "cancelled"]), st.integers(-3, 3)), max_size=4)


@given(ORDERS, st.integers(-3, 3))
def test_a_cell_waits_where_all_its_sweeps_do(orders: list[tuple[str, int]], own: int) -> None:
    made = tuple(
        Sweep(f"k{i}", "f", "1", "", "", "", ("a",), order=SweepOrder(priority, word == "held", word == "cancelled"))
        for i, (word, priority) in enumerate(orders)
    )
    told = standings(made).get("a", CellPolicy())
    words = [word for word, _ in orders]
    assert bool(told.waits) == (bool(words) and "" not in words)
    if told.waits:
        assert told.waits in words
    else:
        wanted = [priority for word, priority in orders if not word] + ([own] if own else [])
        assert told.priority(Record("a", "f", {}, "", Order(own))) == max(wanted, default=0)


def test_device_seconds_count_cores_and_gpus_and_only_later_attempts() -> None:
    results = {
        1: {"state": "died", "seconds": 3.0},
        2: {"state": "stopped", "seconds": 5.0, "device": "cpu", "begun": "2026-01-02"},
        3: {"state": "stopped", "seconds": 7.0, "device": "cuda:0", "begun": "2026-01-04"},
    }
    cell = record("a", 4, results=results, lease={"device": "cuda:0"})
    assert device_seconds(cell, 11.0) == 3 * 2 + 5 * 2 + 7 + 11
    assert device_seconds(cell, 11.0, 2) == 7 + 11


def sweep_of(names: str, cap: Cap | None = None, flops: tuple[float, ...] = ()) -> Sweep:
    return Sweep("k", "counter", "1", "", "", "2026", tuple(names), flops, SweepOrder(cap=cap or Cap()))


def test_a_cap_holds_a_sweep_in_hours_or_money(tmp_path: Path) -> None:
    done = record("a", 1, results={1: {"state": "done", "seconds": 1800.0, "begun": "2026"}})
    records = {"a": done, "b": record("b")}
    assert used_hours(sweep_of("ab"), records, tmp_path) == 1.0
    assert over_cap(sweep_of("ab", Cap(1.01)), records, tmp_path) == ""
    assert over_cap(sweep_of("a", Cap(1.0)), records, tmp_path) == ""
    assert over_cap(sweep_of("ab", Cap(1.0)), records, tmp_path) == (
        "The sweep has used 1 device hour of its cap of 1 device hour: raise the cap to continue."
    )
    assert over_cap(sweep_of("ab", Cap(0.5, 3.0, "EUR")), records, tmp_path) == (
        "The sweep has used 3 EUR of its cap of 1.5 EUR: raise the cap to continue."
    )


def said(root: Path, name: str, number: int, *points: dict[str, float]) -> None:
    (root / CELLS / name).mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(point) + "\n" for point in points)
    (root / CELLS / name / f"events-{number}.jsonl").write_text(lines)


def test_how_far_and_how_fast_an_attempt_is(tmp_path: Path) -> None:
    folder = tmp_path / CELLS / "a"
    assert pace(folder, 1) == Pace(prepares=True)
    said(
        tmp_path,
        "a",
        1,
        {"step": 2, "total": 10, "at": 100.0, "samples": 50},
        {"step": 6, "total": 10, "at": 102.0, "samples": 90},
    )
    assert pace(folder, 1) == Pace(0.6, 20.0, left=4 / 2)
    assert pace(folder, 2) == Pace(0.6, prepares=True)
    said(tmp_path, "a", 2, {"step": 3, "at": 100.0})
    assert pace(folder, 2) == Pace()


def test_an_attempt_prepares_until_its_first_step(tmp_path: Path) -> None:
    folder = tmp_path / CELLS / "a"
    made = [{"step": 0, "at": 100.0 + t, "simulated": 100.0 * t, "to_simulate": 1000.0} for t in (0, 2, 4)]
    said(tmp_path, "a", 1, *made)
    assert pace(folder, 1) == Pace(None, None, (400.0, 1000.0), 6.0, True)
    assert describe_simulation(400, 1000, "jets", 6.0) == "simulating jets: 400 of 1,000, 6 s left"
    said(tmp_path, "a", 1, *made, {"step": 2, "total": 10, "at": 130.0}, {"step": 4, "total": 10, "at": 140.0})
    assert pace(folder, 1) == Pace(0.4, None, None, 30.0)


def test_cells_that_prepare_have_a_state_and_no_part_in_the_speed(tmp_path: Path) -> None:
    """A preparing cell counts as preparing, and its time is not used for the measured speed.

    Cell c needs 10 s for its last 100 FLOPs. At this speed, cells d and e need 60 s each for 600 FLOPs. Cell d also
    needs 30 s of simulation, so it ends last, after 90 s.
    """
    records = {name: record(name, 1, lease={"device": "cpu"}) for name in "cd"} | {"e": record("e")}
    for name in "cd":
        (tmp_path / CELLS / name).mkdir(parents=True)
        (tmp_path / CELLS / name / "beat-1").write_text("host 1 900\n")

    def look(folder: Path, number: int) -> Pace:
        return Pace(0.5, left=10.0) if folder.name == "c" else Pace(simulated=(5.0, 9.0), left=30.0, prepares=True)

    found = progress(sweep_of("cde", flops=(200.0, 600.0, 600.0)), records, {}, tmp_path, 8, look)
    assert found.states == {"running": 1, "preparing": 1, "queued": 1}
    assert describe_states(found.states) == "1 training, 1 preparing, 1 waiting"
    assert (found.simulated, found.simulation_left) == ((5.0, 9.0), 30.0)
    assert found.left == pytest.approx(90)
    assert not found.over


def test_progress_by_flops(tmp_path: Path) -> None:
    cap = Cap(9.0, 2.0, "EUR")
    sweep = sweep_of("abcd", cap, (100.0, 100.0, 200.0, 600.0))
    done = {"state": "done", "seconds": 1800.0, "begun": "2026", "device": "cuda:0"}
    records = {
        "a": record("a", 1, results={1: done}),
        "b": record("b", 1, results={1: {**done, "state": "failed"}}),
        "c": record("c", 1, lease={"device": "cuda:1"}),
        "d": record("d"),
    }
    (tmp_path / CELLS / "c").mkdir(parents=True)
    (tmp_path / CELLS / "c" / "beat-1").write_text("host 1 900\n")
    found = progress(sweep, records, {}, tmp_path, 8, lambda folder, number: Pace(0.5, 30.0))
    assert found.states == {"done": 1, "failed": 1, "running": 1, "queued": 1}
    assert (found.total, found.over) == (4, False)
    assert found.share == (100 + 0.5 * 200) / 1000
    assert found.hours == pytest.approx((1800 + 1800 + 900) / 3600)
    assert found.money == pytest.approx(2 * found.hours)
    assert found.left == pytest.approx((100 + 600) * (1800 + 900) / 200)
    # Cell d is leased but has not begun. It changes neither the speed nor the time left.
    records["d"] = record("d", 1, lease={"device": "cuda:1"})

    def halfway(folder: Path, number: int) -> Pace:
        return Pace(0.5) if folder.name == "c" else Pace()

    assert progress(sweep, records, {}, tmp_path, 8, look=halfway).left == pytest.approx(700 * (1800 + 900) / 200)
    assert found.samples == 30.0


def test_progress_without_flops_counts_cells_and_says_nothing_of_what_it_does_not_know(tmp_path: Path) -> None:
    records = {name: record(name) for name in "abcd"}
    found = progress(sweep_of("abcde"), records, {}, tmp_path)
    assert (found.total, found.share, found.hours) == (4, 0.0, 0.0)
    assert (found.money, found.left, found.samples, found.utilisation) == (None, None, None, None)
    ended = {1: {"state": "done", "seconds": 10.0, "begun": "2026", "device": "cpu"}}
    records["a"] = record("a", 1, results=ended)
    found = progress(sweep_of("abcde"), records, {}, tmp_path, 4)
    assert found.share == 0.25
    assert found.left == pytest.approx(3 * 20.0 / 4)
    held = progress(sweep_of("abcd"), records, {name: CellPolicy("held") for name in "abcd"}, tmp_path)
    assert (held.states, held.over) == ({"done": 1, "held": 3}, True)


def test_the_runner_holds_resumes_and_caps_sweeps(root: Path) -> None:
    slow = launched(root, {"size": [1, 2], "steps": 120, "wait": 0.05}, "slow")
    with running(root, idle=20):
        wait_for(lambda cells: all((root / CELLS / name / "checkpoint").exists() for name in slow.cells), root)
        sweeps.hold(root, slow.key)
        quick = launched(root, {"size": 3, "steps": 3}, "quick")
        cells = wait_for(lambda cells: cells[quick.cells[0]].state == "done", root)
        cells = wait_for(lambda cells: all(cells[name].state == "queued" for name in slow.cells), root)
        assert all(cells[name].result["why"] == "hold" for name in slow.cells)  # type: ignore[index]
        sweeps.set_cap(root, slow.key, Cap(0.5 / 3600))
        sweeps.hold(root, slow.key, held=False)
        wait_for(lambda cells: find_sweep(root, slow.key).order.why != "", root)
        assert find_sweep(root, slow.key).waits == "held"
        sweeps.set_cap(root, slow.key, Cap(2.0))
        cells = wait_for(lambda cells: all(cells[name].state == "done" for name in slow.cells), root)
    for name in slow.cells:
        result = cells[name].result
        assert result is not None
        assert result["metrics"]["sum"] == pytest.approx(sum(1 / k**2 for k in range(1, 121)), rel=1e-12)
        assert cells[name].deaths == 0


def test_higher_sweeps_start_first(root: Path) -> None:
    low = launched(root, {"size": list(range(1, 9)), "steps": 3, "wait": 0.05})
    high = launched(root, {"size": list(range(11, 19)), "steps": 3, "wait": 0.05})
    sweeps.put_first(root, high.key, 1)
    cells = run_all(root)

    def begun(sweep: Sweep) -> list[str]:
        return sorted(str((cells[name].result or {})["begun"]) for name in sweep.cells)

    assert begun(high)[-1] < begun(low)[2]
