"""Estimates of a grid before its launch: from calibration runs, from finished training runs, and without any runs."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.machine import Machine, at_once, devices
from isoplan.trainers.backend.estimate.calibration import Earlier, Measured, _borrow, _measured, calibrate, core_speed
from isoplan.trainers.backend.estimate.forecast import between, estimate, typical
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import Record, events_of, result_of
from isoplan.trainers.cell import Cell, Family, Resources
from isoplan.trainers.families import find_family, read_cell
from tests.trainers.conftest import COUNTER, PROGRAMS

TWO = Machine(2, 8e9)


def counters(root: Path, *cells: dict[str, Any], short: str = "") -> tuple[Family[Any], list[Cell]]:
    """Return the counter family and some of its cells (training runs).

    ``short`` contains the fields that the calibration runs of the family change.
    """
    text = PROGRAMS.replace("PROGRAM", str(COUNTER)).replace("silence = 20", f"silence = 20\nshort = {{ {short} }}")
    (root / "programs.toml").write_text(text if short else text.replace("short = {  }", ""))
    family = find_family("counter", root)
    return family, [read_cell(family, cell) for cell in cells]


def short(family: Family[Any], cell: Cell) -> Cell:
    found = family.calibration_cell(cell)
    assert found is not None
    return found


def test_short_cells_tell_speed_and_the_time_to_start(root: Path) -> None:
    """A step with size 10 costs 60 FLOPs and takes at least 50 ms. The speed is thus at most 1200 FLOP/s."""
    family, cells = counters(root, {"size": 10, "wait": 0.05}, {"size": 40, "wait": 0.05}, short="steps = 20")
    small, large = calibrate(root, family, [short(family, cell) for cell in cells], TWO)
    assert 0 < small.speed < 1250
    assert small.speed < large.speed < 5000
    assert small.overhead > 0.02, "a process does not start in no time"
    assert 100 < small.disk < 20_000
    assert list(root.iterdir()) == [root / "programs.toml"]


def test_short_cells_read_the_data_of_the_workspace_and_leave_its_queue_alone(root: Path) -> None:
    """Calibration runs read programs and data of the workspace, but change no file, queue or log of the workspace."""
    family, cells = counters(root, {"size": 10, "wait": 0.02}, short="steps = 5")
    (root / "logs").mkdir()
    (root / "backbones").mkdir()
    (root / "events").mkdir()
    (waiting,) = Queue(root).add(family, cells)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    (found,) = calibrate(root, family, [short(family, cells[0])], TWO)
    assert found.speed > 0
    assert list(Queue(root).scan()) == [waiting]
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_only_data_and_programs_of_a_workspace_are_linked_for_short_cells(root: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name in ("cells", "sweeps", "backbones", "logs", ".hidden"):
        (root / name).mkdir()
    for name in ("owner.json", "isoplan.duckdb", "isoplan.duckdb.wal", "events.npz"):
        (root / name).touch()
    _borrow(root, own)
    assert sorted(path.name for path in own.iterdir()) == ["events.npz", "programs.toml"]
    assert (own / "events.npz").resolve() == (root / "events.npz").resolve()


def test_a_short_cell_that_is_not_short_is_stopped_and_tells_by_how_far_it_came(root: Path) -> None:
    family, cells = counters(root, {"size": 10, "wait": 0.05}, short="steps = 10000")
    began = time.monotonic()
    (found,) = calibrate(root, family, [short(family, cells[0])], TWO, limit=14)
    assert time.monotonic() - began < 10_000 * 0.05, "it was not stopped"
    assert 0 < found.speed < 1250
    assert not [p for p in psutil.process_iter() if str(COUNTER) in str(_command(p))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return [str(part) for part in process.cmdline()] if "isoplan-" in process.cwd() else []
    except psutil.Error:
        return []


def test_a_short_cell_that_hangs_is_ended_and_one_that_fails_says_why(root: Path) -> None:
    family, cells = counters(root, {"how": "hangs"}, {"how": "fails"}, short="steps = 3")
    began = time.monotonic()
    assert calibrate(root, family, cells[:1], TWO, limit=7) == []
    assert time.monotonic() - began < 1000, "it was not ended"
    with pytest.raises(PlannerError, match="ended with exit code 3"):
        estimate(root, family, cells[1:], TWO)


def ended(
    root: Path, cell: dict[str, Any], seconds: float, points: list[dict[str, float]], state: str = "done"
) -> tuple[Family[Any], Cell, Record]:
    """Return a counter cell that began at time 100 and ended after ``seconds``, with the ``points`` of its curve."""
    family, (one,) = counters(root, cell)
    queue = Queue(root)
    (name,) = queue.add(family, [one])
    queue.lease(name, "test")
    begun = datetime.fromtimestamp(100.0, UTC).isoformat()
    result = {"number": 1, "state": state, "metrics": {}, "begun": begun, "seconds": seconds, "why": "No data."}
    files.write_json(result_of(queue.folder(name), 1), result)
    events_of(queue.folder(name), 1).write_text("".join(f"{json.dumps(point)}\n" for point in points))
    return family, one, queue.find(name)


def test_the_speed_of_a_short_cell_is_that_between_its_first_and_its_last_point(root: Path) -> None:
    """Two cells have 600 FLOPs each and start in 2 s.

    One cell finishes after 4 s of training. The other cell is stopped after half of its FLOPs, which take 3 s.
    """
    points = [{"step": 1, "total": 10, "at": 102.0}, {"step": 5, "total": 10, "at": 105.0}]
    done = _measured(*ended(root, {"size": 10, "steps": 10}, 6.0, points), root)
    stopped = _measured(*ended(root, {"size": 20, "steps": 5}, 9.0, points, "stopped"), root)
    assert done is not None
    assert stopped is not None
    assert (done.speed, done.overhead) == pytest.approx((600 / 4, 2.0))
    assert (stopped.speed, stopped.overhead) == pytest.approx((300 / 3, 2.0))
    early = _measured(*ended(root, {"size": 30}, 6.0, [{"step": 1, "total": 5, "at": 99.0}]), root)
    assert early is not None
    assert (early.speed, early.overhead) == pytest.approx((900 / 6, 0.0))


def test_a_short_cell_without_progress_has_no_speed(root: Path) -> None:
    first = {"step": 0, "total": 10, "at": 102.0}
    assert _measured(*ended(root, {"size": 1}, 2.0, [first]), root) is None
    assert _measured(*ended(root, {"size": 2}, 9.0, [first, first | {"at": 103.0}], "stopped"), root) is None
    assert _measured(*ended(root, {"size": 3}, 9.0, [{"step": 2, "at": 102.0}], "stopped"), root) is None
    assert _measured(*ended(root, {"size": 4}, 9.0, [], "stopped"), root) is None
    family, cell, record = ended(root, {"size": 5}, 9.0, [])
    assert _measured(replace(family, sizes=lambda cell: type(family.sizes(cell))()), cell, record, root) is None
    with pytest.raises(PlannerError, match=r"^No data\.$"):
        _measured(*ended(root, {"size": 6}, 9.0, [], "failed"), root)


@pytest.mark.parametrize(("slower", "speed"), [(1.0, 1.0), (2.0, 0.5), (0.5, 2.0), (100.0, 0.25), (0.01, 4.0)])
def test_the_speed_of_a_core_is_relative_and_limited(
    monkeypatch: pytest.MonkeyPatch, slower: float, speed: float
) -> None:
    """A core has speed 1 if it multiplies matrices at 120 GFLOP/s. Ten products of 64 x 64 matrices are timed."""
    clock = itertools.count(0.0, slower * 10 * 2 * 64**3 / 120e9)
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert core_speed.__wrapped__() == pytest.approx(speed, rel=1e-6)


def test_only_long_finished_cells_of_similar_size_scale_those_of_another_machine(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundled cell ran at 1000 FLOP/s. The only cell here that is large and long enough ran at 100 FLOP/s."""
    monkeypatch.setattr("isoplan.trainers.backend.estimate.forecast.core_speed", lambda: 2.0)
    earlier = [Earlier(100.0, 6000.0, 6.0)]
    family, (cell,) = counters(root, {"size": 100, "steps": 10})
    ended(root, {"size": 11, "steps": 9}, 50.0, [])  # 594 FLOPs, less than a tenth of those of the new cell
    ended(root, {"size": 100, "steps": 9}, 4.9, [])  # less than 5 s
    rough = estimate(root, family, [cell], TWO, None, earlier)
    assert rough.seconds == pytest.approx(6.0 / 2)
    assert rough.source == "rough, from bundled cells"
    ended(root, {"size": 100, "steps": 1}, 6.0, [])
    found = estimate(root, family, [cell], TWO, None, earlier)
    assert found.seconds == pytest.approx(60.0)
    assert found.source == "from 1 finished cell"
    assert "multiplied by 10 according to 1 cell that finished here." in found.basis


def measured(family: Family[Any], *speeds: float) -> Any:
    def measure(root: Path, found: Family[Any], cells: list[Cell], machine: Machine) -> list[Measured]:
        assert len(cells) == len(speeds)
        return [Measured(cell, speed, 0.5, 1000.0) for cell, speed in zip(cells, speeds, strict=True)]

    return measure


def test_an_estimate_adds_up_the_cells_that_are_left(root: Path) -> None:
    """A cell needs ``6 * size * steps`` FLOPs. Three unfinished cells need 60, 600 and 6000. The fourth is finished."""
    family, cells = counters(
        root, *({"size": size, "steps": 1} for size in (10, 100, 1000)), {"size": 5, "steps": 2}, short="steps = 1"
    )
    queue = Queue(root)
    (done,) = queue.add(family, cells[3:])
    queue.lease(done, "test")
    files.write_json(result_of(queue.folder(done), 1), {"number": 1, "state": "done", "metrics": {}, "seconds": 3.0})
    found = estimate(root, family, [*cells, cells[0]], TWO, measured(family, 10.0, 1000.0))
    assert (found.cells, found.done, found.flops) == (4, 1, 6660.0)
    each = [0.5 + 60 / 10, 0.5 + 600 / 100, 0.5 + 6000 / 1000]
    assert found.hours == pytest.approx(sum(each) / 3600)
    assert found.seconds == pytest.approx(sum(each) / 2)
    assert found.longest == pytest.approx(max(each))
    assert found.disk == 3000.0
    assert found.basis == (
        "Estimated from 2 short cells that used all of this machine: 10 FLOP/s to 1.0 kFLOP/s, and 0.5 s to "
        "start a cell."
    )
    assert found.money(7200.0) == pytest.approx(2 * sum(each))
    assert found.money(None) is None


def test_a_grid_takes_no_less_than_its_longest_cell(root: Path) -> None:
    family, cells = counters(root, {"size": 10, "steps": 1}, {"size": 1000, "steps": 1}, short="steps = 1")
    found = estimate(root, family, cells, Machine(64, 0.0), measured(family, 60.0, 60.0))
    assert found.seconds == found.longest == pytest.approx(100.5)


def test_cells_that_are_all_done_cost_nothing_and_nothing_is_measured(root: Path) -> None:
    family, cells = counters(root, {"size": 1}, short="steps = 1")
    queue = Queue(root)
    (name,) = queue.add(family, cells)
    queue.lease(name, "test")
    queue.end(name, 1, "done", "")
    found = estimate(root, family, cells, TWO, measured(family))
    assert (found.done, found.flops, found.seconds, found.hours, found.disk) == (1, 0.0, 0.0, 0.0, 0.0)
    assert found.basis == "All cells are done."


def test_without_a_short_cell_the_finished_ones_tell_and_without_those_a_rough_default_does(root: Path) -> None:
    family, cells = counters(root, {"size": 10, "steps": 10}, {"size": 20, "steps": 20})
    found = estimate(root, family, cells, TWO)
    assert (found.flops, found.disk) == (3000.0, 0.0)
    assert found.seconds == pytest.approx(3 + 2400 / 1e9)
    assert found.basis == (
        "Rough: no cell of this family has finished here. The estimate assumes 1.0 GFLOP/s on each core, or 60 s for a "
        "cell whose FLOPs are not counted."
    )
    queue = Queue(root)
    (name,) = queue.add(family, cells[:1])
    queue.lease(name, "test")
    files.write_json(result_of(queue.folder(name), 1), {"number": 1, "state": "done", "metrics": {}, "seconds": 3.0})
    found = estimate(root, family, cells, TWO)
    assert found.seconds == pytest.approx(3.0 * 2400 / 600)
    assert found.basis == "Estimated from the one cell of this family that finished here, at 200 FLOP/s."
    blind = replace(family, sizes=lambda cell: type(family.sizes(cell))())
    found = estimate(root, blind, cells, TWO)
    assert (found.flops, found.seconds) == (None, 3.0)
    assert found.basis == "Estimated from the one cell of this family that finished here, which took 3 s each."


def test_the_assumed_speed_is_that_of_each_core(root: Path) -> None:
    """A cell with 6e10 FLOPs takes 60 s on one core at 1e9 FLOP/s, and 15 s on four cores, after 3 s for its start."""
    family, (cell,) = counters(root, {"size": 1000, "steps": 10_000_000, "threads": 4})
    found = estimate(root, family, [cell], Machine(4, 8e9), None)
    assert (found.seconds, found.source) == (18.0, "rough")
    assert found.hours == pytest.approx(4 * 18 / 3600)
    blind = replace(family, sizes=lambda cell: type(family.sizes(cell))())
    assert estimate(root, blind, [cell], Machine(4, 8e9), None).seconds == 60.0


def test_the_training_of_a_finished_cell_gives_the_speed_and_its_rest_the_time_to_start(root: Path) -> None:
    """The finished cell took 13 s: 10 s for the start, and 3 s for 10 steps with 600 FLOPs in total.

    The speed is thus 200 FLOP/s.
    """
    family, cells = counters(root, {"size": 10, "steps": 10}, {"size": 20, "steps": 20})
    queue = Queue(root)
    (name,) = queue.add(family, cells[:1])
    queue.lease(name, "test")
    points = [{"step": 0, "at": 100.0, "simulated": 5}, {"step": 2, "at": 107.6}, {"step": 10, "at": 110.0}]
    events_of(queue.folder(name), 1).write_text("".join(f"{json.dumps(point)}\n" for point in points))
    files.write_json(result_of(queue.folder(name), 1), {"number": 1, "state": "done", "metrics": {}, "seconds": 13.0})
    found = estimate(root, family, cells, TWO, None)
    assert found.seconds == pytest.approx(10 + 2400 / 200)
    assert found.source == "from 1 finished cell"


@pytest.mark.parametrize(
    ("machine", "needs", "many", "taken"),
    [
        (Machine(8, 16e9), Resources(1), 8, 1),
        (Machine(8, 16e9), Resources(3), 2, 3),
        (Machine(2, 16e9), Resources(4), 1, 4),
        (Machine(8, 16e9), Resources(1, 5e9), 3, 1),
        (Machine(64, 64e9, (80e9, 80e9)), Resources(1, 0.0, 30e9), 4, 1),
        (Machine(64, 64e9, (80e9, 80e9)), Resources(2, 0.0, 100e9), 1, 1),
        (Machine(64, 64e9), Resources(2, 0.0, 100e9), 32, 2),
    ],
)
def test_how_many_cells_run_at_once(machine: Machine, needs: Resources, many: int, taken: int) -> None:
    assert (at_once(machine, needs), devices(machine, needs)) == (many, taken)


def test_the_typical_cell_is_where_half_of_the_flops_are_spent(root: Path) -> None:
    family, cells = counters(root, *({"size": size, "steps": 1} for size in (7, 1, 2, 3, 4)))
    smallest, half = typical(family, cells)
    assert (smallest.model_dump()["size"], half.model_dump()["size"]) == (1, 4)


@given(st.lists(st.tuples(st.floats(1, 1e12), st.floats(1, 1e12)), min_size=1, max_size=4), st.floats(0, 1e15))
def test_speeds_lie_between_those_that_were_measured(pairs: list[tuple[float, float]], work: float) -> None:
    known = sorted(pairs)
    found = between(known, work)
    assert min(s for _, s in known) * 0.999999 <= found <= max(s for _, s in known) * 1.000001
    for w, _ in known:
        assert between(known, w) in [s for x, s in known if x == w]
