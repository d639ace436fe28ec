"""Cells on workers that cannot read the workspace: their files are sent through the Dask scheduler.

The worker runs a cell (one training run) in a temporary workspace. The runner sends a message about once per second.
The message lists the attempts that continue, the number of bytes that the runner has of each file, and the attempts
that must stop. The worker answers with the new data. An attempt ends itself if no runner asks for its data.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from isoplan.trainers.backend.cluster.settings import FILE
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import (
    CELLS,
    CHECKPOINT,
    LEASE,
    SPEC,
    STOP,
    beat_of,
    events_of,
    log_of,
    result_of,
    saved_at,
)
from isoplan.trainers.backend.worker.attempt_process import run_cell

FORGOTTEN = 60.0
"""Seconds without a message of a runner after which an attempt ends itself."""
MOST = 32 * 2**20
"""Maximum number of bytes of an events file or of a log file in one message."""


@dataclass(frozen=True)
class Wanted:
    """Request of the runner to continue an attempt.

    ``sizes`` maps a file name to the number of bytes that the runner already has. ``stop`` is the content of a stop
    request, or None.
    """

    number: int
    sizes: Mapping[str, int] = field(default_factory=dict)
    stop: bytes | None = None


@dataclass(frozen=True)
class RemoteUpdate:
    """New data of an attempt: ``pieces`` maps growing files to (offset, bytes), ``whole`` maps other files to bytes."""

    number: int
    pieces: Mapping[str, tuple[int, bytes]] = field(default_factory=dict)
    whole: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(eq=False)
class _Visit:
    """An attempt that runs in this worker process: its number and its folder.

    ``saved`` is the modification time in ns of the last checkpoint that was sent to the runner.
    """

    number: int
    folder: Path
    saved: int


_here: dict[str, _Visit] = {}
_heard = [0.0]


def pack(folder: Path) -> dict[str, bytes]:
    """Return, by name, the files that a worker needs for an attempt of the cell in ``folder``.

    The files are the specification, the lease, the checkpoint, and the TOML files of the workspace that describe
    families. The runner calls this function.
    """
    parcel = {name: (folder / name).read_bytes() for name in (SPEC, LEASE)}
    described = [place for place in folder.parents[1].glob("*.toml") if place.name != FILE]
    for place in (folder / CHECKPOINT, *described):
        with contextlib.suppress(FileNotFoundError):
            parcel[place.name] = place.read_bytes()
    return parcel


def run_remote(parcel: Mapping[str, bytes], name: str, number: int, device: str) -> RemoteUpdate:
    """Run attempt ``number`` of the cell ``name`` on this worker, and return all of its data for the runner.

    ``parcel`` contains the files from ``pack``.
    """
    with _visiting(parcel, name, number) as visit:
        first = visit.saved
        run_cell(str(visit.folder), number, device)
        visit.saved = first  # send the checkpoint again: earlier messages may be lost
        return _news(visit, Wanted(number))


def exchange(wanted: Mapping[str, Wanted]) -> dict[str, RemoteUpdate]:
    """Answer a message of the runner, on a worker.

    Attempts that are not in ``wanted`` are ended. Attempts with a stop request are asked to stop. Returns the new data
    of each wanted attempt, by the name of its cell.
    """
    _heard[0] = time.monotonic()
    found = {}
    for name, visit in list(_here.items()):
        asked = wanted.get(name)
        if asked is None or asked.number != visit.number:
            _disown(visit)
            continue
        stop = visit.folder / STOP
        if asked.stop is not None and not stop.exists():
            stop.write_bytes(asked.stop)
        found[name] = _news(visit, asked)
    return found


def poll_request(folder: Path, number: int) -> Wanted:
    """Return the request of the runner to attempt ``number`` of the cell in ``folder``. Runs in the runner."""
    growing = (events_of(folder, number), log_of(folder, number))
    sizes = {place.name: place.stat().st_size for place in growing if place.exists()}
    asked = files.read_json(folder / STOP)
    stop = (folder / STOP).read_bytes() if asked is not None and asked.get("number") == number else None
    return Wanted(number, sizes, stop)


def is_same(folder: Path, news: RemoteUpdate) -> bool:
    """Return whether ``news`` comes from the process that wrote the earlier heartbeats. Runs in the runner.

    After the death of a process, the scheduler may start a second process for the same attempt.
    """
    beat = beat_of(folder, news.number)
    said = news.whole.get(beat.name, b"").split()[:2]
    return not beat.exists() or not said or beat.read_bytes().split()[:2] in ([], said)


def write_update(folder: Path, news: RemoteUpdate) -> None:
    """Write the new data of an attempt into the folder of its cell, with the result file last. Runs in the runner."""
    for name, (start, data) in news.pieces.items():
        with (folder / name).open("r+b" if (folder / name).exists() else "wb") as file:
            file.seek(start)
            file.write(data)
    result = result_of(folder, news.number).name
    for name, data in sorted(news.whole.items(), key=lambda item: item[0] == result):
        if name == beat_of(folder, news.number).name:
            with (folder / name).open("wb") as file:  # overwrite in place, as the worker does
                file.write(data)
        else:
            files.write_bytes(folder / name, data)
    ended = files.read_json(folder / result)
    if ended is not None and ended.get("state") == "done":
        (folder / CHECKPOINT).unlink(missing_ok=True)


@contextlib.contextmanager
def _visiting(parcel: Mapping[str, bytes], name: str, number: int) -> Iterator[_Visit]:
    """Create a temporary workspace with the cell, and remove it after the ``with`` block.

    A thread ends the attempt if no message of a runner arrives for ``FORGOTTEN`` seconds.
    """
    from distributed import get_worker

    # The folder is inside the worker's own folder, which Dask removes if the worker dies.
    root = Path(tempfile.mkdtemp(prefix="isoplan-", dir=get_worker().local_directory))
    folder = root / CELLS / name
    folder.mkdir(parents=True)
    for file, data in parcel.items():
        ((root if file.endswith(".toml") else folder) / file).write_bytes(data)
    visit = _here[name] = _Visit(number, folder, saved_at(folder))
    _heard[0] = time.monotonic()
    over = threading.Event()
    watch = threading.Thread(target=_watching, args=(visit, over), daemon=True)
    watch.start()
    try:
        yield visit
    finally:
        over.set()
        watch.join()
        del _here[name]
        shutil.rmtree(root, ignore_errors=True)


def _watching(visit: _Visit, over: threading.Event) -> None:
    while not over.wait(1.0):
        if time.monotonic() - _heard[0] > FORGOTTEN:
            _disown(visit)


def _disown(visit: _Visit) -> None:
    """Remove the lease of the attempt. The thread that checks the lease then ends the process."""
    (visit.folder / LEASE).unlink(missing_ok=True)


def _news(visit: _Visit, asked: Wanted) -> RemoteUpdate:
    pieces, whole = {}, {}
    for place in (events_of(visit.folder, visit.number), log_of(visit.folder, visit.number)):
        start = asked.sizes.get(place.name, 0)
        with contextlib.suppress(FileNotFoundError), place.open("rb") as file:
            file.seek(start)
            if data := file.read(MOST):
                pieces[place.name] = (start, data)
    for place in (beat_of(visit.folder, visit.number), result_of(visit.folder, visit.number)):
        with contextlib.suppress(FileNotFoundError):
            whole[place.name] = place.read_bytes()
    changed = saved_at(visit.folder)
    if changed > visit.saved:
        with contextlib.suppress(FileNotFoundError):
            whole[CHECKPOINT] = (visit.folder / CHECKPOINT).read_bytes()
            visit.saved = changed
    return RemoteUpdate(visit.number, pieces, whole)
