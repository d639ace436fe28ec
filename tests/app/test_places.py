"""Each cell (training run) is trained exactly once: on unusual paths, with several processes, after clock jumps."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reliability.faults import clock, places


@pytest.mark.parametrize("name", [places.NAMES[0] + places.NAMES[1], places.NAMES[2]])
def test_a_workspace_may_lie_on_any_path(tmp_path: Path, name: str) -> None:
    assert places.odd_path(tmp_path, name).happened == places.ALL


def test_an_app_and_two_terminals_train_the_same_cells_once(tmp_path: Path) -> None:
    trial = places.server_and_train(tmp_path)
    assert trial.happened == trial.expected


def test_a_second_app_on_a_workspace_is_refused_and_names_the_first(tmp_path: Path) -> None:
    trial = places.two_servers(tmp_path)
    assert trial.happened == trial.expected


def test_a_second_runner_leaves_the_cells_to_the_first(tmp_path: Path) -> None:
    trial = places.two_runners(tmp_path)
    assert trial.happened == trial.expected


@pytest.mark.parametrize("jump", ["a day back", "forwards, and back again"])
def test_a_runner_is_right_when_the_clock_jumps(tmp_path: Path, jump: str) -> None:
    trial = clock.runner_trial(tmp_path, jump, clock.JUMPS[jump])
    assert trial.happened == trial.expected


def test_the_app_is_right_when_the_clock_jumps(tmp_path: Path) -> None:
    trial = clock.app_trial(tmp_path, "a day back", clock.JUMPS["a day back"])
    assert trial.happened == trial.expected
