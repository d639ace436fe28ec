"""Workers as jobs of Slurm or HTCondor: submitted, watched, and submitted again where they vanish."""

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
"""In the workspace: what jobs print, and the keys of the cluster while it is there."""
PATIENCE = 30.0
"""Seconds between two looks at the batch system while nothing changes: it serves others too."""
PLAIN = re.compile(r"[\w./+@,:=-]+")
"""Allowed characters of a path in a job script: dask-jobqueue does not quote paths in its shell commands."""
TRIES = 3
"""Jobs that may end one after the other before any worker of theirs is there."""
LISTED = {
    "slurm": ["squeue", "--me", "--noheader", "--format=%i", "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED"],
    "htcondor": [
        "condor_q", "-constraint", "JobStatus == 1 || JobStatus == 2 || JobStatus == 6 || JobStatus == 7",
        "-format", "%d.", "ClusterId", "-format", "%d\n", "ProcId",
    ],
}  # fmt: skip
"""How to list the jobs of this user that wait or run."""


@dataclass(eq=False)
class Upkeep:
    """A cluster of jobs: which of them had no worker when they were last listed, and how many never had one."""

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
    """A cluster whose workers are jobs, until the context ends and with it the jobs.

    All connections are encrypted with keys of this cluster. Raises ClusterError if the batch system takes no job, and
    for a path that a job script cannot contain.
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
        with contextlib.suppress(AssertionError):  # of jobs that were never taken
            cluster.close()


def make_cluster(settings: Slurm | HTCondor, root: Path) -> JobQueueCluster:
    """The cluster with its scheduler in this process, and no job yet."""
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
    """What dask-jobqueue is told of a job: one worker of one thread for every core, so that a cell is a process."""
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
    """Our settings of Dask's workers, as lines of a shell."""
    names = [name for name in CONFIG if name.startswith("distributed.worker.") and CONFIG[name] is False]
    return [f"export DASK_{name.upper().replace('.', '__')}=False" for name in names]


def _seconds(walltime: str) -> int:
    days, _, clock = walltime.rpartition("-")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def _submit(cluster: JobQueueCluster, settings: Jobs) -> None:
    """Submit the jobs. Raises ClusterError with what the batch system says where it takes none."""
    while len(cluster.worker_spec) < settings.jobs:
        cluster.worker_spec.update(cluster.new_worker_spec())
    try:
        cluster.sync(_settled, cluster)
    except (RuntimeError, OSError, ValueError) as error:
        raise ClusterError(_refusal(cluster, error)) from error


async def _settled(cluster: JobQueueCluster) -> None:
    """Wait until the jobs that should be there are submitted."""
    await cluster


def _refusal(cluster: Any, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        command = cluster.job_cls.submit_command
        return f"There is no {command} on this machine: run Isoplan where jobs are submitted."
    match = re.search(r"stderr:\s*(.+)", str(error))
    return f"The batch system took no job: {match[1].strip() if match else error}."


def _tend(upkeep: Upkeep, pool: Pool) -> str:
    """Take in workers as of any cluster, and submit the jobs again that are gone."""
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
        raise ClusterError(f"{TRIES} jobs ended before their workers were there: {upkeep.folder} has what they said.")
    if gone:
        log.warning("submitting %s again: %s gone", ", ".join(gone), ", ".join(jobs[name] for name in gone))
        try:
            cluster.sync(_submit_again, cluster, gone)
        except (RuntimeError, OSError, ValueError) as error:
            raise ClusterError(_refusal(cluster, error)) from error
    return note


def _vanished(upkeep: Upkeep, without: Mapping[str, str]) -> list[str]:
    """Those of the jobs ``without`` workers (their numbers by name) that the batch system does not list any more.

    It is asked when one has lost its workers, and then less and less often.
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
    """The numbers of this user's jobs that wait or run; None where the batch system does not say."""
    try:
        output = subprocess.run(LISTED[kind], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return set(output.split())


async def _submit_again(cluster: JobQueueCluster, names: list[str]) -> None:
    for name in names:
        await cluster.workers.pop(name).close()  # one that is held would stay for ever
    await cluster
