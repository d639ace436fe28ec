"""Events of built-in processes that cells share: made once, chunk by chunk, and kept in the workspace.

Chunk i of a stream has a seed of its own, so that the first n events are the same however many are asked for, and those
of ``train``, ``validation`` and ``test`` share nothing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from trainers.amplitudes.events import Events
from trainers.amplitudes.flat import SAMPLER, make_events
from trainers.backend.files import replace
from trainers.backend.life import hold_lock
from trainers.cell import Stopped, Stream

STREAMS = {"train": 20_260_101, "validation": 20_260_102, "test": 20_260_103}
"""Sets of events that share none, and their seeds, which nobody types by chance."""
FIRST, CHUNK = 1_000, 32_000
"""Events of the first chunk and at most; each has twice as many as the one before, so that small cells wait little."""
PAUSE = 0.2
"""Seconds between two looks at a chunk that another cell makes."""


def simulated(folder: Path, process: str, sqrt_s: float, name: str, count: int, stream: Stream) -> Events:
    """The first ``count`` events of the stream ``name``; those that are missing are made, by all who wait for them.

    Raises Stopped where the cell must end.
    """
    place = folder / f"{process}-{sqrt_s:g}-{SAMPLER}" / name
    place.mkdir(parents=True, exist_ok=True)
    wanted = list(itertools.takewhile(lambda chunk: chunk[1] < count, _ladder()))
    while missing := [chunk for chunk in wanted if not _file(place, chunk[0]).exists()]:
        for index, _, size in missing:
            if stream.stopping:
                raise Stopped
            _make(_file(place, index), process, sqrt_s, (STREAMS[name], index), size)
        stream.step(0)
    momenta, amplitude = zip(*(_read(_file(place, index)) for index, _, _ in wanted), strict=True)
    whole = np.concatenate(amplitude)[:count]
    return Events(np.concatenate(momenta)[:count], whole, np.ones(count), process)


def _ladder() -> Iterator[tuple[int, int, int]]:
    """Number, events before it, and events of each chunk."""
    before = 0
    for index in itertools.count():
        size = min(FIRST * 2**index, CHUNK)
        yield index, before, size
        before += size


def _file(place: Path, index: int) -> Path:
    return place / f"{index:05d}.npz"


def _make(path: Path, process: str, sqrt_s: float, seed: tuple[int, int], size: int) -> None:
    """Make a chunk, unless another cell is at it."""
    with hold_lock(path.with_suffix(".lock")) as mine:
        if not mine:
            time.sleep(PAUSE)
        elif not path.exists():
            made = make_events(process, size, seed, sqrt_s)
            replace(path, lambda place: _write(place, made))


def _write(place: Path, events: Events) -> None:
    with place.open("wb") as file:
        np.savez(file, momenta=events.momenta, amplitude=events.amplitude)


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path, allow_pickle=False) as found:
        return found["momenta"], found["amplitude"]
