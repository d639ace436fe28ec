"""Long tables: one row for each value of each metric."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from tests.engine.store.layouts.conftest import Rows, check, note_of, read, refusal
from tests.engine.store.odd_tables import THIRTY, csv_of, tensorboard_long
from tests.engine.store.usual.conftest import RUNS


def melted() -> pd.DataFrame:
    """Return one row for each of the values params, tokens and val_loss of each run."""
    frame = pd.DataFrame(
        {"run": [f"r{i}" for i in range(36)], "params": RUNS.N, "tokens": RUNS.D, "val_loss": RUNS.loss}
    )
    return frame.melt("run", var_name="metric", value_name="value")


def test_a_table_without_steps_has_one_row_per_run() -> None:
    runs = read(csv_of(melted()))
    check(runs)
    assert "a long table: each value of 'metric' is a column, with one row for each 'run'" in note_of(runs)


def test_the_order_of_the_rows_does_not_matter() -> None:
    check(read(csv_of(melted().sample(frac=1, random_state=1))))
    shuffled = pd.read_csv(io.BytesIO(tensorboard_long())).sample(frac=1, random_state=1)
    check(read(csv_of(shuffled)))


def test_settings_are_in_every_row_and_times_are_left_out() -> None:
    frame = pd.read_csv(io.BytesIO(tensorboard_long())).assign(wall_time=range(216), seed=3)
    runs = read(csv_of(frame), rows="all")
    assert len(runs) == 36 * 4
    assert sorted(set(runs["N"])) == sorted(set(RUNS.N))
    assert runs.roles.seed == "seed"


def test_parquet_and_json_are_read_like_text() -> None:
    parquet = io.BytesIO()
    melted().to_parquet(parquet)
    check(read(parquet.getvalue(), "runs.parquet"))
    check(read(melted().to_json(orient="records").encode(), "runs.json"))


def test_a_table_that_has_sizes_as_columns_stays_as_it_is() -> None:
    frame = RUNS.assign(metric="loss").rename(columns={"loss": "value"})
    assert note_of(read(csv_of(pd.concat([frame, frame.assign(metric="acc")])), pooled=("metric",))) == ""


@pytest.mark.parametrize("number", [5, 7, 8])
def test_logs_of_one_run_name_the_import(number: int) -> None:
    table = THIRTY[number]
    assert refusal(table.content(), table.name).endswith("Read the folder of all runs with `isoplan import FOLDER`.")


def test_a_long_table_of_one_run_is_refused() -> None:
    rows: Rows = [["metric", "step", "value"], ["loss", 1, 3.5], ["loss", 2, 3.1], ["lr", 1, 1e-3]]
    assert refusal(rows).startswith("runs.csv looks like a long table of one run. Add a column of run names")
