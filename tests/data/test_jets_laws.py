"""Tests of docs/jets_laws.md: its numbers are recomputed from the tables, and required statements are present."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import curve_fit

from benchmarks.jets_laws import checks
from isoplan.data.catalogue import records

TEXT = (Path(__file__).parents[2] / "docs" / "jets_laws.md").read_text("utf-8")
PAGE = " ".join(TEXT.split())
ONCE = [row for row in records("grids/jets_one_pass.csv") if row["untrained"] == "0"]


@pytest.mark.parametrize("metric", ["R_Hbb", "R_Hcc", "R_Hgg", "R_top", "R_toplv"])
def test_chi_squared_of_rejections_is_that_of_an_independent_fit(metric: str) -> None:
    rows = [row for row in records("grids/jets_rejection.csv") if row[metric]]
    loss, R, error = (np.array([float(row[name]) for row in rows]) for name in ("loss", metric, f"{metric}_error"))
    least = np.inf
    for start in ((11, 8, 1), (9, 4, 1), (2, -2, 200), (10, 10, 5), (10, 5, 5)):
        sign = -1.0 if start[1] < 0 else 1.0

        def line(x: np.ndarray, a: float, b: float, c: float, sign: float = sign) -> np.ndarray:
            return np.log(np.maximum(sign * np.exp(a - b * x) + c, 1e-9))

        try:
            made, _ = curve_fit(line, loss, np.log(R), p0=start, sigma=error, absolute_sigma=True, maxfev=50_000)
        except RuntimeError:
            continue
        least = min(least, float(np.sum(((np.log(R) - line(loss, *made)) / error) ** 2)))
    row = next(text for text in TEXT.splitlines() if text.startswith(f"| {metric} | {len(rows)} |"))
    printed, freedom = (float(part) for part in row.split("|")[-2].split("/"))
    assert freedom == len(rows) - 3
    assert printed == pytest.approx(least, rel=0.05)


def test_hold_outs_are_stated_by_compute_and_by_jets() -> None:
    """The document states the errors of a power law in D that numpy fits to the cells of width 16 or more.

    The error is 2.5 % if the cells with the largest compute are held out. It is 1.9 % if those with the largest D are
    held out.
    """
    width, D, C, L = (np.array([float(row[name]) for row in ONCE]) for name in ("width", "D", "C", "loss"))
    found = []
    for out in (np.quantile(C, 0.8) < C, D > 1e5):
        known, new = ~out & (width >= 16), out & (width >= 16)
        line = np.polyfit(np.log(D[known]), np.log(L[known]), 1)
        found.append(np.mean(np.abs(np.exp(np.polyval(line, np.log(D[new]))) / L[new] - 1)))
    by_compute, by_jets = checks.hold_outs()
    assert [by_compute.power, by_jets.power] == pytest.approx(found)
    assert f"| compute | 9 | {by_compute.law:.1%} | {by_compute.wide:.1%} | {found[0]:.1%} | 3.3% |" in TEXT
    assert f"| D | 12 | {by_jets.law:.1%} | {by_jets.wide:.1%} | {found[1]:.1%} | none |" in TEXT
    assert (round(100 * by_jets.law, 1), round(100 * by_jets.power, 1)) == (2.6, 1.9)


def test_the_page_states_what_its_exponents_rest_on() -> None:
    alpha = checks.alpha_by_width()
    assert {d: round(value, 2) for d, value in alpha.items()} == {4: 0.90, 8: 0.72, 16: 0.09}
    assert "0.90 for all cells; 0.72 from width 8 on; 0.09 from width 16 on" in PAGE
    assert "| a | 0.168 (0.116 to 0.207) | 0.33 (β / (α + β) of the table) |" in TEXT
    assert {row["seed"] for row in ONCE} == {"0"}
    assert "Each cell was trained with one seed" in PAGE
    assert [(width, jets) for width, jets, *_ in checks.failed()] == [("4", "20000")]
    assert "The training of width 4 on 20 k jets failed: its loss is 1.83" in PAGE


def test_the_page_states_omega_beside_the_paper_and_the_flat_optimum() -> None:
    assert "| ω, JetClass | 2.73 | 2.73 | 2.73 | 2.73 |" in TEXT
    ours = next(text for text in TEXT.splitlines() if text.startswith("| ω, our jets |"))
    values = [float(cell.split("(")[0]) for cell in ours.split("|")[2:-1]]
    assert values[:3] == [pytest.approx(7.7, rel=0.02), pytest.approx(10.8, rel=0.02), pytest.approx(15.3, rel=0.02)]
    for cell, value in zip(ours.split("|")[2:-1], values, strict=True):
        low, high = (float(end) for end in cell.split("(")[1].rstrip(") ").split(" to "))
        assert low <= value <= high
    assert "has a flat optimum: do not use its numbers" in PAGE
    assert "other optima fit the runs about equally well" in PAGE
    assert "κ is the compute of repeated training" in PAGE
