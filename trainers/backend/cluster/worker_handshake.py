"""What a worker must show before it gets a cell: the versions that it runs, and whether it sees the workspace."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoplan.trainers.backend.cluster.machine import this_machine
from isoplan.trainers.backend.store.files import TEMPORARY
from isoplan.trainers.backend.store.record import CELLS

if TYPE_CHECKING:
    from distributed import Client

PACKAGES = ("isoplan", "python", "dask", "distributed", "cloudpickle", "msgpack", "numpy")
"""What must be the same here and there: the others may differ without changing what a cell gives."""
THREADS = "start them with dask worker --nthreads 1 and as many --nworkers as they have cores"
ANSWER = 20.0
"""Seconds for workers to answer."""


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker said of itself: whether it sees the probe, and bytes of memory of its GPUs."""

    sees: bool
    gpus: tuple[float, ...] = ()


def greet(client: Client, workers: Mapping[str, Any], root: Path) -> tuple[dict[str, WorkerInfo], str]:
    """Ask ``workers`` (by address, as the scheduler describes them) who they are.

    The answers, and a sentence where one of them cannot take cells: it has other versions, or several threads in one
    process. Raises OSError or TimeoutError where the scheduler is gone.
    """
    ours, scheduler, theirs = _versions(client, workers)
    wrong = differing(ours, {"The scheduler": scheduler}, ("python", "dask", "distributed"))
    wrong = wrong or differing(ours, {f"The worker {a}": said for a, said in theirs.items()}, PACKAGES)
    wrong = wrong or _threads(workers)
    if wrong:
        return {}, wrong
    with _probe(root) as (place, content):
        said = client.run(look, str(place), content, workers=list(workers), on_error="return", callback_timeout=ANSWER)
    for address, answer in said.items():
        if isinstance(answer, ImportError):
            return {}, f"The worker {address} cannot import Isoplan: install it there, in the version that is here."
    return {address: answer for address, answer in said.items() if isinstance(answer, WorkerInfo)}, ""


def _versions(client: Client, workers: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """What this process, the scheduler and ``workers`` run. As ``Client.get_versions``, which waits for ever."""
    from distributed.versions import get_versions

    packages = ["isoplan"]
    rpc: Any = client.scheduler
    scheduler = client.sync(rpc.versions, packages=packages, callback_timeout=ANSWER)
    asked = {"msg": {"op": "versions", "packages": packages}, "workers": list(workers), "on_error": "ignore"}
    return get_versions(packages), scheduler, client.sync(rpc.broadcast, **asked, callback_timeout=ANSWER)


def look(place: str, content: str) -> WorkerInfo:
    """On a worker: whether the file at ``place`` has the ``content`` that the runner wrote, and the GPUs."""
    try:
        sees = Path(place).read_text() == content
    except (OSError, UnicodeDecodeError):
        sees = False
    return WorkerInfo(sees, this_machine().gpus)


def differing(ours: Mapping[str, Any], theirs: Mapping[str, Mapping[str, Any]], names: tuple[str, ...]) -> str:
    """A sentence about the first package of ``names`` that another has in another version; empty where all agree.

    Of Python the first two numbers count.
    """
    for who, said in theirs.items():
        for name in names:
            here, there = (_version(one, name) for one in (ours, said))
            if here != there:
                has = f"{name} {there}" if there else f"no {name}"
                return f"{who} has {has} and here is {here}: install the same on both."
    return ""


def _version(said: Mapping[str, Any], name: str) -> str:
    found = str(said["packages"].get(name) or "")
    return ".".join(found.split(".")[:2]) if name == "python" else found


def _threads(workers: Mapping[str, Any]) -> str:
    for address, said in workers.items():
        if said["nthreads"] != 1:
            return f"The worker {address} has {said['nthreads']} threads, and a cell needs a process: {THREADS}."
    return ""


@contextlib.contextmanager
def _probe(root: Path) -> Iterator[tuple[Path, str]]:
    place, content = root / CELLS / f"{TEMPORARY}probe-{secrets.token_hex(8)}", secrets.token_hex(32)
    place.write_text(content)
    try:
        yield place, content
    finally:
        place.unlink(missing_ok=True)
