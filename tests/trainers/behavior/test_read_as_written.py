"""Event logs as people and shops write them: headers, spaces, times, line endings, invalid numbers."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from isoplan.trainers.behavior.logs import table_files
from isoplan.trainers.behavior.logs.popularity import Popularity
from isoplan.trainers.behavior.logs.read import read_items, read_log
from tests.trainers.behavior.test_read import events, fault, write


def test_lines_that_begin_with_the_names_of_their_columns(tmp_path: Path) -> None:
    said = "events.txt begins with the names of its columns: the first line is not read as an event."
    for head in ("user item", "userId\tmovieId", "user track", "buyer item_id", "\ufeffUser  Item "):
        delimiter = "\t" if "\t" in head else " "
        body = f"{head}\n2 7\n2 9\n".replace(" 7", f"{delimiter}7").replace(" 9", f"{delimiter}9")
        log = read_log(write(tmp_path, body, "events.txt"))
        assert events(log) == [("2", "7"), ("2", "9")], head
        assert log.notes[0] == said
    plain = read_log(write(tmp_path, "u i\nu j\n", "events.txt"))
    assert events(plain) == [("u", "i"), ("u", "j")]
    assert said not in plain.notes
    assert fault(tmp_path, "item user\n7 2\n9 2\n", name="events.txt") == (
        "events.txt begins with 'item user': put the user before the item in each line."
    )
    assert fault(tmp_path, "user item\n", name="events.txt").startswith("events.txt has no rows")
    assert fault(tmp_path, "user item\n2 7\n2 9 5\n", name="events.txt") == (
        "Row 2 of events.txt has 3 values, not 2: correct this row."
    )


@pytest.mark.parametrize("block", [20, 2**20])
def test_spaces_around_and_between_cells_do_not_count(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "BLOCK_BYTES", block)
    wide = " 2  7 \n1\t 7\r\n\n2 9\t\r\n   \n2   7 \t\n1 9  "
    truth = [("2", "7"), ("2", "9"), ("2", "7"), ("1", "7"), ("1", "9")]
    assert events(read_log(write(tmp_path, wide, "events.txt"))) == truth
    tabs = "2\tred shoe \n1\tsock\t\n2 \t sock\n1\t\tred shoe\n"
    assert events(read_log(write(tmp_path, tabs, "events.txt"))) == [
        ("2", "red shoe"), ("2", "sock"), ("1", "sock"), ("1", "red shoe")
    ]  # fmt: skip
    (tmp_path / "events.txt.gz").write_bytes(gzip.compress(wide.encode()))
    assert events(read_log(tmp_path / "events.txt.gz")) == truth
    assert fault(tmp_path, "2 7\n2 \n", name="events.txt") == (
        "Row 2 of events.txt has 1 values, not 2: correct this row."
    )


@pytest.mark.parametrize(("first", "said"), [("nan", "nan"), ("NaN", "nan"), ("inf", "inf"), ("-Infinity", "-inf")])
@pytest.mark.parametrize("rows", [1, 300])
def test_a_column_of_numbers_that_begins_with_none(
    first: str, said: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first valid number can be in the first block of rows or in a later block."""
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 100)
    text = "user,item,price\n" + f"1,2,{first}\n" * rows + "1,3,3\n1,3,4\n"
    assert fault(tmp_path, text) == (
        f"Column price of events.csv has {said} in row 1, which is not a finite number: correct the row, or leave the "
        f"column out."
    )


def test_texts_that_look_like_no_finite_number_are_texts(tmp_path: Path) -> None:
    log = read_log(write(tmp_path, "user,item,brand\n1,2,Infinity\n1,2,acme\n1,2,nan\n"))
    assert log.features.categories.ravel().tolist() == [1, 2, 3]
    said = fault(tmp_path, "user,item,brand\n1,2,inf\n1,2,3\n1,2,acme\n")
    assert said.startswith("Column brand of events.csv has 'acme' in row 3, but other rows contain numbers: ")


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("2019-10-01 00:00:00 UTC", 0),
        ("2019-10-01 00:00:00.5 UTC", 0.5),
        ("2019-10-01 00:00:00.1234569", 0.123456),
        ("2019-10-01T00:00:00.123456789Z", 0.123456),
        ("2019-10-01 02:00:00.123456789+02:00", 0.123456),
    ],
)
def test_moments_as_shops_write_them(text: str, second: float, tmp_path: Path) -> None:
    log = read_log(write(tmp_path, f"user,item,time\n1,a,{text}\n1,b,{text}\n"))
    assert log.times.tolist() == [datetime(2019, 10, 1, tzinfo=UTC).timestamp() + second] * 2
    assert fault(tmp_path, f"user,item,time\n1,a,{text}\n1,b,soon UTC\n").startswith(
        "Column time of events.csv has 'soon UTC' in row 2, which is not a date"
    )


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_nanoseconds_of_parquet_are_cut_to_microseconds(zone: str | None, tmp_path: Path) -> None:
    when = pa.array([1_569_888_000_123_456_789, 1_569_888_001_000_000_001], pa.timestamp("ns", zone))
    pq.write_table(pa.table({"user": ["1", "1"], "item": ["a", "b"], "time": when}), tmp_path / "e.parquet")
    assert read_log(tmp_path / "e.parquet").times.tolist() == [1_569_888_000.123456, 1_569_888_001.0]


def test_names_of_columns_lose_their_spaces_and_endings_their_case(tmp_path: Path) -> None:
    text = 'user, item , "price"\n1,a,2\n1,b,3\n'
    log = read_log(write(tmp_path, text, "EVENTS.CSV"))
    assert events(log) == [("1", "a"), ("1", "b")]
    assert log.catalogue.features.number_names == ("price",)
    (tmp_path / "EVENTS.CSV.GZ").write_bytes(gzip.compress(text.encode()))
    assert events(read_log(tmp_path / "EVENTS.CSV.GZ")) == events(log)
    assert fault(tmp_path, "user,item, user\n1,2,3\n") == "events.csv has two columns 'user': rename one of them."


def test_how_events_spread_over_items_is_a_note(tmp_path: Path) -> None:
    """The log has twenty items. The first two items have 30 of the 48 events."""
    rows = [*[0] * 20, *[1] * 10, *range(2, 20)]
    body = "".join(f"{place % 4},{item}\n" for place, item in enumerate(rows))
    log = read_log(write(tmp_path, "user,item\n" + body))
    counts = np.array([20, 10, *[1] * 18])
    gini = np.abs(np.subtract.outer(counts, counts)).sum() / (2 * 20 * 48)
    zipf = Popularity(counts).zipf
    assert log.notes[-1] == (
        f"The most popular tenth of 20 items has 62 % of the events; Zipf exponent {zipf:.2f}, Gini coefficient "
        f"{gini:.2f}."
    )
    items = read_items(write(tmp_path, "item\n" + "".join(f"{item}\n" for item in range(25)), "items.csv"))
    log = read_log(write(tmp_path, "user,item\n" + body), items=items)
    assert log.notes[-1].startswith(
        "The most popular tenth of 20 items with events (of 25 items in the catalogue) has 62 % of the events"
    )
    few = read_log(write(tmp_path, "user,item\n" + "".join(f"1,{item}\n" for item in range(9))))
    assert not any("most popular" in note for note in few.notes)
