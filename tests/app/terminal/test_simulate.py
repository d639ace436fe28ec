"""Tests of ``isoplan simulate`` for jets and events: simulate, stop, resume, and bad input."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
import uproot

from isoplan.trainers.amplitudes.phase_space import sampler
from isoplan.trainers.jets import simulate
from isoplan.trainers.jets.features import TREE
from isoplan.trainers.jets.simulate import parts
from isoplan.trainers.jets.simulate.parts import Request, finished, parts_of
from tests import progress
from tests.app.terminal.asking import ISOPLAN, Run, one_sentence, process


def test_stopped_by_ctrl_c_it_goes_on_from_its_parts(tmp_path: Path) -> None:
    out, request = tmp_path / "jets.root", Request(("Wqq", "Hcc"), 60, 3)
    command = ["simulate", "jets", "--n", 60, "--seed", 3, "--out", out, "--classes", "Wqq, Hcc", "--cores", 1]
    first = subprocess.Popen([*ISOPLAN, *map(str, command)], stderr=subprocess.PIPE, text=True, start_new_session=True)
    progress.wait(lambda: finished(parts_of(out), request.chunks()) or first.poll() is not None, tmp_path, pause=0.02)
    # Like Ctrl+C in a terminal, send SIGINT to the whole process group.
    os.killpg(first.pid, signal.SIGINT)
    _, err = progress.heard(first)
    assert first.returncode == 130
    assert "isoplan: Stopped with 1 of 2 parts done: run the same command again to continue." in err
    assert "Traceback" not in err
    (part,) = finished(parts_of(out), request.chunks())
    made = (parts_of(out) / part.name).stat()

    again = process(*command)
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith(f"{out}: 60 jets of 2 classes, 0.")
    assert os.listdir(tmp_path) == ["jets.root"]
    assert out.stat().st_mtime_ns > made.st_mtime_ns
    with uproot.open(out) as file:
        labels = file[TREE].arrays(["label_Wqq", "label_Hcc", "jet_pt"])
    assert (np.sum(labels.label_Wqq), np.sum(labels.label_Hcc)) == (30, 30)
    assert len(set(labels.jet_pt.to_list())) > 58
    # The two classes are shuffled, so the first half of the file contains jets of both classes.
    assert 5 < np.sum(labels.label_Wqq[:30]) < 25


def test_bad_input_is_one_sentence(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(why: str, *more: object, n: int = 20, out: str = "jets.root") -> None:
        one_sentence(run("simulate", "jets", "--n", n, "--out", tmp_path / out, *more), why)

    (tmp_path / "old.root").touch()
    ask("There is no class 'Hxx' of jets: use QCD, Hbb,", "--classes", "Hbb,Hxx")
    ask("Name at least one class of jets, and no class twice", "--classes", "Hbb,Hbb")
    ask("9 jets cannot be divided over 10 classes", n=9)
    ask("old.root already exists: name another file", out="old.root")
    ask("There is no folder ", out="no/jets.root")
    monkeypatch.setattr(simulate, "find_spec", lambda name: None)
    ask("The simulation of jets needs pythia8mc, fastjet, awkward, vector, uproot: install them with pip install")
    assert os.listdir(tmp_path) == ["old.root"]


def test_a_fault_in_a_process_is_one_sentence(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(parts, "_make", full)
    answer = run("simulate", "jets", "--n", 20, "--out", tmp_path / "jets.root")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.splitlines()[-1] == f"isoplan: The disk of {tmp_path} is full: free some space and try again."
    assert parts_of(tmp_path / "jets.root").is_dir()


def test_events_of_amplitudes(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "POINTS", 1000)
    monkeypatch.setattr(sampler, "WARM", 2000)
    out = tmp_path / "events.npz"
    result = run("simulate", "amplitudes", "--process", "Zg", "--n", 500, "--seed", 3, "--out", out, "--cores", 1)
    assert result.code == 0, result.err
    with np.load(out) as file:
        heavy = file["weight"][file["weight"] > 1]
    above = f"{len(heavy)} of them with weights above 1 (up to {max(heavy):.2f})" if len(heavy) else ""
    assert result.out.startswith(f"{out}: 500 events of Zg, {above or 'all with weight 1'}, 0.1 MB, in ")
    assert re.search(
        r"s\. \d\d\.\d\d% of [\d,]+ points were accepted. Points with weights above the cap contribute 0\.\d\d% of",
        result.out,
    )
    assert "500 events" in result.err
    with np.load(out) as file:
        assert file["momenta"].shape == (500, 4, 4)
        assert str(file["process"]) == "Zg"


def test_ctrl_c_ends_all_processes_and_writes_nothing(tmp_path: Path) -> None:
    command = [
        "simulate",
        "amplitudes",
        "--process",
        "Zg",
        "--n",
        10**7,
        "--out",
        tmp_path / "events.npz",
        "--cores",
        2,
    ]
    asked = subprocess.Popen([*ISOPLAN, *map(str, command)], stderr=subprocess.PIPE, text=True, start_new_session=True)
    progress.wait(lambda: progress.work() > 6)
    os.killpg(asked.pid, signal.SIGINT)
    _, err = progress.heard(asked)
    assert asked.returncode == 130
    assert err.endswith("isoplan: Stopped: no events were written.\n")
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []
    progress.wait(lambda: not alive(asked.pid))


def alive(group: int) -> bool:
    """Return whether a process of the process group ``group`` is still running."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_bad_input_for_amplitudes_is_one_sentence(run: Run, tmp_path: Path) -> None:
    def ask(why: str, *more: object, out: str = "events.npz", what: str = "amplitudes") -> None:
        one_sentence(run("simulate", what, "--n", 20, "--out", tmp_path / out, *more), why)

    ask("Name the process of the amplitudes with --process: Zg, Zgg,")
    ask("There is no built-in process 'Zq'", "--process", "Zq")
    ask("No event of ttH that passes the cuts has sqrt(s) = 200 GeV", "--process", "ttH", "--sqrt-s", 200)
    ask("events.root does not have the extension of an event file", "--process", "Zg", out="events.root")
    ask("There is no folder ", "--process", "Zg", out="no/events.npz")
    ask("Amplitudes have no --classes", "--process", "Zg", "--classes", "QCD")
    ask("Jets have no --process and no --sqrt-s", "--process", "Zg", what="jets")
