"""The rule that stops running cells (training runs) that cannot change an answer, with the consent of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isoplan.app.autopilot.deciding import fit_cells
from isoplan.app.autopilot.queue_cells import look_at_cells
from isoplan.app.autopilot.specification import Seen, Task
from isoplan.app.curve_forecasts import forecast_ends
from isoplan.engine.curves.forecast import End
from isoplan.engine.design.early_stop import cells_to_stop
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit
from isoplan.engine.planning.next_cells.answer import present
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.cell import Family


@dataclass(frozen=True)
class Stop:
    """A cell to stop: its ``name`` and its predicted final loss ``end``.

    ``move`` is the largest change of the answer that the final loss could cause, in units of the half width of the
    answer's present 68 % interval.
    """

    name: str
    end: End
    move: float


def fit_answer(task: Task, seen: Seen) -> Fit | None:
    """Return the fit of the law to the finished cells, or None if they do not determine the law yet."""
    if len(seen.losses) < task.spec.fewest:
        return None
    try:
        return fit_cells(task, seen)
    except PlannerError:
        return None


def choose_stops(task: Task, fitted: Fit | None, ends: Mapping[str, End], share: float) -> tuple[Stop, ...]:
    """Return the cells of ``ends`` that would move the answer of ``task`` by less than ``share``.

    ``ends`` are the predicted final losses of running cells by name. The cell of the grid that is nearest to the
    answer tests the law and is never stopped. The result is empty if ``fitted`` does not give an answer yet.
    """
    rows = task.cells.rows(ends)
    if not rows or fitted is None:
        return ()
    predicted = [ends[task.cells.names[row]] for row in rows]
    low, high = (np.array(x) for x in zip(*((end.low, end.high) for end in predicted), strict=True))
    try:
        estimand = present(fitted, task.spec.question).estimands[0]
        moves = cells_to_stop(fitted, estimand, task.cells.candidates, rows, low, high, share)
    except PlannerError:
        return ()
    names = {row: task.cells.names[row] for row in moves}
    return tuple(Stop(names[row], ends[names[row]], move) for row, move in moves.items())


def stop_early(root: Path, task: Task, family: Family[Any], share: float) -> Callable[[], list[str]]:
    """Return a function that stops cells of ``task`` before their end and returns a sentence for each stopped cell.

    Stopped cells are cancelled: they save a checkpoint, stay in the queue as unfinished, and can be retried.
    """
    queue, stopped, fits = Queue(root), set[str](), dict[frozenset[str], Fit | None]()

    def stop() -> list[str]:
        wanted = set(task.cells.names) - stopped
        ends = {
            name: end for name, end in forecast_ends(queue, family, queue.scan().values()).items() if name in wanted
        }
        if not ends:
            return []
        seen = look_at_cells(root, task.cells.names)
        done = frozenset(seen.losses)
        if done not in fits:
            fits.clear()
            fits[done] = fit_answer(task, seen)
        stops = choose_stops(task, fits[done], ends, share)
        for one in stops:
            with writing(root):
                queue.cancel([one.name], f"Stopped early: {describe_stop(one)}")
            stopped.add(one.name)
        return [f"Cell {one.name[:8]} is stopped: {describe_stop(one)}" for one in stops]

    return stop


def describe_stop(stop: Stop) -> str:
    """Return the reason for a stop, without the name of the cell."""
    end = f"{stop.end.loss:.4g} ({stop.end.low:.4g} to {stop.end.high:.4g})"
    return (
        f"its predicted final loss {end} would move the answer by at most {100 * stop.move:.2g} % of the half width of "
        "the answer's 68 % interval."
    )
