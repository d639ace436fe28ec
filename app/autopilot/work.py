"""An autopilot of a workspace with its grid: create or open it, give it orders, train a round, and run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isoplan.app.autopilot.beyond import cells_beyond, extended
from isoplan.app.autopilot.decisions import Decision
from isoplan.app.autopilot.orders import Orders, Wanted
from isoplan.app.autopilot.queue_cells import look_at_cells
from isoplan.app.autopilot.rounds import run_rounds, with_limits
from isoplan.app.autopilot.specification import GridCells, Specification, Task, check_task, read_grid_cells
from isoplan.app.autopilot.stored_decisions import (
    grid_file,
    is_extended,
    keep_decisions,
    only_here,
    read_decisions,
    read_orders,
    read_spec,
    store_autopilot,
    store_extended,
    stored_keys,
    write_orders,
)
from isoplan.app.candidate_cells import FamilyCells
from isoplan.app.early_stop import stop_early
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue import sweep as sweeps
from isoplan.trainers.backend.queue.sweep import Cap, Sweep, launch, read_sweep, sweep_key
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.backend.store.record import SWEEPS
from isoplan.trainers.cell import Family
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import Grid, read_grid, rename

ASKS = "It asks for cells beyond the ranges of its grid."
"""Reason of a pause if the last decision asks for larger cells."""


@dataclass(frozen=True, eq=False)
class Work:
    """An autopilot of the workspace ``root``: its question ``spec`` and its grid, with the cells in two forms.

    The grid can contain more cells than the specification, because a user can add cells.
    """

    root: Path
    spec: Specification
    grid: Grid
    family: Family[Any]
    cells: GridCells
    of_family: FamilyCells

    @property
    def key(self) -> str:
        """The key of the autopilot."""
        return self.spec.key

    def task(self, orders: Orders) -> Task:
        """Return the task with the limits of ``orders``."""
        beyond = cells_beyond(self.grid, self.family, self.cells.candidates)
        task = Task(self.spec, self.cells, beyond=None if beyond is None else beyond.candidates)
        return with_limits(task, orders)


def new_work(root: Path, grid: Grid, family: Family[Any], **question: Any) -> Work:
    """Return the autopilot for ``grid``. Nothing is stored.

    ``question`` are the fields ``law``, ``budget``, ``target_loss``, ``until`` and ``seed`` of the specification.
    Raises PlannerError if the grid or the law cannot answer the question.
    """
    found, of_family = read_grid_cells(grid, family)
    spec = Specification(family=family.name, cells=found.names, **question)
    check_task(Task(spec, found))
    return Work(root, spec, grid, family, found, of_family)


def find_key(root: Path, key: str) -> str:
    """Return the key of the only stored autopilot whose key begins with ``key``.

    The result is "" if no stored key, or more than one, begins with ``key``.
    """
    found = [one for one in stored_keys(root) if key and one.startswith(key)]
    return found[0] if len(found) == 1 else ""


def open_work(root: Path, key: str) -> Work:
    """Return the stored autopilot ``key``.

    Raises PlannerError if its files are damaged, or if this version of the family makes other cells from the grid.
    """
    spec = read_spec(root, key)
    grid = read_grid(grid_file(root, key), root)
    family = find_family(grid.family, root)
    found, of_family = read_grid_cells(grid, family)
    first = found.names[: len(spec.cells)] if is_extended(root, key) else found.names
    if first != spec.cells:
        raise PlannerError(
            f"Autopilot {key[:8]}: another version of the family {family.name} made its cells. Start a new autopilot."
        )
    return Work(root, spec, grid, family, found, of_family)


def extend(work: Work) -> Work:
    """Add the cells for which the autopilot has asked to its grid, and return the autopilot with them.

    Raises PlannerError if it has not asked, or if another process works on it.
    """
    made = read_decisions(work.root, work.key)
    beyond = cells_beyond(work.grid, work.family, work.cells.candidates)
    if beyond is None or not made or not made[-1].ranges:
        raise PlannerError(f"Autopilot {work.key[:8]}: it has not asked for larger cells. Continue it without them.")
    with only_here(work.root, work.key), writing(work.root):
        store_extended(work.root, work.key, extended(work.grid, work.family, beyond, made[-1].ranges))
    return open_work(work.root, work.key)


def order(
    work: Work,
    wanted: Wanted = "run",
    cap: Cap | None = None,
    max_cells: int | None = None,
    stop_early: float | None = None,
) -> Orders:
    """Store the autopilot with new orders, and return them. Orders that are None do not change.

    A stop cancels the open cells of the last decision. A new cap also applies to these cells. The process that works on
    the autopilot reads the orders after each round.
    """
    with writing(work.root):
        store_autopilot(work.root, work.spec, work.grid)
        orders = read_orders(work.root, work.key)
        orders = Orders(
            wanted=wanted,
            cap=orders.cap if cap is None else cap,
            max_cells=orders.max_cells if max_cells is None else max_cells,
            stop_early=orders.stop_early if stop_early is None else stop_early,
        )
        write_orders(work.root, work.key, orders)
        made = read_decisions(work.root, work.key)
        sweep = _sweep(work, made[-1]) if made and made[-1].cells else None
        if sweep is not None and wanted == "stop":
            sweeps.cancel(work.root, sweep.key)
        elif sweep is not None and not sweep.waits and cap is not None:
            sweeps.set_cap(work.root, sweep.key, _rest(cap, made[-1]))
    return orders


Follow = Callable[[Sweep, Callable[[], list[str]]], None]
"""Function that waits until a sweep, its first argument, has ended or is paused. In the meantime, it repeatedly calls
its second argument and prints the returned sentences."""


def run(work: Work, follow: Follow, tell: Callable[[Decision], None]) -> tuple[Decision, ...]:
    """Work on the autopilot until it stops or is paused, and return its decisions.

    ``tell`` gets each new decision. Raises PlannerError if another process works on the autopilot. Any other
    PlannerError pauses the autopilot and is stored as the reason of the pause.
    """
    root, key = work.root, work.key
    with only_here(root, key):
        try:
            return _run(work, follow, tell)
        except PlannerError as error:
            _pause(work, str(error))
            raise


def _run(work: Work, follow: Follow, tell: Callable[[Decision], None]) -> tuple[Decision, ...]:
    root, key = work.root, work.key

    def keep(decisions: tuple[Decision, ...]) -> None:
        with writing(root):
            keep_decisions(root, key, decisions)
        tell(decisions[-1])

    def train(decision: Decision) -> None:
        grid = rename(work.of_family.chosen(work.cells.rows(decision.cells)), f"Autopilot, round {decision.number}")
        with writing(root):
            sweep = launch(root, grid, work.family, cap=_rest(read_orders(root, key).cap, decision))
        follow(sweep, _stops(work))
        if (reason := _interruption(work, decision)) and read_orders(root, key).wanted == "run":
            _pause(work, reason)

    made = run_rounds(
        work.task(read_orders(root, key)),
        read_decisions(root, key),
        lambda: look_at_cells(root, work.cells.names),
        train,
        keep,
        lambda: read_orders(root, key),
    )
    if made and made[-1].reason == "ranges":
        _pause(work, ASKS)
    elif made and made[-1].kind == "stop":
        orders = read_orders(root, key)
        write_orders(root, key, orders.model_copy(update={"wanted": "stop"}))
    return made


def _stops(work: Work) -> Callable[[], list[str]]:
    """Return the function that stops cells before their end, or one that does nothing if the orders allow no stop.

    The function returns a sentence for each stopped cell.
    """
    orders = read_orders(work.root, work.key)
    if not orders.stop_early:
        return list
    return stop_early(work.root, Task(work.spec, work.cells), work.family, orders.stop_early)


def _pause(work: Work, why: str) -> None:
    orders = read_orders(work.root, work.key)
    write_orders(work.root, work.key, orders.model_copy(update={"wanted": "pause", "why": why}))


def _interruption(work: Work, decision: Decision) -> str:
    """Return why some cells of ``decision`` have not ended, although the sweep of the decision has ended.

    The result is "" if all cells have ended, or if the cap has paused the sweep.
    """
    seen = look_at_cells(work.root, work.cells.names)
    open_cells = [name for name in decision.cells if name not in seen.losses and name not in seen.failed]
    sweep = _sweep(work, decision)
    if not open_cells or (sweep is not None and sweep.order.why):
        return ""
    return f"{len(open_cells)} of its cells are paused, cancelled or deleted."


def _sweep(work: Work, decision: Decision) -> Sweep | None:
    return read_sweep(work.root / SWEEPS / sweep_key(work.family, decision.cells))


def _rest(cap: Cap, decision: Decision) -> Cap:
    return cap if cap.hours is None else replace(cap, hours=max(cap.hours - decision.hours, 0.0))
