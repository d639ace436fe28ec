"""Batches from a set of jets, and the positions of their tokens."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.trainers.jets.jetset import JetSet, gather, write
from isoplan.trainers.packed.rectangles import lay_out, runs

some_lengths = st.lists(st.integers(0, 9), min_size=1, max_size=20)


def jets_of(lengths: list[int]) -> JetSet:
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    features = np.arange(2 * starts[-1], dtype=np.float32).reshape(-1, 2)
    return JetSet(features, starts, np.arange(len(lengths)) % 10)


@given(some_lengths, st.data())
def test_a_batch_holds_the_particles_of_its_jets(lengths: list[int], data: st.DataObject) -> None:
    jets = jets_of(lengths)
    chosen = np.array(data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=12)), np.int64)
    particles, found, labels = gather(jets, chosen)
    one_by_one = [jets.features[jets.starts[i] : jets.starts[i + 1]] for i in chosen]
    assert np.array_equal(particles, np.concatenate([jets.features[:0], *one_by_one]))
    assert found.tolist() == [len(j) for j in one_by_one]
    assert labels.tolist() == jets.labels[chosen].tolist()
    assert [str(a.dtype) for a in (particles, found, labels)] == ["float32", "int64", "int64"]


def test_a_batch_of_mapped_jets_is_an_array_of_its_own(tmp_path: Path) -> None:
    jets = jets_of([3, 0, 5, 2])
    mapped = write([jets], tmp_path / "jets")
    particles, lengths, labels = gather(mapped, np.array([2, 1, 0]))
    assert type(particles) is np.ndarray
    assert particles.flags.writeable
    assert particles[:, 0].tolist() == [6, 8, 10, 12, 14, 0, 2, 4]
    assert (lengths.tolist(), labels.tolist()) == ([5, 0, 3], [2, 1, 0])


@given(some_lengths, st.floats(0, 20))
def test_every_token_has_a_row_in_the_rectangle_of_its_jet(lengths: list[int], calls: float) -> None:
    layout = lay_out(np.array(lengths) + 1, calls)
    particles = runs(layout.begins + 1, np.array(lengths))
    rows = np.concatenate([layout.first, particles])
    assert len(np.unique(rows)) == len(rows) == sum(lengths) + len(lengths)
    assert sorted(layout.order.tolist()) == list(range(len(lengths)))
    assert layout.filled.tolist() == [lengths[i] + 1 for i in layout.order]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    for place, jet in enumerate(layout.order):
        expected = layout.first[place] + 1 + np.arange(lengths[jet])
        assert particles[starts[jet] : starts[jet + 1]].tolist() == expected.tolist()
    jets = row = 0
    for r in layout.rectangles:
        assert (r.members.start, r.rows.start) == (jets, row)
        jets, row = r.members.stop, r.rows.stop
        assert row - r.rows.start == r.tokens * (jets - r.members.start)
        assert r.tokens == layout.filled[r.members].max()
        assert layout.first[r.members].tolist() == list(range(r.rows.start, r.rows.stop, r.tokens))
    assert (jets, row) == (len(lengths), layout.rows)


def test_padding_is_a_few_percent_of_a_batch_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    lengths = np.clip(np.rint(rng.normal(40, 15, (50, 128))), 1, 128).astype(np.int64)
    layouts = [lay_out(batch + 1) for batch in lengths]
    assert sum(layout.rows for layout in layouts) < 1.1 * (lengths + 1).sum()
    assert max(len(layout.rectangles) for layout in layouts) <= 12
    longest = lengths.max(1) + 1
    assert 128 * longest.sum() > 1.8 * (lengths + 1).sum()


@given(st.lists(st.integers(0, 12), min_size=1, max_size=7), st.floats(0, 20))
def test_no_other_cuts_cost_less(lengths: list[int], calls: float) -> None:
    tokens = np.sort(lengths) + 1
    inner = range(1, len(tokens))
    some_cuts = (cuts for k in range(len(tokens)) for cuts in combinations(inner, k))
    costs = [
        sum(calls + (b - a) * int(tokens[b - 1]) for a, b in pairwise((0, *cuts, len(tokens)))) for cuts in some_cuts
    ]
    layout = lay_out(np.array(lengths) + 1, calls)
    assert layout.rows + calls * len(layout.rectangles) == pytest.approx(min(costs))


def test_a_batch_of_no_jets_has_no_layout() -> None:
    with pytest.raises(ValueError, match="array"):
        lay_out(np.array([], np.int64))
