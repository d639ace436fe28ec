"""Tests of ``isoplan train`` with grids: input, progress, results, and commands that act on cells (training runs)."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoplan.app.commands.shared import following
from isoplan.app.commands.shared.following import as_line
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.cell_index import table_of
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.progress import Progress
from isoplan.trainers.backend.queue.sweep import Cap, find_sweep, launch, read_sweeps
from isoplan.trainers.backend.runner import runner_process as starting
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import beat_of, events_of, result_of
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid
from tests import progress, server
from tests.app.terminal.asking import ISOPLAN, Run, object_in, one_sentence, process
from tests.trainers.conftest import ROOT, add, end_runner, start, wait_for, workspace


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """Create a workspace and, after the test, terminate the runner process that trains its cells."""
    space = workspace(tmp_path / "space")
    yield space
    end_runner(space)


def grid(root: Path, cell: str, name: str = "") -> Path:
    path = root / "grid.toml"
    path.write_text('family = "counter"\n' + (f'name = "{name}"\n' if name else "") + f"[cell]\n{cell}\n")
    return path


def test_a_grid_is_trained_to_its_end_and_failed_cells_say_why(root: Path) -> None:
    path = grid(root, 'size = "1..4 x 3"\nhow = ["", "fails"]\nsteps = 3', "A sweep")
    done = process("train", path, "--workspace", root, "--yes")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("6 cells, 252 FLOPs, about ")
    assert "\nRough: no cell of this family has finished here." in done.stdout
    (sweep,) = read_sweeps(root)
    assert f"isoplan: Sweep {sweep.key[:8]} A sweep: 6 cells in {root}." in done.stderr
    assert "3 done, 3 failed · 50 %" in done.stderr
    *failed, last = done.stdout.splitlines()[2:]
    assert [re.sub("^[0-9a-f]{8} ", "", line) for line in failed] == [
        f"(how fails, size {size}): The program python -P -S ended with exit code 3: read the reason in its log."
        for size in (1, 2, 4)
    ]
    assert last == f"3 of 6 cells are done. `isoplan cells retry {sweep.key[:8]}` runs the failed cells again."


def test_json_is_one_object_with_estimate_and_outcome(root: Path) -> None:
    path = grid(root, "size = [1, 2]\nsteps = 3")
    done = process("train", path, "--workspace", root, "--name", "Named", "--seed", 5, "--json")
    assert done.returncode == 0, done.stderr
    found = object_in(done.stdout)
    (sweep,) = read_sweeps(root)
    assert (found["schema"], found["sweep"], found["name"], found["failed"]) == (1, sweep.key, "Named", [])
    assert (found["estimate"]["cells"], found["estimate"]["flops"]) == (2, 54.0)
    assert (found["progress"]["states"], found["progress"]["share"]) == ({"done": 2}, 1.0)
    assert {record.cell["seed"] for record in Queue(root).scan().values()} == {5}
    again = process("train", path, "--workspace", root, "--seed", 5, "--json")
    assert object_in(again.stdout)["estimate"]["done"] == 2
    assert object_in(again.stdout)["sweep"] == sweep.key


def test_a_dry_run_queues_nothing(run: Run, root: Path) -> None:
    path = grid(root, "size = [1, 2]\nsteps = 3")
    answer = run("train", path, "--workspace", root, "--dry-run", "--cap", "50 EUR", "--hour-price", 2)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("2 cells, 54.0 FLOPs, about 3 s on this machine")
    assert answer.out.endswith(" The cells may use at most 50 EUR.\n")
    found = object_in(run("train", path, "--workspace", root, "--dry-run", "--json").out)
    assert (found["family"], found["estimate"]["cells"], round(found["estimate"]["seconds"])) == ("counter", 2, 3)
    assert not (root / "cells").exists()
    assert read_sweeps(root) == ()


def test_a_preset_is_a_grid_and_its_fields_can_be_set(run: Run, root: Path) -> None:
    preset = ("train", "teacher-student/example", "--dry-run", "--json", "--workspace", root)
    answer = run(*preset, "--set", "width=8,16", "--set", "samples=1024")
    assert object_in(answer.out)["estimate"]["cells"] == 2
    one_sentence(run(*preset, "--set", "width"), "is not FIELD=VALUES: write a field")


def test_a_grid_can_list_single_cells(run: Run, root: Path) -> None:
    path = grid(root, "steps = 3\n[[cells]]\nsize = 1\nseed = 1\n[[cells]]\nsize = 2\n[[cells]]\nsize = 2\nseed = 2")
    dry = ("train", path, "--workspace", root, "--dry-run")
    assert run(*dry).out.startswith("3 cells, 90.0 FLOPs")
    assert run(*dry, "--seed", 4).out.startswith("2 cells, 54.0 FLOPs")
    assert run(*dry, "--set", "size=4,8").out.startswith("6 cells, 648 FLOPs")


def test_without_waiting_it_returns_at_once_and_a_cap_is_kept(root: Path) -> None:
    path = grid(root, "steps = 40\nwait = 0.05")
    done = process("train", path, "--workspace", root, "--no-wait", "--cap", "2 h")
    assert done.returncode == 0, done.stderr
    (sweep,) = read_sweeps(root)
    assert sweep.order.cap == Cap(2.0, unit="hour")
    wait_for(lambda cells: all(record.state == "done" for record in cells.values()), root)


def test_with_the_app_closed_the_rows_are_there_when_it_returns(root: Path) -> None:
    done = process("train", grid(root, "size = [1, 2, 3]\nsteps = 3"), "--workspace", root)
    assert done.returncode == 0, done.stderr
    with open_workspace(root) as db:
        assert sorted(tables.frame(db, table_of("counter"))["run"]) == sorted(Queue(root).scan())


def test_with_the_app_open_its_runner_trains_and_it_makes_the_rows(root: Path) -> None:
    with server.forked(root, env={"PYTHONPATH": str(ROOT)}):
        done = process("train", grid(root, "size = [1, 2, 3]\nsteps = 3"), "--workspace", root)
        assert done.returncode == 0, done.stderr
        assert "3 of 3 cells are done." in done.stdout
        progress.wait(lambda: server.rows_taken(root) == 3, root)
    with open_workspace(root) as db:
        assert sorted(tables.frame(db, table_of("counter"))["run"]) == sorted(Queue(root).scan())


def test_a_scheduler_that_is_not_safe_or_none_is_one_sentence(run: Run, root: Path) -> None:
    path = grid(root, "size = 1")
    one_sentence(
        run("train", path, "--workspace", root, "--scheduler", "host"), "The scheduler 'host' is not an address"
    )
    far = ("--scheduler", "tcp://10.0.0.9:8786")
    one_sentence(run("train", path, "--workspace", root, *far), "on another machine is not encrypted")
    dry = run("train", path, "--workspace", root, *far, "--insecure", "--dry-run")
    assert dry.out.endswith("The cells run on other machines, so their time can differ from this estimate.\n")
    (root / "cluster.toml").write_text('kind = "address"\nscheduler = "tcp://10.0.0.9:8786"\ninsecure = true\n')
    local = process("train", path, "--workspace", root, "--scheduler", "local", "--yes")
    assert (local.returncode, "1 of 1 cells are done." in local.stdout) == (0, True), local.stderr


def test_a_cap_ends_the_waiting_with_its_sentence(root: Path) -> None:
    path = grid(root, "steps = 1000\nwait = 0.05")
    done = process("train", path, "--workspace", root, "--cap", "2 s")
    assert done.returncode == 1
    (sweep,) = read_sweeps(root)
    assert "The sweep has used" in done.stdout
    assert f"`isoplan cells resume {sweep.key[:8]}` continues it." in done.stdout
    cells = wait_for(lambda cells: all(record.state == "queued" for record in cells.values()), root)
    assert 1.5 < sum(r.result["seconds"] for r in cells.values() if r.result) < 1000 * 0.05


def test_ctrl_c_leaves_the_cells_running_and_says_how_to_cancel_them(root: Path) -> None:
    path = grid(root, "steps = 100\nwait = 0.05")
    asked = subprocess.Popen(
        [*ISOPLAN, "train", str(path), "--workspace", str(root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    wait_for(lambda cells: any(record.state == "running" for record in cells.values()), root)
    os.killpg(asked.pid, signal.SIGINT)
    _, err = progress.heard(asked)
    (sweep,) = read_sweeps(root)
    assert asked.returncode == 130
    assert f"`isoplan cells cancel {sweep.key[:8]} --workspace {root}` ends them." in err
    assert "Traceback" not in err
    wait_for(lambda cells: all(record.state == "done" for record in cells.values()), root)


def test_on_a_terminal_it_asks_and_writes_one_line_over_the_other(root: Path) -> None:
    path = grid(root, "steps = 60\nwait = 0.05")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*ISOPLAN, "train", str(path), "--workspace", str(root)], stdin=theirs, stdout=theirs, stderr=theirs
    ) as asked:
        os.close(theirs)
        os.write(ours, b"y\n")
        said = b""
        with contextlib.suppress(OSError):
            while data := os.read(ours, 4096):
                said += data
        os.close(ours)
        assert progress.end(asked, root) == 0
    text = said.decode()
    assert "Train them? [Y/n]:" in text
    assert text.count("\r\x1b[K") >= 3
    assert "1 done · 100 %" in text


@pytest.mark.parametrize(
    ("cell", "options", "why"),
    [
        ("colour = 1", (), "The family counter has no field 'colour'"),
        ("size = []", (), "has an empty list: give it a value"),
        ('size = "1..2000 x 2000 linear"\nsteps = "1..2000 x 2000 linear"', (), "The grid has 4,000,000 cells"),
        ("size = 1", ("--cap", "50"), "The option --cap '50' has no unit"),
        ("size = 1", ("--cap", "50 EUR"), "give the option --hour-price too"),
        ("size = 1", ("--name", "x" * 101), "The name of the grid has 101 characters"),
        ("size = 1", ("--seed", 2**31), "The field seed of the family counter cannot be 2147483648"),
    ],
)
def test_a_bad_grid_is_one_sentence_and_queues_nothing(
    run: Run, root: Path, cell: str, options: tuple[object, ...], why: str
) -> None:
    one_sentence(run("train", grid(root, cell), "--workspace", root, *options), why)
    assert not (root / "cells").exists()


def test_without_the_extra_it_says_how_to_install_it(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "find_spec", lambda name: None)
    answer = run("train", grid(root, "size = 1"), "--workspace", root)
    one_sentence(answer, "install them with pip install 'isoplan[cluster]'")


def test_runners_that_end_again_and_again_end_the_waiting(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = find_family("counter", root)
    sweep = launch(root, make_grid(counter, {"size": 1}), counter)
    monkeypatch.setattr(following, "ensure_runner", lambda *_: True)
    monkeypatch.setattr(following, "LOOK", 0.0)
    with pytest.raises(PlannerError, match=r"The runner ended 3 times \(its log is empty\)"):
        following.follow(root, sweep)


def test_a_line_of_progress() -> None:
    now = Progress({"running": 2, "done": 1200}, 0.615, 0.5, 1.25, 95.0, 12_345.0, None)
    assert as_line(now, Cap(9.0, 2.5, "EUR"), "starting the workers") == (
        "1,200 done, 2 training · 62 % · 30 min of device time, 1.25 EUR · 12 k samples/s · 95 s left · "
        "starting the workers"
    )
    assert as_line(Progress({"done": 3}, 1.0, 0.0, None, 0.0, None, None), Cap(), "at work") == "3 done · 100 %"
    assert as_line(Progress({}, 1.0, 0.0, None, 0.0, None, None), Cap()) == "no cells · 100 %"


def test_a_listing_says_what_is_simulated(run: Run, root: Path) -> None:
    family = find_family("jets", root)
    sweep = launch(root, make_grid(family, {"width": 4, "jets": 2500, "epochs": 1, "inputs": "21x128"}), family)
    queue = Queue(root)
    number = queue.lease(sweep.cells[0], "here")
    beat_of(queue.folder(sweep.cells[0]), number).write_text("1 here 240")
    line = '{"step": 0, "at": 1.0, "simulated": 2300, "to_simulate": 25000}'
    events_of(queue.folder(sweep.cells[0]), number).write_text(f"{line}\n")
    assert "simulating jets: 2,300 of 25,000" in run("cells", "list", "--workspace", root).out


def test_cells_are_listed_held_cancelled_and_deleted(run: Run, root: Path) -> None:
    assert run("cells", "--workspace", root).out == "There are no cells in this workspace.\n"
    counter = find_family("counter", root)
    sweep = launch(root, make_grid(counter, {"size": [1, 2]}, "Mine"), counter)
    other = launch(root, make_grid(counter, {"size": [2, 3]}), counter)
    (loose,) = add(root, {"size": 9})
    key = sweep.key[:8]
    assert run("cells", "--workspace", root).out.splitlines() == [
        f"{key}  Mine  2 waiting · 0 %",
        f"{other.key[:8]}  counter  2 waiting · 0 %",
        "1 cell without a sweep",
        "No runner is at work.",
    ]
    assert run("cells", "list", "Mine", "--workspace", root).out.splitlines() == [
        f"{name[:8]}  queued     size {size}" for name, size in zip(sweep.cells, (1, 2), strict=True)
    ]
    assert (
        run("cells", "hold", key, "--workspace", root).err
        == f"isoplan: {key} is held (a running cell first saves a checkpoint).\n"
    )
    assert find_sweep(root, key).waits == "held"
    held = run("cells", "list", key, "--workspace", root, "--json")
    assert [cell["state"] for cell in object_in(held.out)["cells"]] == ["held", "queued"]
    run("cells", "cancel", "Mine", loose, "--workspace", root)
    assert (find_sweep(root, key).waits, Queue(root).find(loose).state) == ("cancelled", "cancelled")
    shown = object_in(run("cells", "--workspace", root, "--json").out)
    assert [found["waits"] for found in shown["sweeps"]] == ["cancelled", ""]
    assert [cell["state"] for cell in shown["cells"]] == ["cancelled"]
    gone = run("cells", "delete", "Mine", loose, "--workspace", root)
    assert re.fullmatch(rf"isoplan: {key}, {loose[:8]} are deleted, which frees [\d.]+ k?B\.\n", gone.err)
    assert read_sweeps(root) == (other,)
    assert set(Queue(root).scan()) == set(other.cells)


def test_retry_and_resume_start_a_runner_and_a_log_is_read(run: Run, root: Path) -> None:
    counter = find_family("counter", root)
    sweep = launch(root, make_grid(counter, {"how": "fails"}), counter)
    assert progress.end(start(root), root) == 0
    assert Queue(root).find(sweep.cells[0]).state == "failed"
    assert run("cells", "log", sweep.cells[0][:10], "--workspace", root).out == "something is wrong\n"
    assert "The program python -P -S ended with exit code 3" in run("cells", "list", sweep.key, "--workspace", root).out
    assert run("cells", "retry", sweep.key[:8], "--workspace", root).code == 0
    wait_for(lambda cells: all(r.number == 2 and r.state == "failed" for r in cells.values()), root)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("cancel",), "Name the sweeps or cells to cancel"),
        (("cancel", "nothing"), "'nothing' names no sweep or cell in this workspace"),
        (("hold", ""), "'' names no sweep or cell in this workspace"),
        (("hold", "Twice"), "'Twice' names more than one sweep or cell in this workspace"),
        (("log", "Once"), "it requires exactly one cell"),
        (("explode", "Once"), "explode"),
    ],
)
def test_bad_input_of_cells_is_one_sentence(run: Run, root: Path, arguments: tuple[str, ...], why: str) -> None:
    counter = find_family("counter", root)
    for size, name in ((1, "Twice"), (2, "Twice"), (3, "Once")):
        launch(root, make_grid(counter, {"size": size}, name), counter)
    one_sentence(run("cells", *arguments, "--workspace", root), why)


def test_a_running_cell_is_not_deleted(run: Run, root: Path) -> None:
    (name,) = add(root, {"size": 1})
    Queue(root).lease(name, "test")
    one_sentence(run("cells", "delete", name, "--workspace", root), f"The cell {name[:8]} is running: cancel it first.")
    assert json.loads((root / "cells" / name / "spec.json").read_text())["cell"]["size"] == 1


def test_a_listing_makes_no_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert run("cells").out == "There are no cells in this workspace.\n"
    assert object_in(run("cells", "list", "--json").out)["cells"] == []
    one_sentence(run("cells", "cancel", "x"), "names no sweep or cell in this workspace")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            ("--budget", "1e14"),
            "`--budget` and `--target-loss` require `--stop-early`. Add it, for example `--stop-early 5%`.",
        ),
        (("--stop-early", "5%"), "Give exactly one of --budget and --target-loss."),
        (("--stop-early", "200%", "--budget", "1e14"), "Option --stop-early: '200%' is not between 0 and 100 %."),
        (("--stop-early", "5%", "--budget", "1e14", "--no-wait"), "`--stop-early` works only while the command waits."),
        (("--stop-early", "5%", "--budget", "1e14"), "Grid: all its cells have the same N."),
    ],
)
def test_early_stopping_that_cannot_work_queues_nothing(
    run: Run, root: Path, options: tuple[str, ...], why: str
) -> None:
    one_sentence(run("train", grid(root, "size = 1"), "--workspace", root, *options), why)
    assert Queue(root).scan() == {}


def test_cells_that_were_stopped_early_count_as_ended_as_intended(run: Run, root: Path) -> None:
    counter = find_family("counter", root)
    sweep = launch(root, make_grid(counter, {"size": [1, 2]}), counter)
    queue, (first, second) = Queue(root), sweep.cells
    queue.cancel([first], "Stopped early: for a test.")
    files.write_json(
        result_of(queue.folder(second), queue.lease(second, "here")),
        {"number": 1, "state": "done", "metrics": {"loss": 1.0}, "seconds": 1.0, "steps": 3},
    )
    ended = following.outcome(root, sweep)
    assert ended.text == (
        f"{first[:8]} (size 1): Stopped early: for a test.\n1 of 2 cells are done. 1 is stopped early."
    )
    assert [one["cell"] for one in ended.document["stopped"]] == [first]
    assert ended.all_done
    assert "cancelled  size 1  Stopped early: for a test." in run("cells", "list", sweep.key, "--workspace", root).out
    queue.cancel([first])
    assert not following.outcome(root, sweep).all_done
