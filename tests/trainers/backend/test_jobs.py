"""Workers as jobs of a batch system: a real Slurm, and the job files for HTCondor."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isoplan.trainers.backend.cluster.batch_jobs import FOLDER, make_cluster
from isoplan.trainers.backend.cluster.clusters import open_pool
from isoplan.trainers.backend.cluster.pool import ClusterError, Pool
from isoplan.trainers.backend.cluster.settings import HTCondor, Slurm
from isoplan.trainers.backend.store.record import Record
from tests import progress
from tests.trainers.backend.slurm import slurm
from tests.trainers.conftest import add, running, wait_for

GOLDEN = Path(__file__).with_name("htcondor.golden")
GRID = [{"size": n, "steps": s} for n in (1, 2, 3) for s in (3, 4, 5)]
CLUSTER = """
kind = "slurm"
cores = 2
memory = "200 MB"
walltime = "00:10:00"
queue = "short"
jobs = 1
interface = "lo"
"""


@pytest.fixture(scope="module")
def slurm_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Run a Slurm installation on this machine and yield the environment variables that its commands need."""
    with slurm(tmp_path_factory.mktemp("slurm")) as env:
        yield env


def listed(*columns: str) -> list[list[str]]:
    """Return the given columns of all jobs of this user."""
    said = subprocess.run(["squeue", "-h", "-o", " ".join(columns)], capture_output=True, text=True, check=True)
    return [line.split() for line in said.stdout.splitlines()]


def test_a_grid_runs_and_a_cancelled_job_is_replaced(
    root: Path, slurm_here: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in slurm_here.items():
        monkeypatch.setenv(name, value)
    (root / "cluster.toml").write_text(CLUSTER)
    names = add(root, *GRID, {"size": 9, "steps": 120, "wait": 0.1})
    slow = root / "cells" / names[-1]
    with running(root, cores=None, idle=1) as runner:
        wait_for(lambda cells: all(cells[n].state == "done" for n in names[:9]), root)
        wait_for(lambda cells: (slow / "checkpoint").exists(), root)
        ((job, name, state),) = listed("%i", "%j", "%T")
        assert (name, state) == ("isoplan", "RUNNING")
        keys = list((root / FOLDER).glob(".dask-jobqueue*key*"))
        assert [one.stat().st_mode & 0o777 for one in keys] == [0o600]
        steps = json.loads((slow / "checkpoint").read_text())[0]
        subprocess.run(["scancel", job], check=True)
        wait_for(lambda cells: begun_again(slow, cells[names[-1]].number), root)
        assert [one for (one,) in listed("%i")] == [str(int(job) + 1)]
        cells = wait_for(done, root)
        progress.end(runner, root)
    assert [cells[one].number for one in names[:9]] == [1] * 9
    result = cells[names[-1]].result
    assert result is not None
    assert result["metrics"]["sum"] == pytest.approx(sum(1 / k**2 for k in range(1, 121)), rel=1e-12)
    assert result["metrics"]["steps run"] <= 120 - steps
    assert cells[names[-1]].results[1]["why"] == "its process died"
    progress.wait(lambda: not listed("%i"), why=lambda: "The jobs did not end with the runner.", pause=0.2)
    assert not list((root / FOLDER).glob(".dask-jobqueue*"))


def begun_again(folder: Path, number: int) -> bool:
    """Return whether the attempt ``number`` has begun and is not the first.

    It can be the third attempt. The scheduler may give the second attempt to the worker of the cancelled job, and this
    worker can end before the attempt begins.
    """
    return number > 1 and (folder / f"beat-{number}").exists()


def done(cells: dict[str, Record]) -> bool:
    return all(record.state == "done" for record in cells.values())


def test_what_slurm_refuses_is_said(root: Path, slurm_here: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in slurm_here.items():
        monkeypatch.setenv(name, value)
    settings = Slurm(cores=1, memory="100 MB", queue="nowhere")
    with (
        pytest.raises(ClusterError, match=r"The batch system did not accept the job: .*invalid partition"),
        open_pool(settings, root),
    ):
        pass


def tended(pool: Pool, note: str) -> None:
    """Refresh the workers of ``pool`` until the message of the pool differs from ``note``."""
    progress.wait(lambda: pool.refresh_workers(pool) != note, pause=0.2)


def test_jobs_that_end_without_a_worker_are_not_submitted_for_ever(
    root: Path, slurm_here: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in slurm_here.items():
        monkeypatch.setenv(name, value)
    settings = Slurm(cores=1, memory="100 MB", interface="lo", prologue=("echo no such module; exit 1",))
    said = f"3 jobs ended before their workers connected: read their output in {root / FOLDER}."
    with pytest.raises(ClusterError, match=re.escape(said)), open_pool(settings, root) as pool:
        tended(pool, "waiting for workers of Slurm, 1 job")
    assert len([log for log in (root / FOLDER).glob("*.out") if "no such module" in log.read_text()]) == 3


def test_a_machine_without_slurm_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root))
    said = "This machine has no command sbatch: run Isoplan on a machine that can submit jobs"
    with pytest.raises(ClusterError, match=said), open_pool(Slurm(cores=1, memory="100 MB"), root):
        pass


def test_the_submit_file_of_htcondor(root: Path) -> None:
    settings = HTCondor(
        cores=4,
        memory="8 GB",
        walltime="1-02:00:00",
        account="group_physics.jets",
        disk="2 GB",
        jobs=3,
        gpu=True,
        extra={"request_gpus": "1", "+JobFlavour": '"tomorrow"'},
        prologue=("module load python",),
    )
    cluster: Any = make_cluster(settings, root)
    try:
        script = cluster.job_script()
        address = cluster.scheduler_address
    finally:
        cluster.close()
    for word, name in ((sys.executable, "PYTHON"), (str(root), "ROOT"), (address, "tls://HOST:PORT")):
        script = script.replace(word, name)
    script = re.sub(r"(\.dask-jobqueue\.worker\.\w+\.)\w+", r"\1KEY", script)
    assert script == GOLDEN.read_text()


@pytest.mark.parametrize("name", ["with space", "it's", '"quoted"', "$(touch x)", "a;b", "`x`"])
def test_a_workspace_whose_path_a_job_script_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    root.mkdir()
    asked = Slurm(kind="slurm", cores=1, memory="1 GB")
    with pytest.raises(ClusterError, match="has a character that a job script cannot contain"), open_pool(asked, root):
        pass
    assert list(root.iterdir()) == []
