"""Tests of the command ``isoplan autopilot``: a whole run with small cells, and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoplan.app.commands import autopilot as command
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import hold, read_sweeps
from tests.app.autopilot.conftest import GRID
from tests.app.terminal.asking import Run, object_in, one_sentence, process

ASKED = ("--budget", "1e8", "--until", "90 %", "--cap", "2 h")
DOCS = Path(__file__).parents[3] / "docs"


def test_it_trains_rounds_until_it_stops_and_continues_from_its_files(run: Run, root: Path) -> None:
    asked = ("autopilot", root / "grid.toml", *ASKED, "--workspace", root)
    done = process(*asked, "--yes", "--json")
    found = object_in(done.stdout)
    made = found["decisions"]
    assert done.returncode == (0 if found["stopped"] == "known" else 1), done.stderr
    assert made[0]["kind"] == "start"
    assert made[-1]["kind"] == "stop"
    assert made[-1]["reason"] == found["stopped"]
    assert found["stopped"] in ("known", "pays", "cells", "ranges")
    cells = [name for one in made for name in one["cells"]]
    records = Queue(root).scan()
    assert sorted(cells) == sorted(records)
    assert all(record.state == "done" for record in records.values())
    assert made[-1]["table"] == {name: (records[name].result or {})["metrics"]["loss"] for name in made[-1]["table"]}
    assert 0 < made[-1]["hours"] < 2
    sweeps = read_sweeps(root)
    assert len(sweeps) == len(made) - 1
    assert sweeps[0].name == "Autopilot, round 1"
    assert [sweep.order.cap.hours for sweep in sweeps] == [2.0 - one["hours"] for one in made[:-1]]
    assert f"isoplan: 1. {made[0]['sentence']}" in done.stderr
    (folder,) = (root / "autopilots").iterdir()
    assert folder.name == found["autopilot"]
    lines = (folder / "decisions.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == made

    shown = run(*asked, "--show")
    assert shown.code == 0
    assert shown.out.splitlines()[0].split()[:2] == ["Decision", "Runs"]
    assert made[-1]["sentence"] in shown.out
    assert object_in(run(*asked, "--show", "--json").out) == found
    named = (DOCS / "autopilot.md").read_text()
    assert all(f"`{key}`" in named for key in (*found, *made[0]) if key != "schema")

    # As after a kill, the last cell of the last round is missing. The same command trains only this cell again.
    (folder / "decisions.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    Queue(root).delete([made[-2]["cells"][-1]])
    again = process(*asked, "--yes", "--json")
    assert object_in(again.stdout)["decisions"][:-1] == made[:-1]
    assert object_in(again.stdout)["stopped"] == found["stopped"], again.stderr


def test_a_sweep_that_a_user_pauses_ends_the_command(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("autopilot", root / "grid.toml", *ASKED, "--workspace", root)
    for why, error in (("", "Start the same command again"), ("The cap is used up.", "2. Stop. The cap is reached.")):
        monkeypatch.setattr(command, "run_sweep", lambda root, sweep, watch, why=why: hold(root, sweep.key, why=why))
        answer = run(*asked, "--json")
        assert answer.code == 1
        assert error in answer.err
        (file,) = root.glob("autopilots/*/decisions.jsonl")
        kinds = [json.loads(line)["kind"] for line in file.read_text().splitlines()]
        assert kinds == (["start", "stop"] if why else ["start"])
        (sweep,) = read_sweeps(root)
        assert len(sweep.cells) == 10


def test_nothing_is_shown_before_the_first_decision(run: Run, root: Path) -> None:
    answer = run("autopilot", root / "grid.toml", *ASKED, "--workspace", root, "--show")
    assert answer.code == 0
    assert "has made no decision yet." in answer.out
    assert not (root / "autopilots").exists()


@pytest.mark.parametrize(
    ("grid", "options", "why"),
    [
        (GRID, ("--budget", "1e8", "--until", "120 %"), "Option --until: '120 %' is not between 0 and 100 %."),
        (GRID, ("--budget", "1e8", "--until", "narrow"), "option --until"),
        (GRID, (), "Give exactly one of --budget and --target-loss."),
        (GRID, ("--budget", "1e8", "--target-loss", "1"), "Give exactly one of --budget and --target-loss."),
        (GRID, ("--budget", "0"), "Option --budget: 0 is not positive."),
        (GRID, ("--target-loss", "-1"), "Option --target-loss: -1 is not positive."),
        (GRID, ("--budget", "1e8", "--cap", "5 EUR"), "give the option --hour-price too"),
        (GRID, ("--budget", "1e8", "--law", "nothing"), "nothing"),
        (GRID + "rate = [0.01, 0.02]\n", ("--budget", "1e8"), "Grid: rate differs between cells of equal N and D"),
        (
            'family = "bare"\n[cell]\nk = "1..20 x 20"\n',
            ("--budget", "1e8"),
            "for a cell of the family bare, N is unknown before its training",
        ),
    ],
)
def test_errors_are_one_sentence(run: Run, root: Path, grid: str, options: tuple[str, ...], why: str) -> None:
    program = '[bare]\ncommand = ["true"]\n[bare.fields.k]\nkind = "integer"\n'
    (root / "programs.toml").write_text(program)
    (root / "grid.toml").write_text(grid)
    one_sentence(run("autopilot", root / "grid.toml", *options, "--workspace", root), why)
    assert not (root / "cells").exists()
