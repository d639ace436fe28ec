"""Tests that need no cluster: requirements on workers, GPUs and memory of cells, and the transfer of cells."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.trainers.backend.cluster import machine as machines
from isoplan.trainers.backend.cluster import pool
from isoplan.trainers.backend.cluster.clusters import share_of
from isoplan.trainers.backend.cluster.machine import Machine, Place, fits, usable_memory, visible_gpus
from isoplan.trainers.backend.cluster.pool import (
    PACKAGES,
    Gpu,
    WorkerInfo,
    _gpus,
    _measure,
    check_workers,
    describe_conflict,
)
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.worker import remote_cells
from isoplan.trainers.backend.worker.remote_cells import (
    RemoteUpdate,
    Wanted,
    is_same,
    pack,
    poll_request,
    write_update,
)
from isoplan.trainers.cell import Resources
from isoplan.trainers.command.process import _gpu
from tests.trainers.conftest import add, running, wait_for

GB = 1e9


def versions(**other: str) -> dict[str, Any]:
    """Return the package versions of a process in Dask's format."""
    return {"packages": dict.fromkeys(PACKAGES, "1.2.3") | {"python": "3.11.7.final.0"} | other}


def test_versions_that_differ_are_both_named() -> None:
    ours = versions()
    assert describe_conflict(ours, {"The worker a": versions(python="3.11.2.final.0")}, PACKAGES) == ""
    assert describe_conflict(ours, {"The worker a": ours, "The worker b": versions(isoplan="1.3.0")}, PACKAGES) == (
        "The worker b has isoplan 1.3.0 and this machine has 1.2.3: install the same version on both."
    )
    assert describe_conflict(ours, {"The scheduler": versions(python="3.12.1.final.0")}, PACKAGES) == (
        "The scheduler has python 3.12 and this machine has 3.11: install the same version on both."
    )
    assert describe_conflict(ours, {"The worker a": {"packages": {}}}, PACKAGES) == (
        "The worker a has no isoplan and this machine has 1.2.3: install the same version on both."
    )


class Bare:
    """A Dask client whose only worker has no Isoplan installed."""

    def run(self, function: object, *args: object, **how: object) -> dict[str, Exception]:
        return {"tls://far:1": ModuleNotFoundError("No module named 'trainers'")}


def test_a_worker_without_isoplan_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_versions", lambda client, workers: (versions(), versions(), {}))
    (root / "cells").mkdir()
    said = "The worker tls://far:1 cannot import Isoplan: install the version of this machine on the worker."
    assert check_workers(Bare(), {"tls://far:1": {"nthreads": 1}}, root) == ({}, said)  # type: ignore[arg-type]
    assert not list((root / "cells").iterdir())


def test_the_gpus_that_a_process_may_use() -> None:
    listed = "0, GPU-aa11, 24576\n1, GPU-bb22, 81920\n2, GPU-cc33, [N/A]\n"
    a, b = 24576 * 2.0**20, 81920 * 2.0**20
    assert visible_gpus(listed, None) == (a, b)
    assert visible_gpus(listed, "1") == (b,)
    assert visible_gpus(listed, "GPU-bb,0") == (b, a)
    assert visible_gpus(listed, "") == visible_gpus(listed, "-1") == visible_gpus("", None) == ()


def test_a_program_sees_its_gpu_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert _gpu("cuda:1") == "1"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    assert (_gpu("cuda:0"), _gpu("cuda:1")) == ("4", "7")


def test_as_many_small_cells_on_a_gpu_as_fit() -> None:
    machine = Machine(16, 64 * GB, (24 * GB, 24 * GB))
    needs = Resources(gpu_memory=7 * GB)
    running_now: list[Place] = []
    while (device := fits(machine, needs, running_now)) is not None:
        running_now.append(Place(needs, device))
    assert sorted(place.device for place in running_now) == ["cuda:0"] * 3 + ["cuda:1"] * 3
    assert fits(machine, Resources(gpu_memory=4 * GB), running_now) is None
    assert fits(machine, Resources(gpu_memory=3 * GB), running_now) in ("cuda:0", "cuda:1")
    assert fits(machine, Resources(), running_now) == "cpu"
    assert fits(machine, Resources(gpu_memory=99 * GB), []) == "cuda:0"
    assert fits(machine, Resources(gpu_memory=99 * GB), running_now) is None
    assert fits(Machine(1, 0.0), needs, []) == "cpu"


@given(st.lists(st.floats(0.1, 30), min_size=1, max_size=40), st.integers(1, 4))
def test_gpus_are_never_given_out_twice(wanted: list[float], gpus: int) -> None:
    machine = Machine(64, 0.0, (24 * GB,) * gpus)
    placed: list[Place] = []
    for one in wanted:
        device = fits(machine, Resources(gpu_memory=one * GB), placed)
        if device is not None:
            placed.append(Place(Resources(gpu_memory=one * GB), device))
    for i in range(gpus):
        taken = [place.needs.gpu_memory for place in placed if place.device == f"cuda:{i}"]
        assert len(taken) == 1 or sum(taken) <= 24 * GB


@given(st.integers(1, 50))
def test_shares_of_a_gpu_fill_it(n: int) -> None:
    gpus = (Gpu(24 * GB, 1.0), Gpu(80 * GB, 1.0))
    assert 0.99 < n * share_of(24 * GB / n, gpus) <= 1.0
    assert share_of(24 * GB / n, (Gpu(24 * GB, float(f"{1 / n:.6f}")),)) <= float(f"{1 / n:.6f}")
    assert share_of(99 * GB, (Gpu(24 * GB, 0.5),)) == 0.5
    assert share_of(99 * GB, (Gpu(math.inf, 0.5),)) == 0.0


def test_workers_count_with_the_gpu_that_they_declare() -> None:
    said = {"memory_limit": 4 * GB, "resources": {}}
    workers = {"a": said, "b": said | {"resources": {"GPU": 0.25}}, "c": said | {"resources": {"GPU": 1.0}}}
    known = {"a": WorkerInfo(True, (24 * GB,)), "b": WorkerInfo(True, (24 * GB,)), "c": WorkerInfo(True, ())}
    gpus = _gpus(workers, known)
    assert gpus == (Gpu(24 * GB, 0.25), Gpu(math.inf, 1.0))
    assert _measure(workers, gpus) == Machine(3, 12 * GB, (6 * GB, math.inf))
    assert _measure({"a": said | {"memory_limit": 0}}, ()) == Machine(1, 0.0)


def test_pieces_that_come_twice_or_late_are_written_once(root: Path) -> None:
    (name,) = add(root, {})
    folder = root / "cells" / name
    Queue(root).lease(name, "here")
    assert set(pack(folder)) == {"spec.json", "lease.json", "programs.toml"}
    first = RemoteUpdate(1, {"events-1.jsonl": (0, b'{"step":1}\n')}, {"beat-1": b"far 7 1\n", "checkpoint": b"half"})
    write_update(folder, first)
    assert poll_request(folder, 1).sizes == {"events-1.jsonl": 11}
    write_update(folder, RemoteUpdate(1, {"events-1.jsonl": (11, b'{"step":2}\n')}, {}))
    write_update(folder, first)
    assert (folder / "events-1.jsonl").read_text() == '{"step":1}\n{"step":2}\n'
    assert pack(folder)["checkpoint"] == b"half"
    assert is_same(folder, RemoteUpdate(1, {}, {"beat-1": b"far 7 9\n"}))
    assert not is_same(folder, RemoteUpdate(1, {}, {"beat-1": b"far 8 1\n"}))
    assert poll_request(folder, 1).stop is None
    Queue(root).stop(name, 1, "cancel")
    assert json.loads(poll_request(folder, 1).stop or b"") == {"number": 1, "why": "cancel"}
    assert poll_request(folder, 2).stop is None
    write_update(
        folder, RemoteUpdate(1, {}, {"result-1.json": b'{"number": 1, "state": "done", "metrics": {"loss": 1.0}}'})
    )
    assert Queue(root).find(name).state == "done"
    assert not (folder / "checkpoint").exists()


def test_a_worker_sends_what_is_new_and_drops_what_is_not_wanted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = add(root, {"size": 1}, {"size": 2}, {"size": 3})
    folders = [root / "cells" / name for name in names]
    for name in names:
        Queue(root).lease(name, "here")
    visits = {name: remote_cells._Visit(1, folder, 0) for name, folder in zip(names, folders, strict=True)}
    monkeypatch.setattr(remote_cells, "_here", visits)
    first = folders[0]
    (first / "events-1.jsonl").write_bytes(b"0123456789")
    (first / "beat-1").write_bytes(b"far 7 1\n")
    (first / "checkpoint").write_bytes(b"half")
    request = Wanted(1, {"events-1.jsonl": 4}, b'{"number": 1, "why": "hold"}')
    sent = remote_cells.exchange({names[0]: request, names[1]: Wanted(2)})
    whole = {"beat-1": b"far 7 1\n", "checkpoint": b"half"}
    assert sent == {names[0]: RemoteUpdate(1, {"events-1.jsonl": (4, b"456789")}, whole)}
    assert json.loads((first / "stop.json").read_text()) == {"number": 1, "why": "hold"}
    assert [(folder / "lease.json").exists() for folder in folders] == [True, False, False]
    # The checkpoint is sent once, and a later request does not replace the stop request.
    (first / "log-1.txt").write_bytes(b"words")
    sent = remote_cells.exchange({names[0]: Wanted(1, {"events-1.jsonl": 10}, b"later")})
    assert sent[names[0]] == RemoteUpdate(1, {"log-1.txt": (0, b"words")}, {"beat-1": b"far 7 1\n"})
    assert json.loads((first / "stop.json").read_text())["why"] == "hold"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say who listens to all of us")
def test_nothing_listens_beyond_the_scheduler_and_its_workers_and_dask_is_quiet(root: Path) -> None:
    (name,) = add(root, {"steps": 200, "wait": 0.05})
    with running(root) as runner:
        wait_for(lambda cells: (root / "cells" / name / "beat-1").exists(), root)
        family = [psutil.Process(runner.pid), *psutil.Process(runner.pid).children(recursive=True)]
        listening = [one.laddr for p in family for one in p.net_connections("tcp") if one.status == psutil.CONN_LISTEN]
        # Read the log before the runner is killed, because the kill makes Python write a message to the log.
        said = (root / "runner.log").read_text()
    assert {address.ip for address in listening} == {"127.0.0.1"}
    assert len(listening) == 1 + 2 * 2, "a scheduler, two workers, and what watches over each"
    assert said == ""


def test_memory_is_that_of_the_container_where_it_has_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new, old = tmp_path / "memory.max", tmp_path / "limit"
    monkeypatch.setattr(machines, "LIMITS", (new, old))
    whole = usable_memory()
    assert whole == psutil.virtual_memory().total
    new.write_text("max\n")
    old.write_text("9223372036854771712\n")
    assert usable_memory() == whole
    new.write_text("1048576\n")
    assert usable_memory() == 2**20
