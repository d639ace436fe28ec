"""Titles, units, several header rows, merged cells, sums, and several tables on one sheet."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pandas as pd
import pytest

from tests.engine.store.layouts.conftest import Rows, check, note_of, read, refusal
from tests.engine.store.odd_tables import THIRTY, sheet_of
from tests.engine.store.usual.conftest import RUNS

BODY: list[list[Any]] = [list(row) for row in RUNS[["N", "D", "loss"]].to_numpy().tolist()]
NAMES: list[Any] = ["params", "tokens", "val loss"]
HALVES = BODY[:18], BODY[18:]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["Spring sweep, 2026"], NAMES, *BODY], "1 row of text above the header is not read"),
        ([["Spring sweep"], ["by the team, May"], [], NAMES, *BODY], "2 rows of text above the header are not read"),
        ([["Spring sweep", "", ""], ["date", "2026-05-01", ""], ["", "", ""], NAMES, *BODY], "2 rows of text"),
        ([NAMES, *BODY, ["Total", 1e12, 99.0]], "the last row ('Total') is not read"),
        ([NAMES, *BODY, ["Mean", 1e11, 2.7], ["Std", 1e10, 0.4]], "the last 2 rows ('Mean', 'Std') are not read"),
        ([NAMES, *BODY, [], ["* all runs with warmup", "", ""]], "the last row ('* all runs with warmup') is not read"),
        ([["model", "", "result"], NAMES, *BODY], "the first 2 rows are one header"),
        ([["Sweep"], [], NAMES, ["", "", "nats"], *BODY, ["Sum", 1, 2]], "then as a table with a row of units"),
    ],
)
def test_rows_around_the_table_are_not_runs(rows: Rows, said: str) -> None:
    for content, name in ((rows, "runs.csv"), (sheet_of(rows), "runs.xlsx")):
        runs = read(content, name)
        check(runs)
        assert said in note_of(runs)


def test_units_below_the_header_are_units_of_the_columns() -> None:
    rows: Rows = [NAMES, ["[M]", "(B)", "nats"], *([n / 1e6, d / 1e9, loss] for n, d, loss in BODY)]
    runs = read(rows, agreed=("params (M)", "tokens (B)"))
    check(runs)
    assert "the row below the header contains units" in note_of(runs)


def test_groups_distinguish_columns_with_one_name() -> None:
    head = [["", "", "train", "", "val", ""], ["params", "tokens", "loss", "acc", "loss", "acc"]]
    rows: Rows = [*head, *([n, d, loss - 0.1, 0.5, loss, 0.4] for n, d, loss in BODY)]
    runs = read(sheet_of(rows, merged=["C1:D1", "E1:F1"]), "runs.xlsx")
    check(runs)
    assert runs.roles.loss == "val loss"
    assert {m.column for m in runs.roles.metrics} == {"train loss", "train acc", "val acc"}


def test_two_levels_of_names_as_pandas_writes_them() -> None:
    columns = pd.MultiIndex.from_tuples([("params", ""), ("tokens", ""), ("loss", "train"), ("loss", "val")])
    frame = pd.DataFrame([[n, d, loss - 0.1, loss] for n, d, loss in BODY], columns=columns)
    runs = read(frame.to_csv(index=False).encode())
    check(runs)
    assert "val" in str(runs.roles.loss)


@pytest.mark.parametrize("merge", [True, False])
def test_merged_cells_have_the_value_of_their_first_row(merge: bool) -> None:
    ordered = sorted(BODY)
    rows: list[list[Any]] = [list(NAMES)]
    ranges = []
    for n, group in groupby(ordered, key=lambda row: row[0]):
        several = list(group)
        ranges.append(f"A{len(rows) + 1}:A{len(rows) + len(several)}")
        rows += [[n if k == 0 else None, *row[1:]] for k, row in enumerate(several)]
    runs = read(sheet_of(rows, merged=ranges if merge else ()), "runs.xlsx")
    check(runs)
    assert "an empty cell of 'params' has the value above it" in note_of(runs)


def test_a_missing_number_of_a_single_run_is_not_filled() -> None:
    rows = [NAMES, *BODY[:5], ["", *BODY[5][1:]], *BODY[6:]]
    runs = read(rows)
    assert note_of(runs) == ""
    assert any("1 row" in note for note in runs.notes)


def test_tables_with_one_header_are_joined() -> None:
    stacked: list[list[Any]] = [["C4"], NAMES, *HALVES[0], [], ["Pile"], NAMES, *HALVES[1]]
    beside: list[list[Any]] = [["C4", "", "", "", "Pile", "", ""], [*NAMES, "", *NAMES]]
    beside += [[*one, "", *other] for one, other in zip(*HALVES, strict=True)]
    for rows in (stacked, beside):
        runs = read(sheet_of(rows), "runs.xlsx", pooled=("table",))
        check(runs)
        assert "with the same header" in note_of(runs)
        assert list(runs.categories["table"].values) == ["C4", "Pile"]


def test_of_two_tables_the_one_with_runs_is_read() -> None:
    other: list[list[Any]] = [["budget", "best size"], [1e18, 4e8], [1e19, 1e9], [1e20, 3e9]]
    orders: list[list[list[Any]]] = [[NAMES, *BODY, [], *other], [*other, [], NAMES, *BODY]]
    for rows in orders:
        runs = read(sheet_of(rows), "runs.xlsx")
        check(runs)
        assert "several tables on one sheet: only rows" in note_of(runs)


def test_two_different_tables_of_runs_are_refused() -> None:
    rows: Rows = [NAMES, *HALVES[0], [], ["width", "N", "D", "loss"], *([64, *row] for row in HALVES[1])]
    assert refusal(rows) == (
        "runs.csv looks like 2 tables on one sheet (rows 1 to 19, rows 21 to 39). "
        "Save each table in a sheet or file of its own."
    )


@pytest.mark.parametrize(
    "rows",
    [
        [["run", *NAMES], *([f"r{i}", *row] for i, row in enumerate(BODY)), ["pending", "", "", ""]],
        [NAMES, [*BODY[0][:2], "diverged"], *BODY[1:]],
        [["run", *NAMES], ["r0", "NA", "NA", "NA"], *([f"r{i}", *row] for i, row in enumerate(BODY))],
        [["run", *NAMES], ["r0", "failed", "failed", "failed"], *([f"r{i}", *row] for i, row in enumerate(BODY))],
        [NAMES, *HALVES[0], [], *HALVES[1]],
        [NAMES, [], *BODY],
        [["", *NAMES], *(["", *row] for row in BODY)],
    ],
)
def test_other_tables_are_read_unchanged(rows: Rows) -> None:
    runs = read(rows, agreed=tuple(NAMES) if "failed" in rows[1] else ("val loss",) if "diverged" in rows[1] else ())
    assert note_of(runs) == ""
    found = runs["N"][~(runs["N"] != runs["N"])]
    assert set(found) <= set(RUNS.N)
    assert len(found) >= 35


@pytest.mark.parametrize(
    "number", sorted(set(THIRTY) - {2, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 19, 21, 22, 23, 24, 26, 29, 30})
)
def test_tables_with_one_row_per_run_have_no_layout(number: int) -> None:
    assert note_of(read(THIRTY[number].content(), THIRTY[number].name)) == ""


def test_a_quotation_mark_that_is_not_closed_is_refused_as_before() -> None:
    text = "run,N,D,loss\n" + "".join(f"r{i},{n},{d},{x}\n" for i, (n, d, x) in enumerate(BODY))
    assert "Line" in refusal(text.replace("r5,", '"r5,').encode())
