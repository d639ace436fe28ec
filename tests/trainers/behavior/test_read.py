"""Event logs and item tables from files: the content compared with pandas, and the error of each invalid file."""

from __future__ import annotations

import gzip
import tracemalloc
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs import table_files
from isoplan.trainers.behavior.logs.log import UNKNOWN, Items, Log
from isoplan.trainers.behavior.logs.read import Columns, read_items, read_log
from tests.trainers.behavior.exact import text_of

ITEMS = "item,title,brand,price\na,Red shoe,acme,9.5\nb,Blue shoe,,3\nc,,bolt,1e2\n"


def write(folder: Path, text: str, name: str = "events.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def events(log: Log) -> list[tuple[str, str]]:
    """Return (user, item) of each event, in the order of the log."""
    return [(log.users[u], log.catalogue.names[i]) for u, i in zip(log.owners, log.items, strict=True)]


def table(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Return a log with interleaved users. Some times are equal, and some decrease."""
    return pd.DataFrame(
        {
            "user_id": rng.integers(0, 20, rows),
            "product": np.char.add("p", rng.integers(0, 30, rows).astype(str)),
            "timestamp": rng.integers(0, 40, rows),
            "device": rng.choice(["phone", "web"], rows),
            "amount": rng.normal(0, 1, rows).round(3),
        }
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet", "csv.gz", "tsv"])
def test_a_log_is_what_pandas_reads_and_sorts(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, path = table(np.random.default_rng(0), 500), tmp_path / f"events.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path, row_group_size=70)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(table_files, "BLOCK_ROWS", 60)
    log = read_log(path)
    truth = frame.sort_values("timestamp", kind="stable")
    truth["user_id"] = pd.Categorical(truth["user_id"], frame["user_id"].unique())
    truth = truth.sort_values("user_id", kind="stable")
    assert events(log) == list(zip(truth["user_id"].astype(str), truth["product"], strict=True))
    assert log.times.tolist() == truth["timestamp"].tolist()
    assert log.lengths.tolist() == truth.groupby("user_id", observed=True).size().tolist()
    assert log.features.numbers[:, 0] == pytest.approx(truth["amount"].to_numpy())
    order = ["", *frame["device"].unique()]
    assert [order[c] for c in log.features.categories[:, 0]] == truth["device"].tolist()
    assert log.features.sizes == (3,)
    assert (log.features.category_names, log.features.number_names) == (("device",), ("amount",))
    assert log.catalogue.names.tolist() == list(frame["product"].unique())
    assert log.timed
    assert log.notes[0].startswith(
        f"In {path.name}, {backwards(frame)} of 500 events are earlier than the previous event of the same user"
    )


def backwards(frame: pd.DataFrame) -> int:
    return int((frame.groupby("user_id")["timestamp"].diff() < 0).sum())


def test_lines_of_user_and_item(tmp_path: Path) -> None:
    log = read_log(write(tmp_path, "2 7\n1 7\r\n2 9\n2 7\n", "events.txt"))
    assert events(log) == [("2", "7"), ("2", "9"), ("2", "7"), ("1", "7")]
    assert log.times.tolist() == [0, 2, 3, 1]
    assert not log.timed
    assert log.notes == (
        "events.txt has no column of time: the events of a user are used in the order of the file.",
        "1 of 2 users have one event ('1' in column user is the first): nothing can be predicted for them, "
        "but their events count for the popularity of the items.",
    )
    assert len(read_log(write(tmp_path, "2\t7\n2\t9\n", "tabs.txt"))) == 2


def test_the_games_log_is_read_as_numpy_reads_it(shared: Path) -> None:
    path = shared / "runs" / "amazon_video_games_events.txt"
    log = read_log(path)
    raw = np.loadtxt(path, dtype=np.int64)
    assert [len(log), len(log.users), len(log.catalogue)] == [287_107, 31_013, 23_715]
    order = np.argsort(raw[:, 0], kind="stable")
    assert np.array_equal(log.catalogue.names[log.items].astype(np.int64), raw[order, 1])
    assert np.array_equal(log.users[log.owners].astype(np.int64), raw[order, 0])
    assert [log.lengths.min(), np.median(log.lengths), log.lengths.max()] == [1, 6, 860]


def test_an_item_table(tmp_path: Path) -> None:
    items = read_items(write(tmp_path, ITEMS, "items.csv"))
    assert items.names.tolist() == ["a", "b", "c"]
    assert items.features.categories[:, 0].tolist() == [1, UNKNOWN, 2]
    assert items.features.numbers[:, 0].tolist() == [9.5, 3, 100]
    assert items.vocabulary == 5
    shoe = text_of(items, 3)[0, 1]
    assert text_of(items, 3).tolist() == [[3, shoe, 0], [4, shoe, 0], [0, 0, 0]]
    assert shoe == 2, "the most frequent word has the smallest number"
    log = read_log(write(tmp_path, "user,item,price\n1,c,3\n1,a,4\n"), items=items)
    assert log.items.tolist() == [2, 0]
    assert log.catalogue is items
    assert log.features.number_names == ("price",)


def test_texts_may_hold_line_breaks(tmp_path: Path) -> None:
    items = read_items(write(tmp_path, 'item,text\na,"red\nshoe"\nb,"blue\nshoe"\n', "items.csv"))
    assert text_of(items, 2).tolist() == [[3, 2], [4, 2]]


def test_what_belongs_to_the_items_is_found_in_the_log(tmp_path: Path) -> None:
    text = (
        "user,item,title,brand,price,when\n1,a,Red Shoe,acme,9,x\n2,b,Sock,,1,x\n1,b,sock,,1,y\n2,a,Red Shoe,acme,9,y\n"
    )
    log = read_log(write(tmp_path, text), Columns(categories=("when",)))
    assert log.catalogue.features.categories.tolist() == [[1], [UNKNOWN]]
    assert log.catalogue.features.numbers.tolist() == [[9], [1]]
    assert log.features.category_names == ("when",)
    assert log.features.categories[:, 0].tolist() == [1, 2, 1, 2]
    assert np.diff(log.catalogue.starts).tolist() == [2, 1]
    assert (
        "Column brand has the same value in all events of each item: it is used as a feature of the items." in log.notes
    )


def test_moments(tmp_path: Path) -> None:
    at = datetime(2024, 5, 31, 12, 30, tzinfo=UTC).timestamp()
    for text in ("2024-05-31 12:30:00", "2024-05-31T12:30:00", "2024-05-31T14:30:00+02:00", "2024-05-31T12:30:00Z"):
        log = read_log(write(tmp_path, f"user,item,time\n1,a,{text}\n1,b,{text}\n"))
        assert log.times.tolist() == [at, at], text
    for kind in (pa.timestamp("ns"), pa.timestamp("ms", "Europe/Berlin"), pa.date32()):
        when = pa.array([0, 86_400], pa.int64()).cast(pa.timestamp("s")).cast(kind)
        pq.write_table(pa.table({"user": [1.0, 1.0], "item": ["a", "b"], "time": when}), tmp_path / "e.parquet")
        log = read_log(tmp_path / "e.parquet")
        assert log.times.tolist() == [0, 86_400]
        assert log.users.tolist() == ["1"]


def test_columns_as_parquet_may_hold_them(tmp_path: Path) -> None:
    """A log can be read from Parquet columns of several types.

    The types are integers (nanoseconds beyond 2^53), encoded strings, large strings, string views, decimals, booleans.
    """
    frame = pa.table(
        {
            "user": pa.array(["x", "x"]).dictionary_encode(),
            "item": pa.array(["b", "a"], pa.large_string()),
            "time": pa.array([1_717_158_600_000_000_001, 1_617_158_600_000_000_000]),
            "price": pa.array([Decimal("1.50"), Decimal("2")]),
            "paid": [True, False],
            "when": pa.array(["2024-05-31", "2024-06-01"], pa.string_view()),
        }
    )
    pq.write_table(frame, tmp_path / "e.parquet")
    log = read_log(tmp_path / "e.parquet", Columns(categories=("paid",), numbers=("price",)))
    assert events(log) == [("x", "a"), ("x", "b")]
    assert log.times.tolist() == [1.6171586e18, 1.7171586e18]
    assert log.catalogue.features.number_names == ("price",)
    assert log.catalogue.features.category_names == ("paid", "when")
    log = read_log(tmp_path / "e.parquet", Columns(time="when"))
    assert np.diff(log.times).tolist() == [86_400]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=30))
def test_every_event_is_kept_once_and_each_user_in_time(rows: list[tuple[int, int]]) -> None:
    import tempfile

    rows = [*rows, rows[0]]
    with tempfile.TemporaryDirectory() as folder:
        body = "".join(f"{user},{place},{time}\n" for place, (user, time) in enumerate(rows))
        log = read_log(write(Path(folder), "user,item,time\n" + body))
    assert sorted(int(i) for i in log.catalogue.names[log.items]) == list(range(len(rows)))
    for user, first, stop in zip(log.users, log.starts, log.starts[1:], strict=False):
        places = [int(log.catalogue.names[i]) for i in log.items[first:stop]]
        assert places == sorted((p for p in range(len(rows)) if rows[p][0] == int(user)), key=lambda p: rows[p][1])


def fault(folder: Path, text: str, columns: Columns | None = None, items: Items | None = None, **file: str) -> str:
    """Return the error message for a log that cannot be read."""
    with pytest.raises(PlannerError) as caught:
        read_log(write(folder, text, **file), columns or Columns(), items)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "events.csv is empty: give a file with a row for each event or item."),
        ("user,item", "events.csv has no rows: give a file with a row for each event or item."),
        ("user,item\n", "events.csv has no rows: give a file with a row for each event or item."),
        ("\n1,2\n", "events.csv begins with an empty line: begin it with the names of the columns."),
        ("user,item,user\n1,2,3\n", "events.csv has two columns 'user': rename one of them."),
        (
            "who,item\n1,2\n",
            "events.csv has no column 'user': rename the column of the user, or say in columns.toml which of who, item "
            "it is.",
        ),
        ("user,item\n1,2\n1\n", "Row 2 of events.csv has 1 values, not 2: correct this row."),
        ("user,item\n1,2\n,3\n", "Column user of events.csv is empty in row 2: fill it in, or leave the row out."),
        ("user,item\n1,2\n1,\n", "Column item of events.csv is empty in row 2: fill it in, or leave the row out."),
        (
            "user,item\n1,2\n2,3\n",
            "Each user of events.csv has only one event, so there is nothing to predict. Column user was read as the "
            "user: name the correct column.",
        ),
        (
            "user,item,price\n1,2,3\n1,2,cheap\n",
            "Column price of events.csv has 'cheap' in row 2, but other rows contain numbers: correct the row, or "
            "declare the column as a category.",
        ),
        (
            "user,item,brand\n1,2,acme\n1,2,\n1,2,7\n",
            "Column brand of events.csv has '7' in row 3, but other rows contain texts: correct the row, or declare "
            "the column as a category.",
        ),
        (
            "user,item,price\n1,2,3\n1,2,nan\n",
            "Column price of events.csv has nan in row 2, which is not a finite number: correct the row, or leave the "
            "column out.",
        ),
        (
            "user,item,price\n1,2,3\n1,2,\n",
            "Column price of events.csv is empty in row 2: fill it in, or leave the row out.",
        ),
        (
            "user,item,time\n1,2,3\n1,2,NaN\n",
            "Column time of events.csv has nan in row 2, which is not a finite number: correct the row, or leave the "
            "column out.",
        ),
        (
            "user,item,time\n1,2,2024-05-31\n1,2,2024-06-01\n1,2,yesterday\n",
            "Column time of events.csv has 'yesterday' in row 3, which is not a date like 2024-05-31 12:30:00: write "
            "all times in this form, or all as numbers.",
        ),
        (
            "user,item,time\n1,2,2024-05-31 12:30:00Z\n1,2,2024-06-01\n",
            "Column time of events.csv has '2024-06-01' in row 2, which is not a date with a zone like 2024-05-31 "
            "12:30:00+02:00: write all times in this form, or all as numbers.",
        ),
        (
            "user,item,time\n1,2,3\n1,2,2024-06-01\n",
            "Column time of events.csv has '2024-06-01' in row 2, but other rows contain numbers: correct the row, or "
            "write all times as dates.",
        ),
        (
            'user,item\n1,2\n1,"3\n1,4\n',
            "Row 2 of events.csv has a quotation mark that is not closed: correct that row.",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    assert fault(tmp_path, text) == said


def test_rows_are_counted_through_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 100)
    lines = [f"{i % 7},{i},{i}" for i in range(1, 501)]
    lines[399] = "3,400,soon"
    assert "has 'soon' in row 400, but" in fault(tmp_path, "user,item,price\n" + "\n".join(lines))
    lines[299] = "3,300,1,1"
    assert fault(tmp_path, "user,item,price\n" + "\n".join(lines)).startswith("Row 300 of events.csv has 4 values")
    text = "user,item,brand\n" + "1,2,\n" * 300 + "1,2,5\n"
    assert fault(tmp_path, text) == ("Column brand of events.csv is empty in row 1: fill it in, or leave the row out.")
    late = "user,item,brand\n" + "1,2,x\n" * 300 + "1,2,5\n"
    assert "Column brand of events.csv has '5' in row 301, but other rows contain texts" in fault(tmp_path, late)


def test_items_that_are_missing_or_twice(tmp_path: Path) -> None:
    items = read_items(write(tmp_path, ITEMS, "items.csv"))
    assert fault(tmp_path, "user,item\n1,a\n1,x\n", items=items) == (
        "Column item of events.csv names 'x' in row 2. This item is missing in the item table: add it there, or "
        "remove its events."
    )
    with pytest.raises(
        PlannerError, match=r"Column item of items\.csv names 'a' in row 4 and in row 1: keep one row for"
    ):
        read_items(write(tmp_path, ITEMS + "a,again,acme,1\n", "items.csv"))
    assert (
        "Column title of events.csv is declared as text, but texts belong to the item table: declare it there."
        in fault(tmp_path, "user,item,title\n1,a,x\n1,b,x\n", Columns(text=("title",)), items)
    )
    log = read_log(write(tmp_path, "user,item,title\n1,a,x\n1,b,x\n"), items=items)
    assert log.notes[0] == "Column title of events.csv is not read: only texts of the item table are used."


def test_columns_by_name(tmp_path: Path) -> None:
    text = "a,b,c,d\n1,2,5,x\n1,3,4,y\n"
    log = read_log(write(tmp_path, text), Columns(user="a", item="b", time="c", leave=("d",)))
    assert log.items.tolist() == [1, 0]
    assert not log.features.category_names
    assert fault(tmp_path, text, Columns(user="e")) == "events.csv has no column 'e': name one of a, b, c, d."
    said = fault(tmp_path, text, Columns(user="a", item="b", categories=("a",)))
    assert said == "Column a of events.csv has two roles: give it one role."
    named = read_log(write(tmp_path, "user,item,zip\n1,2,7\n1,2,8b\n"), Columns(categories=("zip",)))
    assert named.features.categories.tolist() == [[1], [2]]


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match=r"There is no file .*none\.csv: give a CSV or Parquet file of events"):
        read_log(tmp_path / "none.csv")
    (tmp_path / "e.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(PlannerError, match=r"e\.parquet is damaged, cut short or not a Parquet file"):
        read_log(tmp_path / "e.parquet")
    (tmp_path / "e.csv").write_bytes(b"user,item\n1,2\n1,\xff\n")
    with pytest.raises(PlannerError, match=r"e\.csv is not UTF-8 text after row 0: save it again as CSV in UTF-8"):
        read_log(tmp_path / "e.csv")
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(b"user,item\n1,2\n1,3\n")[:-9])
    with pytest.raises(PlannerError, match=r"e\.csv\.gz cannot be read"):
        read_log(tmp_path / "e.csv.gz")
    pq.write_table(pa.table({"user": [1.5, 2.0], "item": [1, 2]}), tmp_path / "e.parquet")
    with pytest.raises(PlannerError, match=r"Column user of e\.parquet has 1\.5 in row 1, which is not a name"):
        read_log(tmp_path / "e.parquet")
    pq.write_table(pa.table({"user": [1, 1], "item": [1, 2], "tags": [["a"], []]}), tmp_path / "e.parquet")
    with pytest.raises(
        PlannerError, match=r"Column tags of e\.parquet holds list<.*>, not texts or numbers: leave the column"
    ):
        read_log(tmp_path / "e.parquet")


def test_too_many_categories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoplan.trainers.behavior.logs.columns.MOST_CATEGORIES", 2)
    text = "user,item,url\n1,2,x\n1,2,y\n1,2,z\n"
    assert fault(tmp_path, text) == (
        "Column url of events.csv has more than 2 different texts: declare it as text, or leave the column out."
    )


def test_rare_words_share_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoplan.trainers.behavior.logs.columns.VOCABULARY", 4)
    items = read_items(write(tmp_path, "item,text\na,x y x\nb,z x y w\n", "items.csv"))
    assert text_of(items, 4).tolist() == [[2, 3, 2, 0], [1, 2, 3, 1]]
    assert items.vocabulary == 4


def test_memory_follows_the_arrays_and_not_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 2**16)
    rows, filler = 40_000, "text that nobody reads, " * 12
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 500, rows), rng.integers(0, 300, rows)
    lines = (f'{u},{i},{t},"{filler}"' for t, (u, i) in enumerate(zip(users, items, strict=True)))
    path = write(tmp_path, "user,item,time,note\n" + "\n".join(lines))
    pool, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        log = read_log(path, Columns(leave=("note",)))
        peak = tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
    assert len(log) == rows
    assert peak < 5e6 < path.stat().st_size / 2
