"""Pivot tables: N down and D across, or the reverse, with the loss in the cells."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.store.layouts.conftest import Rows, check, note_of, read, refusal
from tests.engine.store.usual.conftest import RUNS

GRID = RUNS.pivot(index="N", columns="D", values="loss")
BODY: list[list[float]] = [[n, *row] for n, row in zip(GRID.index, GRID.to_numpy(), strict=True)]
DOWN_D = [[d, *row] for d, row in zip(GRID.columns, GRID.to_numpy().T, strict=True)]


@pytest.mark.parametrize(
    "rows",
    [
        [[r"N \ D", *GRID.columns], *BODY],
        [["params/tokens", *GRID.columns], *BODY],
        [["N", *GRID.columns], *BODY],
        [["D", *GRID.index], *DOWN_D],
        [["tokens vs params", *GRID.index], *DOWN_D],
        [["", "tokens"], ["params", *GRID.columns], *BODY],
        [["Validation loss"], [], ["", "tokens"], ["params", *GRID.columns], *BODY],
        [["", *(f"D = {d:.0f}" for d in GRID.columns)], *([f"N={n:.0f}", *row] for n, *row in BODY)],
        [["params", *(f"{d:.0f} tokens" for d in GRID.columns)], *BODY],
    ],
)
def test_a_pivot_table_is_one_run_per_cell(rows: Rows) -> None:
    runs = read(rows)
    check(runs)
    assert "a pivot table" in note_of(runs)


def test_empty_cells_are_no_runs() -> None:
    rows = [
        [r"N \ D", *GRID.columns],
        *([n, *("" if d == n % 3 else x for d, x in enumerate(row))] for n, *row in BODY),
    ]
    missing = [(n, GRID.columns[int(n % 3)]) for n, *_ in BODY]
    check(read(rows), RUNS[[(n, d) not in missing for n, d in zip(RUNS.N, RUNS.D, strict=True)]])


def test_sizes_and_decimal_commas_wait_for_the_user() -> None:
    def comma(x: float) -> str:
        return f"{x:.6f}".replace(".", ",")

    rows: list[list[object]] = [[r"N \ D", *(f"{d / 1e6:.6f}M" for d in map(float, GRID.columns))]]
    rows += [[f"{n / 1e6:.6f}M", *map(comma, row)] for n, *row in BODY]
    text = "\n".join(";".join(map(str, row)) for row in rows).encode()
    runs = read(text, agreed=("N", "D", "loss"))
    assert note_of(runs)
    assert sorted(runs["loss"]) == pytest.approx(sorted(RUNS.loss), rel=1e-6)
    assert sorted(set(runs["N"])) == pytest.approx(list(GRID.index), rel=1e-6)


def test_a_perplexity_in_the_title_stays_a_perplexity() -> None:
    rows = [["Validation perplexity"], [r"N \ D", *GRID.columns], *([n, *np.exp(row)] for n, *row in BODY)]
    check(read(rows, agreed=("Validation perplexity",)))


def test_a_pivot_table_without_names_is_refused() -> None:
    assert refusal([["", *GRID.columns], *BODY]) == (
        "runs.csv looks like a pivot table (numbers in the header and in the first column). "
        r'Write what is down and what is across into its first cell, as in "N \ D".'
    )
    assert "looks like a pivot table" in refusal([["lr", *GRID.columns], *BODY])


def test_the_rows_can_be_read_unchanged() -> None:
    runs = read([["N", *GRID.columns], *BODY], layout="plain")
    assert len(runs) == 6
    assert note_of(runs) == ""
    assert runs["N"].tolist() == list(GRID.index)


def test_tables_with_sizes_in_the_cells_are_no_pivot_tables() -> None:
    rows: Rows = [["N", 2020, 2021], [1e6, 3e8, 4e8], [2e6, 5e8, 6e8]]
    assert note_of(read(rows)) == ""
    seeds: Rows = [["N", "loss_1", "loss_2"], [1e6, 3.1, 3.2], [2e6, 2.9, 2.8]]
    assert note_of(read(seeds)) == ""
