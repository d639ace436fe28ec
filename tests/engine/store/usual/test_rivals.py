"""Several columns that fit one role: the column that is used, and the note that names the other column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from isoplan.engine.store.files.table_files import read_runs
from tests.engine.store.usual.conftest import RUNS, Write, check, refused

SIZES = {"params": RUNS.N, "tokens": RUNS.D}
TRAINED = RUNS.loss * 0.9
EPOCHS = np.tile([1, 2, 4, 8, 2, 4], 6)


@pytest.mark.parametrize(
    ("trained", "held"),
    [
        ("loss", "val_loss"),
        ("loss", "eval_loss"),
        ("loss", "test_loss"),
        ("loss", "valid_loss"),
        ("loss", "validation_loss"),
        ("loss", "heldout_loss"),
        ("loss", "Held-out loss"),
        ("loss", "best_val_loss"),
        ("Loss", "loss_dev"),
        ("train/loss", "eval/loss"),
        ("train_loss", "val_loss"),
        ("metrics.loss", "metrics.val_loss"),
    ],
)
def test_the_held_out_loss_is_read_and_the_other_is_named(
    trained: str, held: str, write: Write, right: dict[str, float]
) -> None:
    path = write(**SIZES, **{trained: TRAINED, held: RUNS.loss})
    runs = read_runs(path)
    assert runs.roles.loss == held
    (note,) = runs.notes
    assert note.startswith(
        f"Column {held!r} is read as the loss; column {trained!r} is assumed to be the training loss."
    )
    assert f"--map loss={trained} in the terminal" in note
    check(runs, right)
    other = read_runs(path, {"loss": trained})
    assert other["loss"] == pytest.approx(TRAINED)
    assert not other.notes


@pytest.mark.parametrize("other", ["val_loss_std", "val_loss_gap", "test_loss_ratio", "init_val_loss", "lm_loss"])
def test_what_is_no_held_out_loss_leaves_the_plain_one(other: str, write: Write, right: dict[str, float]) -> None:
    runs = read_runs(write(**SIZES, loss=RUNS.loss, **{other: TRAINED}))
    assert (runs.roles.loss, runs.notes) == ("loss", ())
    check(runs, right)


def test_a_copy_of_the_held_out_loss_is_the_loss(write: Write) -> None:
    runs = read_runs(write(**SIZES, val_loss=RUNS.loss, loss=RUNS.loss))
    assert (runs.roles.loss, runs.notes) == ("loss", ())


@pytest.mark.parametrize("part", ["non_embedding_params", "active_params", "activated_parameters"])
@pytest.mark.parametrize("total", ["total_params", "params"])
def test_a_count_of_some_of_the_parameters_is_named(total: str, part: str, write: Write) -> None:
    path = write(**{total: RUNS.N, part: RUNS.N / 2, "tokens": RUNS.D, "loss": RUNS.loss})
    runs = read_runs(path)
    assert runs.roles.N == total
    (note,) = runs.notes
    assert note == (
        f"Column {total!r} is read as N. To use {part!r} instead, map it to N on the Data page "
        f"(--map N={part} in the terminal)."
    )
    counted = read_runs(path, {"N": part})
    assert counted["N"] == pytest.approx(RUNS.N / 2)
    assert not counted.notes


def test_parameters_that_are_all_counted_need_no_note(write: Write) -> None:
    for other in ({"embedding_params": RUNS.N / 2}, {"non_embedding_params": RUNS.N}):
        assert not read_runs(write(**SIZES, loss=RUNS.loss, **other)).notes


@pytest.mark.parametrize(
    "name",
    ["train_set_size", "training_set_samples", "Training Set Size", "data_set_size", "dataset_examples", "dataset_size",
     "trainset_size", "train_size", "training_data_size"],
)  # fmt: skip
def test_the_size_of_the_data_set_times_epochs_is_proposed(name: str, write: Write, right: dict[str, float]) -> None:
    path = write(params=RUNS.N, epochs=EPOCHS, loss=RUNS.loss, **{name: RUNS.D / EPOCHS})
    formula = f"epochs * {name}" if name.isidentifier() else f'epochs * "{name}"'
    refused(path, f"--derive 'D = {formula}'")
    check(read_runs(path, derived={"D": formula}), right)
    (note,) = [n for n in read_runs(path, {"D": name}).notes if n.startswith("D (column")]
    assert note.startswith(
        f"D (column {name!r}): the name denotes the size of a dataset, not the samples seen in all epochs"
    )
    assert f"--derive 'D = {formula}' in the terminal" in note


def test_the_size_of_the_data_set_is_what_runs_see_without_epochs(write: Write, right: dict[str, float]) -> None:
    check(read_runs(write(params=RUNS.N, train_set_size=RUNS.D, loss=RUNS.loss)), right)
    once = read_runs(write(params=RUNS.N, train_set_size=RUNS.D, epochs=[1] * 36, loss=RUNS.loss))
    assert not once.notes
    check(once, right)


@pytest.mark.parametrize("name", ["train_samples", "test_set_size", "train_batch_size", "set_size"])
def test_other_counts_are_no_data_set(name: str, write: Write) -> None:
    runs = read_runs(write(params=RUNS.N, tokens_seen=RUNS.D, epochs=EPOCHS, loss=RUNS.loss, **{name: RUNS.D / 7}))
    assert runs.roles.U is None
    assert runs.roles.D == "tokens_seen"


LOGARITHMS: dict[str, tuple[dict[str, Any], str]] = {
    "logN": ({"logN": np.log10(RUNS.N), "logD": np.log10(RUNS.D)}, "log10"),
    "lgN": ({"lgN": np.log10(RUNS.N), "lgD": np.log10(RUNS.D)}, "log10"),
    "log_N": ({"log_N": np.log10(RUNS.N), "log_D": np.log10(RUNS.D)}, "log10"),
    "log(N)": ({"log(N)": np.log10(RUNS.N), "log(D)": np.log10(RUNS.D)}, "log10"),
    "lg_params": ({"lg_params": np.log10(RUNS.N), "lg_tokens": np.log10(RUNS.D)}, "log10"),
    "log_10_params": ({"log_10_params": np.log10(RUNS.N), "log_10_tokens": np.log10(RUNS.D)}, "log10"),
    "log10N": ({"log10N": np.log10(RUNS.N), "log10D": np.log10(RUNS.D)}, "log10"),
    "log2N": ({"log2N": np.log2(RUNS.N), "log2D": np.log2(RUNS.D)}, "log2"),
    "log_2_params": ({"log_2_params": np.log2(RUNS.N), "log_2_tokens": np.log2(RUNS.D)}, "log2"),
    "lnN": ({"lnN": np.log(RUNS.N), "lnD": np.log(RUNS.D)}, "ln"),
    "logN, natural": ({"logN": np.log(RUNS.N), "logD": np.log(RUNS.D)}, "ln"),
    "logC": ({"logN": np.log10(RUNS.N), "logC": np.log10(6 * RUNS.N * RUNS.D)}, "log10"),
    "logC, natural": ({"logN": np.log(RUNS.N), "logC": np.log(6 * RUNS.N * RUNS.D)}, "ln"),
}


@pytest.mark.parametrize("case", LOGARITHMS)
def test_logarithms_are_recognised_by_name_and_values(case: str, write: Write, right: dict[str, float]) -> None:
    columns, how = LOGARITHMS[case]
    names = tuple(columns)
    path = write(**columns, loss=RUNS.loss)
    about = {"log10": "the decimal logarithm, 10^x", "ln": "the natural logarithm, e^x",
             "log2": "the binary logarithm, 2^x"}[how]  # fmt: skip
    refused(path, f"looks like N as {about}")
    roles = {case_role: name for case_role, name in zip(("N", "C" if "logC" in names else "D"), names, strict=True)}
    refused(path, f"Read it as {about} with --convert", roles)
    check(read_runs(path, agreed=names), right)


def test_a_logarithm_of_two_possible_bases_is_asked_about(write: Write) -> None:
    N, D = RUNS.N / 1e3, RUNS.D / 1e5  # 9.9 can be ln N (N = 2e4) or log10 N (N = 8e9). Models of both sizes exist.
    path = write(logN=np.log(N), logD=np.log(D), loss=RUNS.loss)
    options = "--convert logN:log10 or --convert logN:ln in the terminal"
    refused(path, "column 'logN' looks like N as a logarithm without a stated base; tick")
    refused(path, options)
    refused(path, "with --convert logN:log10 or --convert logN:ln, or unchanged with", {"N": "logN"})
    with pytest.raises(Exception, match=r"the base of the logarithm is missing\. Write logN:log10 or logN:ln\."):
        read_runs(path, agreed=("logN", "logD"))
    assert read_runs(path, agreed=("logN:ln", "logD:ln"))["N"] == pytest.approx(N)


def test_the_note_on_small_sizes_names_the_logarithm(write: Write) -> None:
    path = write(N=RUNS.N, tokens=RUNS.D, lgN=np.log10(RUNS.N), loss=RUNS.loss)
    refused(path, "N (column 'lgN'): its name or values suggest a unit. Read it as the decimal logarithm", {"N": "lgN"})


@pytest.mark.parametrize("name", ["gpu_h", "gpu-h", "GPUh", "gpu_hours"])
def test_hours_beside_another_compute_are_hours(name: str, write: Write) -> None:
    hours = 6 * RUNS.N * RUNS.D / (0.4 * 989e12 * 3600)
    path = write(**SIZES, flops=6 * RUNS.N * RUNS.D, loss=RUNS.loss, **{name: hours})
    refused(path, f"Read it as GPU-hours of a device with --convert {name}:H100", {"C": name})
    assert read_runs(path, {"C": name}, agreed=(f"{name}:H100",))["C"] == pytest.approx(6 * RUNS.N * RUNS.D)


def test_rows_without_sizes_are_no_copies(write: Write) -> None:
    logs = {"logN": np.log10(RUNS.N), "logD": np.log10(RUNS.D)}
    for columns in (
        {**logs, "lr": [1e-3] * 36},
        {**logs, "loss": [2.0] * 36},
        {"N": [1e6] * 36, "logD": logs["logD"], "loss": [2.0] * 36},
        {"model": RUNS.N, "seen": RUNS.D, "loss": [2.0] * 36},
    ):
        path = write(**columns)
        assert not any("repeat" in note for note in read_runs(path).notes)
        assert len(read_runs(path, repeats="once")) == 36


def test_rows_with_sizes_are_copies(write: Write) -> None:
    twice = pd.concat([RUNS, RUNS.iloc[:3]])
    for columns in (twice, twice[["N", "loss"]], twice[["D", "loss"]]):
        assert any(note.startswith("3 rows repeat another row") for note in read_runs(write(**columns)).notes)
