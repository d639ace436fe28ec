"""Sets of jets, and their folder on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.jets import jetset
from isoplan.trainers.jets.jetset import JetSet, write


def jets(lengths: list[int], width: int = 2) -> JetSet:
    """Return jets with the given numbers of particles. The label of jet i is i mod 10.

    The first feature of a particle is its index in the whole set.
    """
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    features = np.arange(starts[-1])[:, None] + np.arange(width) / 8
    return JetSet(features.astype(np.float32), starts, np.arange(len(lengths)) % 10)


def same(a: JetSet, b: JetSet) -> bool:
    return all(np.array_equal(getattr(a, n), getattr(b, n)) for n in jetset.TYPES)


@pytest.mark.parametrize("starts", [[0, 2], [0, 3, 2], [1, 2, 3], [0, 1, 2]])
def test_arrays_that_do_not_fit_are_no_jets(starts: list[int]) -> None:
    with pytest.raises(ValueError, match="not a set of jets"):
        JetSet(np.zeros((3, 2), np.float32), np.array(starts), np.zeros(2, np.int64))


def test_what_was_written_is_mapped_again(tmp_path: Path) -> None:
    whole = jets([3, 0, 1, 7, 2])
    parts = (
        (whole.features[:3], whole.starts[:3], whole.labels[:2]),
        (whole.features[3:], whole.starts[2:] - 3, whole.labels[2:]),
    )
    empty = JetSet(whole.features[:0], whole.starts[:1], whole.labels[:0])
    written = write([JetSet(*parts[0]), empty, JetSet(*parts[1])], tmp_path / "some" / "jets")
    assert same(written, whole)
    assert isinstance(written.features, np.memmap)
    assert not written.features.flags.writeable
    assert [written.features.dtype, written.starts.dtype, written.labels.dtype] == [np.float32, np.int64, np.int64]
    assert sorted(p.name for p in (tmp_path / "some").iterdir()) == ["jets"]
    assert same(JetSet.open(tmp_path / "some" / "jets"), whole)


def test_a_folder_that_exists_is_left_as_it_is(tmp_path: Path) -> None:
    write([jets([1])], tmp_path / "jets")
    (tmp_path / "jets" / "thesis.tex").write_text("mine")
    with pytest.raises(OSError, match="not empty"):
        write([jets([2, 2], 3)], tmp_path / "jets")
    assert same(JetSet.open(tmp_path / "jets"), jets([1]))
    assert [p.name for p in tmp_path.iterdir()] == ["jets"]


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    write([jets([4])], tmp_path / "jets")

    def broken() -> Iterator[JetSet]:
        yield jets([1])
        raise PlannerError("the second file is damaged")

    with pytest.raises(PlannerError, match="second file"):
        write(broken(), tmp_path / "jets")
    assert same(JetSet.open(tmp_path / "jets"), jets([4]))
    assert [p.name for p in tmp_path.iterdir()] == ["jets"]
    with pytest.raises(PlannerError, match="There are no jets to write"):
        write([jets([])], tmp_path / "other")
    with pytest.raises(ValueError, match="2 features like the first jets, not 3"):
        write([jets([1]), jets([1], 3)], tmp_path / "other")
    assert [p.name for p in tmp_path.iterdir()] == ["jets"]


def test_a_damaged_folder_is_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "jets"
    with pytest.raises(PlannerError, match=r"jets holds no jets: features\.npy is missing"):
        JetSet.open(folder)
    write([jets([4, 1])], folder)
    features = (folder / "features.npy").read_bytes()
    (folder / "features.npy").write_bytes(features[:-4])
    with pytest.raises(PlannerError, match=r"features\.npy is damaged"):
        JetSet.open(folder)
    np.save(folder / "features.npy", np.zeros((4, 2), np.float32))
    with pytest.raises(PlannerError, match="do not belong together"):
        JetSet.open(folder)
    np.save(folder / "features.npy", np.zeros((5, 2)))
    with pytest.raises(PlannerError, match="holds float64, not float32"):
        JetSet.open(folder)
    np.save(folder / "features.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(PlannerError, match=r"features\.npy is damaged"):
        JetSet.open(folder)
