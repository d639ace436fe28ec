"""What workers must show, what cells take of them, and how cells travel: the parts that need no cluster."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainers.conftest import add, running, wait_for
from trainers.backend.away import News, is_same, pack, take_in, want
from trainers.backend.cluster import share_of
from trainers.backend.greet import PACKAGES, differing
from trainers.backend.machine import Machine, Place, fits
from trainers.backend.queue import Queue
from trainers.cell import Needs

GB = 1e9


def versions(**other: str) -> dict[str, Any]:
    """What Dask says of the versions of a process."""
    return {"packages": dict.fromkeys(PACKAGES, "1.2.3") | {"python": "3.11.7.final.0"} | other}


def test_versions_that_differ_are_both_named() -> None:
    ours = versions()
    assert differing(ours, {"The worker a": versions(python="3.11.2.final.0")}, PACKAGES) == ""
    assert differing(ours, {"The worker a": ours, "The worker b": versions(isoplan="1.3.0")}, PACKAGES) == (
        "The worker b has isoplan 1.3.0 and here is 1.2.3: install the same on both."
    )
    assert differing(ours, {"The scheduler": versions(python="3.12.1.final.0")}, PACKAGES) == (
        "The scheduler has python 3.12 and here is 3.11: install the same on both."
    )
    assert differing(ours, {"The worker a": {"packages": {}}}, PACKAGES) == (
        "The worker a has isoplan not at all and here is 1.2.3: install the same on both."
    )


def test_as_many_small_cells_on_a_gpu_as_fit() -> None:
    machine = Machine(16, 64 * GB, (24 * GB, 24 * GB))
    needs = Needs(gpu_memory=7 * GB)
    running_now: list[Place] = []
    while (device := fits(machine, needs, running_now)) is not None:
        running_now.append(Place(needs, device))
    assert sorted(place.device for place in running_now) == ["cuda:0"] * 3 + ["cuda:1"] * 3
    assert fits(machine, Needs(gpu_memory=4 * GB), running_now) is None
    assert fits(machine, Needs(gpu_memory=3 * GB), running_now) in ("cuda:0", "cuda:1")
    assert fits(machine, Needs(), running_now) == "cpu"
    assert fits(machine, Needs(gpu_memory=99 * GB), []) == "cuda:0"
    assert fits(machine, Needs(gpu_memory=99 * GB), running_now) is None
    assert fits(Machine(1, 0.0), needs, []) == "cpu"


@given(st.lists(st.floats(0.1, 30), min_size=1, max_size=40), st.integers(1, 4))
def test_gpus_are_never_given_out_twice(wanted: list[float], gpus: int) -> None:
    machine = Machine(64, 0.0, (24 * GB,) * gpus)
    placed: list[Place] = []
    for one in wanted:
        device = fits(machine, Needs(gpu_memory=one * GB), placed)
        if device is not None:
            placed.append(Place(Needs(gpu_memory=one * GB), device))
    for i in range(gpus):
        taken = [place.needs.gpu_memory for place in placed if place.device == f"cuda:{i}"]
        assert len(taken) == 1 or sum(taken) <= 24 * GB


@given(st.integers(1, 50))
def test_shares_of_a_gpu_fill_it(n: int) -> None:
    assert n * share_of(24 * GB / n, Machine(1, 0.0, (24 * GB, 80 * GB))) <= 1.0
    assert share_of(99 * GB, Machine(1, 0.0, (24 * GB,))) == 1.0
    assert share_of(99 * GB, Machine(1, 0.0, (0.0,))) == 1.0


def test_pieces_that_come_twice_or_late_are_written_once(root: Path) -> None:
    (name,) = add(root, {})
    folder = root / "cells" / name
    Queue(root).lease(name, "here")
    assert set(pack(folder)) == {"spec.json", "lease.json", "programs.toml"}
    first = News(1, {"events-1.jsonl": (0, b'{"step":1}\n')}, {"beat-1": b"far 7 1\n", "checkpoint": b"half"})
    take_in(folder, first)
    assert want(folder, 1).sizes == {"events-1.jsonl": 11}
    take_in(folder, News(1, {"events-1.jsonl": (11, b'{"step":2}\n')}, {}))
    take_in(folder, first)
    assert (folder / "events-1.jsonl").read_text() == '{"step":1}\n{"step":2}\n'
    assert pack(folder)["checkpoint"] == b"half"
    assert is_same(folder, News(1, {}, {"beat-1": b"far 7 9\n"}))
    assert not is_same(folder, News(1, {}, {"beat-1": b"far 8 1\n"}))
    assert want(folder, 1).stop is None
    Queue(root).stop(name, 1, "cancel")
    assert json.loads(want(folder, 1).stop or b"") == {"number": 1, "why": "cancel"}
    assert want(folder, 2).stop is None
    take_in(folder, News(1, {}, {"result-1.json": b'{"number": 1, "state": "done", "metrics": {"loss": 1.0}}'}))
    assert Queue(root).find(name).state == "done"
    assert not (folder / "checkpoint").exists()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say who listens to all of us")
def test_nothing_listens_beyond_the_scheduler_and_its_workers_and_dask_is_quiet(root: Path) -> None:
    (name,) = add(root, {"steps": 200, "wait": 0.05})
    with running(root) as runner:
        wait_for(lambda cells: (root / "cells" / name / "beat-1").exists(), root)
        family = [psutil.Process(runner.pid), *psutil.Process(runner.pid).children(recursive=True)]
        listening = [one.laddr for p in family for one in p.net_connections("tcp") if one.status == psutil.CONN_LISTEN]
    assert {address.ip for address in listening} == {"127.0.0.1"}
    assert len(listening) == 1 + 2 * 2, "a scheduler, two workers, and what watches over each"
    assert (root / "runner.log").read_text() == ""
