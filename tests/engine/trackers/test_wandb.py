"""Import of runs of W&B."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.catalogue import find_source
from isoplan.engine.trackers.formats.protobuf import fields
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.run import TrackedRun
from isoplan.engine.trackers.wandb import log, messages, source
from tests.engine.trackers.conftest import MakeStore
from tests.engine.trackers.known import KNOWN, check_known, check_law
from tests.engine.trackers.wandb_files import field, item, log_file, record, varint


@pytest.fixture(scope="module")
def known_store(make_store: MakeStore) -> Path:
    """Return a folder in which W&B has written the known runs."""
    return make_store("write_wandb.py")


def test_runs_of_wandb(known_store: Path, tmp_path: Path) -> None:
    """Settings, losses, states and curves are those that were logged, in the folder and in an archive of it."""
    imported = import_runs(str(known_store))
    assert imported.title == "W&B"
    rows, points = imported.tables.rows, imported.tables.points
    check_known(rows, points, states=True)
    check_law(rows)
    assert sorted(points.column_names) == ["run", "step", "train.loss per step", "val_loss"]
    first = {name: rows[name][rows["run_id"].index("wandb/id5")].as_py() for name in rows.column_names}
    assert first | {"created": None, "summary._runtime": None} == {
        **{"run_id": "wandb/id5", "run": KNOWN[5]["name"], "status": "finished", "created": None},
        **{"config.model.params": KNOWN[5]["params"], "config.model.layers": "[1, 2]"},
        **{"config.tokens": KNOWN[5]["tokens"], "config.lr": 1e-3, "config.bias": True, "config.later": 7},
        **{"summary.train.loss per step": 2 * KNOWN[5]["losses"][-1], "summary.val_loss": KNOWN[5]["losses"][-1]},
        **{"summary._runtime": None, "summary._step": 99, "summary.phase": "warm"},
        **{"tags.project": "a project", "tags.group": "sweep", "tags.tags": "b, a"},
    }
    packed = import_runs(shutil.make_archive(str(tmp_path / "packed"), "zip", known_store))
    assert sorted(packed.tables.rows["run"].to_pylist()) == sorted(run["name"] for run in KNOWN)


def test_records_are_those_of_the_parser_of_wandb(known_store: Path, make_store: MakeStore) -> None:
    """All items of the history, the summary and the settings are equal to those that W&B itself reads."""
    parsed = json.loads((make_store("parse_wandb.py", str(known_store)) / "parsed.json").read_text())
    kinds = {2: "history", 3: "summary", 5: "config"}
    for file in known_store.rglob("*.wandb"):
        found = [
            [kinds[number], [[name, value.decode()] for name, value in messages.items(content)[0]]]
            for record in log.records(file)
            for number, content in fields(record)
            if number in kinds and isinstance(content, bytes)
        ]
        assert found == [record for record in parsed[file.name] if record[0] in kinds.values()]
        assert len(found) > 100


def test_a_resumed_run_is_one_run_and_the_only_changed_one(known_store: Path, make_store: MakeStore) -> None:
    """Marks are stable, and only the run with a new value gets another mark. Its files are read one after the other."""
    before = source.marks(str(known_store))
    assert source.marks(str(known_store)) == before
    make_store("write_wandb.py", str(known_store))
    again = import_runs(str(known_store), known=before)
    rows, points = again.tables.rows, again.tables.points
    assert again.marks.keys() == before.keys()
    assert rows["run_id"].to_pylist() == ["wandb/id5"]
    assert rows["status"].to_pylist() == ["finished"]
    assert points["val_loss"].to_pylist() == pytest.approx([*KNOWN[5]["losses"], 1.5])
    assert points["step"].to_pylist() == list(range(101))


def test_all_forms_of_values(tmp_path: Path) -> None:
    """Numbers of any form are metrics. Texts, lists, truth values and media are not, and removed settings are gone."""
    history = [
        [item("_step", "0"), item("loss", "3e0"), item("note", '"x"'), item("ok", "true")],
        [
            item("_step", "1"),
            item("loss", "NaN"),
            item(("image", "_type"), '"image-file"'),
            item(("image", "width"), "9"),
        ],
        [
            field(1, field(1, b"_step") + varint(5 << 3) + varint(4)),
            field(1, field(1, b"n") + b"\x31" + struct.pack("<d", 2.5)),
        ],
        [item("_step", "3"), item("long", "[" + "1," * 200 + "1]"), item("loss", "-Infinity"), item("é" * 70, "4")],
        [item("loss", "7")],
    ]
    run = field(1, b"abc") + field(8, "a/b é".encode()) + field(4, item("x", '{"y":1}') + item("z", "2"))
    start = field(17, varint(1 << 3) + varint(1_700_000_000))
    summary = item(("image", "_type"), '"image-file"') + item(("image", "width"), "9") + item("best", "1.5")
    gone = field(2, field(1, b"z"))
    found = _read(
        tmp_path,
        [
            record(17, run + start),
            *(record(2, b"".join(row)) for row in history),
            record(3, summary),
            record(5, gone + item("_wandb", '{"a":1}')),
            record(18, varint(1 << 3) + varint(2**64 - 1)),
        ],
    )
    assert (found.id, found.name, found.state, found.created) == (
        "abc",
        "a/b é",
        "failed",
        datetime(2023, 11, 14, 22, 13, 20),
    )
    assert (found.config, found.summary) == ({"x.y": 1.0}, {"best": 1.5})
    curves = {name: (one.steps.tolist(), one.values.tolist()) for name, one in found.histories.items()}
    np.testing.assert_equal(
        curves, {"loss": ([0, 1, 3], [3, np.nan, -np.inf]), "n": ([2], [2.5]), "é" * 70: ([3], [4])}
    )


def test_a_truncated_file_is_read_up_to_its_last_whole_record(tmp_path: Path) -> None:
    """At each length of a file of several blocks, the records are the first ones, without an error."""
    losses = [
        record(2, item("_step", str(i)) + item("loss", str(i)) + item("text", f'"{"x" * 900}"')) for i in range(80)
    ]
    file = tmp_path / "run-abc.wandb"
    whole = log_file(losses)
    assert len(whole) > 2 * log.BLOCK
    for length in [*range(20), *range(30_000, 36_000, 7), len(whole) - 1, len(whole)]:
        file.write_bytes(whole[:length])
        found = list(log.records(file))
        assert found == losses[: len(found)]
        assert length - 7 - sum(map(len, found)) < 2000
    assert store_run(file).state == "running"
    assert store_run(file).histories["loss"].values.tolist() == list(range(80))


def test_after_a_damaged_block_the_next_block_is_read(tmp_path: Path) -> None:
    """A wrong check sum, a record of 4 GB, and a chunk without its beginning cost only what is damaged."""
    losses = [
        record(2, item("_step", str(i)) + item("loss", str(i)) + item("text", f'"{"x" * 900}"')) for i in range(80)
    ]
    huge = b"\x12" + varint(2**32) + b"\x0a" + varint(2**32)
    content = bytearray(log_file([huge, *losses]))
    content[100] ^= 1
    (tmp_path / "run-abc.wandb").write_bytes(content)
    values = store_run(tmp_path / "run-abc.wandb").histories["loss"].values
    assert 40 < len(values) < 52
    np.testing.assert_array_equal(values, np.arange(80 - len(values), 80))


@pytest.mark.parametrize(
    "content", [bytes(np.random.default_rng(0).integers(0, 256, 100_000, np.uint8)), b"PK\3\4", b"x"]
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    """A file that W&B did not write is one sentence."""
    (tmp_path / "run-abc.wandb").write_bytes(content)
    with pytest.raises(
        PlannerError, match=r"run-abc\.wandb is damaged or not a file of W&B: copy it again, or remove it\."
    ):
        import_runs(str(tmp_path))


def test_random_records_are_left_out(tmp_path: Path) -> None:
    """Records of random bytes with right check sums end without an error and within a bounded time."""
    random = np.random.default_rng(0)
    noise = [random.bytes(int(random.integers(0, 300))) for _ in range(2000)]
    wrapped = [record(number, random.bytes(60)) for number in (2, 3, 5, 17, 18) for _ in range(200)]
    last = record(2, item("_step", "5") + item("loss", "2"))
    found = _read(tmp_path, [*noise, *wrapped, last])
    assert found.histories["loss"].values.tolist() == [2]


def test_downloaded_files(tmp_path: Path) -> None:
    """Settings are under the key ``value``. Tags of Python in YAML are plain data, and nothing is executed."""
    folder = tmp_path / "runs/a run/files"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(
        "wandb_version: 1\n_wandb: {value: {cli: 1}}\nparams: {desc: null, value: 1.0e+6}\nmodel: {value: {depth: 3}}\n"
        "betas: {value: !!python/tuple [0.9, 0.95]}\n"
        f"x: {{value: !!python/object/apply:os.mkdir [{tmp_path}/gone]}}\n"
    )
    (folder / "wandb-summary.json").write_text(
        '{"loss": 2.5, "h": {"_type": "histogram", "n": 1}, "_wandb": {"runtime": 5}}'
    )
    (folder / "wandb-metadata.json").write_text('{"startedAt": "2025-01-02T03:04:05.5Z"}')
    (folder.parent / "x-history.jsonl").write_text(
        '{"_step": 0, "loss": 4, "train": {"acc": 0.5}, "step": 10}\n'
        '{"_step": 2, "loss": 2.5, "img": {"_type": "i", "w": 3}}\n{"_st'
    )
    imported = import_runs(str(tmp_path))
    assert imported.tables.rows.to_pylist() == [
        {
            **{"run_id": "runs/a run", "run": "runs/a run", "status": "unknown"},
            **{"created": datetime(2025, 1, 2, 3, 4, 5, 500000), "config.params": 1e6, "config.model.depth": 3},
            **{"config.betas": "[0.9, 0.95]", "config.x": f'["{tmp_path}/gone"]'},
            **{"summary.loss": 2.5, "summary.train.acc": 0.5, "summary.step": 10},
        }
    ]
    points = imported.tables.points.to_pandas()
    assert points.columns.tolist() == ["run", "step", "loss", "train.acc", "step (logged)"]
    assert points["step"].tolist() == [0, 2]
    assert points["loss"].tolist() == [4, 2.5]
    assert not (tmp_path / "gone").exists()
    (folder / "history.jsonl").write_text("no json\n")
    with pytest.raises(PlannerError, match="contains several histories: put the files of each run into its own folder"):
        import_runs(str(tmp_path))
    (folder.parent / "x-history.jsonl").unlink()
    with pytest.raises(
        PlannerError,
        match=r"contains no JSON objects with _step and a metric: it is not a history of W&B\. Remove it\.",
    ):
        import_runs(str(tmp_path))


def test_files_next_to_a_log_are_no_second_run(tmp_path: Path) -> None:
    """A run folder of W&B contains a log and downloaded files: one run, under the ID of the log."""
    folder = tmp_path / "wandb/run-20250102_030405-abc"
    (folder / "files").mkdir(parents=True)
    (folder / "files/wandb-summary.json").write_text('{"loss": 9}')
    (folder / "run-abc.wandb").write_bytes(log_file([record(2, item("_step", "0") + item("loss", "1"))]))
    (tmp_path / "wandb/latest-run").symlink_to(folder)
    assert list(source.marks(str(tmp_path))) == ["wandb/abc"]
    assert list(source.marks(str(folder))) == ["abc"]
    assert list(source.marks(str(folder / "run-abc.wandb"))) == ["abc"]
    assert find_source(str(folder / "run-abc.wandb")) is find_source(str(tmp_path)) is source.SOURCE


def store_run(file: Path) -> TrackedRun:
    """Return the only run in a file."""
    (run,) = source.read(str(file), list(source.marks(str(file))))
    return run


def _read(folder: Path, records: Sequence[bytes]) -> TrackedRun:
    file = folder / "run-abc.wandb"
    file.write_bytes(log_file(records))
    return store_run(file)
