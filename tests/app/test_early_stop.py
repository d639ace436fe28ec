"""Running cells that cannot change the answer are cancelled. The cell that tests the law is never cancelled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoplan.app.autopilot.specification import GridCells, Seen, Specification, Task, read_grid_cells
from isoplan.app.commands.shared.following import why
from isoplan.app.early_stop import choose_stops, fit_answer, stop_early
from isoplan.engine.curves.forecast import End
from isoplan.engine.design.candidates import listed_candidates
from isoplan.engine.fitting import Fit
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import beat_of, result_of
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import cells, typed_grid
from tests.app.views.train.conftest import say
from tests.engine.design.tables import BUDGET, fitted

NAMES = ("small", "middle", "test")
CELLS = listed_candidates(np.array([1e4, 1e5, 3e6]), np.array([1e6, 1e7, 3e8]), np.array([6e10, 6e12, 5.4e15]))


@pytest.fixture(scope="module")
def law() -> Fit:
    return fitted(24)


def task() -> Task:
    spec = Specification(family="simulated", cells=NAMES, budget=BUDGET)
    return Task(spec, GridCells(NAMES, (0, 0, 0), CELLS))


def ends(law: Fit, factor: float, wide: float = 1.0) -> dict[str, End]:
    expected = law.predict(CELLS.columns) * factor
    return {name: End(x, x / wide, x * wide, 5) for name, x in zip(NAMES, expected, strict=True)}


def test_a_cell_on_the_law_is_stopped_and_a_cell_far_from_it_is_not_but_never_the_test(law: Fit) -> None:
    assert [stop.name for stop in choose_stops(task(), law, ends(law, 1.0), 0.05)] == ["small", "middle"]
    assert choose_stops(task(), law, ends(law, 2.0), 0.05) == ()
    assert choose_stops(task(), law, ends(law, 0.5), 0.05) == ()
    assert choose_stops(task(), law, ends(law, 1.0, wide=2.0), 0.05) == ()
    assert choose_stops(task(), None, ends(law, 1.0), 0.05) == ()


def test_a_running_cell_is_cancelled_once_and_stays_in_the_queue(tmp_path: Path) -> None:
    family = find_family("teacher-student", tmp_path)
    grid = typed_grid(family, {"width": "4, 8, 16, 32, 64", "samples": "8192, 32768, 131072, 524288"})
    made, _ = read_grid_cells(grid, family)
    budget = float(made.candidates.compute.max()) * 4
    grid_task = Task(Specification(family=family.name, cells=made.names, budget=budget), made)
    queue = Queue(tmp_path)
    queue.add(family, cells(grid, family))
    N, D = made.candidates.columns["N"], made.candidates.columns["D"]
    loss = (0.1 + 8 * N**-0.4 + 30 * D**-0.4) * np.exp(0.03 * np.random.default_rng(0).standard_normal(len(N)))
    loss[0] = 0.1 + 8 * N[0] ** -0.4 + 30 * D[0] ** -0.4
    for i, name in enumerate(made.names):
        number = queue.lease(name, "here")
        beat_of(queue.folder(name), number).write_text("1 here 60")
        for step in range(1, 9 if i else 5):
            say(queue.folder(name), number, step, 8, float(loss[i]) * (step / 8) ** -0.5)
        if i:
            done = {"number": number, "state": "done", "metrics": {"loss": float(loss[i])}, "seconds": 1.0, "steps": 8}
            files.write_json(result_of(queue.folder(name), number), done)
    assert fit_answer(grid_task, Seen({})) is None
    stop = stop_early(tmp_path, grid_task, family, 0.5)
    (sentence,) = stop()
    start = f"Cell {made.names[0][:8]} is stopped: its predicted final loss {loss[0]:.4g} ("
    assert sentence.startswith(start)
    record = queue.find(made.names[0])
    assert (record.state, why(record)) == ("stopping", f"Stopped early: {sentence.partition(': ')[2]}")
    assert stop() == []
    queue.retry([record.name])
    assert queue.find(record.name).order.why == ""
