"""Tests of ``isoplan amplitude --trained``: the law of trained cells replaces the bound 4/d on the exponent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.engine.planning.amplitude.trained import table, write

ASKED = ("amplitude", "--particles", 3, "--target-mse", 1e-6)


@pytest.fixture(autouse=True)
def _nothing_is_bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoplan.data.amplitudes.trained_cells", lambda: ())


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    return write(tmp_path / "cells.csv", table(noise=0.05, falling=(300, 1000)), table("Zg", 2, 2.0))


def test_the_law_of_a_table_answers(run: Run, cells: Path) -> None:
    shown = run(*ASKED, "--trained", "Zgg", "--cells", cells)
    assert shown.code == 0, shown.err
    assert "(RMS relative error 0.15 %) for 3 final-state particles needs" in shown.out
    assert "at D = 3.0 k alone, with the bound 4/d = 0.8, gives " in shown.out
    raw = object_in(run(*ASKED, "--trained", "Zgg", "--cells", cells, "--json").out)
    assert raw["exponent"]["value"] == 0.8
    assert raw["allocation"]["D"]["least"] < 10 * 1e6 ** (1 / 1.3) * 1.2 < 1.5 * raw["allocation"]["D"]["most"]
    assert raw["laws"][0]["fast"]["value"] == pytest.approx(1.3, abs=0.1)
    assert (raw["answered"], raw["question"]["error"]) == (True, "rms")
    assert [w["code"] for w in raw["warnings"]] == ["far-extrapolated", "still-falling"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--trained", "Zgg"), "no trained cells of 'Zgg'. Processes with cells: none yet"),
        (("--cells", "CELLS"), "--cells requires --trained"),
        (("--trained", "Zgg", "--process", "Zgg"), "because each fixes the scale. Give one of them"),
        (("--trained", "Zgg", "--fixed-energy"), "--fixed-energy is not possible with --trained"),
        (("--trained", "Zg", "--cells", "CELLS"), "Zg has 2 final-state particles and the plan is for 3"),
        (
            ("--trained", "Zgg", "--cells", "ZERO"),
            "Row 1 of zero.csv is not a valid cell. Give positive numbers in N, D, C",
        ),
        (("--trained", "Zgg", "--cells", "OTHER"), "other.csv has no column d: give a table of amplitude cells"),
        (("--trained", "Zgg", "--cells", "nowhere.csv"), "There is no file nowhere.csv"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    run: Run, cells: Path, tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("N,D,C,loss\n1,2,3,4\n")
    zero = write(tmp_path / "zero.csv", table(loss=0.0))
    places = {"CELLS": str(cells), "OTHER": str(other), "ZERO": str(zero)}
    one_sentence(run(*ASKED, *(places.get(option, option) for option in options)), why)
