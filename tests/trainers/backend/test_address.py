"""Training runs on the workers of a Dask scheduler that was started outside Isoplan."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from importlib.metadata import version
from pathlib import Path

import psutil
import pytest

from isoplan.trainers.backend.cluster import clusters
from isoplan.trainers.backend.cluster.clusters import connected, open_pool, security_of
from isoplan.trainers.backend.cluster.pool import ClusterError
from isoplan.trainers.backend.cluster.settings import Address
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import Record
from tests import progress
from tests.trainers.backend.clusters import certificates, free_port, scheduler, workers
from tests.trainers.conftest import ROOT, add, running, start, wait_for

GRID = [{"size": n, "steps": s} for n in (1, 2, 3) for s in (3, 4, 5)]
ISOLATED = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]


def all_done(cells: dict[str, Record]) -> bool:
    return all(record.state == "done" for record in cells.values())


def write(root: Path, address: str, files: dict[str, Path] | None = None) -> None:
    """Write a cluster.toml for the scheduler at ``address``."""
    lines = ['kind = "address"', f'scheduler = "{address}"', *(f'{k} = "{v}"' for k, v in (files or {}).items())]
    (root / "cluster.toml").write_text("\n".join(lines))


def message(root: Path) -> str:
    """Return the message of the runner."""
    try:
        return str(json.loads((root / "cells" / "runner.json").read_text())["message"])
    except (OSError, ValueError):
        return ""


def heard(root: Path, words: str) -> str:
    """Wait until the message of the runner contains ``words``, and return the message."""
    return progress.wait(lambda: found if words in (found := message(root)) else "", root, why=lambda: message(root))


def test_a_grid_runs_over_tls_and_a_client_without_certificate_is_refused(root: Path, tmp_path: Path) -> None:
    files = certificates(tmp_path / "keys")
    names = add(root, *GRID)
    with scheduler(tmp_path / "dask", free_port(), files) as address, workers(tmp_path / "dask", address, files):
        write(root, address, files)
        with running(root, cores=None, idle=1) as runner:
            cells = wait_for(all_done, root)
            progress.end(runner, root)
        with pytest.raises(ClusterError, match="requires certificates: set ca, cert and key to your files"):
            security_of(Address(scheduler=address))
        other = Address(scheduler=address, **certificates(tmp_path / "other"))  # type: ignore[arg-type]
        with pytest.raises(ClusterError, match="does not answer: start it"), connected(address, security_of(other)):
            pass
    assert [cells[name].number for name in names] == [1] * 9
    measured = [cells[name].results[1]["metrics"]["sum"] for name in names]
    assert measured == pytest.approx([sum(1 / k**2 for k in range(1, c["steps"] + 1)) for c in GRID])
    assert "INFO" not in (root / "runner.log").read_text().replace("isoplan", "")


def test_a_scheduler_that_goes_away_costs_no_cell(root: Path, tmp_path: Path) -> None:
    names = add(root, *({"size": n, "steps": 25, "wait": 0.1} for n in range(4)))
    port = free_port()
    with scheduler(tmp_path / "dask", port) as address, workers(tmp_path / "dask", address):
        runner = start(root, cores=None, idle=2, more=("--scheduler", address))
        wait_for(lambda cells: any((root / "cells" / n / "checkpoint").exists() for n in names), root)
    try:
        said = heard(root, "is not reachable")
        assert (
            said
            == f"The scheduler {address} is not reachable: its cells continue when it is back. Trying again every 5 s."
        )
        with scheduler(tmp_path / "dask", port) as address, workers(tmp_path / "dask", address):
            cells = wait_for(all_done, root)
            progress.end(runner, root)
    finally:
        runner.kill()
        runner.wait()
    assert [cells[name].deaths for name in names] == [0] * 4
    assert all(len([r for r in cells[name].results.values() if r["state"] == "done"]) == 1 for name in names)


def test_a_scheduler_that_does_not_answer_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "WAIT", 1.0)
    address = f"tcp://127.0.0.1:{free_port()}"
    said = f"The scheduler {address} does not answer: start it, or check its address and certificates."
    with pytest.raises(ClusterError, match=re.escape(said)), open_pool(Address(scheduler=address), root):
        pass


def test_a_scheduler_that_hangs_is_given_up(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoplan.trainers.backend.cluster.pool.ANSWER", 1.0)
    with scheduler(tmp_path / "dask", port := free_port()) as address:
        (hanging,) = [p for p in psutil.process_iter(["cmdline"]) if str(port) in (p.info["cmdline"] or [])]
        with open_pool(Address(scheduler=address), root) as pool:
            assert pool.refresh_workers(pool)
            hanging.suspend()
            pool.looked = 0.0
            try:
                with pytest.raises(
                    ClusterError, match=f"The scheduler {address} does not answer any more: check it; its cells"
                ):
                    pool.refresh_workers(pool)
            finally:
                hanging.resume()


def test_workers_of_several_threads_are_refused(root: Path, tmp_path: Path) -> None:
    (name,) = add(root, {})
    with scheduler(tmp_path / "dask", free_port()) as address:
        write(root, address)
        with workers(tmp_path / "dask", address, None, "--nthreads", "2"), running(root, cores=None):
            said = heard(root, "threads")
            assert "has 2 threads, but a cell needs its own process: start dask worker with --nthreads 1" in said
            assert not (root / "cells" / name / "lease.json").exists()


def test_workers_of_another_version_get_no_cell(root: Path, tmp_path: Path) -> None:
    (name,) = add(root, {})
    other = tmp_path / "other" / "isoplan-99.0.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: isoplan\nVersion: 99.0\n")
    newer = ["env", f"PYTHONPATH={other.parent}:{ROOT}"]
    with scheduler(tmp_path / "dask", free_port()) as address:
        write(root, address)
        with workers(tmp_path / "dask", address, before=newer), running(root, cores=None):
            said = heard(root, "99.0")
            assert (
                f"has isoplan 99.0 and this machine has {version('isoplan')}: install the same version on both. "
                f"Trying again" in said
            )
            assert not (root / "cells" / name / "lease.json").exists()


@pytest.fixture
def hiding(root: Path) -> list[str]:
    """Return the start of a command that hides the workspace ``root`` from a process.

    The process sees an empty folder. Other processes still see the workspace.
    """
    if shutil.which("unshare") is None or subprocess.run([*ISOLATED, "true"], check=False).returncode:
        pytest.skip("only root, on Linux, can hide a folder from a process")
    return [*ISOLATED, f'mount -t tmpfs none {root} && cd / && exec "$@"', "sh"]


def test_cells_travel_where_the_workspace_is_not_seen(root: Path, tmp_path: Path, hiding: list[str]) -> None:
    names = add(root, *GRID[:2], {"size": 7, "steps": 40, "wait": 0.1}, {"size": 8, "steps": 400, "wait": 0.1})
    slow, endless = names[2:]
    with scheduler(tmp_path / "dask", free_port()) as address:
        write(root, address)
        with (
            workers(tmp_path / "dask", address, before=hiding),
            running(root, cores=None, idle=1) as runner,
        ):
            folders = {name: root / "cells" / name for name in names}
            events = folders[slow] / "events-1.jsonl"
            wait_for(lambda cells: (folders[slow] / "checkpoint").exists() and events.exists(), root)
            early = events.read_text().splitlines()
            assert 0 < len(early) < 40
            assert not (folders[slow] / "result-1.json").exists()
            _kill_holder(folders[slow])
            wait_for(lambda cells: (folders[endless] / "checkpoint").exists(), root)
            Queue(root).cancel([endless])
            cells = wait_for(lambda c: all(c[n].state == "done" for n in names[:3]), root)
            cells = wait_for(lambda c: c[endless].state == "cancelled", root)
            progress.end(runner, root)
    assert [cells[name].number for name in names[:2]] == [1, 1]
    result = cells[slow].result
    assert result is not None
    assert result["number"] == 2
    assert result["metrics"]["sum"] == pytest.approx(sum(1 / k**2 for k in range(1, 41)), rel=1e-12)
    assert result["metrics"]["steps run"] < 40
    steps = [json.loads(line)["step"] for line in (folders[slow] / "events-2.jsonl").read_text().splitlines()]
    assert steps == list(range(40 - int(result["metrics"]["steps run"]) + 1, 41))
    assert not (folders[slow] / "checkpoint").exists()
    stopped = cells[endless].result
    assert stopped is not None
    assert (stopped["state"], stopped["why"]) == ("stopped", "cancel")
    assert (folders[endless] / "checkpoint").exists()


def test_a_killed_runner_leaves_no_cell_behind_on_workers_far_away(
    root: Path, tmp_path: Path, hiding: list[str]
) -> None:
    (name,) = add(root, {"size": 7, "steps": 60, "wait": 0.1})
    folder = root / "cells" / name
    with scheduler(tmp_path / "dask", free_port()) as address, workers(tmp_path / "dask", address, before=hiding):
        write(root, address)
        with running(root, cores=None):
            wait_for(lambda cells: (folder / "checkpoint").exists(), root)
            first = psutil.Process(int((folder / "beat-1").read_text().split()[1]))
        with running(root, cores=None, idle=1) as runner:
            cells = wait_for(all_done, root)
            progress.end(runner, root)
        progress.wait(lambda: not _trains(first), root)
    assert [cells[name].number, cells[name].deaths] == [2, 0]
    assert cells[name].results[2]["metrics"]["steps run"] < 60


def _trains(worker: psutil.Process) -> bool:
    """Return whether a worker still runs a training program.

    A worker stays alive if its attempt ended before the stop order.
    """
    try:
        return progress.lives(worker) and bool(worker.children())
    except psutil.Error:
        return False


def _kill_holder(folder: Path) -> None:
    """Kill the worker process that runs attempt 1 of the cell in ``folder``."""
    os.kill(int((folder / "beat-1").read_text().split()[1]), signal.SIGKILL)


def test_a_scheduler_without_workers_is_waited_for(root: Path, tmp_path: Path) -> None:
    with scheduler(tmp_path / "dask", free_port()) as address, open_pool(Address(scheduler=address), root) as pool:
        assert pool.refresh_workers(pool) == f"waiting for workers of {address}"
        assert pool.machine.cores == 0
