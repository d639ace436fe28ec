"""The Dask cluster that runs cells: on this machine, at an address, or made of batch jobs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.backend.machine import Machine, this_machine
from trainers.backend.points import reached
from trainers.backend.settings import Settings

if TYPE_CHECKING:
    from distributed import Client

WAIT = 60.0
"""Seconds for a scheduler to answer."""


@dataclass(eq=False)
class Pool:
    """A Dask client and what stands behind it. ``shared`` says that its workers see the workspace's folder."""

    client: Client
    text: str
    machine: Machine
    local: bool
    shared: bool = True
    cluster: Any = None


@contextlib.contextmanager
def open_pool(settings: Settings, folder: Path) -> Iterator[Pool]:
    """The cluster that ``settings`` name, until the context ends.

    Raises PlannerError for a scheduler that does not answer, one that is not safe to talk to, and workers whose
    versions differ from ours.
    """
    import dask

    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,  # attempts are counted by the queue
            "distributed.worker.memory.terminate": False,
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.target": False,
            "distributed.admin.tick.limit": "60s",
            "distributed.worker.daemon": False,  # a cell may start processes of its own
            "distributed.worker.preload": [],
            "distributed.comm.timeouts.connect": "20s",
        }
    )
    reached("cluster-starts")
    with _local(settings) as pool:
        yield pool


@contextlib.contextmanager
def _local(settings: Settings) -> Iterator[Pool]:
    from distributed import Client, LocalCluster

    machine = this_machine(settings.cores)
    with (
        LocalCluster(
            n_workers=machine.cores,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            memory_limit=0,
            silence_logs=30,
        ) as cluster,
        Client(cluster, timeout=WAIT, set_as_default=False) as client,
    ):
        yield Pool(client, f"this machine, {machine.cores} workers", machine, True, cluster=cluster)
