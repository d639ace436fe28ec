"""Tables with losses as error rates, logarithms or bits. Tables with sizes in thousands."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isoplan.engine.store.files.table_files import read_runs
from tests.engine.store.usual.conftest import RUNS, Write, check, refused


@pytest.mark.parametrize("name", ["top1_error_pct", "WER (%)", "error_rate", "cer"])
def test_an_error_in_percent_is_a_loss_in_percent(name: str, write: Write, right: dict[str, float]) -> None:
    path = write(**{"N": RUNS.N, "D": RUNS.D, name: 10 * RUNS.loss})
    quoted = name if name.isidentifier() else f'"{name}"'
    refused(path, f"--derive 'loss = {quoted} / 100'")
    check(read_runs(path, derived={"loss": f"{quoted} / 100"}), right, scale=0.1)
    (note,) = read_runs(path, {"loss": name}).notes
    assert note.startswith(f"loss (column '{name}') is in percent")
    assert ":percent" in note
    assert "perplexity" not in note
    check(read_runs(path, {"loss": name}, agreed=(f"{name}:percent",)), right, scale=0.1)


def test_an_error_between_zero_and_one_is_a_loss(write: Write, right: dict[str, float]) -> None:
    path = write(N=RUNS.N, D=RUNS.D, error_rate=RUNS.loss / 10)
    refused(path, "--derive 'loss = error_rate'")
    check(read_runs(path, derived={"loss": "error_rate"}), right, scale=0.1)
    assert not read_runs(path, {"loss": "error_rate"}).notes


def test_a_large_squared_error_is_neither_percent_nor_perplexity(write: Write) -> None:
    assert not read_runs(write(N=RUNS.N, D=RUNS.D, val_mse=20 * RUNS.loss), {"loss": "val_mse"}).notes


def test_a_loss_named_like_a_logarithm_is_named(write: Write, right: dict[str, float]) -> None:
    path = write(N=RUNS.N, D=RUNS.D, log_loss=np.log(RUNS.loss))
    (note,) = read_runs(path, {"loss": "log_loss"}).notes
    assert note.startswith("loss (column 'log_loss') is named like the logarithm of a loss")
    assert "--convert log_loss:ln" in note
    check(read_runs(path, {"loss": "log_loss"}, agreed=("log_loss:ln",)), right)


@pytest.mark.parametrize("name", ["bits/byte", "val bits/token", "bits_byte"])
def test_bits_with_a_stroke_are_bits(name: str, write: Write, right: dict[str, float]) -> None:
    path = write(**{"N": RUNS.N, "D": RUNS.D, name: RUNS.loss / math.log(2)})
    assert any("is in bits, so E is in bits too" in note for note in read_runs(path).notes)
    check(read_runs(path, agreed=(name,)), right)


@pytest.mark.parametrize("name", ["Params (K)", "params_k", "params (thousands)", "params in thousands"])
def test_thousands_are_recognised(name: str, write: Write, right: dict[str, float]) -> None:
    path = write(**{name: RUNS.N / 1e3, "Tokens (M)": RUNS.D / 1e6, "loss": RUNS.loss})
    refused(path, "in units of 1e3")
    refused(path, f"--convert {name!r}" if " " in name else f"--convert {name}")
    check(read_runs(path, agreed=(name, "Tokens (M)")), right)
