"""Tests of the terminal options for units, for several rows of one run, and for formulas: effect, messages, JSON."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.engine.store.usual.conftest import RUNS, history

FIT = ("--law", "chinchilla", "--bootstrap", 0)


def test_a_unit_is_refused_then_converted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    pd.DataFrame({"Params (M)": RUNS.N / 1e6, "D": RUNS.D, "loss": RUNS.loss}).to_csv(path, index=False)
    one_sentence(run("fit", path, *FIT), "--convert 'Params (M)' in the terminal")
    found = run("fit", path, *FIT, "--convert", "Params (M)", "--json")
    assert "N is read from column 'Params (M)' in millions." in found.err
    assert object_in(found.out)["data"]["roles"]["reading"] == "Params (M): millions"
    one_sentence(run("fit", path, *FIT, "--convert", "Params (M):smoots"), "'smoots' is unknown")


def test_a_formula_gives_samples(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    pd.DataFrame(
        {"N": RUNS.N, "steps": RUNS.D / 2**20, "batch_size": 2**9, "seq_len": 2**11, "loss": RUNS.loss}
    ).to_csv(path, index=False)
    one_sentence(run("fit", path, *FIT), "--derive 'D = steps * batch_size * seq_len'")
    found = run("fit", path, *FIT, "--derive", "D = steps * batch_size * seq_len", "--json")
    assert object_in(found.out)["data"]["roles"]["reading"] == "D = steps * batch_size * seq_len"
    assert "D is computed as steps * batch_size * seq_len." in found.err


def test_rows_of_a_run_are_chosen(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    history().to_csv(path, index=False)
    found = run("fit", path, *FIT, "--json")
    assert object_in(found.out)["n"] == 36
    assert "180 rows are points of 36 runs (column 'run')" in found.err
    assert object_in(run("fit", path, *FIT, "--rows", "all", "--json").out)["n"] == 180


def test_what_a_refused_fit_read_is_told_beside_the_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    history().to_csv(path, index=False)
    refused = run("fit", path, "--law", "power", "--axis", "U")
    assert (refused.code, refused.out) == (2, "")
    assert "180 rows are points of 36 runs (column 'run')" in refused.err.splitlines()[0]
    assert "Law power needs U" in refused.err.splitlines()[1]


def test_compute_in_an_unknown_unit_is_refused_in_one_sentence(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    pd.DataFrame({"N": RUNS.N, "compute": 6 * RUNS.N * RUNS.D / 86400e15, "loss": RUNS.loss}).to_csv(path, index=False)
    one_sentence(run("fit", path, *FIT), "--convert compute:pf-days")
    on_compute = ("fit", path, "--law", "power", "--axis", "C", "--bootstrap", 0)
    one_sentence(run(*on_compute), "Law power needs C: column 'compute' gives most runs less than one sample")
    assert run(*on_compute, "--convert", "compute:pf-days").code == 0


def test_a_metric_in_percent_is_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    pd.DataFrame({"N": RUNS.N, "D": RUNS.D, "top1_acc": 100 - 10 * RUNS.loss}).to_csv(path, index=False)
    ask = ("fit", path, *FIT, "--y", "top1_acc:max", "--objective", "ols")
    assert "top1_acc is in percent" in run(*ask).err
    assert "--convert top1_acc:percent" in run(*ask).err
    assert "top1_acc is in percent" not in run(*ask, "--convert", "top1_acc:percent").err


def decimal_commas(separator: str, losses: list[str]) -> str:
    """Return the runs as CSV text. The column ``loss`` has the texts ``losses``; ``separator`` separates columns."""
    cells = (f"{n:.0f}{separator}{d:.0f}{separator}{loss}" for n, d, loss in zip(RUNS.N, RUNS.D, losses, strict=True))
    return "\n".join([separator.join(("N", "D", "loss")), *cells]) + "\n"


def test_decimal_commas_between_semicolons_are_decimals(run: Run, tmp_path: Path) -> None:
    path, other = tmp_path / "commas.csv", tmp_path / "points.csv"
    path.write_text(decimal_commas(";", [f"{x:.3f}".replace(".", ",") for x in RUNS.loss]))
    other.write_text(decimal_commas(";", [f"{x:.3f}" for x in RUNS.loss]))
    one_sentence(run("fit", other, *FIT), "--convert loss:comma or --convert loss:point")
    agreed = {path: "loss", other: "loss:point"}
    fits = [run("fit", file, *FIT, "--convert", how, "--json") for file, how in agreed.items()]
    first, second = (object_in(found.out)["parameters"]["E"]["value"] for found in fits)
    assert first == second


def test_a_comma_with_two_readings_is_refused_and_chosen(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(decimal_commas("\t", [f"{x:.3f}".replace(".", ",") for x in RUNS.loss]))
    cell = f"{RUNS.loss.iloc[0]:.3f}"
    readings = f"'{cell.replace('.', ',')}' may be {cell} or {cell.replace('.', '')}"
    for convert in ((), ("--convert", "loss")):
        refused = run("fit", path, *FIT, *convert)
        one_sentence(refused, readings)
        assert "--convert loss:comma or --convert loss:thousands" in refused.err
    small = object_in(run("fit", path, *FIT, "--convert", "loss:comma", "--json").out)["data"]["ranges"]["loss"]
    large = object_in(run("fit", path, *FIT, "--convert", "loss:thousands", "--json").out)["data"]["ranges"]["loss"]
    assert small == [round(RUNS.loss.min(), 3), round(RUNS.loss.max(), 3)]
    assert large == [round(1000 * RUNS.loss.min()), round(1000 * RUNS.loss.max())]


def test_points_and_commas_in_one_column_are_refused(run: Run, tmp_path: Path) -> None:
    losses = [f"{x:.3f}" for x in RUNS.loss]
    losses[5] = losses[5].replace(".", ",")
    path = tmp_path / "runs.csv"
    path.write_text(decimal_commas(";", losses))
    one_sentence(run("fit", path, *FIT, "--convert", "loss"), "loss:comma or --convert loss:thousands")
