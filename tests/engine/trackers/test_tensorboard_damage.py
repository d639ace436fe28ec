"""Event files of TensorBoard that are truncated, damaged or hostile, and folders inside the folder of a run."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.catalogue import find_source
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.run import TrackedRun
from isoplan.engine.trackers.tensorboard.events import MAX_RECORD_BYTES, checksum, events
from isoplan.engine.trackers.tensorboard.source import SOURCE
from tests.engine.trackers.event_files import event, message, scalar, settings, write


def runs(place: Path) -> list[TrackedRun]:
    return list(SOURCE.read(str(place), list(SOURCE.marks(str(place)))))


def values(run: TrackedRun, metric: str = "loss") -> list[float]:
    return run.histories[metric].values.tolist()


def test_every_truncation(tmp_path: Path) -> None:
    """A file that is cut anywhere gives the values before the cut. An empty file is a run without values."""
    file = write(tmp_path / "a", *(event(step, scalar("loss", step / 4)) for step in range(3)))
    content = file.read_bytes()
    size = len(content) // 3
    for length in range(len(content)):
        file.write_bytes(content[:length])
        assert [one.step for one in events(file)] == list(range(length // size))
    file.write_bytes(b"")
    (run,) = runs(tmp_path)
    assert (run.id, run.histories, run.created) == ("a", {}, None)


def test_changed_bytes(tmp_path: Path) -> None:
    """Values after a changed byte are left out. A file that does not begin with a record is refused."""
    file = write(tmp_path, *(event(step, scalar("loss", step / 4)) for step in range(4)))
    content = file.read_bytes()
    size = len(content) // 4
    for at in range(size, 2 * size):
        file.write_bytes(content[:at] + bytes([content[at] ^ 64]) + content[at + 1 :])
        assert [values(run) for run in runs(tmp_path)] == [[0.0]]
    file.write_bytes(content + bytes(1000))
    assert values(runs(tmp_path)[0]) == [0.0, 0.25, 0.5, 0.75]
    file.write_bytes(bytes(range(256)) * 99)
    with pytest.raises(PlannerError, match=r"\.1\.0 is damaged or not an event file of TensorBoard: copy it again"):
        import_runs(str(tmp_path))
    huge = struct.pack("<Q", 2**63 + 5)
    file.write_bytes(content + huge + struct.pack("<I", checksum(huge)))
    with pytest.raises(PlannerError, match="cannot be read"):
        import_runs(str(tmp_path))


def test_other_data_is_skipped(tmp_path: Path) -> None:
    """Large records and values of other plugins are skipped. Tensors are read only if they are scalars."""
    plugin = message(9, message(1, message(1, b"scalars")))
    tensor = message(1, b"t") + message(8, b"\x08\x01" + message(5, struct.pack("<f", 0.5)))
    vector = message(1, b"v") + message(8, b"\x08\x01" + message(5, struct.pack("<2f", 0.5, 1.0))) + plugin
    image = message(1, b"i") + message(4, b"\xff" * 200)
    first = write(tmp_path, b"\x1a" + b"\x01" * (MAX_RECORD_BYTES + 1), event(1, tensor, vector, image))
    assert [one.values for one in events(first)] == [[]]
    (run,) = runs(tmp_path)
    assert run.histories == {}
    write(tmp_path, event(1, tensor + plugin), event(2, tensor), event(3, scalar("u", 1.5), settings("lr", 0.1)))
    (run,) = runs(tmp_path)
    assert (values(run, "t"), values(run, "u"), run.config) == ([0.5, 0.5], [1.5], {"lr": 0.1})


def test_states_of_sessions(tmp_path: Path) -> None:
    """A state without a time is unknown, and a new start makes the state unknown again."""
    failure, time = b"\x08\x02", b"\x11" + struct.pack("<d", 1e9)
    write(tmp_path / "a", event(0, settings("lr", 1), settings("", 0, failure + time)))
    write(tmp_path / "b", event(0, settings("lr", 1), settings("", 0, failure)))
    write(tmp_path / "c", event(0, settings("", 0, failure + time)), event(0, settings("lr", 1)))
    assert [run.state for run in runs(tmp_path)] == ["failed", "unknown", "unknown"]


def test_folders_of_one_run(tmp_path: Path) -> None:
    """Folders of ``add_hparams`` and of parts belong to a run, unless ``add_hparams`` describes several runs."""
    write(tmp_path / "a", event(1, scalar("loss", 1.0)))
    for child in ("1700.5", "1800.5"):
        write(tmp_path / "a" / child, event(0, settings("lr", 0.5)), event(0, scalar("best", 0.25)))
    write(tmp_path / "a/validation", event(1, scalar("loss", 2.0)))
    write(tmp_path / "b/train", event(1, scalar("loss", 3.0)))
    write(tmp_path / "c", event(0))
    for number in (1, 2):
        write(tmp_path / "c" / f"trial {number}", event(0, settings("lr", number), scalar("loss", number)))
    a, b, *trials = runs(tmp_path)
    assert (a.config, a.summary, values(a), values(a, "validation/loss")) == ({"lr": 0.5}, {"best": 0.25}, [1.0], [2.0])
    assert (b.id, values(b, "train/loss")) == ("b", [3.0])
    assert [(run.id, run.config["lr"], values(run)) for run in trials] == [
        ("c/trial 1", 1.0, [1.0]),
        ("c/trial 2", 2.0, [2.0]),
    ]


def test_settings_of_lightning(tmp_path: Path) -> None:
    """Settings in YAML count if the event files contain none. Folders with names of Lightning are in their order."""
    for version in (10, 2):
        write(tmp_path / f"version_{version}", event(1, scalar("loss", version)))
    (tmp_path / "version_2/hparams.yaml").write_text("model: {width: 64}\n")
    assert find_source(str(tmp_path)) is SOURCE
    assert [(run.id, dict(run.config)) for run in runs(tmp_path)] == [
        ("version_2", {"model.width": 64.0}),
        ("version_10", {}),
    ]
