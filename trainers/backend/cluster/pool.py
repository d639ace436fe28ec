"""The workers of a cluster: a Dask client, what its workers have, and which of them came or went."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.machine import Machine
from isoplan.trainers.backend.cluster.worker_handshake import WorkerInfo, greet

if TYPE_CHECKING:
    from distributed import Client

WAIT = 20.0
"""Seconds for a scheduler to answer."""
LOOK = 1.0
"""Seconds between two looks at the workers of a cluster, and two conversations about cells that travel."""
ANSWER = 30.0
"""Seconds for such a conversation."""
CONFIG = {
    "distributed.scheduler.allowed-failures": 0,  # attempts are counted by the queue
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.target": False,
    "distributed.admin.tick.limit": "60s",
    "distributed.admin.large-graph-warning-threshold": "1TB",  # a checkpoint travels with its cell
    "distributed.worker.daemon": False,  # a cell may start processes of its own
    "distributed.worker.preload": [],
    "distributed.comm.timeouts.connect": f"{WAIT:g}s",
    "distributed.deploy.lost-worker-timeout": "10000 hours",  # or Dask drops workers that are slow to come back
    "logging.distributed": "warning",
}


class ClusterError(PlannerError):
    """A cluster that does not answer or cannot be used now: the cells wait, and it is tried again."""


@dataclass(frozen=True)
class Gpu:
    """The ``share`` of a GPU with ``memory`` bytes that a worker elsewhere has."""

    memory: float
    share: float


@dataclass(eq=False)
class Pool:
    """A Dask client and what stands behind it.

    ``shared`` says that its workers see the workspace's folder; ``refresh_workers`` adds and removes workers that came
    or went, and returns what users should know, or raises ClusterError.
    """

    client: Client
    text: str
    machine: Machine
    root: Path
    refresh_workers: Callable[[Pool], str]
    shared: bool = True
    known: dict[str, WorkerInfo] = field(default_factory=dict)
    gpus: tuple[Gpu, ...] = ()
    away: dict[str, int] = field(default_factory=dict)
    asked: Future[dict[str, Any]] | None = None
    looked: float = -math.inf
    said: float = -math.inf


def take_stock(pool: Pool) -> str:
    """Take in the workers that came or went since the last look, and what they have.

    Raises ClusterError for a scheduler that is gone, and for workers that cannot take cells.
    """
    if pool.client.status != "running":
        raise ClusterError(f"The scheduler {pool.text} went away: its cells go on when it is back.")
    now = time.monotonic()
    if now - pool.looked >= LOOK:
        pool.looked = now
        try:
            rpc: Any = pool.client.scheduler
            workers = pool.client.sync(rpc.identity, n_workers=-1, callback_timeout=ANSWER)["workers"]
            new = {address: said for address, said in workers.items() if address not in pool.known}
            greeted, wrong = greet(pool.client, new, pool.root) if new else ({}, "")
        except (OSError, TimeoutError) as error:
            raise ClusterError(f"The scheduler {pool.text} does not answer any more: its cells wait.") from error
        if wrong:
            raise ClusterError(wrong)
        pool.known = {address: said for address, said in (pool.known | greeted).items() if address in workers}
        pool.shared = all(greeting.sees for greeting in pool.known.values())
        there = {address: workers[address] for address in pool.known}
        pool.gpus = _gpus(there, pool.known)
        pool.machine = _measure(there, pool.gpus)
    return "" if pool.known else f"waiting for workers of {pool.text}"


def _measure(workers: Mapping[str, Any], gpus: Sequence[Gpu]) -> Machine:
    """What all workers have together. Each runs one cell at a time, so each counts with its share of a GPU."""
    memory = [float(said.get("memory_limit") or 0) for said in workers.values()]
    return Machine(len(workers), sum(memory) if all(memory) else 0.0, tuple(gpu.memory * gpu.share for gpu in gpus))


def _gpus(workers: Mapping[str, Any], known: Mapping[str, WorkerInfo]) -> tuple[Gpu, ...]:
    """What workers declare as the Dask resource GPU; memory that a worker cannot say is taken to be enough."""
    shares = {a: min(float((said.get("resources") or {}).get("GPU", 0)), 1.0) for a, said in workers.items()}
    return tuple(Gpu(max(known[a].gpus, default=math.inf), share) for a, share in shares.items() if share > 0)
