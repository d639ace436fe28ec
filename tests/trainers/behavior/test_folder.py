"""The folder of a log: reading, cached arrays in the folder, and their reuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs import folder as module
from isoplan.trainers.behavior.logs.folder import load_arrays, open_log, save_arrays
from isoplan.trainers.behavior.logs.log import Features, Log
from isoplan.trainers.behavior.logs.synthetic import World, make

EVENTS = "who,what,at,device,amount\n1,ä,5,web,2\n1,b b,4,phone,3\n2,b b,1,,4\n"
ITEMS = "what,name,price\nä,Red shoe,1.5\nb b,Blue shoe,2\nc,,3\n"
COLUMNS = '[events]\nuser = "who"\nitem = "what"\ntime = "at"\n\n[items]\nitem = "what"\ntext = "name"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("events.csv", EVENTS), ("items.csv", ITEMS), ("columns.toml", COLUMNS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def same(a: Log, b: Log) -> bool:
    pairs = [(a.users, b.users), (a.starts, b.starts), (a.items, b.items), (a.times, b.times)]
    pairs += [(getattr(a.catalogue, n), getattr(b.catalogue, n)) for n in ("names", "tokens", "starts")]
    for x, y in ((a.features, b.features), (a.catalogue.features, b.catalogue.features)):
        pairs += [(x.categories, y.categories), (x.numbers, y.numbers)]
        if (x.sizes, x.category_names, x.number_names) != (y.sizes, y.category_names, y.number_names):
            return False
    whole = (a.catalogue.vocabulary, a.timed, tuple(a.notes)) == (b.catalogue.vocabulary, b.timed, tuple(b.notes))
    return whole and all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in pairs)


def test_a_log_comes_back_as_it_was_and_is_mapped(tmp_path: Path) -> None:
    log = make(World(users=1500))
    back = save_arrays(log, tmp_path / "deep" / "log")
    assert same(log, back)
    assert isinstance(back.items.base, np.memmap)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["log"]
    other = make(World(users=20))
    assert same(save_arrays(other, tmp_path / "deep" / "log"), log), "what is there is left as it is"


def test_names_and_no_features_come_back(folder: Path) -> None:
    log = open_log(folder)
    assert log.users.tolist() == ["1", "2"]
    assert log.catalogue.names.tolist() == ["ä", "b b", "c"]
    plain = Log(log.users, log.starts, log.items, log.times, Features.none(3), log.catalogue, False)
    assert same(save_arrays(plain, folder / "plain"), plain)


def test_a_folder_is_read_once_until_a_file_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_log(folder)
    assert first.features.category_names == ("device",)
    assert first.catalogue.vocabulary == 5
    with monkeypatch.context() as patch:
        patch.setattr(module, "read_log", None)
        assert same(open_log(folder), first)
    place = next((folder / "prepared").iterdir())
    (place / "times.npy").write_bytes(b"")
    assert same(open_log(folder), first), "a damaged one is written anew"
    (folder / "columns.toml").write_text(COLUMNS + 'leave = ["price"]\n')
    assert not open_log(folder).catalogue.features.number_names
    assert len(list((folder / "prepared").iterdir())) == 1


@pytest.mark.parametrize("name", [*module.TYPES, "log"])
def test_damage_is_one_sentence(name: str, folder: Path) -> None:
    save_arrays(open_log(folder), folder / "log")
    path = next((folder / "log").glob(f"{name}.*"))
    for content in (b"", b"not an array", path.read_bytes()[:-3], None):
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        elif name != "log":
            np.save(path, np.zeros(3, np.complex128))
        with pytest.raises(
            PlannerError, match="contains no readable log: delete this folder, then the log is read again"
        ):
            load_arrays(folder / "log")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[event]\nuser = 'a'\n",
            "columns.toml has 'event', which is not a valid section: use [events] and [items].",
        ),
        (
            "[events]\nname = 'a'\n",
            "columns.toml has the unknown key 'name' in [events]: use user, item, time, text, categories, numbers, "
            "leave.",
        ),
        ("[events]\nuser = 3\n", "columns.toml has 3 for user in [events]: write the names of columns as texts."),
        ("[events]\nuser = ['a', 'b']\n", "columns.toml has ['a', 'b'] for user in [events]: name one column."),
        ("[events]\nuser = 'a'\n", "events.csv has no column 'a': name one of who, what, at, device, amount."),
    ],
)
def test_columns_that_cannot_be(text: str, said: str, folder: Path) -> None:
    (folder / "columns.toml").write_text(text)
    (folder / "items.csv").unlink()
    with pytest.raises(PlannerError) as caught:
        open_log(folder)
    assert str(caught.value) == said


def test_folders_that_hold_no_log(folder: Path) -> None:
    (folder / "events.parquet").write_bytes(b"x")
    with pytest.raises(PlannerError, match=r"holds events\.parquet and events\.csv: keep one of them"):
        open_log(folder)
    (folder / "events.parquet").unlink()
    (folder / "columns.toml").write_text("[events\nuser = 1\n")
    with pytest.raises(PlannerError, match=r"columns\.toml cannot be read .*line 1.*: save it as valid TOML in UTF-8"):
        open_log(folder)
    with pytest.raises(PlannerError, match=r"contains no table events: put events\.csv, \.parquet or \.txt there"):
        open_log(folder / "prepared")


def test_endings_are_told_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "EVENTS.CSV").write_text("user,item\n1,a\n1,b\n")
    (tmp_path / "Items.Csv").write_text("item,title\na,Red shoe\nb,Sock\nc,Hat\n")
    assert open_log(tmp_path).catalogue.names.tolist() == ["a", "b", "c"]
    (tmp_path / "events.txt").write_text("1 a\n1 b\n")
    with pytest.raises(PlannerError, match=r"holds EVENTS\.CSV and events\.txt: keep one of them"):
        open_log(tmp_path)
