"""Tests of memory: of a model in training, and of the candidates in the second stage of a recommender."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.costs.memory import BYTES, Candidates, largest_model, training_memory
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import find_device

PAPER = Candidates(batch=64, length=256, width=188)
"""Candidates of the behavioural paper, sec. 6: a batch of 64 sequences of 256 events has 16,384 in-batch candidates."""

candidates = st.builds(
    Candidates,
    batch=st.integers(1, 512),
    length=st.integers(1, 1024),
    width=st.integers(1, 2048),
    precision=st.sampled_from(sorted(BYTES)),
    chunk=st.none() | st.integers(1, 100_000),
)


def test_a_billion_parameters_train_in_16_gigabytes() -> None:
    assert training_memory(1e9) == 16e9
    assert training_memory(1e9, devices=8) == 2e9
    np.testing.assert_array_equal(training_memory([1e6, 1e9], bytes_per_parameter=18), [18e6, 18e9])


@given(st.floats(1e3, 1e15), st.integers(1, 1000), st.floats(1, 32))
def test_the_largest_model_fills_the_memory(memory: float, devices: int, per: float) -> None:
    assert training_memory(largest_model(memory, devices, per), devices, per) == pytest.approx(memory)


def test_logits_and_gradients_are_batch_times_length_times_candidates_times_bytes() -> None:
    assert PAPER.in_batch == 16_384
    assert PAPER.memory(2e6) == 2 * 64 * 256 * (16_384 + 2e6) * 2 + (16_384 + 2e6) * 188 * 2


def test_two_million_negatives_are_what_the_memory_of_one_device_holds() -> None:
    """The behavioural paper (sec. 6) uses at most 2^21 negatives. This number fills the memory of one H200."""
    assert PAPER.memory(2**21) == pytest.approx(139e9, rel=0.01)
    assert PAPER.largest(find_device("H200").memory) == pytest.approx(2**21, rel=0.02)
    assert PAPER.largest(find_device("H100").memory) == pytest.approx(1.2e6, rel=0.02)


def test_chunks_leave_only_the_embeddings_to_grow() -> None:
    chunked = Candidates(batch=64, length=256, width=188, chunk=65_536)
    assert chunked.memory(2e6) - chunked.memory(1e6) == 1e6 * 188 * 2
    assert chunked.largest(80e9) > 100 * PAPER.largest(80e9)
    assert Candidates(batch=8, length=256, width=188, global_batch=64).in_batch == PAPER.in_batch


@given(candidates, st.floats(0, 12))
def test_the_largest_k_fits_and_one_more_does_not(held: Candidates, log_more: float) -> None:
    memory = float(held.memory(0)) + 10.0**log_more
    K = held.largest(memory)
    assert held.memory(K) <= memory * (1 + 1e-12)
    assert held.memory(K + 1) > memory * (1 - 1e-12)


@given(candidates, st.integers(0, 10**7), st.integers(1, 10**6))
def test_more_negatives_never_need_less(held: Candidates, K: int, more: int) -> None:
    assert held.memory(K + more) > held.memory(K)


def test_a_memory_that_is_too_small_is_named() -> None:
    with pytest.raises(
        PlannerError, match=r"memory of 10 kB is smaller than one candidate row \(65.9 kB for 16,384 pos"
    ):
        PAPER.largest(10e3)
    with pytest.raises(PlannerError, match=r"1 GB has no room for the 16,384 in-batch candidates, which need 1.08 GB"):
        PAPER.largest(1e9)
    with pytest.raises(PlannerError, match="memory of nan B"):
        PAPER.largest(float("nan"))
    with pytest.raises(PlannerError, match="memory is unlimited"):
        PAPER.largest(float("inf"))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"batch": 0}, "The batch is 0: give at least 1"),
        ({"length": float("inf")}, "The sequence length is inf"),
        ({"chunk": 0}, "The chunk of candidates is 0"),
        ({"precision": "int4"}, "Precision 'int4' of the logits is unknown: use fp32"),
        ({"global_batch": 32}, "global batch 32 is smaller than the batch 64 of one device"),
    ],
)
def test_fields_that_make_no_sense_are_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        Candidates(**{"batch": 64, "length": 256, "width": 188, **fields})


def test_a_model_on_no_device_is_refused() -> None:
    with pytest.raises(PlannerError, match="number of devices is 0"):
        training_memory(1e9, devices=0)
    with pytest.raises(PlannerError, match="bytes per parameter is 0"):
        largest_model(1e9, bytes_per_parameter=0)
