"""Workers as Slurm or HTCondor jobs. The jobs are submitted, monitored, and resubmitted if they disappear."""

from __future__ import annotations

import contextlib
import logging
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoplan.trainers.backend.cluster.machine import Machine
from isoplan.trainers.backend.cluster.pool import CONFIG, WAIT, ClusterError, Pool, temporary_security, update_workers
from isoplan.trainers.backend.cluster.settings import HTCondor, Jobs, Slurm

if TYPE_CHECKING:
    from dask_jobqueue.core import JobQueueCluster

log = logging.getLogger("isoplan.jobs")

FOLDER = "jobs"
"""Folder in the workspace for the output of the batch jobs and the temporary keys of the cluster."""
PATIENCE = 30.0
"""Maximum pause in seconds between two queries of the batch system.

The pause doubles after each query without a change. Long pauses reduce the load on the shared batch system.
"""
PLAIN = re.compile(r"[\w./+@,:=-]+")
"""Pattern of an allowed path in a job script. dask-jobqueue does not quote paths, so spaces are not allowed."""
TRIES = 3
"""The cluster counts as failed after this number of consecutive jobs that ended before a worker connected."""
LISTED = {
    "slurm": ["squeue", "--me", "--noheader", "--format=%i", "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED"],
    "htcondor": [
        "condor_q", "-constraint", "JobStatus == 1 || JobStatus == 2 || JobStatus == 6 || JobStatus == 7",
        "-format", "%d.", "ClusterId", "-format", "%d\n", "ProcId",
    ],
}  # fmt: skip
"""Commands that list the numbers of the waiting and running jobs of this user, for each batch system."""


@dataclass(eq=False)
class Upkeep:
    """State of a cluster of batch jobs that Isoplan maintains.

    ``without`` contains the numbers of the jobs without a connected worker at the last check. ``met`` contains the
    numbers of all jobs that had a connected worker at some time. ``failed`` counts the consecutive jobs that ended
    before a worker connected. ``asked`` is the time of the last query of the batch system, and ``pause`` the time until
    the next query, in seconds.
    """

    cluster: JobQueueCluster
    kind: str
    folder: Path
    without: frozenset[str] = frozenset()
    asked: float = 0.0
    pause: float = 1.0
    met: set[str] = field(default_factory=set)
    failed: int = 0


@contextlib.contextmanager
def open_jobs(settings: Slurm | HTCondor, root: Path) -> Iterator[Pool]:
    """Open a cluster whose workers are batch jobs. The jobs end at the end of the ``with`` block.

    All connections are encrypted with temporary keys of this cluster. Raises ClusterError if the batch system accepts
    no job, or if a path has a character that a job script cannot contain.
    """
    from distributed import Client

    for what, path in (("workspace", str(root)), ("Python", sys.executable)):
        if not PLAIN.fullmatch(path):
            raise ClusterError(
                f"The path of the {what} ({path}) has a character that a job script cannot contain: use only letters, "
                "digits and ./+@,:=-_."
            )

    with _made(settings, root) as cluster:
        _submit(cluster, settings)
        upkeep = Upkeep(cluster, settings.kind, root / FOLDER)
        with Client(cluster, timeout=WAIT, set_as_default=False) as client:
            name = "Slurm" if isinstance(settings, Slurm) else "HTCondor"
            text = f"{name}, {settings.jobs} {'job' if settings.jobs == 1 else 'jobs'}"
            yield Pool(client, text, Machine(0, 0.0), root, lambda pool: _tend(upkeep, pool))


@contextlib.contextmanager
def _made(settings: Slurm | HTCondor, root: Path) -> Iterator[JobQueueCluster]:
    cluster = make_cluster(settings, root)
    try:
        yield cluster
    finally:
        with contextlib.suppress(AssertionError):  # raised for jobs that were never submitted
            cluster.close()


def make_cluster(settings: Slurm | HTCondor, root: Path) -> JobQueueCluster:
    """Return a cluster of batch jobs. Its scheduler runs in this process. No job is submitted yet."""
    from dask_jobqueue.htcondor import HTCondorCluster
    from dask_jobqueue.slurm import SLURMCluster

    from isoplan.trainers.backend.cluster.dask_no_http import QuietScheduler

    folder = root / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    made: Any = SLURMCluster if isinstance(settings, Slurm) else HTCondorCluster
    return made(
        **job_options(settings, root),
        security=temporary_security(),
        shared_temp_directory=str(folder),
        scheduler_cls=QuietScheduler,
        scheduler_options={"dashboard": False, **({"interface": settings.interface} if settings.interface else {})},
        silence_logs=30,
    )


def job_options(settings: Slurm | HTCondor, root: Path) -> dict[str, Any]:
    """Return the options of dask-jobqueue.

    A job has one single-threaded worker per core. Each cell (training run) therefore has its own process.
    """
    options: dict[str, Any] = {
        "cores": settings.cores,
        "processes": settings.cores,
        "memory": settings.memory,
        "interface": settings.interface,
        "python": f"{sys.executable} -P",
        "job_name": "isoplan",
        "log_directory": str(root / FOLDER),
        "job_script_prologue": [*_exports(), *settings.prologue],
        "worker_extra_args": [
            *("--worker-class", "isoplan.trainers.backend.cluster.dask_no_http.QuietWorker", "--no-dashboard"),
            *(("--resources", f"GPU={1 / settings.cores:.6f}") if settings.gpu else ()),
        ],
    }
    if isinstance(settings, Slurm):
        return options | {
            "walltime": settings.walltime,
            "queue": settings.queue,
            "account": settings.account,
            "job_extra_directives": list(settings.extra),
        }
    lines = {"allowed_job_duration": str(_seconds(settings.walltime))}
    if settings.account:
        lines["accounting_group"] = settings.account
    return options | {"disk": settings.disk, "job_extra_directives": lines | settings.extra}


def _exports() -> list[str]:
    """Return shell lines for a job script. They disable the worker options of Dask that are False in ``CONFIG``."""
    names = [name for name in CONFIG if name.startswith("distributed.worker.") and CONFIG[name] is False]
    return [f"export DASK_{name.upper().replace('.', '__')}=False" for name in names]


def _seconds(walltime: str) -> int:
    days, _, clock = walltime.rpartition("-")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def _submit(cluster: JobQueueCluster, settings: Jobs) -> None:
    """Submit ``settings.jobs`` jobs. Raises ClusterError with the batch system's message if no job is accepted."""
    while len(cluster.worker_spec) < settings.jobs:
        cluster.worker_spec.update(cluster.new_worker_spec())
    try:
        cluster.sync(_settled, cluster)
    except (RuntimeError, OSError, ValueError) as error:
        raise ClusterError(_refusal(cluster, error)) from error


async def _settled(cluster: JobQueueCluster) -> None:
    """Wait until all requested jobs are submitted."""
    await cluster


def _refusal(cluster: Any, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        command = cluster.job_cls.submit_command
        return f"This machine has no command {command}: run Isoplan on a machine that can submit jobs."
    match = re.search(r"stderr:\s*(.+)", str(error))
    return f"The batch system did not accept the job: {match[1].strip() if match else error}."


def _tend(upkeep: Upkeep, pool: Pool) -> str:
    """Update the workers of the pool and resubmit jobs that disappeared. Returns a message for users, or "".

    Raises ClusterError if ``TRIES`` consecutive jobs ended before a worker connected, or if the batch system accepts no
    job.
    """
    note = update_workers(pool)
    cluster = upkeep.cluster
    there = {str(said["name"]) for said in cluster.scheduler_info["workers"].values()}
    jobs = {name: str(job.job_id) for name, job in list(cluster.workers.items())}
    working = {name for name in jobs if any(one == name or one.startswith(f"{name}-") for one in there)}
    upkeep.met |= {jobs[name] for name in working}
    gone = _vanished(upkeep, {name: job for name, job in jobs.items() if name not in working})
    for name in gone:
        upkeep.failed = 0 if jobs[name] in upkeep.met else upkeep.failed + 1
    if upkeep.failed >= TRIES:
        raise ClusterError(f"{TRIES} jobs ended before their workers connected: read their output in {upkeep.folder}.")
    if gone:
        log.warning(
            "submitting %s again, because the batch system no longer lists %s",
            ", ".join(gone),
            ", ".join(jobs[name] for name in gone),
        )
        try:
            cluster.sync(_submit_again, cluster, gone)
        except (RuntimeError, OSError, ValueError) as error:
            raise ClusterError(_refusal(cluster, error)) from error
    return note


def _vanished(upkeep: Upkeep, without: Mapping[str, str]) -> list[str]:
    """Return the Dask names of the jobs that the batch system no longer lists.

    ``without`` contains, by Dask name, the batch system's number of each job without a worker. The batch system is
    queried one second after a job has lost its workers, then at increasing intervals.
    """
    now = time.monotonic()
    if frozenset(without.values()) != upkeep.without:
        upkeep.without, upkeep.pause, upkeep.asked = frozenset(without.values()), 1.0, now
    if not without or now - upkeep.asked < upkeep.pause:
        return []
    upkeep.asked, upkeep.pause = now, min(2 * upkeep.pause, PATIENCE)
    listed = _listed(upkeep.kind)
    return [] if listed is None else [name for name, job in without.items() if job not in listed]


def _listed(kind: str) -> set[str] | None:
    """Return the numbers of this user's waiting and running jobs, or None if the batch system does not answer."""
    try:
        output = subprocess.run(LISTED[kind], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return set(output.split())


async def _submit_again(cluster: JobQueueCluster, names: list[str]) -> None:
    for name in names:
        await cluster.workers.pop(name).close()  # this also cancels a job on hold
    await cluster
