"""The document on the laws of Isoplan's amplitude cells. The tests write it from simulated tables with known laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import amplitudes_laws
from benchmarks.amplitudes_laws import laws
from benchmarks.amplitudes_laws.figures import figures
from benchmarks.amplitudes_laws.page import report, write
from tests.engine.planning.amplitude.trained import table
from tests.engine.planning.amplitude.trained import write as write_table

RATES = 0.002 * 2 ** (np.arange(11) / 2)


def study(moving: float) -> pd.DataFrame:
    """Return cells. The best learning rate is 0.008 at N = 1e3 and is multiplied by ``moving`` for each decade of N."""
    rng = np.random.default_rng(1)
    found = [(10**k, rate, seed) for k in (3, 4, 5, 6) for rate in RATES for seed in range(3)]
    return pd.DataFrame([
        {"parameters": N, "rate_used": rate, "seed": seed, "N": N,
         "loss": 1e-3 * np.exp(np.log(rate / 0.008 / moving ** (np.log10(N) - 3)) ** 2 + 0.01 * rng.standard_normal())}
        for N, rate, seed in found
    ])  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write tables in the format of the trainer and return the folder.

    For the process Zg, the loss of the cells with the largest D still decreases at the end of training.
    """
    place = tmp_path_factory.mktemp("grids")
    log = [table("Zg", 2, 2.08, noise=0.1, falling=(30_000,)), table("Zgg", 5, 1.3, noise=0.1), table("Zggg", 8, 1.0)]
    write_table(place / "amplitudes_data.csv", *log)
    write_table(place / "amplitudes_data_raw.csv", table("ttH", 5, 1.9, target="raw"))
    write_table(place / "amplitudes_rates_mup.csv", study(1.0))
    write_table(place / "amplitudes_rates_standard.csv", study(0.5))
    once = table("Zg", 2, 1.0, X_c=3e9, points=(10**11, 10**12, 10**13, 3 * 10**13))
    scan = once[once["updates"] == 100_000].assign(C=lambda t: t["D"].astype(float), D=10_000)
    write_table(place / "amplitudes_compute.csv", scan)
    write_table(place / "amplitudes_dimension.csv", table(points=(10_000,)), table(d=4, points=(10_000,), sqrt_s=1000))
    pulls: dict[str, Any] = {
        "pull_mean": 0.04,
        "pull_width": 1.4,
        "bulk_mean": 0.01,
        "bulk_width": 1.1,
        "within_1": 0.66,
    }
    write_table(place / "amplitudes_pulls.csv", table(points=(100_000,), sigma_mean=0.02, **pulls))
    return place


def test_scans_find_their_truth_and_mark_what_still_falls(folder: Path) -> None:
    found = {scan.name: scan for scan in laws.scans(folder)}
    assert list(found) == ["Zg", "Zgg", "Zggg", "ttH, raw targets"]
    for name, alpha, left in (("Zg", 2.08, 3), ("Zgg", 1.3, 0), ("Zggg", 1.0, 0), ("ttH, raw targets", 1.9, 0)):
        scan = found[name]
        assert scan.law is not None
        low, high = scan.law.interval("alpha")
        assert abs(scan.law.value("alpha") - alpha) < 2 * (high - low)
        assert scan.left == left
        assert laws.verdict(scan) == "above"
    assert [found[name].paper.alpha for name in ("Zg", "Zgg", "ttH, raw targets")] == [2.084, 1.301, 1.893]  # type: ignore[union-attr]
    assert found["ttH, raw targets"].relative is None
    assert np.array(found["Zggg"].relative) == pytest.approx([30_000, 1.5 * (10 / 30_000) ** 0.5])


def test_the_best_rate_is_found_and_moves_where_it_does(folder: Path) -> None:
    assert [one.best for one in laws.study(folder, "rates_mup")] == pytest.approx([0.008] * 4)
    assert laws.moves(laws.study(folder, "rates_mup")) == 1
    moving = laws.study(folder, "rates_standard")
    assert [one.best for one in moving[:3]] == pytest.approx([0.008, 0.004, 0.002])
    assert [one.at_an_end for one in moving] == [False, False, True, True]
    assert laws.moves(moving) == pytest.approx(4)
    assert moving[0].by_seed == pytest.approx((0.008,) * 3)


def test_the_page_says_all_that_is_trained(folder: Path) -> None:
    page = write(folder)
    assert "72 cells at N = 10⁵" in page
    assert "| Zg | 15 | 3 |" in page
    assert "(-40%)↓" in page
    assert "2.08 (2.06 to 2.11)" in page
    floors = page.split("### With and without a floor")[1].split("###")[0]
    assert "| Zggg | 1 (" in floors
    slopes = page.split("### Local slopes")[1].split("###")[0]
    assert "| Zggg | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 |" in slopes
    assert "### RMS, median" not in page
    assert "the exponents fall. Processes with an exponent within\n30% of that of the paper: all three." in page
    assert "| muP, 3 layers | 0.008 (0.008 to 0.008) |" in page
    assert "| < 0.002 (0.002 to 0.002) | 4 |" in page
    assert "## Compute" in page
    assert "D = 1e4 |" in page.split("## Compute")[1]
    assert "## Parameters" not in page
    assert "| Zgg | varies | 100 k | 10 k | 5 | 4.90 ± 0.05 | 4.80 | -2% |" in page
    assert "| Zgg | 1000 GeV | 100 k | 10 k | 4 | 3.90 ± 0.05 | 3.80 | -" in page
    assert "| Zgg | 100 k | 200 k | 0.04 | 1.40 | 0.01 | 1.10 | 66.0% | 0.0004 |" in page
    assert [row[0] for row in report(folder).rows] == ["Zg", "Zgg", "Zggg", "ttH, raw targets"]


def test_the_law_of_compute_is_that_of_the_table(folder: Path) -> None:
    (one,) = laws.scan_along(folder, "compute")
    assert one.law is not None
    assert one.D == 10_000
    assert one.law.value("alpha") == pytest.approx(1.0, rel=1e-4)
    assert one.law.value("X_c") == pytest.approx(3e9, rel=1e-3)
    paper = laws.nearest("Zg", "C", one.D)
    assert paper is not None
    assert paper.held_value == 1e4


def test_figures_mark_what_is_left_out_and_show_the_bound(folder: Path) -> None:
    found = figures(folder)
    assert list(found) == ["amplitudes_law_data", "amplitudes_law_exponents", "amplitudes_law_rates"]
    open_ = [trace for trace in found["amplitudes_law_data"].data if trace.name == "not converged"]
    assert [len(trace.x) for trace in open_] == [3, 0, 0, 0]
    (mine,) = [trace for trace in found["amplitudes_law_exponents"].data if trace.name == "trained"]
    assert list(mine.text) == ["Zg", "Zgg", "Zggg"]
    best = [trace for trace in found["amplitudes_law_rates"].data if trace.name == "best"]
    assert [trace.x[0] for trace in best] == pytest.approx([0.008] * 4 + [0.008, 0.004, 0.002, 0.002])


def test_without_a_table_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "##" not in write(tmp_path)
    assert figures(tmp_path) == {}
    monkeypatch.setattr(laws, "GRIDS", tmp_path)
    monkeypatch.setattr(amplitudes_laws, "PAGE", tmp_path / "page.md")
    assert "No scan is trained yet" in amplitudes_laws.run().sentence
    assert not (tmp_path / "page.md").exists()


def test_too_few_cells_have_no_law(tmp_path: Path) -> None:
    write_table(tmp_path / "amplitudes_data.csv", table(points=(100, 300)))
    (scan,) = laws.scans(tmp_path)
    assert scan.law is None
    assert laws.verdict(scan) == "-"
    assert "| Zgg | 6 | 0 | - |" in write(tmp_path)
    assert "Zgg (2 of 2 values of D)" in write(tmp_path)
    assert report(tmp_path).rows == ()


def test_a_place_whose_loss_rises_is_marked_and_left_out(tmp_path: Path) -> None:
    rows = table("Zggg", 8, 1.0)
    longer = (rows["updates"] == 200_000) & (rows["D"] >= 10_000)
    rows.loc[longer, "loss"] *= 1.02 * 1.5
    rows["relative_median"], rows["relative_99"] = rows["loss"] ** 0.5 / 10, rows["loss"] ** 0.5 * 4
    write_table(tmp_path / "amplitudes_data.csv", rows)
    page = write(tmp_path)
    assert "(+50%)↑" in page
    assert "| Zggg | 12 | 6 |" in page
    (scan,) = laws.scans(tmp_path)
    assert scan.law is not None
    assert len(scan.law.runs) == 12
    (one,) = laws.errors(tmp_path)
    assert one.errors["rms"] / one.errors["median"] == pytest.approx(15)
    assert one.exponents == pytest.approx({"rms": 1, "median": 1, "99": 1})
