"""Compute in an unknown unit, and sizes in whole millions. The message names the option for the conversion."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.schema import Role
from isoplan.engine.store.files.table_files import open_table, read_runs
from tests.engine.store.usual.conftest import ALPHA, BETA, RUNS, SPEC, E, Write, check, refused, values

C = 6 * RUNS.N * RUNS.D
ON_C = FitSpec(law="power", axis="C", bootstrap=0)
UNITS = {"pf-days": 86400e15, "zettaflop": 1e21, "exaflop": 1e18, "petaflop": 1e15, "teraflop": 1e12, "gigaflop": 1e9}


@pytest.mark.parametrize("unit", UNITS)
def test_the_unit_of_compute_is_chosen_by_its_values(unit: str, write: Write, right: dict[str, float]) -> None:
    path = write(N=RUNS.N, loss=RUNS.loss, compute=C / UNITS[unit])
    option = f"--convert compute:{unit}"
    refused(path, option)
    assert any(option in note for note in read_runs(path).notes)
    check(read_runs(path, agreed=(f"compute:{unit}",)), right)


@pytest.mark.parametrize("unit", ["pf-days", "exaflop", "petaflop", "teraflop"])
@pytest.mark.parametrize("with_samples", [False, True])
def test_no_law_reads_compute_below_one_sample(unit: str, with_samples: bool, write: Write) -> None:
    samples = {"D": RUNS.D} if with_samples else {}
    path = write(N=RUNS.N, loss=RUNS.loss, compute=C / UNITS[unit], **samples)
    with pytest.raises(PlannerError) as error:
        fit(ON_C, read_runs(path))
    assert str(error.value).startswith("Law power needs C: column 'compute' gives most runs less than one sample")
    assert f"--convert compute:{unit}." in str(error.value)
    converted = read_runs(path, agreed=(f"compute:{unit}",))
    assert converted["C"] == pytest.approx(C)
    assert fit(ON_C, converted).n == 36
    assert fit(ON_C, read_runs(path, agreed=("compute:as-is",))).n == 36


def test_compute_alone_that_is_small_for_flops_is_named(write: Write) -> None:
    runs = read_runs(write(loss=RUNS.loss, compute=C / 86400e15))
    assert any(
        "which is too small for FLOPs; the column may be in PF-days" in n and "--convert compute:pf-days" in n
        for n in runs.notes
    )
    assert not read_runs(write(loss=RUNS.loss, compute=C)).notes


def test_whole_millions_are_named_with_their_option(write: Write) -> None:
    path = write(params=(RUNS.N / 1e6).round(), tokens=(RUNS.D / 1e6).round(), loss=RUNS.loss)
    notes = read_runs(path).notes
    assert notes[0].startswith("N (column 'params') is at most 7e+03: if it counts millions, convert it")
    assert "--convert params:millions" in notes[0]
    assert notes[1].startswith("D (column 'tokens') is at most 1.2e+05: if it counts millions, convert it")
    read = read_runs(path, agreed=("params:millions", "tokens:millions"))
    assert not [n for n in read.notes if "at most" in n]
    assert values(fit(SPEC, read)) == pytest.approx({"alpha": ALPHA, "beta": BETA, "E": E}, abs=0.05)


def test_the_unit_of_samples_is_the_one_that_fits_the_parameters(write: Write) -> None:
    tokens = np.maximum((RUNS.D / 1e9).round(), 1)
    for params in (RUNS.N, (RUNS.N / 1e6).round()):
        notes = [n for n in read_runs(write(params=params, tokens=tokens, loss=RUNS.loss)).notes if "'tokens'" in n]
        assert len(notes) == 1
        assert "if it counts billions" in notes[0]
        assert "--convert tokens:billions" in notes[0]
    (note,) = read_runs(write(params=RUNS.N, tokens=(RUNS.D / 1e6).round(), loss=RUNS.loss)).notes
    assert "--convert tokens:millions" in note


def test_small_models_whose_compute_agrees_are_no_millions(write: Write) -> None:
    small = {"N": (RUNS.N / 1e5).round(), "D": (RUNS.D / 1e5).round(), "loss": RUNS.loss}
    assert "--convert N:millions" in " ".join(read_runs(write(**small)).notes)
    assert not read_runs(write(**small, C=6 * small["N"] * small["D"])).notes
    assert not read_runs(write(**small), agreed=("N:as-is", "D:as-is")).notes[2:]
    assert not read_runs(write(**{**small, "loss": RUNS.loss / 10})).notes


@pytest.mark.parametrize(
    ("N", "D", "unit"),
    [
        ([0.5, 6, 30, 200], [1e10, 1e11, 4e11, 2e12], "billions"),  # no model has 0.5 million parameters
        ([1, 7, 13, 40], [1e10, 1e11, 4e11, 2e12], "billions"),
        ([0, 7, 70, 200], [1.5, 20.5, 300.5, 1000.5], "billions"),  # 0 is a rounded value below 0.5
        ([70, 125, 350, 1300], [1e10, 1e11, 4e11, 2e12], "millions"),
        ([70, 125, 350, 1300], [1.5, 20.5, 300.5, 1000.5], "millions"),
    ],
)
def test_small_sizes_beside_many_samples_are_in_billions(
    N: list[float], D: list[float], unit: str, write: Write
) -> None:
    path = write(params=N, tokens=D, loss=[3.1, 2.7, 2.4, 2.1])
    with open_table(path) as table:
        (column,) = (c for c in table.columns if c.name == "params")
        assert column.conversion is not None
        assert (column.guess, column.conversion.kind) == (Role.N, unit)
        assert "params" in table.waiting({})["N"]


def test_a_model_without_parameters_does_not_make_the_samples_unknown(write: Write) -> None:
    """A run with N = 0 is left out. The samples D of the other runs are still derived from C."""
    N, D = np.array([0.0, 1e6, 2e6, 4e6, 8e6]), np.full(5, 2e7)
    path = write(N=N, compute=6 * N * D + 2e6 * D, loss=[3.5, 3.1, 2.7, 2.4, 2.1])
    runs = read_runs(path, {"C": "compute"}, compute=ComputeRule(rule="formula", formula="6*N*D + 2e6*D"))
    assert runs["D"] == pytest.approx(D[1:])
    assert "D" not in runs.withheld
    assert "1 row with N at or below zero was left out." in runs.notes
