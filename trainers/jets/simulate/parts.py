"""How jets are cut into parts that are made one by one, by whoever comes first, each once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.files import sweep
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import Stopped
from isoplan.trainers.jets.features import NAMES

CHUNK = 1000
"""Jets of a part: about a minute of one core, so that little is lost where a run is stopped."""
VERSION = 1
"""To be raised where the same seed gives other jets: parts of another version are not taken."""
LOOK = 0.3
"""Seconds between two looks at parts that somebody else makes."""


@dataclass(frozen=True)
class Chunk:
    """``jets`` jets of one class, the ``index``-th of a seed."""

    kind: str
    seed: int
    index: int
    jets: int

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.kind}-{self.seed}-{self.index:05d}-{self.jets}-v{VERSION}.root"


@dataclass(frozen=True)
class Request:
    """``n`` jets in all, the same number of each of the classes ``kinds`` (one more of the first where it must be)."""

    kinds: tuple[str, ...]
    n: int
    seed: int

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.kinds if kind not in NAMES]
        if unknown:
            raise PlannerError(f"There is no class {unknown[0]!r} of jets: use {', '.join(NAMES)}.")
        if len(set(self.kinds)) < len(self.kinds) or not self.kinds:
            raise PlannerError("Name every class of jets once, and at least one.")
        if self.n < len(self.kinds):
            raise PlannerError(f"{self.n} jets cannot be shared among {len(self.kinds)} classes: ask for more of them.")
        if self.seed < 0:
            raise PlannerError(f"The seed {self.seed} is negative: give one from 0 on.")

    def groups(self) -> list[list[Chunk]]:
        """The parts, those of all classes with the same index together: any first groups hold as many of each."""
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
        """All parts, in the order in which they are made."""
        return [chunk for group in self.groups() for chunk in group]


def make_part(folder: Path, chunk: Chunk, stop: Callable[[], bool], said: Callable[[int], None]) -> None:
    """Simulate one part into ``folder``. Raises Stopped, DiskFull, and PlannerError for a class without jets."""
    from isoplan.trainers.jets.simulate.chain import make_jets
    from isoplan.trainers.jets.simulate.write import write_jets

    jets = make_jets(chunk.kind, chunk.jets, chunk.seed, chunk.index, stop, said)
    write_jets(folder / chunk.name, [jets])


def make_parts(
    folder: Path,
    chunks: list[Chunk],
    stop: Callable[[], bool] = lambda: False,
    said: Callable[[int], None] = lambda jets: None,
) -> None:
    """Make the parts that are not there yet, until all are: any number of processes may do so at once.

    A part that another process makes is left to it, and taken over where that process dies. ``said`` is told how many
    jets of the part in the making there are, zero once it is there. Raises as ``make_part``.
    """
    while missing := [chunk for chunk in chunks if not (folder / chunk.name).exists()]:
        if not any([_make_free(folder, chunk, stop, said) for chunk in missing]):
            if stop():
                raise Stopped
            time.sleep(LOOK)


def _make_free(folder: Path, chunk: Chunk, stop: Callable[[], bool], said: Callable[[int], None]) -> bool:
    """Make a part unless somebody else does; whether it was made."""
    lock = folder / f".{chunk.name}.lock"
    with hold_lock(lock) as mine:
        if not mine:
            return False
        # Who made the part took the name of the lock away, so that another lock of that name may be held by then.
        free = not (folder / chunk.name).exists()
        if free:
            sweep(folder, chunk.name)
            make_part(folder, chunk, stop, said)
            said(0)
        lock.unlink(missing_ok=True)
    return free
