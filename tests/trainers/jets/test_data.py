"""Jets of a training run: their selection, their order, and the features that the model reads."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import Stopped
from isoplan.trainers.jets.cell import JetCell
from isoplan.trainers.jets.data import STREAMS, Jets, chunks, in_turn, open_jets, ranks, toy
from isoplan.trainers.jets.features import ALL, CONFIGURATIONS, NAMES
from isoplan.trainers.jets.jetset import write
from tests.trainers.jets.stream import Silent

LABELS = st.lists(st.integers(0, 9), min_size=1, max_size=60).map(lambda found: np.array(found, np.int64))


@given(LABELS)
def test_classes_take_turns_in_the_order_of_the_set(labels: np.ndarray) -> None:
    order = in_turn(labels)
    assert sorted(order) == list(range(len(labels)))
    for label in np.unique(labels):
        mine = order[labels[order] == label]
        assert np.all(np.diff(mine) > 0)
    counts = np.bincount(labels, minlength=10)
    for n in range(1, len(labels) + 1):
        so_far = np.bincount(labels[order[:n]], minlength=10)
        open_ones = so_far < counts
        if open_ones.any():
            assert so_far.max() - so_far[open_ones].min() <= 1


@given(LABELS)
def test_a_rank_counts_the_jets_of_the_same_class_before(labels: np.ndarray) -> None:
    assert list(ranks(labels)) == [int(np.sum(labels[:i] == labels[i])) for i in range(len(labels))]


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_the_parts_of_fewer_jets_are_the_first_of_those_of_more(few: int, more: int) -> None:
    few, more = sorted((few, more))
    small, large = (chunks(dict.fromkeys(NAMES, n), 1) for n in (few, more))
    assert small == large[: len(small)]
    for kind in NAMES:
        held = [chunk.jets for chunk in small if chunk.kind == kind]
        assert sum(held) >= few > sum(held[:-1])
        assert held[:6] == [50, 100, 200, 400, 800, 1000][: len(held)]


def test_a_class_with_more_jets_gets_more_parts() -> None:
    found = chunks({"QCD": 5000, "Hbb": 50}, 3)
    assert [chunk.index for chunk in found if chunk.kind == "Hbb"] == [0]
    assert sum(chunk.jets for chunk in found if chunk.kind == "QCD") >= 5000


@pytest.mark.parametrize("name", list(CONFIGURATIONS))
def test_smaller_inputs_are_read_from_the_same_set(name: str) -> None:
    whole, shape = toy([3] * 10, 0), CONFIGURATIONS[name]
    jets = Jets(whole, in_turn(whole.labels), shape)
    chosen = np.array([4, 0, 17])
    particles, lengths, labels = jets.gather(chosen)
    names = [feature.name for feature in ALL]
    columns = [names.index(feature.name) for feature in shape.features]
    rows = [whole.features[whole.starts[i] : whole.starts[i + 1]][: shape.particles] for i in jets.order[chosen]]
    np.testing.assert_array_equal(particles, np.concatenate(rows)[:, columns])
    assert list(lengths) == [len(row) for row in rows] == list(jets.lengths[chosen])
    assert list(labels) == list(whole.labels[jets.order[chosen]]) == list(jets.labels[chosen])


def test_sets_share_no_jets_and_have_as_many_as_asked(tmp_path: Path) -> None:
    cell = JetCell(data="toy", jets=45, validation=100, tests=200)
    found = open_jets(tmp_path, cell, Silent(tmp_path))
    assert found.test is not None
    assert len(set(STREAMS.values())) == 3
    assert (len(found.train.labels), len(found.validation.labels)) == (45, 100)
    assert np.bincount(found.test.labels).tolist() == [200] + [2] * 9
    assert np.ptp(np.bincount(found.train.labels)) == 1
    assert not np.array_equal(found.train.whole.features[:5], found.validation.whole.features[:5])


def test_too_few_jets_are_one_sentence(tmp_path: Path) -> None:
    for name in ("train", "validation"):
        place = tmp_path / "jets" / "mine" / name
        write([toy([2] * 10, 1)], place / "prepared" / "x")
    cell = JetCell(data="mine", jets=50, validation=100)
    with pytest.raises(PlannerError, match=r"contains no ROOT file"):
        open_jets(tmp_path, cell, Silent(tmp_path))


def test_a_cell_that_waits_for_the_jets_of_another_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    pytest.importorskip("pythia8mc")
    cell = JetCell(jets=10, validation=100)
    folder = tmp_path / "jets" / "simulated" / "train"
    folder.mkdir(parents=True)
    with ExitStack() as others:
        for chunk in chunks(dict.fromkeys(NAMES, 1), STREAMS["train"]):
            assert others.enter_context(hold_lock(folder / f".{chunk.name}.lock"))
        with pytest.raises(Stopped):
            open_jets(tmp_path, cell, Silent(tmp_path, stopping=True))
        assert not list(folder.glob("*.root"))
