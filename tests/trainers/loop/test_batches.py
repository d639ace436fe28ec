"""Batches of complete epochs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoplan.trainers.training_loop import whole_batches


@given(samples=st.integers(1, 40), share=st.floats(0.01, 1), total=st.integers(1, 30), cut=st.floats(0, 1))
def test_each_pass_holds_every_sample_once_and_a_rest_is_the_rest(
    samples: int, share: float, total: int, cut: float
) -> None:
    batch, first = max(int(share * samples), 1), int(cut * total)
    found = list(whole_batches(samples, batch, (3, 1), 0, total))
    assert [len(chosen) for chosen in found] == [batch] * total
    seen = np.concatenate(found)
    for begin in range(0, len(seen) - samples + 1, samples):
        assert sorted(seen[begin : begin + samples]) == list(range(samples))
    rest = list(whole_batches(samples, batch, (3, 1), first, total))
    assert [chosen.tolist() for chosen in rest] == [chosen.tolist() for chosen in found[first:]]
