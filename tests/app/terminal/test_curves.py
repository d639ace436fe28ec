"""Tests of commands that read a file of training curves, map its columns, and fit laws to the curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.app.terminal.asking import Run, object_in, one_sentence

SIZES, BATCHES = np.geomspace(1e6, 1e9, 6), (64, 256, 1024)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Write a table of runs and a table of their training curves, and return the two paths.

    Each loss decreases linearly and reaches 3 after ``1000 * (1 + 500 / B)`` steps, where B is the batch size.
    """
    runs, curves = ["run,N,batch"], ["name,it,q"]
    for i, n in enumerate(SIZES):
        for b in BATCHES:
            runs.append(f"n{i}b{b},{n:.6g},{b}")
            S = 1000 * (1 + 500 / b)
            curves += [f"n{i}b{b},{step},{6 - 3 * step / S:.9g}" for step in range(0, 12_001, 400)]
    (tmp_path / "runs.csv").write_text("\n".join(runs))
    (tmp_path / "curves.csv").write_text("\n".join(curves))
    return tmp_path / "runs.csv", tmp_path / "curves.csv"


ASK = ("--law", "critical-batch", "--axis", "batch", "--objective", "ols", "--bootstrap", 0, "--smoothing", 0)
MAPPED = ("--map-curves", "run=name,step=it", "--metric", "q:min")


def test_updates_to_a_target_give_the_critical_batch(files: tuple[Path, Path], run: Run) -> None:
    runs, curves = files
    answer = run("fit", runs, "--curves", curves, *ASK, *MAPPED, "--target", 3, "--json")
    assert answer.code == 0, answer.err
    fitted = object_in(answer.out)
    assert fitted["parameters"]["S_min"]["value"] == pytest.approx(1000, rel=1e-6)
    assert fitted["n"] == 18
    assert len(fitted["data"]["curves"]) == 16
    assert "isoplan: Training steps until the smoothed q is 3." in answer.err


def test_the_direction_of_the_metric_is_that_of_the_option(files: tuple[Path, Path], run: Run) -> None:
    runs, curves = files
    up = [f"{a},{b},{-float(c)}" for a, b, c in (line.split(",") for line in curves.read_text().split("\n")[1:])]
    curves.write_text("\n".join(["name,it,q", *up]))
    answer = run("fit", runs, "--curves", curves, *ASK, *MAPPED[:-1], "q:max", "--target=-3", "--json")
    assert answer.code == 0, answer.err
    assert object_in(answer.out)["parameters"]["S_min"]["value"] == pytest.approx(1000, rel=1e-6)


def test_what_is_wrong_with_curves_is_one_sentence(files: tuple[Path, Path], run: Run) -> None:
    runs, curves = files
    asked = ("fit", runs, "--curves", curves)
    one_sentence(run(*asked, *ASK, "--map-curves", "run=name", "--metric", "q:min"), "measures the training progress")
    one_sentence(
        run(*asked, "--law", "power", "--axis", "N", *MAPPED), "uses one row for each run and no training curves"
    )
    one_sentence(run(*asked, "--law", "envelope", *MAPPED), "Law envelope needs D, which is not known along the curves")
    one_sentence(run("fit", runs, "--curves", runs.parent, *ASK), "is a folder: name a table file in it")
    one_sentence(run(*asked, *ASK, *MAPPED, "--target", -99), "No run reaches q = -99")
