"""Event files of a workspace: the list of valid files, and the import of new files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes import source
from isoplan.trainers.amplitudes.files import read_events, write_events
from isoplan.trainers.amplitudes.source import FOLDER, LOCK, import_file, list_files, make_toy_events
from isoplan.trainers.backend.store.heartbeat import hold_lock


def sent(folder: Path, name: str) -> bytes:
    """Return the bytes of an event file with twenty events."""
    write_events(folder / name, make_toy_events("Zg", 20, 1))
    return (folder / name).read_bytes()


@pytest.mark.parametrize("name", ["mine.npz", "mine.h5", "mine.HDF5", "mine.parquet"])
def test_a_file_comes_in_as_it_was_and_is_listed(tmp_path: Path, name: str) -> None:
    root = tmp_path / "space"
    root.mkdir()
    assert list_files(root) == []
    whole = sent(tmp_path, name)
    import_file(root, name, whole)
    assert list_files(root) == [name]
    assert (root / FOLDER / name).read_bytes() == whole
    assert len(read_events(root / FOLDER / name)) == 20
    assert sorted(path.name for path in (root / FOLDER).iterdir()) == [LOCK, name]


def test_other_files_and_folders_are_not_listed(tmp_path: Path) -> None:
    (tmp_path / FOLDER / "simulated.npz").mkdir(parents=True)
    for name in ("b.npz", "a.parquet", ".tmp-1-c.npz", "notes.txt", "with space.npz", "simulated"):
        (tmp_path / FOLDER / name).touch()
    assert list_files(tmp_path) == ["a.parquet", "b.npz"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("my events.npz", "The file 'my events.npz' has an invalid name: use at most 64 letters, digits"),
        ("../mine.npz", "The file '../mine.npz' has an invalid name"),
        ("mine.npz\n", "has an invalid name"),
        ("mine.txt", "mine.txt does not have the extension of an event file: use .npz, .h5, .hdf5, .parquet."),
        ("mine.npz", "mine.npz is not an NPZ file, or is cut short"),
        ("mine.h5", "mine.h5 is not an HDF5 file"),
    ],
)
def test_what_is_no_file_of_events_is_refused_and_leaves_nothing(tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises(PlannerError) as told:
        import_file(tmp_path, name, b"nothing of the kind")
    assert sentence in str(told.value)
    assert ".tmp-" not in str(told.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != LOCK]


def test_events_that_cannot_be_are_refused_with_their_row(tmp_path: Path) -> None:
    events = make_toy_events("Zg", 20, 1)
    events.momenta[3, 0, 0] *= 2
    write_events(tmp_path / "mine.npz", events)
    whole = (tmp_path / "mine.npz").read_bytes()
    with pytest.raises(PlannerError, match=r"^mine\.npz: .*[Rr]ow 3"):
        import_file(tmp_path, "mine.npz", whole)
    assert list_files(tmp_path) == []


def test_a_small_file_whose_header_asks_for_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "space").mkdir()
    whole, place = sent(tmp_path, "mine.npz"), io.BytesIO()
    np.lib.format.write_array_header_1_0(place, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(tmp_path / "new.npz", "w") as new:
        new.writestr("momenta.npy", old.read("momenta.npy"))
        new.writestr("amplitude.npy", place.getvalue())
    with pytest.raises(PlannerError) as told:
        import_file(tmp_path / "space", "mine.npz", (tmp_path / "new.npz").read_bytes())
    assert str(told.value) == (
        "mine.npz: The amplitude has the shape (10000000000000,) and the momenta contain 20 events: give one "
        "number per event."
    )
    assert list_files(tmp_path / "space") == []


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "mine.npz").write_bytes(b"mine")
    with pytest.raises(PlannerError, match=r"amplitudes/mine\.npz already exists: give the file another name"):
        import_file(tmp_path, "mine.npz", sent(tmp_path, "mine.npz"))
    assert (tmp_path / FOLDER / "mine.npz").read_bytes() == b"mine"


def test_one_file_at_a_time_and_none_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sent(tmp_path, "mine.npz")
    monkeypatch.setattr(source, "PATIENCE", 0.0)
    (tmp_path / FOLDER).mkdir()
    with hold_lock(tmp_path / FOLDER / LOCK) as mine:
        assert mine
        with pytest.raises(PlannerError, match="Another file is being uploaded to amplitudes"):
            import_file(tmp_path, "mine.npz", whole)
    monkeypatch.setattr(source, "MOST_BYTES", 1024**2)
    with pytest.raises(
        PlannerError, match=r"mine\.npz has 2 MB, and at most 1 MB can be uploaded: copy it into the folder amp"
    ):
        import_file(tmp_path, "mine.npz", bytes(2 * 1024**2))
