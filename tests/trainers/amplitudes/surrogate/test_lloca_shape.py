"""Sizes and needs of a LLoCa-Transformer before training, with or without the package lloca."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.cell import AmplitudeCell, calibration_cell, check, memory, sizes
from isoplan.trainers.amplitudes.source import facts_of, kinds_of
from isoplan.trainers.amplitudes.surrogate import networks
from isoplan.trainers.amplitudes.surrogate.shape import LlocaShape, lloca_of_parameters

ROOT = Path("nowhere")
ZGG = (0, 1, 2, 3, 3)


def cell(**fields: object) -> AmplitudeCell:
    return AmplitudeCell.model_validate({"network": "lloca", "parametrization": "standard", "process": "Zgg"} | fields)


def test_identical_particles_are_of_one_kind() -> None:
    assert facts_of(ROOT, cell().source).kinds == ZGG == kinds_of(("u", "u~", "Z", "g", "g"))
    assert facts_of(ROOT, cell(process="ttH").source).kinds == (0, 1, 2, 3, 4)


def test_parameters_by_hand() -> None:
    frames = (9 * 32 + 32) + (32 * 32 + 32) + (32 * 3 + 3)
    block = (32 * 96 + 96) + (32 * 32 + 32) + (32 * 128 + 128) + (128 * 32 + 32)
    by_hand = frames + (8 * 32 + 32) + 2 * block + (32 + 1)
    assert LlocaShape(ZGG, 32, 2).parameters == sizes(ROOT, cell(width=32, layers=2)).N == by_hand


def test_the_compute_of_many_parameters_is_six_a_parameter_and_particle() -> None:
    found = LlocaShape(ZGG, 512, 8)
    assert found.training_flops / (6 * 5 * found.parameters) == pytest.approx(1, rel=0.05)


@given(N=st.floats(3e3, 1e8), outputs=st.integers(1, 2), layers=st.integers(0, 8))
def test_no_other_width_is_nearer_to_the_parameters(N: float, outputs: int, layers: int) -> None:
    try:
        found = lloca_of_parameters(N, ZGG, outputs, layers)
    except PlannerError:
        assert LlocaShape(ZGG, 16, max(layers, 1), outputs).parameters > 2 * N
        return
    assert (layers or found.layers) == found.layers
    off = abs(found.parameters - N)
    for width in (found.width - 16, found.width + 16):
        if width:
            assert off <= abs(LlocaShape(ZGG, width, found.layers, outputs).parameters - N)


def test_width_and_depth_grow_together() -> None:
    for N in (1e5, 1e6, 1e7):
        found = lloca_of_parameters(N, ZGG, ratio=16)
        assert found.width / found.layers == 16
        assert found.parameters == pytest.approx(N, rel=0.15)


def test_a_cell_sizes_itself() -> None:
    whole = cell(parameters=1e5, budget=1e13, dimension_points=0)
    assert sizes(ROOT, whole).C == pytest.approx(1e13, rel=1e-3)
    few = calibration_cell(ROOT, whole)
    assert (few.data, few.width, few.layers, sizes(ROOT, few).N) == ("toy", 48, 3, sizes(ROOT, whole).N)
    assert memory(ROOT, cell(parameters=1e7)) > memory(ROOT, whole) > memory(ROOT, cell(parameters=1e5, network="mlp"))
    assert (whole.rate, cell(rate=0.002).rate, cell(network="mlp").rate) == (1e-3, 0.002, 3e-3)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"parametrization": "mup"}, "A LLoCa-Transformer has no muP: set parametrization to standard."),
        ({"width": 50}, "The width 50 cannot be divided into heads: a LLoCa-Transformer needs a multiple of 16."),
        ({"parameters": 3000}, "N = 3000 is too few for a LLoCa-Transformer of 3 layers, which has 10,"),
    ],
)
def test_a_cell_that_cannot_be_is_one_sentence(
    fields: dict[str, object], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "find_spec", lambda name: name)
    with pytest.raises(PlannerError) as caught:
        check(ROOT, cell(data="toy", **fields))
    assert str(caught.value).startswith(sentence)


def test_the_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "find_spec", lambda name: None)
    with pytest.raises(
        PlannerError, match=r"needs the package lloca: install it with pip install 'isoplan\[lloca\]', or"
    ):
        check(ROOT, cell(data="toy"))
    check(ROOT, cell(data="toy", network="mlp", dimension_points=0))
