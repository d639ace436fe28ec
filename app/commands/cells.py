"""`isoplan cells`: list the sweeps and cells of a workspace and act on them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from isoplan.app.commands.shared.following import as_line, fields_of, telling, why
from isoplan.app.commands.shared.output import note, say, say_json
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import si
from isoplan.trainers.backend.cluster.machine import this_machine
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.progress import progress
from isoplan.trainers.backend.queue.sweep import Sweep, cancel, forget, hold, read_sweeps, standings, state_of
from isoplan.trainers.backend.runner.runner_process import ensure_runner, runner_status
from isoplan.trainers.backend.store.attempt_curves import log_tail
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.backend.store.record import Record

Action = Literal["list", "cancel", "retry", "hold", "resume", "delete", "log"]
SHOWN = 8
"""Number of printed characters of the key of a sweep or cell. Users can type any unique prefix of a key."""


def cells(
    action: Annotated[Action, typer.Argument(help="Action; by default list.")] = "list",
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Keys or names of sweeps, or keys of cells.")
    ] = None,
    workspace: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the workspace; by default one in your data folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List, hold, resume, cancel, retry or delete cells."""
    from isoplan.engine.store.folders import usual_folder

    root = workspace or usual_folder()
    queue = Queue(root)
    chosen = choose(root, queue.scan(), names or [])
    if action == "list":
        _list(root, queue, chosen, as_json)
    elif not names:
        raise PlannerError(f"Name the sweeps or cells to {action}: `isoplan cells list` shows their keys.")
    elif action == "log":
        _log(queue, chosen)
    else:
        with writing(root):
            said = _done(action, root, queue, chosen)
        say_json({"schema": 1, "action": action, "names": chosen.keys}) if as_json else note([said])


@dataclass(frozen=True)
class Chosen:
    """The sweeps and the single cells that the user named."""

    sweeps: tuple[Sweep, ...]
    cells: tuple[Record, ...]

    @property
    def keys(self) -> list[str]:
        """Full keys of the sweeps, followed by the keys of the single cells."""
        return [*(sweep.key for sweep in self.sweeps), *(record.name for record in self.cells)]


def choose(root: Path, records: dict[str, Record], names: Sequence[str]) -> Chosen:
    """Return the sweeps and cells that match the typed ``names``.

    Each text is the name of a sweep, or a prefix of the key of a sweep or cell. Raises PlannerError if a text matches
    no sweep or cell, or more than one.
    """
    sweeps: list[Sweep] = []
    cells: list[Record] = []
    for name in names:
        found = [sweep for sweep in read_sweeps(root) if name and name in (sweep.key, sweep.name)]
        found = found or [sweep for sweep in read_sweeps(root) if name and sweep.key.startswith(name)]
        alone = [record for key, record in records.items() if name and key.startswith(name)]
        if len(found) + len(alone) != 1:
            many = "no sweep or cell" if not found and not alone else "more than one sweep or cell"
            raise PlannerError(f"{name!r} names {many} in this workspace. Use a key that `isoplan cells list` shows.")
        sweeps += found
        cells += alone
    return Chosen(tuple(sweeps), tuple(cells))


def _done(action: Action, root: Path, queue: Queue, chosen: Chosen) -> str:
    """Apply ``action`` to the chosen sweeps and cells, and return a sentence that states what was done."""
    single = [record.name for record in chosen.cells]
    if action == "delete":
        return _delete(root, queue, chosen)
    for sweep in chosen.sweeps:
        if action == "cancel":
            cancel(root, sweep.key)
        else:
            hold(root, sweep.key, held=action == "hold")
        if action == "retry":
            records = queue.scan()
            ended = (name for name in sweep.cells if name in records and records[name].state in ("failed", "cancelled"))
            queue.retry(ended)
    if action == "cancel":
        queue.cancel(single)
    elif action in ("hold", "resume"):
        queue.hold(single, held=action == "hold")
    else:
        queue.retry(single)
    if action in ("resume", "retry"):
        ensure_runner(root, queue)
    done = {"cancel": "cancelled", "hold": "held", "resume": "resumed", "retry": "queued again"}[action]
    late = " (a running cell first saves a checkpoint)" if action in ("cancel", "hold") else ""
    return f"{_many(chosen)} {done}{late}."


def _delete(root: Path, queue: Queue, chosen: Chosen) -> str:
    """Delete the chosen cells with their files, and return a sentence with the freed disk space.

    A cell is kept if it also belongs to a sweep that is not chosen. Raises PlannerError if a cell is running.
    """
    gone, records = {sweep.key for sweep in chosen.sweeps}, queue.scan()
    kept = {name for sweep in read_sweeps(root) if sweep.key not in gone for name in sweep.cells}
    of_sweeps = (name for sweep in chosen.sweeps for name in sweep.cells if name in records and name not in kept)
    names = dict.fromkeys([*of_sweeps, *(record.name for record in chosen.cells)])
    running = [name for name in names if records[name].state in ("running", "stopping")]
    if running:
        raise PlannerError(f"The cell {running[0][:SHOWN]} is running: cancel it first.")
    freed = queue.delete(names)
    for key in gone:
        forget(root, key)
    return f"{_many(chosen)} deleted, which frees {si(freed, 2)}B."


def _many(chosen: Chosen) -> str:
    keys = chosen.keys
    return f"{keys[0][:SHOWN]} is" if len(keys) == 1 else f"{', '.join(key[:SHOWN] for key in keys)} are"


def _log(queue: Queue, chosen: Chosen) -> None:
    if chosen.sweeps or len(chosen.cells) != 1:
        raise PlannerError(
            "Action `log`: it requires exactly one cell. Name the cell by its key: `isoplan cells list SWEEP` shows it."
        )
    (record,) = chosen.cells
    text = log_tail(queue.folder(record.name), record.number)
    say(text.rstrip("\n") if text else "(the cell printed nothing)")


def _list(root: Path, queue: Queue, chosen: Chosen, as_json: bool) -> None:
    """Print the progress of all sweeps. If sweeps or cells are chosen, print the chosen cells instead."""
    sweeps, records = read_sweeps(root), queue.scan()
    told = standings(sweeps)
    if chosen.keys:
        of_sweeps = (records[name] for sweep in chosen.sweeps for name in sweep.cells if name in records)
        _say_cells({record.name: record for record in (*of_sweeps, *chosen.cells)}.values(), told, as_json)
        return
    _say_sweeps(root, sweeps, records, as_json)


def _say_sweeps(root: Path, sweeps: Sequence[Sweep], records: dict[str, Record], as_json: bool) -> None:
    told, cores, runner = standings(tuple(sweeps)), this_machine().cores, runner_status(root)
    now = {sweep.key: progress(sweep, records, told, root, cores) for sweep in sweeps}
    loose = [record for name, record in records.items() if name not in told]
    if as_json:
        shown = [
            {"sweep": s.key, "name": s.name, "family": s.family, "waits": s.waits, "why": s.order.why,
             "priority": s.order.priority, "progress": asdict(now[s.key])}
            for s in sweeps
        ]  # fmt: skip
        alone = [_cell(record, told) for record in loose]
        say_json({"schema": 1, "runner": asdict(runner), "sweeps": shown, "cells": alone})
        return
    lines = [
        f"{s.key[:SHOWN]}  {s.name or s.family}  {as_line(now[s.key], s.order.cap, family=s.family)}"
        + (f"\n  {s.order.why}" if s.order.why else "")
        for s in sweeps
    ]
    if loose:
        lines.append(f"{len(loose):,} cell{'s' * (len(loose) != 1)} without a sweep")
    lines.append(f"The runner is {'at work' if runner.message == 'at work' else f'up: {runner.message}'}."
                 if runner.alive else "No runner is at work.")  # fmt: skip
    say("\n".join(lines if sweeps or loose else ["There are no cells in this workspace."]))


def _say_cells(records: Collection[Record], told: Any, as_json: bool) -> None:
    if as_json:
        say_json({"schema": 1, "cells": [_cell(record, told) for record in records]})
        return
    lines, names = [], telling(records)
    for record in records:
        measured = (record.result or {}).get("metrics") or {}
        found = why(record) if record.state in ("failed", "cancelled") else ""
        found = found or (f"loss {measured['loss']:.6g}" if "loss" in measured else "")
        parts = [
            record.name[:SHOWN],
            f"{state_of(record, told):9}",
            fields_of(record, names),
            *([found] if found else []),
        ]
        lines.append("  ".join(parts))
    say("\n".join(lines) or "The chosen sweeps have no cells.")


def _cell(record: Record, told: Any) -> dict[str, Any]:
    return {
        "cell": record.name,
        "family": record.family,
        "fields": record.cell,
        "state": state_of(record, told),
        "attempts": record.number,
        "metrics": (record.result or {}).get("metrics") or {},
        "why": why(record),
    }
