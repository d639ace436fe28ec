"""Learning curves of interrupted training runs, and of runs that are writing their events."""

from __future__ import annotations

import json
import math
from pathlib import Path

from isoplan.trainers.backend.store.attempt_curves import curve, last, log_tail
from isoplan.trainers.backend.store.record import events_of, log_of


def say(folder: Path, number: int, *points: tuple[int, float | str]) -> None:
    lines = [json.dumps({"step": step, "at": 100.0 + step, "total": 9, "loss": loss}) for step, loss in points]
    events_of(folder, number).write_text("\n".join(lines) + "\n")


def test_an_attempt_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    say(tmp_path, 1, (1, 5.0), (2, 4.0), (3, 3.0))
    say(tmp_path, 2, (3, 3.5), (4, 2.0))
    assert [(p.step, p.values["loss"]) for p in curve(tmp_path, 2)] == [(1, 5.0), (2, 4.0), (3, 3.5), (4, 2.0)]
    assert [p.step for p in curve(tmp_path, 1)] == [1, 2, 3]
    say(tmp_path, 3, (1, 9.0))
    assert [(p.step, p.values["loss"]) for p in curve(tmp_path, 3)] == [(1, 9.0)]


def test_half_a_line_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    say(tmp_path, 1, (1, 5.0), (2, "nan"))
    with events_of(tmp_path, 1).open("a") as file:
        file.write('[1]\n{"step": "x"}\n{"step": 3, "at": 1, "lo')
    assert [p.step for p in curve(tmp_path, 1)] == [1, 2]
    assert math.isnan(curve(tmp_path, 1)[1].values["loss"])
    found = last(tmp_path, 2)
    assert found is not None
    assert (found.step, found.total, found.at) == (2, 9, 102.0)


def test_nothing_was_said_yet(tmp_path: Path) -> None:
    assert curve(tmp_path, 3) == []
    assert last(tmp_path, 3) is None
    assert log_tail(tmp_path, 1) == ""


def test_of_a_long_log_the_end_is_shown(tmp_path: Path) -> None:
    log_of(tmp_path, 1).write_bytes(b"a" * 300_000 + b"\xff end")
    text = log_tail(tmp_path, 1)
    assert text.startswith("(not shown: the first 37,861 bytes of the file)\naaa")
    assert text.endswith("a\ufffd end")
