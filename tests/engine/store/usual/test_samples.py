"""Samples seen (D) computed from other columns: epochs and dataset size, or steps and batch size."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.schema import Role
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.store.usual.conftest import RUNS, Write, check, history, refused

EPOCHS = np.tile([1, 2, 4, 8, 16, 32], 6)


@pytest.mark.parametrize("name", ["samples", "tokens", "n_samples"])
def test_samples_that_never_vary_beside_epochs_are_the_data_set(
    name: str, write: Write, right: dict[str, float]
) -> None:
    path = write(N=RUNS.N, epochs=RUNS.D / 5e8, **{name: [5e8] * 36}, loss=RUNS.loss)
    assert read_runs(path).roles.U == name
    refused(path, f"--derive 'D = epochs * {name}'")
    check(read_runs(path, derived={"D": f"epochs * {name}"}), right)


@pytest.mark.parametrize("name", ["samples", "tokens", "num_tokens"])
def test_samples_beside_epochs_that_have_two_meanings_are_asked_about(
    name: str, write: Write, right: dict[str, float]
) -> None:
    path = write(N=RUNS.N, epochs=EPOCHS, **{name: RUNS.D / EPOCHS}, loss=RUNS.loss)
    refused(path, f"column '{name}' may count the samples that a run sees, or the samples of its dataset")
    refused(path, f"(--map D={name} in the terminal), in the second case compute D = epochs * {name}")
    check(read_runs(path, derived={"D": f"epochs * {name}"}), right)
    seen = write(N=RUNS.N, epochs=EPOCHS, **{name: RUNS.D}, loss=RUNS.loss)
    check(read_runs(seen, {"D": name}), right)


def test_samples_with_one_meaning_are_not_asked_about(write: Write, right: dict[str, float]) -> None:
    for others in ({"epochs": [1] * 36}, {"epochs": EPOCHS, "unique_tokens": RUNS.D / EPOCHS}):
        check(read_runs(write(N=RUNS.N, tokens=RUNS.D, loss=RUNS.loss, **others)), right)
    check(read_runs(write(N=RUNS.N, tokens_seen=RUNS.D, epochs=EPOCHS, loss=RUNS.loss)), right)


@pytest.mark.parametrize("name", ["batch_tokens", "batch_size_tokens", "tokens_per_batch"])
def test_the_tokens_of_a_batch_are_not_those_of_a_run(name: str, write: Write, right: dict[str, float]) -> None:
    batch = np.where(RUNS.N > 3e8, 2**21, 2**20)
    path = write(N=RUNS.N, steps=RUNS.D / batch, **{name: batch}, loss=RUNS.loss)
    assert read_runs(path).roles.column(Role.D) is None
    refused(path, f"--derive 'D = steps * {name}'")
    check(read_runs(path, derived={"D": f"steps * {name}"}), right)


def test_a_history_by_epochs_of_a_data_set(write: Write, right: dict[str, float]) -> None:
    table = history().rename(columns={"step": "epoch"})
    table["epoch"] /= 200
    table["dataset_size"] = table.pop("D") / table.epoch
    path = write(**table)
    refused(path, "--derive 'D = epoch * dataset_size'")
    check(read_runs(path, derived={"D": "epoch * dataset_size"}), right)
