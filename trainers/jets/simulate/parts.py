"""Simulation of jets in parts, one file per part, by several processes, and the final ROOT file with all parts."""

from __future__ import annotations

import math
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.files import replace, sweep, writing
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import Stopped
from isoplan.trainers.jets.features import NAMES, TREE
from isoplan.trainers.jets.simulate import need_extra

CHUNK = 1000
"""Number of jets of a part. One core simulates a part in about one minute, so an interruption loses little."""
VERSION = 1
"""Version of the parts. Increase it if a change of the code changes the jets of a seed. Other versions are ignored."""
LOOK = 0.3
"""Time in seconds between two checks whether the parts that other processes simulate are complete."""


@dataclass(frozen=True)
class Chunk:
    """Part number ``index`` of the simulated jets of the class ``kind`` for a ``seed``. It contains ``jets`` jets."""

    kind: str
    seed: int
    index: int
    jets: int

    @property
    def name(self) -> str:
        """The name of the file of the part."""
        return f"{self.kind}-{self.seed}-{self.index:05d}-{self.jets}-v{VERSION}.root"


@dataclass(frozen=True)
class Request:
    """A request for ``n`` jets in total, divided evenly among the classes ``kinds``.

    If ``n`` is not divisible by the number of classes, the first classes have one jet more.
    """

    kinds: tuple[str, ...]
    n: int
    seed: int

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.kinds if kind not in NAMES]
        if unknown:
            raise PlannerError(f"There is no class {unknown[0]!r} of jets: use {', '.join(NAMES)}.")
        if len(set(self.kinds)) < len(self.kinds) or not self.kinds:
            raise PlannerError("Name at least one class of jets, and no class twice.")
        if self.n < len(self.kinds):
            raise PlannerError(f"{self.n} jets cannot be divided over {len(self.kinds)} classes: request more jets.")
        if self.seed < 0:
            raise PlannerError(f"The seed {self.seed} is negative: give 0 or a positive number.")

    def groups(self) -> list[list[Chunk]]:
        """Return the parts in groups.

        A group contains one part of each class. All parts of a group have the same index, so the classes are balanced.
        """
        most, more = divmod(self.n, len(self.kinds))
        shares = {kind: most + (i < more) for i, kind in enumerate(self.kinds)}
        return [
            [
                Chunk(kind, self.seed, index, min(CHUNK, share - index * CHUNK))
                for kind, share in shares.items()
                if share > index * CHUNK
            ]
            for index in range(-(-max(shares.values()) // CHUNK))
        ]

    def chunks(self) -> list[Chunk]:
        """Return all parts in the order in which they are simulated."""
        return [chunk for group in self.groups() for chunk in group]


def make_part(folder: Path, chunk: Chunk, stop: Callable[[], bool], said: Callable[[int], None]) -> None:
    """Simulate one part into ``folder``.

    ``said`` is called with the number of jets so far. Raises Stopped if ``stop`` returns true, DiskFull if the disk is
    full, and PlannerError if the class gives no jets.
    """
    from isoplan.trainers.jets.simulate.chain import make_jets

    jets = make_jets(chunk.kind, chunk.jets, chunk.seed, chunk.index, stop, said)
    write_jets(folder / chunk.name, [jets])


def make_parts(
    folder: Path,
    chunks: list[Chunk],
    stop: Callable[[], bool] = lambda: False,
    said: Callable[[int], None] = lambda jets: None,
) -> None:
    """Simulate the missing parts until all parts exist. Several processes can do this at the same time.

    A part that another process simulates is skipped. If that process dies, the part is simulated here. ``said`` is
    called with the number of jets of the current part, and with 0 when the part is complete. Raises the errors of
    ``make_part``.
    """
    while missing := [chunk for chunk in chunks if not (folder / chunk.name).exists()]:
        if not any([_make_free(folder, chunk, stop, said) for chunk in missing]):
            if stop():
                raise Stopped
            time.sleep(LOOK)


def _make_free(folder: Path, chunk: Chunk, stop: Callable[[], bool], said: Callable[[int], None]) -> bool:
    """Simulate a part unless another process is simulating it. Returns whether it was simulated here."""
    lock = folder / f".{chunk.name}.lock"
    with hold_lock(lock) as mine:
        if not mine:
            return False
        # The process that completes a part removes the lock file of the part. A process that arrives later then makes
        # and holds a new lock file, although the part exists.
        free = not (folder / chunk.name).exists()
        if free:
            sweep(folder, chunk.name)
            make_part(folder, chunk, stop, said)
            said(0)
        lock.unlink(missing_ok=True)
    return free


RUN_LOOK = 0.2
"""Time in seconds between two checks of the progress of the processes."""


@dataclass(frozen=True)
class Shared:
    """State that the processes share: a stop flag, error messages, and the number of jets in each current part."""

    jets: Any
    stop: Any
    faults: Any


def simulate(request: Request, out: Path, cores: int, said: Callable[[int], None] = lambda jets: None) -> None:
    """Simulate the jets of ``request`` and write them to the ROOT file ``out`` in random order.

    Until the file is complete, its parts are in the folder ``parts_of(out)``. If the simulation is interrupted or
    killed, the same call continues from these parts. ``said`` is called with the number of jets several times per
    second. Raises the errors of ``need_place``, and PlannerError if the disk is full or a class gives no jets. After
    Ctrl+C, raises KeyboardInterrupt as soon as the processes have ended.
    """
    need_place(out)
    folder, chunks = parts_of(out), request.chunks()
    with writing(out.parent):
        folder.mkdir(exist_ok=True)
        _make(folder, chunks, min(cores, len(chunks)), said)
        with hold_lock(out.with_name(f".{out.name}.lock"), patience=math.inf):
            if not out.exists():  # otherwise another process has written it
                groups = ([folder / chunk.name for chunk in group] for group in request.groups())
                write_jets(out, shuffled(groups, request.seed))
            shutil.rmtree(folder, ignore_errors=True)
        out.with_name(f".{out.name}.lock").unlink(missing_ok=True)


def need_place(out: Path) -> None:
    """Check that jets can be simulated and written to ``out``.

    Raises PlannerError if a package for the simulation is missing, if ``out`` exists, or if its folder does not
    exist.
    """
    need_extra()
    if out.exists():
        raise PlannerError(f"{out} already exists: name another file with --out, or delete it.")
    if not out.parent.is_dir():
        raise PlannerError(f"There is no folder {out.parent}: make it, or name a file in another folder with --out.")


def parts_of(out: Path) -> Path:
    """Return the folder for the parts of the file ``out`` while it is incomplete."""
    return out.with_name(f"{out.name}.parts")


def finished(folder: Path, chunks: list[Chunk]) -> list[Chunk]:
    """Return those ``chunks`` that already have a file in ``folder``."""
    there = set(os.listdir(folder)) if folder.is_dir() else set()
    return [chunk for chunk in chunks if chunk.name in there]


def _make(folder: Path, chunks: list[Chunk], cores: int, said: Callable[[int], None]) -> None:
    """Simulate the parts in ``cores`` processes. All processes have ended when this function returns or raises."""
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
            time.sleep(RUN_LOOK)
    finally:
        shared.stop.set()
        for worker in workers:
            if worker.pid:
                worker.join()
    if not shared.faults.empty():
        raise PlannerError(shared.faults.get())
    if codes := [worker.exitcode for worker in workers if worker.exitcode]:
        raise PlannerError(
            f"A process that simulated jets ended with code {codes[0]}, perhaps because memory was too small: "
            f"run the same "
            "command again, with fewer --cores."
        )


def _work(number: int, folder: Path, chunks: list[Chunk], shared: Shared) -> None:
    """Run process ``number``. It ignores Ctrl+C, and ends if its parent process has died."""
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


COUNTER = "npart"
"""Name of the branch with the number of particles of each jet.

Uproot writes this branch because other branches have a variable length per jet. JetClass files do not have it.
"""


def write_jets(path: Path, pieces: Iterable[Any]) -> None:
    """Write jets to a ROOT file at ``path``, piece after piece. All pieces have the fields of the first piece.

    Raises DiskFull if the disk is full. An existing file is then unchanged.
    """
    replace(path, lambda place: _write(place, pieces))


def _write(place: Path, pieces: Iterable[Any]) -> None:
    import uproot

    with place.open("wb+") as sink, uproot.recreate(sink) as file:
        tree = None
        for piece in pieces:
            columns = {name: piece[name] for name in piece.fields}
            if tree is None:
                kinds = {name: str(values.type.content) for name, values in columns.items()}
                tree = file.mktree(TREE, kinds, counter_name=lambda _: COUNTER)
            tree.extend(columns)


def read_jets(path: Path) -> Any:
    """Return the jets in a file that ``write_jets`` wrote."""
    import uproot

    with uproot.open(path) as file:
        tree = file[TREE]
        return tree.arrays([name for name in tree.keys() if name != COUNTER])  # noqa: SIM118  # no mapping


def shuffled(groups: Iterable[list[Path]], seed: int) -> Iterator[Any]:
    """Yield the jets of each group of files, group after group. Within a group, the jets are in random order."""
    import awkward as ak
    import numpy as np

    for number, paths in enumerate(groups):
        found = ak.concatenate([read_jets(path) for path in paths])
        order = np.random.default_rng([seed, number]).permutation(len(found))
        yield found[order]
