"""Tests of commands with a compute rule that is fitted to the measured compute C of a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from isoplan.engine.costs.measured import fit_powers, fit_zeta
from tests.app.terminal.asking import LAW, MAP, Run, object_in, one_sentence


@pytest.fixture(scope="module")
def measured(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a copy of ``table`` with a column of the compute C, and return the path of the copy.

    C is proportional to N^1.1 D^0.95, with 2 % noise.
    """
    runs = pd.read_csv(table)
    noise = np.random.default_rng(2).normal(0, 0.02, len(runs))
    runs["spent"] = 7.5 * runs["size"] ** 1.1 * runs["seen"] ** 0.95 * np.exp(noise)
    path = tmp_path_factory.mktemp("measured") / "measured.csv"
    runs.to_csv(path, index=False)
    return path


def columns(path: Path) -> tuple[np.ndarray, ...]:
    runs = pd.read_csv(path)
    return tuple(runs[name].to_numpy() for name in ("size", "seen", "spent"))


def test_a_plan_counts_by_measured_compute(run: Run, fitted: Path, measured: Path) -> None:
    asked = ("plan", fitted, "--budget", 1e21, "--runs", measured, "--map-runs", "C=spent", "--json")
    answer = run(*asked, "--rule", "measured")
    zeta = fit_zeta(*columns(measured))
    assert object_in(answer.out)["compute"] == {"rule": "zetaND", "n_p": 1.0, "zeta": pytest.approx(zeta.rule.zeta)}
    assert f"--rule measured is {zeta.text}." in answer.err
    powers = fit_powers(*columns(measured))
    answer = run(*asked, "--rule", "measured:powers", "--second-rule", "measured:zetaND")
    raw = object_in(answer.out)
    assert [raw["compute"][name] for name in ("zeta", "a", "b")] == pytest.approx(
        [powers.rule.zeta, powers.rule.a, powers.rule.b]
    )
    assert (powers.rule.a, powers.rule.b) == pytest.approx((1.1, 0.95), abs=0.02)
    assert "that scatter by 2" in answer.err
    N, D = (raw["allocation"][name]["value"] for name in ("N", "D"))
    assert powers.rule.flops(N, D) == pytest.approx(1e21, rel=1e-6)


def test_other_sizes_of_the_same_loss_count_by_it_too(run: Run, fitted: Path, measured: Path) -> None:
    asked = ("smaller", fitted, "--budget", 1e21, "--rule", "measured", "--runs", measured, "--map-runs", "C=spent")
    answer = run(*asked)
    assert f"Compute rule: {fit_zeta(*columns(measured)).rule.text}." in answer.out
    assert "that scatter by" in answer.err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--rule", "measured"), "Option --rule: measured needs runs with a column of C. Add --runs."),
        (("--second-rule", "measured"), "Option --second-rule: measured needs runs with a column of C"),
        (("--runs", "TABLE"), "--runs requires --rule measured"),
        (("--map-runs", "C=spent"), "--map-runs requires --rule measured"),
        (("--rule", "measured", "--runs", "TABLE"), "needs C in the table of runs: map a column to it."),
        (("--rule", "measured", "--runs", "TABLE", "--map-runs", "C=cost"), "Column 'cost' for C is not in the table"),
        (
            ("--rule", "measured:step", "--runs", "TABLE"),
            "Compute rule 'step' cannot be fitted to measured C: use zetaND",
        ),
        (("--rule", "measured", "--n-p", "4", "--runs", "TABLE"), "Option --n-p: the rule measured does not use it"),
        (("--rule", "measured", "--runs", "nowhere.csv"), "There is no file nowhere.csv"),
    ],
)
def test_what_cannot_be_fitted_is_one_sentence(
    run: Run, fitted: Path, measured: Path, options: tuple[str, ...], why: str
) -> None:
    given = [str(measured) if option == "TABLE" else option for option in options]
    one_sentence(run("plan", fitted, "--budget", 1e21, *given), why)


def test_runs_of_the_filter_of_the_fit_alone_count(run: Run, measured: Path, tmp_path: Path) -> None:
    made = run("fit", measured, *LAW, *MAP, "--map", "C=spent", "--where", "size > 1e8", "--bootstrap", 0, "--json")
    (tmp_path / "fit.json").write_text(made.out)
    answer = run("plan", tmp_path / "fit.json", "--budget", 1e21, "--rule", "measured", "--runs", measured, "--json")
    N, D, C = columns(measured)
    expected = fit_zeta(N[N > 1e8], D[N > 1e8], C[N > 1e8])
    assert object_in(answer.out)["compute"]["zeta"] == pytest.approx(expected.rule.zeta)
