"""A full or read-only disk: commands, app, queue and training runs report the fault and continue after it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.reliability.faults import disk
from benchmarks.reliability.faults.trial import Trial
from tests.conftest import skip_or_fail


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Mount a small disk."""
    try:
        with disk.small_disk(tmp_path_factory.mktemp("small") / "disk") as place:
            yield place
    except PermissionError as error:
        skip_or_fail("root", str(error))


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    """Write a grid of two cells and return its path."""
    place = tmp_path / "grid.toml"
    place.write_text('family = "sum"\n[cell]\nseed = [8, 9]\n')
    return place


def as_expected(trials: list[Trial]) -> None:
    assert [(trial.done, trial.happened) for trial in trials] == [(trial.done, trial.expected) for trial in trials]


def test_what_is_saved_is_refused_in_a_sentence_and_works_when_there_is_room(small: Path) -> None:
    as_expected(disk.full_store(small / "store"))


def test_cells_whose_disk_fills_up_go_on_when_there_is_room(small: Path) -> None:
    as_expected(disk.full_cells(small / "cells"))


def test_an_app_whose_disk_fills_up_goes_on_when_there_is_room(small: Path) -> None:
    as_expected(disk.full_app(small / "app"))


def test_commands_on_a_full_disk_say_so(small: Path, grid: Path) -> None:
    as_expected(disk.full_terminal(small / "terminal", grid))


def test_commands_on_a_read_only_disk_say_so(small: Path, grid: Path) -> None:
    as_expected(disk.read_only_terminal(small / "read-only", grid))
