"""Progress of a sweep on a terminal, and the outcome when the sweep has ended."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from isoplan.app.commands.shared.output import INTERRUPTED, note
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import count, duration
from isoplan.trainers.backend.cluster.machine import this_machine
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.progress import Progress, describe_simulation, describe_states, progress
from isoplan.trainers.backend.queue.sweep import Cap, Sweep, find_sweep, read_sweeps, standings
from isoplan.trainers.backend.runner.runner_process import LOG, ensure_runner, last_words, runner_status
from isoplan.trainers.backend.store.record import Record, differing_fields

LOOK = 0.25
"""Seconds between two checks of the cells."""
EVERY_TTY, EVERY = 1.0, 10.0
"""Seconds between two progress lines: the first value for a terminal, the second for other outputs such as a file."""
STARTS = 3
"""Maximum number of runners that are started in succession while no cell ends."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a sweep: ``text`` for a person, ``document`` for scripts, and whether all cells are done.

    Cells that were stopped early count as done.
    """

    text: str
    document: dict[str, Any]
    all_done: bool


def run_sweep(
    root: Path,
    sweep: Sweep,
    scheduler: str = "",
    insecure: bool = False,
    wait: bool = True,
    watch: Callable[[], list[str]] = list,
) -> None:
    """Start a runner if none is active. If ``wait`` is true, print progress until the cells of ``sweep`` have ended.

    ``watch`` is called before each progress line and returns sentences to print. When the cells have ended, they are
    stored as rows of a run table. After Ctrl+C the command ends and the cells continue.
    """
    options = [*(["--scheduler", scheduler] if scheduler else []), *(["--insecure"] if insecure else [])]
    try:
        started = ensure_runner(root, options=options)
        if scheduler and not started and (cluster := runner_status(root).cluster):
            note([f"A runner is already active on {cluster}. It also runs these cells."])
        if wait:
            follow(root, sweep, options, watch)
    except KeyboardInterrupt:
        note([_goes_on(sweep, root)])
        raise typer.Exit(INTERRUPTED) from None
    if wait:
        as_rows(root)


def _goes_on(sweep: Sweep, root: Path) -> str:
    where = f"--workspace {root}"
    return (
        f"The cells continue without this terminal. `isoplan cells list {where}` shows them, `isoplan cells cancel "
        f"{sweep.key[:8]} {where}` ends them."
    )


def follow(root: Path, sweep: Sweep, options: Sequence[str] = (), watch: Callable[[], list[str]] = list) -> None:
    """Print the progress of ``sweep`` on standard error until all its cells have ended or wait for the user.

    If the runner ends earlier, a new runner is started. ``options`` are arguments of each new runner. Raises
    PlannerError if runners end repeatedly, and KeyboardInterrupt after Ctrl+C.
    """
    queue, cores, tty = Queue(root), this_machine().cores, sys.stderr.isatty()
    printed, starts, ended = 0.0, 0, -1
    while True:
        records = queue.scan()
        now = progress(find_sweep(root, sweep.key), records, standings(read_sweeps(root)), root, cores)
        ended_now = sum(now.states.get(state, 0) for state in ("done", "failed", "cancelled"))
        starts, ended = (starts if ended_now == ended else 0), ended_now
        if now.over or time.monotonic() - printed >= (EVERY_TTY if tty else EVERY):
            if sentences := watch():
                _line("", tty, False)
                note(sentences)
            printed = time.monotonic()
            _line(as_line(now, sweep.order.cap, runner_status(root).message, sweep.family), tty, now.over)
        if now.over:
            return
        if ensure_runner(root, queue, options):
            starts += 1
            if starts > STARTS:
                raise PlannerError(
                    f"The runner ended {STARTS} times ({last_words(root)}): {root / LOG} has the details."
                )
        time.sleep(LOOK)


def _line(text: str, tty: bool, last: bool) -> None:
    """Print one line, if it has text. On a terminal (``tty``) the line replaces the previous one."""
    if tty:
        print(f"\r\033[K{text}", end="\n" if last else "", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


def as_line(now: Progress, cap: Cap, message: str = "", family: str = "") -> str:
    """Return the progress of a sweep of a ``family`` as one line.

    ``message`` is the state of the runner. The line contains the message only if it is not "at work".
    """
    parts = [describe_states(now.states) or "no cells", f"{100 * now.share:.0f} %"]
    if now.hours:
        money = f", {now.money:.3g} {cap.currency}" if now.money is not None else ""
        parts.append(f"{duration(3600 * now.hours)} of device time{money}")
    if now.simulated:
        parts.append(describe_simulation(*now.simulated, family))
    if now.samples:
        parts.append(f"{count(now.samples)} samples/s")
    if now.left and not now.over:
        parts.append(f"{duration(now.left)} left")
    if message not in ("", "at work") and not now.over:
        parts.append(message)
    return " · ".join(parts)


def outcome(root: Path, sweep: Sweep) -> Outcome:
    """Return the outcome of ``sweep``. The text has one line for each cell that failed or was stopped early."""
    sweep, records = find_sweep(root, sweep.key), Queue(root).scan()
    now = progress(sweep, records, standings(read_sweeps(root)), root, this_machine().cores)
    present = [records[name] for name in sweep.cells if name in records]
    failed = [record for record in present if record.state == "failed"]
    stopped = [record for record in present if record.state == "cancelled" and why(record)]
    names = telling(present)
    lines = [f"{record.name[:8]} ({fields_of(record, names)}): {why(record)}" for record in (*stopped, *failed)]
    done = now.states.get("done", 0)
    head = f"{done:,} of {now.total:,} cells are done."
    if stopped:
        head += f" {len(stopped):,} {'is' if len(stopped) == 1 else 'are'} stopped early."
    if sweep.waits:
        head += (
            f" {sweep.order.why or f'The sweep is {sweep.waits}.'} `isoplan cells resume {sweep.key[:8]}` continues it."
        )
    elif failed:
        head += f" `isoplan cells retry {sweep.key[:8]}` runs the failed cells again."
    document = {
        "sweep": sweep.key,
        "name": sweep.name,
        "family": sweep.family,
        "waits": sweep.waits,
        "why": sweep.order.why,
        "progress": asdict(now),
        "failed": [_explained(record) for record in failed],
        "stopped": [_explained(record) for record in stopped],
    }
    return Outcome("\n".join([*lines, head]), document, done + len(stopped) == now.total)


def _explained(record: Record) -> dict[str, Any]:
    return {"cell": record.name, "fields": record.cell, "why": why(record)}


def why(record: Record) -> str:
    """Return the reason for the state of a cell; empty if no reason was recorded."""
    if record.state in ("stopping", "cancelled"):
        return record.order.why
    return str((record.result or {}).get("why", ""))


def telling(records: Iterable[Record]) -> list[str]:
    """Return the names of the fields in which the cells differ, or of all fields if all cells are equal."""
    found = list(records)
    return differing_fields(found) or list(dict.fromkeys(name for record in found for name in record.cell))


def fields_of(record: Record, names: Iterable[str]) -> str:
    """Return the fields ``names`` of a cell and their values as text, such as "width 64, seed 1"."""
    return ", ".join(f"{name} {record.cell[name]}" for name in names if name in record.cell)


def as_rows(root: Path) -> None:
    """Store the finished cells as rows of a run table. If the app has the workspace open, the app stores the rows."""
    from isoplan.app.cell_service import ingest_if_free

    try:
        ingest_if_free(root)
    except PlannerError as error:
        note([f"The cells are finished but are not yet rows of a table: {error}"])
