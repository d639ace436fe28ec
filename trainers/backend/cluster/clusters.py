"""The Dask cluster that runs cells: on this machine, with an external scheduler, or as batch jobs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoplan.trainers.backend.cluster.batch_jobs import open_jobs
from isoplan.trainers.backend.cluster.machine import Machine, Place, this_machine
from isoplan.trainers.backend.cluster.pool import (
    ANSWER,
    CONFIG,
    LOOK,
    WAIT,
    ClusterError,
    Gpu,
    Pool,
    temporary_security,
    update_workers,
)
from isoplan.trainers.backend.cluster.settings import Address, Local, Settings
from isoplan.trainers.backend.store.files import fault_point
from isoplan.trainers.backend.worker.attempt_process import run_cell
from isoplan.trainers.backend.worker.remote_cells import exchange, is_same, pack, poll_request, run_remote, write_update

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

log = logging.getLogger("isoplan.cluster")


@contextlib.contextmanager
def open_pool(settings: Settings, root: Path) -> Iterator[Pool]:
    """Open the cluster that ``settings`` describe for the workspace ``root``, and close it after the ``with`` block.

    Raises ClusterError if the scheduler does not answer or the batch system accepts no jobs.
    """
    import dask

    os.environ["DASK_LOGGING__DISTRIBUTED"] = "warning"  # logging level of the workers; users do not need their log
    dask.config.set(CONFIG)
    fault_point("cluster-starts")
    if isinstance(settings, Local):
        opened = _local(settings, root)
    elif isinstance(settings, Address):
        opened = _address(settings, root)
    else:
        opened = open_jobs(settings, root)
    with opened as pool:
        yield pool


@contextlib.contextmanager
def _local(settings: Local, root: Path) -> Iterator[Pool]:
    """Open a cluster of workers on this machine.

    All connections are encrypted with temporary keys. Other processes on this machine therefore cannot send tasks to
    the workers.
    """
    from distributed import Client, Nanny, SpecCluster

    from isoplan.trainers.backend.cluster.dask_no_http import QuietScheduler, QuietWorker

    machine, security = this_machine(settings.cores), temporary_security()
    here = {"host": "127.0.0.1", "dashboard": False, "security": security, "protocol": "tls://"}
    worker = {"nthreads": 1, "memory_limit": 0, "silence_logs": 30, "worker_class": QuietWorker, **here}
    with (
        SpecCluster(
            workers={i: {"cls": Nanny, "options": worker} for i in range(machine.cores)},
            scheduler={"cls": QuietScheduler, "options": {"port": 0, **here}},
            security=security,
            silence_logs=30,
        ) as cluster,
        Client(cluster, timeout=WAIT, set_as_default=False) as client,
    ):
        yield Pool(client, f"this machine, {machine.cores} workers", machine, root, lambda pool: "")


@contextlib.contextmanager
def _address(settings: Address, root: Path) -> Iterator[Pool]:
    with connected(settings.scheduler, security_of(settings)) as client:
        yield Pool(client, settings.scheduler, Machine(0, 0.0), root, update_workers)


def security_of(settings: Address) -> Security:
    """Return the TLS settings of the client that connects to the scheduler.

    The certificates are the files in ``settings``. If ``settings`` has no files, the configuration of Dask is used.
    Raises ClusterError if TLS is used without certificates or if the files are not certificates.
    """
    from distributed.security import Security

    files = {"tls_ca_file": settings.ca, "tls_client_cert": settings.cert, "tls_client_key": settings.key}
    given = {name: str(path) for name, path in files.items() if path is not None}
    security = Security(require_encryption=settings.scheduler.startswith("tls:"), **given)
    try:
        shown = security.get_connection_args("client")
    except OSError as error:
        raise ClusterError(f"The files ca, cert and key of the cluster are not valid certificates: {error}.") from error
    if security.require_encryption and shown["ssl_context"] is None:
        raise ClusterError(
            f"The scheduler {settings.scheduler} requires certificates: set ca, cert and key to your files."
        )
    return security


@contextlib.contextmanager
def connected(address: str, security: Security) -> Iterator[Client]:
    """Open a client of the scheduler at ``address``. Raises ClusterError if the scheduler does not answer."""
    from distributed import Client

    try:
        client = Client(address, security=security, timeout=WAIT, set_as_default=False)
    except OSError as error:
        raise ClusterError(
            f"The scheduler {address} does not answer: start it, or check its address and certificates."
        ) from error
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=5)


def give(pool: Pool, folder: Path, number: int, place: Place) -> Any:
    """Submit attempt ``number`` of the cell in ``folder`` to a worker and return its Dask future.

    ``place`` contains the device and the resources of the cell. If the GPUs are on other machines, Dask chooses the
    worker. The cell then requests a fraction of the Dask resource "GPU", which each worker declares.
    """
    elsewhere = bool(pool.gpus) and place.device != "cpu"
    how: dict[str, Any] = {"key": f"{folder.name}-{number}", "retries": 0}
    if elsewhere:
        how["resources"] = {"GPU": share_of(place.needs.gpu_memory, pool.gpus)}
    device = "cuda:0" if elsewhere else place.device
    if pool.shared:
        return pool.client.submit(run_cell, str(folder), number, device, **how)
    pool.remote_cells[folder.name] = number
    return pool.client.submit(run_remote, pack(folder), folder.name, number, device, **how)


def share_of(gpu_memory: float, gpus: Sequence[Gpu]) -> float:
    """Return the fraction of a GPU (0 to 1) that a cell with ``gpu_memory`` bytes requests from Dask.

    The fraction is ``gpu_memory`` divided by the memory of the smallest GPU. It is at most the largest fraction that a
    worker declares. It is rounded down: n cells that request 1/n then fit on one GPU.
    """
    least, most = min(gpu.memory for gpu in gpus), max(gpu.share for gpu in gpus)
    return min(math.floor(1e6 * gpu_memory / least) / 1e6, most)


def collect_result(pool: Pool, folder: Path, number: int, future: Any) -> None:
    """Write the files that a finished remote attempt returned into the folder of its cell."""
    if pool.remote_cells.pop(folder.name, None) != number or future.status != "finished" or not folder.exists():
        return
    try:
        news = future.result(timeout=ANSWER)
    except Exception as error:  # Dask raises various errors if the worker died
        log.warning("cell %s: the files of attempt %s did not arrive: %r", folder.name, number, error)
        return
    if is_same(folder, news):
        write_update(folder, news)


def poll_workers(pool: Pool, given: Mapping[str, int]) -> list[str]:
    """Exchange messages with the workers of remote attempts, without waiting for an answer.

    ``given`` maps each cell to the number of its active attempt. The message to the workers lists the attempts that
    continue and the attempts that must stop. Answers to an earlier message are written to disk. Returns the names of
    the cells whose process died.
    """
    dead: list[str] = []
    if pool.answers is not None and pool.answers.done():
        arrived, pool.answers = pool.answers, None
        with contextlib.suppress(OSError, TimeoutError):
            for updates in arrived.result().values():
                if isinstance(updates, dict):
                    dead += _take_updates(pool, given, updates)
    now = time.monotonic()
    if pool.answers is None and pool.remote_cells and now - pool.polled >= LOOK:
        pool.polled = now
        cells = pool.root / "cells"
        wanted = {
            name: poll_request(cells / name, number)
            for name, number in given.items()
            if pool.remote_cells.get(name) == number
        }
        asking = pool.client.run(
            exchange, wanted, workers=list(pool.workers), on_error="return", asynchronous=True, callback_timeout=ANSWER
        )
        loop: Any = pool.client.loop
        pool.answers = asyncio.run_coroutine_threadsafe(asking, loop.asyncio_loop)
    return dead


def _take_updates(pool: Pool, given: Mapping[str, int], updates: Mapping[str, Any]) -> list[str]:
    """Write the data that workers sent, and return the names of the cells whose earlier process died."""
    dead = []
    for name, news in updates.items():
        folder = pool.root / "cells" / name
        if given.get(name) != news.number or pool.remote_cells.get(name) != news.number or not folder.exists():
            continue
        if is_same(folder, news):
            write_update(folder, news)
        else:
            dead.append(name)
    return dead


def end_worker(pool: Pool, future: Any) -> None:
    """Restart the worker process that runs ``future``, if Dask supervises the process (with a nanny)."""
    with contextlib.suppress(OSError, TimeoutError, ValueError):
        holders = [worker for worker, keys in pool.client.processing().items() if future.key in keys]
        if holders:
            pool.client.restart_workers(holders, raise_for_error=False)
