"""Workers of a cluster: their encryption keys, the check of new workers, and the list of connected workers."""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.machine import Machine, this_machine
from isoplan.trainers.backend.store.files import TEMPORARY
from isoplan.trainers.backend.store.record import CELLS

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

PACKAGES = ("isoplan", "python", "dask", "distributed", "cloudpickle", "msgpack", "numpy")
"""Packages whose versions must agree between this process and the workers.

Versions of other packages do not change the result of a training run.
"""
THREADS = "start dask worker with --nthreads 1 and --nworkers equal to the number of cores"
WAIT = 20.0
"""Timeout in seconds for an answer of the scheduler, and of new workers during their check."""


@dataclass(frozen=True)
class WorkerInfo:
    """Report of a worker: whether it can read the workspace (``sees``), and the memory of each of its GPUs in bytes."""

    sees: bool
    gpus: tuple[float, ...] = ()


def check_workers(client: Client, workers: Mapping[str, Any], root: Path) -> tuple[dict[str, WorkerInfo], str]:
    """Check the package versions and the number of threads of ``workers``.

    ``workers`` maps the address of each worker to its description by the scheduler. Returns (reports by address, "") if
    all workers can train cells. Otherwise, returns ({}, sentence). The sentence gives the reason: a worker has other
    versions, cannot import Isoplan, or has several threads in one process. Raises OSError or TimeoutError if the
    scheduler does not respond.
    """
    ours, scheduler, theirs = _versions(client, workers)
    wrong = describe_conflict(ours, {"The scheduler": scheduler}, ("python", "dask", "distributed"))
    wrong = wrong or describe_conflict(ours, {f"The worker {a}": said for a, said in theirs.items()}, PACKAGES)
    wrong = wrong or _threads(workers)
    if wrong:
        return {}, wrong
    with _probe(root) as (place, content):
        how: dict[str, Any] = {"workers": list(workers), "on_error": "return", "callback_timeout": WAIT}
        answers = client.run(describe_worker, str(place), content, **how)
    for address, answer in answers.items():
        if isinstance(answer, ImportError):
            return {}, f"The worker {address} cannot import Isoplan: install the version of this machine on the worker."
    return {address: answer for address, answer in answers.items() if isinstance(answer, WorkerInfo)}, ""


def _versions(client: Client, workers: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return the package versions of this process, of the scheduler, and of each of the ``workers``.

    In contrast to ``Client.get_versions`` of Dask, this function has a timeout.
    """
    from distributed.versions import get_versions

    packages = ["isoplan"]
    rpc: Any = client.scheduler
    scheduler = client.sync(rpc.versions, packages=packages, callback_timeout=WAIT)
    request = {"msg": {"op": "versions", "packages": packages}, "workers": list(workers), "on_error": "ignore"}
    return get_versions(packages), scheduler, client.sync(rpc.broadcast, **request, callback_timeout=WAIT)


def describe_worker(place: str, content: str) -> WorkerInfo:
    """Return the report of the worker on which this function runs.

    The worker can read the workspace if the file ``place`` has the ``content`` that the runner has written.
    """
    try:
        sees = Path(place).read_text() == content
    except (OSError, UnicodeDecodeError):
        sees = False
    return WorkerInfo(sees, this_machine().gpus)


def describe_conflict(ours: Mapping[str, Any], theirs: Mapping[str, Mapping[str, Any]], names: tuple[str, ...]) -> str:
    """Return a sentence about the first package whose version differs, or "" if all versions agree.

    ``ours`` contains the versions of this process. ``theirs`` maps the names of other processes to their versions.
    ``names`` are the packages to compare. For Python only the first two numbers of the version are compared.
    """
    for who, said in theirs.items():
        for name in names:
            here, there = (_version(one, name) for one in (ours, said))
            if here != there:
                has = f"{name} {there}" if there else f"no {name}"
                return f"{who} has {has} and this machine has {here}: install the same version on both."
    return ""


def _version(said: Mapping[str, Any], name: str) -> str:
    version = str(said["packages"].get(name) or "")
    return ".".join(version.split(".")[:2]) if name == "python" else version


def _threads(workers: Mapping[str, Any]) -> str:
    for address, said in workers.items():
        if said["nthreads"] != 1:
            return f"The worker {address} has {said['nthreads']} threads, but a cell needs its own process: {THREADS}."
    return ""


@contextlib.contextmanager
def _probe(root: Path) -> Iterator[tuple[Path, str]]:
    place, content = root / CELLS / f"{TEMPORARY}probe-{secrets.token_hex(8)}", secrets.token_hex(32)
    place.write_text(content)
    try:
        yield place, content
    finally:
        place.unlink(missing_ok=True)


LOOK = 1.0
"""Seconds between two updates of the list of workers, and between two exchanges of messages about remote cells."""
ANSWER = 30.0
"""Timeout in seconds for the answers of the scheduler and of the workers to the regular messages (see ``LOOK``)."""
CONFIG = {
    "distributed.scheduler.allowed-failures": 0,  # no retries by Dask: the queue counts attempts itself
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.target": False,
    "distributed.admin.tick.limit": "60s",
    "distributed.admin.large-graph-warning-threshold": "1TB",  # a task may contain a large checkpoint
    "distributed.worker.daemon": False,  # a cell may start child processes
    "distributed.worker.preload": [],
    "distributed.comm.timeouts.connect": f"{WAIT:g}s",
    "distributed.deploy.lost-worker-timeout": "10000 hours",  # otherwise Dask drops workers that reconnect slowly
    "logging.distributed": "warning",
}


class ClusterError(PlannerError):
    """The cluster does not answer or cannot be used at present. Cells wait, and the runner tries to connect again."""


@dataclass(frozen=True)
class Gpu:
    """A GPU of a remote worker: its ``memory`` in bytes, and the fraction (0 to 1) that the worker may use."""

    memory: float
    share: float


@dataclass(eq=False)
class Pool:
    """A Dask client, its workers and their resources.

    ``text`` describes the cluster for users. ``shared`` is true if the workers can read the folder of the workspace;
    otherwise ``remote_cells`` contains the attempt number of each submitted cell. ``refresh_workers`` adds new workers
    and removes lost ones; it returns a message for users, or raises ClusterError.
    """

    client: Client
    text: str
    machine: Machine
    root: Path
    refresh_workers: Callable[[Pool], str]
    shared: bool = True
    workers: dict[str, WorkerInfo] = field(default_factory=dict)
    gpus: tuple[Gpu, ...] = ()
    remote_cells: dict[str, int] = field(default_factory=dict)
    answers: Future[dict[str, Any]] | None = None
    looked: float = -math.inf
    polled: float = -math.inf


def update_workers(pool: Pool) -> str:
    """Update the workers of the pool and their resources. Returns a message if there are no workers, otherwise "".

    Raises ClusterError if the scheduler is gone or if workers cannot run cells.
    """
    if pool.client.status != "running":
        raise ClusterError(f"The scheduler {pool.text} is not reachable: its cells continue when it is back.")
    now = time.monotonic()
    if now - pool.looked >= LOOK:
        pool.looked = now
        try:
            rpc: Any = pool.client.scheduler
            workers = pool.client.sync(rpc.identity, n_workers=-1, callback_timeout=ANSWER)["workers"]
            new = {address: worker for address, worker in workers.items() if address not in pool.workers}
            accepted, wrong = check_workers(pool.client, new, pool.root) if new else ({}, "")
        except (OSError, TimeoutError) as error:
            raise ClusterError(
                f"The scheduler {pool.text} does not answer any more: check it; its cells wait until it answers."
            ) from error
        if wrong:
            raise ClusterError(wrong)
        pool.workers = {address: info for address, info in (pool.workers | accepted).items() if address in workers}
        pool.shared = all(info.sees for info in pool.workers.values())
        there = {address: workers[address] for address in pool.workers}
        pool.gpus = _gpus(there, pool.workers)
        pool.machine = _measure(there, pool.gpus)
    return "" if pool.workers else f"waiting for workers of {pool.text}"


def _measure(workers: Mapping[str, Any], gpus: Sequence[Gpu]) -> Machine:
    """Return the total resources of all workers.

    Each worker runs one cell at a time, so it counts as one core. The memory of a GPU is multiplied by the fraction
    that its worker may use.
    """
    memory = [float(said.get("memory_limit") or 0) for said in workers.values()]
    return Machine(len(workers), sum(memory) if all(memory) else 0.0, tuple(gpu.memory * gpu.share for gpu in gpus))


def _gpus(workers: Mapping[str, Any], known: Mapping[str, WorkerInfo]) -> tuple[Gpu, ...]:
    """Return the GPUs that the workers declare as the Dask resource GPU.

    ``known`` are the reports of the workers. If a report contains no GPU memory, the memory counts as infinite.
    """
    shares = {a: min(float((said.get("resources") or {}).get("GPU", 0)), 1.0) for a, said in workers.items()}
    return tuple(Gpu(max(known[a].gpus, default=math.inf), share) for a, share in shares.items() if share > 0)


FROM, UNTIL = datetime(2000, 1, 1), datetime(2999, 1, 1)
"""Dates between which the certificate of a cluster is valid.

The key is deleted when the cluster ends, so a short validity would add no protection. A fixed early start date has an
advantage: workers whose clocks are slow also accept the certificate.
"""


def temporary_security() -> Security:
    """Return TLS settings with a new key and certificate for one cluster.

    The key and the certificate are never written to disk. In contrast to ``Security.temporary`` of Dask, the validity
    dates are fixed.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
    from distributed.security import Security

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "isoplan-internal")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("isoplan-internal")]), critical=False)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(FROM)
        .not_valid_after(UNTIL)
        .sign(key, hashes.SHA256())
    )
    shown = certificate.public_bytes(serialization.Encoding.PEM).decode()
    kept = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    roles = ("client", "scheduler", "worker")
    keys, certificates = {f"tls_{r}_key": kept for r in roles}, {f"tls_{r}_cert": shown for r in roles}
    return Security(require_encryption=True, tls_ca_file=shown, **keys, **certificates)
