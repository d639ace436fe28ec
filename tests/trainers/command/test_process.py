"""Training programs that fail in typical ways: each failure gives one sentence and leaves no running process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.files import FULL, LEAST_DISK
from isoplan.trainers.backend.store.record import DEATHS, Record
from isoplan.trainers.backend.worker.attempt_process import run_cell
from isoplan.trainers.command import process
from isoplan.trainers.families import families, find_family, read_cell
from tests import progress
from tests.trainers.conftest import COUNTER, PROGRAMS, add


def once(root: Path, cell: dict[str, Any], family: str = "counter") -> Record:
    """Run one attempt of a cell in this process and return the record of the cell."""
    (name,) = add(root, cell, family=family)
    number = Queue(root).lease(name, "test")
    run_cell(str(root / "cells" / name), number)
    return Queue(root).find(name)


def log(root: Path, record: Record) -> bytes:
    return (root / "cells" / record.name / f"log-{record.number}.txt").read_bytes()


def left_running(root: Path) -> list[psutil.Process]:
    found = []
    for one in psutil.process_iter():
        try:
            if one.environ().get("ISOPLAN_CELL", "").startswith(str(root)) and one.status() != "zombie":
                found.append(one)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (
            "silent",
            "The program python -P -S wrote no JSON line: the program must write its metrics to standard output.",
        ),
        ("fails", "The program python -P -S ended with exit code 3: read the reason in its log."),
        ("nan", "The program reported loss = nan at step 1: the training diverged."),
    ],
)
def test_what_goes_wrong_is_one_sentence(root: Path, how: str, why: str) -> None:
    record = once(root, {"how": how})
    assert (record.state, record.result["why"]) == ("failed", why)  # type: ignore[index]
    progress.wait(lambda: not left_running(root), root)
    if how == "fails":
        assert log(root, record) == b"something is wrong\n"


def test_a_program_that_fails_on_a_full_disk_waits_for_room(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "free", lambda folder: LEAST_DISK - 1)
    record = once(root, {"how": "fails"})
    assert (record.state, record.result["state"], record.result["why"]) == ("queued", "stopped", FULL)  # type: ignore[index]


@pytest.mark.parametrize(("how", "number", "counts"), [("crashes at once", 11, True), ("crashes", 9, False)])
def test_a_program_that_a_signal_ends_is_tried_again(root: Path, how: str, number: int, counts: bool) -> None:
    record = once(root, {"how": how, "steps": 3})
    why = f"The program python -P -S was ended by signal {number}: read its log."
    assert (record.state, record.deaths, record.number) == ("queued", int(counts), 1)
    assert {key: record.result[key] for key in ("state", "why", "counts")} == {  # type: ignore[index]
        "state": "died", "why": why, "counts": counts,
    }  # fmt: skip
    while record.state == "queued" and record.deaths < DEATHS:
        record = once(root, {"how": how, "steps": 3})
    assert (record.state, record.deaths) == (("queued", DEATHS) if counts else ("done", 0))


def test_a_program_that_is_missing_is_named(root: Path) -> None:
    (root / "programs.toml").write_text('[gone]\ncommand = ["no-such-program", "x"]\n')
    record = once(root, {}, "gone")
    assert record.result["why"] == (  # type: ignore[index]
        "The program 'no-such-program' is not on this machine: install it, or correct programs.toml."
    )


def test_a_program_that_hangs_is_ended(root: Path) -> None:
    (root / "programs.toml").write_text((root / "programs.toml").read_text().replace("silence = 20", "silence = 1"))
    record = once(root, {"how": "hangs"})
    assert record.result is not None
    why = "The program had no output for 1 s and was ended: raise the field silence in programs.toml."
    assert record.result["why"] == why
    progress.wait(lambda: not left_running(root), root)


def test_children_of_a_program_end_with_it(root: Path) -> None:
    record = once(root, {"how": "forks", "steps": 2})
    assert record.state == "done"
    progress.wait(lambda: not left_running(root), root)


@pytest.mark.parametrize("how", ["prints", "endless line"])
def test_a_gigabyte_of_output_is_passed_over(root: Path, how: str) -> None:
    record = once(root, {"how": how, "steps": 2})
    assert record.state == "done"
    kept = log(root, record)
    assert len(kept) < 11_100_000
    assert kept.endswith(b"(more was printed and is not kept)\n")


def test_the_cell_arrives_whole_and_never_passes_a_shell(root: Path) -> None:
    hostile = "$(touch hacked); `id` \\ \" ' \n"
    record = once(root, {"how": hostile, "steps": 2})
    assert record.state == "done"
    assert record.cell["how"] == hostile
    assert not list(root.rglob("hacked"))


def test_the_program_is_told_its_threads(root: Path) -> None:
    (root / "programs.toml").write_text(
        '[env]\ncommand = ["sh", "-c", "echo {\\\\\\"loss\\\\\\": $OMP_NUM_THREADS}"]\n'
    )
    assert once(root, {"threads": 3}, "env").result["metrics"] == {"loss": 3.0}  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[a]\ncommand = []", "a.command is wrong"),
        ("[a]\ncommand = ['x']\nsizes = { N = '2*(' }", "a.sizes is wrong"),
        ("[a]\ncommand = 'x y'", "a.command is wrong"),
        ("[a\n", "cannot be read"),
        ("[a]\ncommand = ['x']\nsilense = 3", "a.silense is wrong"),
    ],
)
def test_a_wrong_file_of_programs_names_the_field(root: Path, text: str, why: str) -> None:
    (root / "programs.toml").write_text(text)
    with pytest.raises(PlannerError, match=why):
        families(root)


def test_fields_are_checked_by_the_cell_model(root: Path) -> None:
    family = find_family("teacher-student", root)
    with pytest.raises(PlannerError, match="field width of the family teacher-student cannot be 0: input should be"):
        read_cell(family, {"width": 0})
    with pytest.raises(PlannerError, match="has no field 'depth': use seed, threads, deterministic, width, samples"):
        read_cell(family, {"depth": 2})
    with pytest.raises(PlannerError, match="There is no family 'jet' of cells: use "):
        find_family("jet", root)


def test_another_command_is_another_cell(root: Path) -> None:
    (one,) = add(root, {"steps": 2})
    (root / "programs.toml").write_text(PROGRAMS.replace('"-S", "PROGRAM"', f'"{COUNTER}"'))
    (two,) = add(root, {"steps": 2})
    assert one != two


def test_sizes_follow_the_operators_formulas(root: Path) -> None:
    family = find_family("teacher-student", root)
    sizes = family.sizes(read_cell(family, {"width": 8, "samples": 1024}))
    assert (sizes.N, sizes.D, sizes.U) == (345, 1024, 1024)
    assert sizes.C == 6 * 1024 * (8 * 32 + 64 + 8) - 2 * 1024 * 8 * 32
