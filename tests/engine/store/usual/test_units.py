"""Common formats of run tables with runs of one known law. Each is read correctly, or refused with an instruction."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import fit
from isoplan.engine.schema import Roles
from isoplan.engine.store.columns.column import COLUMNS, read_conversion
from isoplan.engine.store.columns.unit_names import in_percent
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.store.usual.conftest import ALPHA, BETA, RUNS, SPEC, E, Write, check, refused, values

UNITS = {
    "header units": ({"Params (M)": RUNS.N / 1e6, "Tokens (B)": RUNS.D / 1e9, "val_loss": RUNS.loss},
                     ("Params (M)", "Tokens (B)"), "in millions; tick its conversion"),
    "brackets and words": ({"params [millions]": RUNS.N / 1e6, "tokens_in_billions": RUNS.D / 1e9, "loss": RUNS.loss},
                           ("params [millions]", "tokens_in_billions"), "in millions"),
    "powers": ({"N (1e6)": RUNS.N / 1e6, "D (10^9)": RUNS.D / 1e9, "loss": RUNS.loss},
               ("N (1e6)", "D (10^9)"), "in units of 1e6"),
    "plain": ({"params": RUNS.N / 1e6, "tokens": RUNS.D / 1e9, "loss": RUNS.loss},
              ("params", "tokens"), "in billions"),
    "plain, whole parameters": ({"params": (RUNS.N / 1e6).round(), "tokens": RUNS.D / 1e9, "loss": RUNS.loss},
                                ("params", "tokens"), "in millions"),
    "plain, whole parameters beside samples in ones": ({"params": (RUNS.N / 1e6).round(), "tokens": RUNS.D,
                                                        "loss": RUNS.loss}, ("params",), "in millions"),
    "logarithms": ({"log10_params": np.log10(RUNS.N), "log10 tokens": np.log10(RUNS.D), "loss": RUNS.loss},
                   ("log10_params", "log10 tokens"), "decimal logarithm"),
    "logarithms under plain names": ({"N": np.log10(RUNS.N), "D": np.log10(RUNS.D), "loss": RUNS.loss},
                                     ("N", "D"), "decimal logarithm"),
    "natural logarithms": ({"ln_N": np.log(RUNS.N), "log D": np.log(RUNS.D) / np.log(10), "loss": RUNS.loss},
                           ("ln_N", "log D"), "natural logarithm"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNITS)
def test_units_are_named_and_converted_only_on_agreement(case: str, write: Write, right: dict[str, float]) -> None:
    columns, agreed, why = UNITS[case]
    path = write(**columns)
    refused(path, why)
    runs = read_runs(path, agreed=agreed)
    if "whole" in case:
        assert runs["N"] == pytest.approx(RUNS.N, rel=0.02)
        assert values(fit(SPEC, runs)) == pytest.approx({"alpha": ALPHA, "beta": BETA, "E": E}, abs=0.05)
    else:
        check(runs, right)
    for name in agreed:
        assert any(f"is read from column {name!r}" in note for note in runs.notes)


def test_a_mapped_column_in_another_unit_asks_how(write: Write) -> None:
    path = write(**UNITS["header units"][0])
    refused(path, "--convert 'Params (M)', or unchanged with --convert 'Params (M)':as-is", {"N": "Params (M)"})
    runs = read_runs(path, agreed=("Params (M):as-is", "Tokens (B)"))
    assert runs["N"] == pytest.approx(RUNS.N / 1e6)
    assert "N is read from column 'Params (M)' without conversion." in runs.notes


def test_a_unit_can_be_typed(write: Write, right: dict[str, float]) -> None:
    path = write(size=RUNS.N / 1e6, seen=RUNS.D / 1e9, loss=RUNS.loss)
    runs = read_runs(path, {"N": "size", "D": "seen"}, agreed=("size:millions", "seen:1e9"))
    check(runs, right)
    with pytest.raises(PlannerError, match=r"'smoots' is unknown. Use a factor such as 1e6"):
        read_runs(path, {"N": "size"}, agreed=("size:smoots",))
    with pytest.raises(PlannerError, match=r"Column 'sise' of --convert is not in the table: did you mean size"):
        read_runs(path, agreed=("sise",))
    with pytest.raises(PlannerError, match=r"--convert 'loss': no unit is recognised"):
        read_runs(path, agreed=("loss",))


@pytest.mark.parametrize(
    ("how", "number", "converted", "about"),
    [
        ("millions", 2.0, 2e6, "in millions"),
        ("1e3", 2.0, 2e3, "in units of 1e3"),
        ("log10", 3.0, 1e3, "as the decimal logarithm, 10^x"),
        ("log2", 3.0, 8.0, "as the binary logarithm, 2^x"),
        ("ln", 0.0, 1.0, "as the natural logarithm, e^x"),
        ("percent", 40.0, 0.4, "as percent, divided by 100"),
        ("perplexity", 1.0, 0.0, "as perplexity, whose natural logarithm is the loss"),
        ("bits", 2.0, 2 * math.log(2), "as bits, converted to nats (times ln 2)"),
        ("bits@4", 2.0, 8 * math.log(2), "as bits, converted to nats per token (4 bytes per token)"),
        ("H100@20%", 1.0, 0.2 * 989e12 * 3600, "as hours of H100 at 20 % of its peak"),
        ("H100@0.2", 1.0, 0.2 * 989e12 * 3600, "as hours of H100 at 20 % of its peak"),
        ("thousands+millions", 2.0, 2e6, "in millions"),
        ("pf-days", 1.0, 8.64e19, "in PF-days (8.64e19 FLOPs)"),
        ("as-is", 2.0, 2.0, "without conversion"),
    ],
)
def test_each_conversion_gives_its_number(how: str, number: float, converted: float, about: str) -> None:
    reading = read_conversion(how, "x")
    assert reading.about == about
    assert reading.one(number) == pytest.approx(converted)
    assert reading.one(math.inf) == math.inf
    assert math.isnan(reading.one(math.nan))


@pytest.mark.parametrize(
    "how", ["inf", "nan", "0", "-1", "1e6@2", "millions@2", "H100@0", "H100@inf", "bits@-1", "log@2"]
)
def test_what_is_no_positive_number_is_no_unit(how: str) -> None:
    with pytest.raises(PlannerError, match=r"^Conversion of 'x': "):
        read_conversion(how, "x")


@pytest.mark.parametrize(
    ("name", "low", "high", "percent"),
    [
        ("accuracy", 0.0, 100.0, True),
        ("accuracy", 50.0, 50.0, True),
        ("accuracy", 0.0, 1.5, False),
        ("accuracy", -0.1, 90.0, False),
        ("accuracy", 10.0, 100.1, False),
        ("accuracy (%)", 0.1, 0.9, True),
        ("acc_pct", 0.1, 0.9, True),
        ("error_rate", 1.0, 20.0, True),
        ("error", 1.0, 20.0, False),
        ("score", 1.0, 20.0, False),
        ("loss", 1.0, 20.0, False),
    ],
)
def test_percent_is_known_by_name_and_range(name: str, low: float, high: float, percent: bool) -> None:
    assert in_percent(name, low, high) is percent


def test_text_with_separators_in_a_unit(write: Write) -> None:
    path = write(**{"Params (M)": [f"{n:,.3f}" for n in RUNS.N / 1e6], "D": RUNS.D, "loss": RUNS.loss})
    runs = read_runs(path, agreed=("Params (M)",))
    assert runs.roles.conversions == {"Params (M)": "thousands+millions"}
    assert runs["N"] == pytest.approx(RUNS.N, rel=1e-4)


PF_DAYS = 6 * RUNS.N * RUNS.D / (1e15 * 86400)


@pytest.mark.parametrize("name", ["compute_pf_days", "C (PF-days)", "PFLOP/s-days", "petaflop_days", "train pfs-days"])
def test_pf_days_are_recognised(name: str, write: Write, right: dict[str, float]) -> None:
    path = write(**{"N": RUNS.N, "loss": RUNS.loss, name: PF_DAYS})
    refused(path, "looks like C in PF-days")
    runs = read_runs(path, agreed=(name,))
    assert runs["D"] == pytest.approx(RUNS.D)
    check(runs, right)


@pytest.mark.parametrize("unit", [1e9, 1e12, 1e15, 1e18, 86400e15])
def test_compute_in_an_unknown_unit_gives_no_samples(unit: float, write: Write, right: dict[str, float]) -> None:
    path = write(N=RUNS.N, loss=RUNS.loss, compute=6 * RUNS.N * RUNS.D / unit)
    assert "D" not in read_runs(path)
    refused(path, "it cannot be computed from C (column 'compute') because the unit of C is not known")
    check(read_runs(path, agreed=(f"compute:{unit:g}",)), right)


def test_compute_in_flops_still_gives_samples(write: Write, right: dict[str, float]) -> None:
    check(read_runs(write(N=RUNS.N, loss=RUNS.loss, compute=6 * RUNS.N * RUNS.D)), right)
    check(read_runs(write(N=RUNS.N, loss=RUNS.loss, C=6 * RUNS.N * RUNS.D)), right)


@pytest.mark.parametrize(("how", "factor"), [("petaflop", 1e15), ("exaflop", 1e18), ("zettaflop", 1e21)])
def test_larger_units_of_compute_are_recognised(how: str, factor: float, write: Write, right: dict[str, float]) -> None:
    name = f"compute ({how[0].upper()}FLOPs)"
    path = write(**{"N": RUNS.N, "loss": RUNS.loss, name: 6 * RUNS.N * RUNS.D / factor})
    refused(path, f"looks like C in {how}")
    check(read_runs(path, agreed=(name,)), right)


def test_a_unit_that_only_the_rule_shows_is_named(write: Write) -> None:
    runs = read_runs(write(N=RUNS.N, D=RUNS.D, loss=RUNS.loss, compute=PF_DAYS))
    notes = " ".join(runs.notes)
    assert "8.64e19 times less than 6 N D: it may be in PF-days" in notes
    assert "--convert compute:pf-days" in notes


@pytest.mark.parametrize("name", ["gpu_hours", "GPU-hours", "H100 hours", "compute (GPU hours)", "a100_hours"])
def test_hours_of_a_device_are_no_flops(name: str, write: Write, right: dict[str, float]) -> None:
    hours = 6 * RUNS.N * RUNS.D / (0.4 * 989e12 * 3600)
    path = write(**{"N": RUNS.N, "D": RUNS.D, "loss": RUNS.loss, name: hours})
    runs = read_runs(path)
    assert runs["C"] == pytest.approx(6 * RUNS.N * RUNS.D)
    assert not any("10^18" in note for note in runs.notes)
    assert any(note.startswith("C is not read") and "hours" in note for note in runs.notes)
    check(runs, right)
    converted = read_runs(path, agreed=(f"{name}:H100",))
    assert converted["C"] == pytest.approx(6 * RUNS.N * RUNS.D)
    assert read_runs(path, agreed=(f"{name}:H100@20%",))["C"] == pytest.approx(3 * RUNS.N * RUNS.D)


def test_gpu_hours_without_a_device_are_refused(write: Write) -> None:
    path = write(N=RUNS.N, D=RUNS.D, loss=RUNS.loss, gpu_hours=RUNS.N / 1e6)
    with pytest.raises(PlannerError, match=r"GPU-hours need a device\. Write gpu_hours:H100"):
        read_runs(path, agreed=("gpu_hours",))


def test_perplexity_is_the_exponential_of_the_loss(write: Write, right: dict[str, float]) -> None:
    path = write(N=RUNS.N, D=RUNS.D, val_ppl=np.exp(RUNS.loss))
    refused(path, "column 'val_ppl' looks like loss as perplexity, whose natural logarithm is the loss; tick")
    assert [m.column for m in read_runs(path).roles.metrics] == ["val_ppl"]
    check(read_runs(path, agreed=("val_ppl",)), right)
    as_it_stands = read_runs(path, {"loss": "val_ppl"})
    assert any(
        "a law describes its logarithm" in note and "--convert val_ppl:perplexity" in note
        for note in as_it_stands.notes
    )


def test_a_loss_that_looks_like_perplexity_is_named(write: Write) -> None:
    runs = read_runs(write(N=RUNS.N, D=RUNS.D, val_loss=np.exp(RUNS.loss)))
    assert any("like a perplexity" in note for note in runs.notes)
    assert not any("perplexity" in note for note in read_runs(write(N=RUNS.N, D=RUNS.D, loss=RUNS.loss)).notes)


@pytest.mark.parametrize("name", ["val_bpb", "bits_per_byte", "bits_per_token", "eval bpc"])
def test_bits_are_a_loss_in_another_unit(name: str, write: Write, right: dict[str, float]) -> None:
    path = write(**{"N": RUNS.N, "D": RUNS.D, name: RUNS.loss / math.log(2)})
    check(read_runs(path), right, scale=1 / math.log(2))
    assert any("is in bits, so E is in bits too" in note for note in read_runs(path).notes)
    check(read_runs(path, agreed=(name,)), right)
    check(read_runs(path, agreed=(f"{name}:bits@4",)), right, scale=4)


def test_accuracy_is_no_loss_and_its_error_is(write: Write, right: dict[str, float]) -> None:
    path = write(N=RUNS.N, D=RUNS.D, top1_acc=100 - 10 * RUNS.loss)
    refused(path, "compute it as 1 - top1_acc / 100 on the Data page (--derive 'loss = 1 - top1_acc / 100'")
    check(read_runs(path, derived={"loss": "1 - top1_acc / 100"}), right, scale=0.1)
    wrong = read_runs(path, {"loss": "top1_acc"})
    assert any("larger is better" in n and "loss = 1 - top1_acc / 100" in n for n in wrong.notes)
    percent = read_runs(path, {"metric": "top1_acc"}, agreed=("top1_acc",))
    assert percent["top1_acc"] == pytest.approx(1 - RUNS.loss / 10)
    assert any("top1_acc is read from column 'top1_acc' as percent" in note for note in percent.notes)


@pytest.mark.parametrize(
    "bad", ["PRUNED", "FAIL", "TrialState.PRUNED", "WAITING", "RUNNING", "crashed", "KILLED", "SCHEDULED", "failed"]
)
def test_trials_that_did_not_finish_are_left_out(bad: str, write: Write, right: dict[str, float]) -> None:
    more = pd.concat([RUNS, RUNS.assign(loss=7.0)])
    path = write(number=range(72), value=more.loss, params_N=more.N, params_D=more.D,
                 state=["COMPLETE"] * 36 + [bad] * 36)  # fmt: skip
    runs = read_runs(path)
    assert "36 rows that did not finish were left out." in runs.notes
    check(runs, right)


def test_every_column_to_agree_to_is_named_at_once(write: Write) -> None:
    path = write(**{"Params (M)": RUNS.N / 1e6, "Tokens (B)": RUNS.D / 1e9, "val_ppl": np.exp(RUNS.loss)})
    with pytest.raises(PlannerError) as error:
        fit(SPEC, read_runs(path))
    for name in ("'Params (M)'", "'Tokens (B)'", "val_ppl"):
        assert f"--convert {name} in the terminal" in str(error.value)


def test_an_unknown_state_is_named(write: Write) -> None:
    runs = read_runs(write(N=RUNS.N, D=RUNS.D, loss=RUNS.loss, state=["finished"] * 30 + ["odd"] * 6))
    assert "6 rows with the unknown state 'odd' count as finished." in runs.notes
    assert len(runs) == 36


def test_samples_from_epochs_and_the_size_of_the_data_set(write: Write, right: dict[str, float]) -> None:
    epochs = np.tile([1, 2, 4], 12)
    path = write(params=RUNS.N, epochs=epochs, dataset_size=RUNS.D / epochs, loss=RUNS.loss)
    assert read_runs(path).roles.U == "dataset_size"
    refused(path, "compute it as epochs * dataset_size on the Data page (--derive 'D = epochs * dataset_size'")
    runs = read_runs(path, derived={"D": "epochs * dataset_size"})
    assert runs["U"] == pytest.approx(RUNS.D / epochs)
    assert "D is computed as epochs * dataset_size." in runs.notes
    check(runs, right)


def test_samples_from_steps_batch_and_length(write: Write, right: dict[str, float]) -> None:
    path = write(**{"params": RUNS.N, "epochs": np.ones(36), "steps": RUNS.D / 2**20, "Batch Size": [512] * 36,
                    "seq_len": [2048] * 36, "loss": RUNS.loss})  # fmt: skip
    refused(path, """--derive 'D = steps * "Batch Size" * seq_len'""")
    check(read_runs(path, derived={"D": 'steps * "Batch Size" * seq_len'}), right)


def test_a_formula_may_read_a_column_called_like_a_role_and_one_in_a_unit(
    write: Write, right: dict[str, float]
) -> None:
    path = write(**{"N": RUNS.N, "D": np.log10(RUNS.D), "loss": RUNS.loss, "Tokens (B)": RUNS.D / 1e9})
    check(read_runs(path, derived={"D": "10^D"}), right)
    check(read_runs(path, derived={"D": '1 * "Tokens (B)"'}, agreed=("Tokens (B)",)), right)


FORMULAS = {
    "D = steps * speed": "D: the formula 'steps * speed' reads 'speed', which is no column of the table",
    "lr = steps": "lr: a formula can give N, D,",
    "D = steps *": "cannot be read at character",
    "D = steps / zero": "divides by zero in row 0",
    "D = 5": "reads no column",
    "D = note": "column 'note' in the formula holds text",
    "steps": "Write ROLE = FORMULA",
}


@pytest.mark.parametrize("option", FORMULAS)
def test_a_bad_formula_is_one_sentence(option: str, write: Write) -> None:
    from isoplan.engine.store.columns.derive import read_derived

    path = write(N=[1e6, 2e6], steps=[5, 6], zero=[0, 1], note=["a", "b"], loss=[3, 2])
    with pytest.raises(PlannerError) as error:
        read_runs(path, derived=read_derived([option]))
    assert FORMULAS[option] in str(error.value)


def test_empty_cells_and_single_rows_stay_what_they_are(write: Write) -> None:
    path = write(**{"Params (M)": [1.5, np.nan, 3.5], "Tokens (B)": [0.5, 1.5, 2.5], "loss": [3.1, 3.0, 2.9]})
    runs = read_runs(path, agreed=("Params (M)", "Tokens (B)"))
    assert runs["N"].tolist() == [1.5e6, 3.5e6]
    one = read_runs(write(**{"Params (M)": [1.5], "D": [1e9], "loss": [3.0], "run": ["a"], "step": [5]}), rows="last",
                    agreed=("Params (M)",))  # fmt: skip
    assert one["N"].tolist() == [1.5e6]


def test_mappings_of_before_are_written_as_before() -> None:
    stored = Roles(N="params", conversions={"params": "suffix"}).model_dump()
    assert not {"derived", "rows"} & stored.keys()
    assert Roles.model_validate(stored) == Roles(N="params", conversions={"params": "suffix"})
    assert Roles.model_validate(stored).reading == ""
    assert COLUMNS.validate_json(
        '[{"name": "N", "kind": "text", "conversion": {"kind": "suffix", "changes": 3, "fails": 0}}]'
    )
