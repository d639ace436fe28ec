"""A Slurm installation for tests: all daemons on this machine, with their files in one folder."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests import progress
from tests.conftest import skip_or_fail
from tests.trainers.backend.clusters import free_port

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")
CONF = """
ClusterName=isoplan
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ReturnToService=2
KillWait=2
MinJobAge=10
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=2000 State=UNKNOWN
PartitionName=short Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Run Slurm in ``folder`` and yield the environment variables that its commands need."""
    paths = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin"))
    missing = [name for name in DAEMONS if shutil.which(name, path=paths) is None]
    if missing:
        skip_or_fail("slurm", f"no {missing[0]} on this machine: run `make slurm`")
    user = pwd.getpwuid(os.geteuid()).pw_name
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    conf = folder / "slurm.conf"
    ports = {"controller": free_port(), "daemon": free_port()}
    conf.write_text(CONF.format(folder=folder, user=user, host=socket.gethostname().partition(".")[0], **ports))
    names = {name: str(folder / f"munge.{name}") for name in ("socket", "pid", "log", "seed")}
    munge = [f"--{what}={names[name]}" for what, name in (("socket", "socket"), ("pid-file", "pid"))]
    munge += [f"--log-file={names['log']}", f"--seed-file={names['seed']}", f"--key-file={key}"]
    env = {**os.environ, "SLURM_CONF": str(conf), "PATH": paths}
    with ExitStack() as stack:
        stack.enter_context(_daemon(["munged", "--foreground", "--force", *munge], env))
        _until(lambda: Path(names["socket"]).exists(), "munged does not start")
        stack.enter_context(_daemon(["slurmctld", "-D", "-i", "-f", str(conf)], env))
        stack.enter_context(_daemon(["slurmd", "-D", "-f", str(conf)], env))
        _until(lambda: "idle" in _said(["sinfo", "-h", "-o", "%T"], env), (folder / "slurmctld.log").as_posix())
        yield {"SLURM_CONF": str(conf)}
        subprocess.run(["scancel", f"--user={user}", "--signal=KILL"], env=env, check=False)
        _until(lambda: not _said(["squeue", "-h"], env), "jobs are left")


@contextmanager
def _daemon(command: list[str], env: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            progress.end(process)
        finally:
            process.kill()
            process.wait()


def _said(command: list[str], env: dict[str, str]) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False).stdout.strip()


def _until(done: Callable[[], bool], why: str) -> None:
    progress.wait(done, why=lambda: why, pause=0.1)
