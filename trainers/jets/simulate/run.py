"""Many jets into one file: parts made by as many processes as there are cores, kept until the file is whole."""

from __future__ import annotations

import math
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import Stopped
from isoplan.trainers.jets.simulate import need_extra
from isoplan.trainers.jets.simulate.parts import Chunk, Request, make_parts

LOOK = 0.2
"""Seconds between two looks at how far the processes are."""


@dataclass(frozen=True)
class Shared:
    """What the processes share: how many jets of its part each has, that they stop, and why one of them did."""

    jets: Any
    stop: Any
    faults: Any


def simulate(request: Request, out: Path, cores: int, said: Callable[[int], None] = lambda jets: None) -> None:
    """Simulate the jets of ``request`` into the ROOT file ``out``, in random order.

    Until the file is whole its parts lie in the folder ``parts_of(out)``, and the same call goes on from there, after a
    kill too. ``said`` is told how many jets there are, several times a second.

    Raises as ``need_place``, and PlannerError where the disk is full or a class yields no jets; KeyboardInterrupt after
    Ctrl+C, when the processes have ended.
    """
    need_place(out)
    folder, chunks = parts_of(out), request.chunks()
    with writing(out.parent):
        folder.mkdir(exist_ok=True)
        _make(folder, chunks, min(cores, len(chunks)), said)
        from isoplan.trainers.jets.simulate.write import shuffled, write_jets

        with hold_lock(out.with_name(f".{out.name}.lock"), patience=math.inf):
            if not out.exists():  # else whoever shared the work has put it together
                groups = ([folder / chunk.name for chunk in group] for group in request.groups())
                write_jets(out, shuffled(groups, request.seed))
            shutil.rmtree(folder, ignore_errors=True)
        out.with_name(f".{out.name}.lock").unlink(missing_ok=True)


def need_place(out: Path) -> None:
    """Raises PlannerError where the extra is missing, or where ``out`` is there already or has no folder."""
    need_extra()
    if out.exists():
        raise PlannerError(f"{out} is there already: name another file with --out, or delete it.")
    if not out.parent.is_dir():
        raise PlannerError(f"There is no folder {out.parent}: make it, or name a file in another one with --out.")


def parts_of(out: Path) -> Path:
    """The folder of the parts of a file that is being made."""
    return out.with_name(f"{out.name}.parts")


def finished(folder: Path, chunks: list[Chunk]) -> list[Chunk]:
    """The parts that are there."""
    there = set(os.listdir(folder)) if folder.is_dir() else set()
    return [chunk for chunk in chunks if chunk.name in there]


def _make(folder: Path, chunks: list[Chunk], cores: int, said: Callable[[int], None]) -> None:
    """Make the parts in ``cores`` processes; they end before this returns or raises."""
    context = multiprocessing.get_context("spawn")
    shared = Shared(context.Array("q", cores), context.Event(), context.SimpleQueue())
    workers = [context.Process(target=_work, args=(i, folder, chunks, shared)) for i in range(cores)]
    try:
        for worker in workers:
            worker.start()
        while any(worker.is_alive() for worker in workers):
            said(sum(chunk.jets for chunk in finished(folder, chunks)) + sum(shared.jets))
            if any(worker.exitcode for worker in workers):
                break
            time.sleep(LOOK)
    finally:
        shared.stop.set()
        for worker in workers:
            if worker.pid:
                worker.join()
    if not shared.faults.empty():
        raise PlannerError(shared.faults.get())
    if codes := [worker.exitcode for worker in workers if worker.exitcode]:
        raise PlannerError(
            f"A process that simulated jets ended with code {codes[0]}, perhaps for want of memory: run the same "
            "command again, with fewer --cores."
        )


def _work(number: int, folder: Path, chunks: list[Chunk], shared: Shared) -> None:
    """One of the processes. It leaves Ctrl+C to the first one, and ends where that one has died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def stop() -> bool:
        return shared.stop.is_set() or (parent is not None and not parent.is_alive())

    def said(jets: int) -> None:
        shared.jets[number] = jets

    try:
        make_parts(folder, chunks, stop, said)
    except Stopped:
        pass
    except PlannerError as error:
        shared.faults.put(str(error))
        raise SystemExit(1) from None
