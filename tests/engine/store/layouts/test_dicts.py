"""Dictionaries in cells, in Python and JSON, and hostile texts in their place."""

from __future__ import annotations

import io
import json
import math
import time
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.files.layouts.dicts import as_dictionary
from isoplan.engine.store.files.layouts.grid import Grid, is_number
from isoplan.engine.store.files.layouts.pivot import read_pivot
from tests.engine.store.layouts.conftest import check, note_of, read
from tests.engine.store.odd_tables import THIRTY, csv_of
from tests.engine.store.usual.conftest import RUNS

SETTINGS = [{"params": n, "tokens": d, "opt": {"lr": 1e-3}} for n, d in zip(RUNS.N, RUNS.D, strict=True)]


def test_python_and_json_are_read() -> None:
    assert as_dictionary("{'lr': 0.001, 'opt': {'name': 'adam', 'betas': (0.9, 0.99)}, 'x': None, 'ok': True}") == {
        "lr": 0.001, "opt.name": "adam", "opt.betas": "[0.9, 0.99]", "ok": True,
    }  # fmt: skip
    assert as_dictionary('{"lr": 1e-3, "ok": true, "none": null}') == {"lr": 0.001, "ok": True}
    assert as_dictionary("{'a': -inf, 'b': nan, 'c': 'it is nan', 'd': -3}") == {
        "a": -math.inf, "c": "it is nan", "d": -3.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "{__import__('os').system('touch hacked')}", "{'a': open('hacked', 'w')}", "{'a': 1 + 1}", "{1, 2}", "{}",
        "{" * 5000 + "}" * 5000, "{'a': " + "[" * 5000 + "]" * 5000 + "}", "{'a': " + "-" * 90_000 + "1}",
        "{'a': " + "1+" * 40_000 + "1}", "{'a': '" + "x" * 200_000 + "'}", r"{'" + r"\'" * 49_000 + "}",
        "{'a': 10**9**9}", "{'a'",
    ],
)  # fmt: skip
def test_other_texts_are_not_read_and_not_executed(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = time.process_time()
    assert not as_dictionary(text)
    assert time.process_time() - before < 0.5
    assert not list(tmp_path.iterdir())


def test_columns_of_json_text_nested_json_and_structs_are_read() -> None:
    frame = pd.DataFrame({"config": list(map(json.dumps, SETTINGS)), "loss": RUNS.loss})
    check(read(csv_of(frame)))
    nested = [{"config": one, "summary": {"val_loss": x}} for one, x in zip(SETTINGS, RUNS.loss, strict=True)]
    runs = read(json.dumps(nested).encode(), "runs.json")
    check(runs)
    assert "each key of the columns 'config', 'summary' is a column" in note_of(runs)
    parquet = io.BytesIO()
    pd.DataFrame({"config": SETTINGS, "loss": RUNS.loss}).to_parquet(parquet)
    check(read(parquet.getvalue(), "runs.parquet"))


def test_an_unreadable_cell_stays_empty() -> None:
    table = THIRTY[2].content().replace(b"{'lr': 0.0003, 'params'", b"{lr: 0.0003, 'params'", 1)
    runs = read(table)
    assert "1 cell is not readable and stays empty" in note_of(runs)
    check(runs, RUNS.iloc[1:])  # a run without N is not fitted


def test_the_time_of_a_long_cell_is_proportional_to_its_length() -> None:
    """Patterns that try all divisions of a long cell would need hours for one cell."""
    start = time.process_time()
    assert not is_number("1" + " " * 50_000 + "!")
    assert not is_number("1x10" + " " * 50_000 + "!")
    assert as_dictionary("{'" + "\\'" * 49_000 + "\\\n}") is None
    table = "a" + " " * 50_000 + "b,1e9," + "a" + " " * 50_000 + "b\n1e6,3.1,3.0\n1e7,2.9,2.8\n"
    with suppress(PlannerError):
        read_pivot(Grid([line.split(",") for line in table.splitlines()], "a.csv"))
    corner = Grid([["N" + " " * 50_000 + "\\ D", "1e9", "1e10"], ["1e6", "3.1", "3.0"], ["1e7", "2.9", "2.8"]], "a.csv")
    assert read_pivot(corner) is not None
    assert time.process_time() - start < 5
