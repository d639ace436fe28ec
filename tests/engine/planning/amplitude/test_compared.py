"""Laws fitted to simulated cells (one training run each), compared with the laws of the paper."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from isoplan.data.amplitudes import published_laws
from isoplan.engine.planning.amplitude.cell_laws import PLAIN, along, side_by_side, trained_laws
from isoplan.engine.planning.amplitude.cells import read_cells
from tests.engine.planning.amplitude.trained import table

CELLS = read_cells(
    pd.concat([table("Zgg", 5, 1.3), table("ttH", 5, 1.6), table("ttH", 5, 1.9, target="raw")]).to_dict("records"), "t"
)


def budgets(D: int, K: float) -> list[dict[str, object]]:
    C = np.repeat([1e10, 1e11, 1e12, 1e13], 2)
    return [{"process": "Zg", "N": 1e5, "D": D, "C": c, "d": 2, "seen": c / 6e5, "loss": K + (3e9 / c) ** 1.1,
             "seed": i % 2} for i, c in enumerate(C)]  # fmt: skip


def test_our_laws_stand_beside_the_paper_s_of_the_same_target_and_held_number() -> None:
    scan = read_cells([*budgets(10_000, 1e-6), *budgets(30_000, 0)], "t")
    ours = trained_laws(CELLS, (), scan)
    assert [(one.process, one.raw, one.axis) for one in ours] == [
        ("Zgg", False, "D"), ("ttH", False, "D"), ("ttH", True, "D"), ("Zg", False, "C"), ("Zg", False, "C"),
    ]  # fmt: skip
    assert [one.law.value("alpha") for one in ours] == pytest.approx([1.3, 1.6, 1.9, 1.1, 1.1], rel=1e-2)
    found = side_by_side(published_laws(), ours)
    held = [(law and (law.process, law.held, law.network), one.process) for law, one in found if one]
    assert held == [
        (("Zgg", "N = 1e5", PLAIN), "Zgg"), (None, "ttH"), (("ttH", "N = 1e5", PLAIN), "ttH"),
        (("Zg", "D = 1e4", PLAIN), "Zg"), (None, "Zg"),
    ]  # fmt: skip
    assert len(found) == 81 + 2
    assert [law for law, one in found if one is None] == [
        law for law in published_laws() if all(law is not p for p, one in found if one)
    ]


def test_a_transformer_is_no_neighbour_of_an_mlp() -> None:
    cells = read_cells(table("Zgg", 5, 1.3, network="lloca").to_dict("records"), "t")
    (one,) = trained_laws(cells)
    assert one.network == "LLoCa-Transformer, MSE"
    assert side_by_side(published_laws(), [one])[0] == (None, one)


def test_a_scan_of_too_few_sizes_has_no_law() -> None:
    one, two = along("C", read_cells([*budgets(100, 0)[:4], *budgets(10_000, 0)], "t"))
    assert (one.D, one.law, len(one.x)) == (100, None, 4)
    assert two.law is not None


def test_each_published_law_has_the_number_of_its_table() -> None:
    printed = {(law.process, law.axis, law.held, law.network): law.table for law in published_laws()}
    assert printed["ttH", "C", "D = 1e2", PLAIN] == "2"
    assert {*printed.values()} == {str(n) for n in range(2, 16)}
