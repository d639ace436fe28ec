"""Tests of the bundled CSV files: their format, and relations between numbers that the papers state."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import numpy as np
import pytest

from isoplan import data
from isoplan.data.catalogue import DEMOS, PUBLISHED, SIGNALS, Demo, path, records
from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError

ROOT = Path(data.__file__).parent
TABLES = sorted(ROOT.rglob("*.csv"))
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


ROWS = {
    "jets/table1_scaling_law": 6,
    "jets/table2_repetition": 12,
    "jets/widths": 9,
    "jets/efficiencies": 9,
    "behavior/table02_embedder_share": 16,
    "behavior/table03_updates_to_target": 30,
    "behavior/table04_allocation": 10,
    "behavior/table05_cells": 25,
    "behavior/table06_negatives": 20,
    "behavior/table08_isoflop_accounting": 4,
    "behavior/table11_depth_val_loss": 34,
    "behavior/table12_depth_1e18": 9,
    "behavior/table13_train_surrogate": 5,
    "behavior/table16_spearman_stage1": 4,
    "behavior/table17_spearman_stage2": 5,
    "behavior/equations": 16,
    "amplitudes/processes": 11,
    "amplitudes/tables02_15_fits": 81,
}


def column(rows: list[dict[str, str]], name: str) -> Floats:
    return np.array([float(r[name]) for r in rows])


def loglog(x: Floats, y: Floats) -> tuple[float, float]:
    """Return the constants k and b of y = k x^b, fitted by least squares of the logarithms."""
    b, log_k = np.polyfit(np.log(x), np.log(y), 1)
    return math.exp(log_k), b


@pytest.mark.parametrize("file", TABLES, ids=lambda p: p.stem)
def test_csv_is_tidy(file: Path) -> None:
    raw = file.read_bytes()
    assert b"\r" not in raw
    assert raw.endswith(b"\n")
    assert not raw.startswith(b"\xef\xbb\xbf")
    header, *rows = csv.reader(raw.decode("ascii").splitlines())
    assert len(set(header)) == len(header)
    assert rows
    for row in (header, *rows):
        assert len(row) == len(header)
        assert all(cell == cell.strip() for cell in row)
    assert len({tuple(r) for r in rows}) == len(rows)
    for name, *cells in zip(header, *rows, strict=True):
        numeric = [bool(NUMBER.fullmatch(c)) for c in cells if c]
        # A column contains only numbers or only text. Exception: a few of a thousand hexadecimal run names look like
        # numbers.
        assert all(numeric) or not any(numeric) or (name == "run" and sum(numeric) < 0.01 * len(cells)), name


@pytest.mark.parametrize(("name", "rows"), ROWS.items())
def test_row_counts(name: str, rows: int) -> None:
    assert len(records(f"papers/{name}.csv")) == rows


def test_every_numbered_table_with_numbers_is_there() -> None:
    for paper, numbers in {"jets": range(1, 3), "behavior": range(1, 18)}.items():
        stems = [f.stem for f in (ROOT / "papers" / paper).glob("table*.csv")]
        found = {int(m[1]) for s in stems if (m := re.match(r"table0?(\d+)_", s))}
        assert found == set(numbers)
    tables = {int(r["table"]) for r in records("papers/amplitudes/tables02_15_fits.csv")}
    assert tables == set(range(2, 16))


def test_the_readme_names_every_file() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [f.name for f in (*TABLES, ROOT / "demo/truth.json") if f"`{f.name}`" not in readme]
    assert not missing
    assert all(demo.name in readme for demo in DEMOS)


@pytest.mark.parametrize("name", ["nowhere.csv", "../pyproject.toml", "papers", "papers/../README.md"])
def test_a_file_that_is_not_bundled_is_named(name: str) -> None:
    with pytest.raises(PlannerError, match=re.escape(repr(name))):
        path(name)


@pytest.mark.parametrize("demo", DEMOS + PUBLISHED, ids=lambda d: d.file)
def test_roles_name_columns_that_exist(demo: Demo) -> None:
    columns = set(records(demo.file)[0])
    roles = demo.roles
    named = {v for k, v in roles.model_dump().items() if isinstance(v, str) and k != "repeats"}
    named |= {m.column for m in roles.metrics} | set(roles.hyper)
    assert named <= columns


def test_demo_tables_say_that_they_are_simulated() -> None:
    assert all("(simulated)" in d.name and d.provenance.startswith("Simulated") for d in DEMOS)
    assert not any("simulated" in d.name for d in PUBLISHED)
    assert len(SIGNALS) == 9


# --- relations between numbers of the papers


def test_jets_exponents_of_the_frontier() -> None:
    law = {r["parameter"]: float(r["value"]) for r in records("papers/jets/table1_scaling_law.csv")}
    alpha, beta = law["alpha"], law["beta"]
    assert beta / (alpha + beta) == pytest.approx(0.333, abs=5e-4)
    assert alpha * beta / (alpha + beta) == pytest.approx(0.147, abs=5e-4)
    assert round(alpha * beta / (alpha + beta), 2) == law["gamma"]


@pytest.mark.parametrize(
    "file", ["papers/jets/table1_scaling_law.csv", "papers/jets/table2_repetition.csv"], ids=["1", "2"]
)
def test_jets_values_lie_in_their_intervals(file: str) -> None:
    for row in records(file):
        assert float(row["ci68_lo"]) < float(row["value"]) < float(row["ci68_hi"]), row


def test_behavioral_optima_regress_to_the_printed_frontier() -> None:
    rows = [r for r in records("papers/behavior/table04_allocation.csv") if r["estimate"] == "parabola"]
    C, N, D = (column(rows, k) for k in ("budget_flops", "N", "D"))
    assert loglog(C, N) == pytest.approx((3.33e-4, 0.6175), rel=2e-3)
    assert loglog(C, D) == pytest.approx((499, 0.3825), rel=2e-3)
    np.testing.assert_allclose(6 * N * D, C, rtol=2e-3)
    # The first ratio is printed as 345 in the table and as 344 in the text.
    np.testing.assert_allclose(D / N, [345, 265, 222, 110, 36], rtol=6e-3)
    np.testing.assert_allclose(D / N, column(rows, "D_per_N"), rtol=6e-3)


def test_behavioral_equations_4_and_5_are_the_unrounded_optima() -> None:
    rows = {(r["equation"], r["parameter"]): float(r["value"]) for r in records("papers/behavior/equations.csv")}
    for sizes, rates in (("4", "5"), ("10", "11")):
        assert rows[sizes, "b"] + rows[rates, "b"] == pytest.approx(1)
        assert 6 * rows[sizes, "k"] * rows[rates, "k"] == pytest.approx(1, rel=5e-3)
    five = next(r for r in records("papers/behavior/table05_exponents.csv") if r["metric"] == "val_loss")
    assert float(five["a_N"]) == rows["4", "b"]
    assert float(five["a_D"]) == rows["5", "b"]


def test_train_surrogate_winners_give_the_published_exponents() -> None:
    rows = records("papers/behavior/table13_train_surrogate.csv")
    C, N, D = (column(rows, k) for k in ("budget_flops", "N", "D"))
    assert loglog(C, N)[1] == pytest.approx(0.609, abs=1e-3)
    assert loglog(C, D)[1] == pytest.approx(0.440, abs=1e-3)
    np.testing.assert_allclose(D / N, column(rows, "D_per_N"), rtol=0.04)


def test_behavioral_grid_winners_agree_with_their_ratio() -> None:
    rows = [r for r in records("papers/behavior/table04_allocation.csv") if r["estimate"] == "grid winner"]
    np.testing.assert_allclose(column(rows, "D") / column(rows, "N"), column(rows, "D_per_N"), rtol=0.04)


def test_critical_batch_sizes_follow_from_the_updates_to_target() -> None:
    updates = records("papers/behavior/table03_updates_to_target.csv")
    for row in records("papers/behavior/table03_critical_batch.csv"):
        mine = [r for r in updates if r["metric"] == row["metric"]]
        x, y = 1 / column(mine, "batch_size"), column(mine, "updates")
        slope, s_min = np.polyfit(x, y, 1)
        r2 = np.corrcoef(x, y)[0, 1] ** 2
        if row["B_crit"]:
            assert slope / s_min == pytest.approx(float(row["B_crit"]), abs=1)
            assert round(r2, 2) == float(row["r_squared"])
        else:
            assert s_min < 0


def test_depth_tables_agree_with_each_other() -> None:
    grid = {(r["budget_flops"], r["L_ctx"]): r for r in records("papers/behavior/table11_depth_val_loss.csv")}
    for row in records("papers/behavior/table09_depth.csv"):
        best = min(
            (r for (b, _), r in grid.items() if b == row["budget_flops"] and r["sweep"] == "diagonal"),
            key=lambda r: float(r["val_loss"]),
        )
        assert (best["L_ctx"], best["val_loss"]) == (row["L_ctx"], row["val_loss"])
    for row in records("papers/behavior/table12_depth_1e18.csv"):
        assert grid["1e18", row["L_ctx"]]["val_loss"] == row["val_loss"]


def test_mup_differences_are_the_differences() -> None:
    loss = {
        (r["size"], r["initialization"]): float(r["train_loss"]) for r in records("papers/behavior/table14_mup.csv")
    }
    for row in records("papers/behavior/table14_differences.csv"):
        difference = loss[row["size"], "default"] - loss[row["size"], "MuP"]
        assert difference == pytest.approx(float(row["default_minus_MuP"]), abs=1.1e-3)


def test_isoflop_accounting_is_consistent() -> None:
    rows = records("papers/behavior/table08_isoflop_accounting.csv")
    samples = column(rows, "steps") * column(rows, "batch_size") * 256
    np.testing.assert_allclose(samples, column(rows, "D"), rtol=0.01)
    np.testing.assert_allclose(column(rows, "D") / column(rows, "N"), column(rows, "D_per_N"), rtol=0.02)


def test_amplitude_dimensions_and_bound() -> None:
    processes = {r["process"]: r for r in records("papers/amplitudes/processes.csv")}
    for row in processes.values():
        assert len(row["final"].split()) == int(row["n_f"])
        assert int(row["dimension"]) == 3 * int(row["n_f"]) - 4
        assert int(row["dimension_fixed_s"]) == 3 * int(row["n_f"]) - 5
    fits = records("papers/amplitudes/tables02_15_fits.csv")
    assert {r["process"] for r in fits} == set(processes)
    below = {
        r["process"]
        for r in fits
        if r["x"] == "D" and float(r["alpha"]) < 4 / int(processes[r["process"]]["dimension"])
    }
    # Only the two processes with two particles in the final state have an exponent below 4/d.
    assert below == {"WZ", "Zg"}


def test_amplitude_fits_have_one_pair_of_axes_each() -> None:
    fits = records("papers/amplitudes/tables02_15_fits.csv")
    count = {x: sum(r["x"] == x for r in fits) for x in "NDC"}
    assert count == {"N": 3, "D": 42, "C": 36}
    for r in fits:
        assert r["fixed"] != r["x"]
        assert float(r["X_c_down"]) < float(r["X_c"])
        assert (r["K_note"] == "approximately zero") == (r["K"] == "0") == (r["K_up"] == "")
        if r["K_down"]:
            assert float(r["K_down"]) < float(r["K"])
