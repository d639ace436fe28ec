"""Tests of the LLoCa-Transformer: invariance of its predictions, and its training.

Parameters and FLOPs are compared with torch's counts. The optimiser is compared with torch's Adam.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lloca", reason="the extra lloca is not installed")

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from isoplan.trainers.amplitudes.cell import AmplitudeCell, sizes
from isoplan.trainers.amplitudes.source import make_toy_events
from isoplan.trainers.amplitudes.surrogate import trainer, training
from isoplan.trainers.amplitudes.surrogate.lloca_model import Lloca
from isoplan.trainers.amplitudes.surrogate.mlp import Adam
from isoplan.trainers.amplitudes.surrogate.networks import beam_units
from isoplan.trainers.amplitudes.surrogate.shape import LlocaShape
from isoplan.trainers.cell import Stopped
from tests.trainers.amplitudes.kinematics import boost_matrix
from tests.trainers.jets.stream import Silent

ZGG = (0, 1, 2, 3, 3)
SMALL = AmplitudeCell(
    network="lloca", parametrization="standard", data="toy", process="Zgg", points=300, width=16, layers=1,
    iterations=120, rate=0.003, tests=300, dimension_points=0,
)  # fmt: skip


@pytest.fixture(autouse=True)
def freely() -> Iterator[None]:
    """Disable deterministic algorithms after each test, because a training run enables them."""
    yield
    torch.use_deterministic_algorithms(False)


def read(momenta: np.ndarray) -> torch.Tensor:
    """Return the model inputs of ``momenta`` (n, particles, 4)."""
    x = momenta.reshape(len(momenta), -1)
    return torch.from_numpy(beam_units(x)(x))


def made(shape: LlocaShape, n: int = 64) -> tuple[Lloca, torch.Tensor]:
    """Return a model with large weights, and ``n`` input points for the model."""
    x = read(make_toy_events("Zgg", n, 1).momenta)
    model = Lloca(shape, x, 3)
    model.theta.mul_(1.5)
    return model, x


def test_no_frame_is_preferred_and_identical_particles_stand_in_no_order() -> None:
    model, x = made(LlocaShape(ZGG, 32, 2, 2))
    momenta = make_toy_events("Zgg", 64, 1).momenta
    expected = model.forward(x)
    turn = np.eye(4)
    turn[1:, 1:] = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turn[1:, 1:] *= np.linalg.det(turn)
    boosted = momenta @ boost_matrix(np.array([0.5, -0.6, 0.3])).T
    for other in (boosted, momenta @ turn.T, boosted @ turn.T, momenta[:, [0, 1, 2, 4, 3]]):
        torch.testing.assert_close(model.forward(read(other)), expected, rtol=1e-4, atol=1e-5)
    assert float(expected.std(0).min()) > 1e-2
    for order in ([1, 0, 2, 3, 4], [0, 1, 3, 2, 4]):
        assert float((model.forward(read(momenta[:, order])) - expected).abs().max()) > 1e-2


@pytest.mark.parametrize(
    "shape", [LlocaShape(ZGG, 16, 1), LlocaShape(ZGG, 48, 3, 2), LlocaShape((0, 1, 2, 3, 4), 32, 2)], ids=str
)
def test_parameters_and_flops_are_those_of_torch(shape: LlocaShape) -> None:
    model, x = made(shape, 8)
    assert len(model.theta) == len(model.gradient) == shape.parameters
    out = torch.zeros(8, shape.outputs)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model.forward(x)
        model.backward(out)
    assert 8 * shape.training_flops == pytest.approx(counter.get_total_flops(), rel=1e-3)


def test_a_step_is_that_of_autograd_and_adam_of_torch() -> None:
    model, x = made(LlocaShape(ZGG, 16, 1))
    y = torch.randn(64, 1, generator=torch.Generator().manual_seed(0))
    plain, _ = made(LlocaShape(ZGG, 16, 1))
    leaves = [leaf for part in (plain._frames, plain._net, plain._last) for leaf in part.parameters()]
    adam, reference = Adam(model, "standard", 0.01), torch.optim.Adam(leaves, 1e-3, eps=1e-12, weight_decay=0.01)
    for _ in range(3):
        with torch.no_grad():
            model.backward(trainer.mse(model.forward(x), y)[1])
            adam.step(1e-3)
        reference.zero_grad(set_to_none=False)
        torch.autograd.backward(torch.nn.functional.mse_loss(plain.layers_of(x)[-1], y))
        torch.testing.assert_close(model.gradient, plain.gradient + 0.01 * plain.theta, rtol=1e-3, atol=1e-5)
        reference.step()
        torch.testing.assert_close(model.theta, plain.theta, rtol=1e-4, atol=1e-4)
        model.theta.copy_(plain.theta)


def test_a_stopped_cell_goes_on_to_the_same_digits_and_learns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    stream = Silent(tmp_path / "whole")
    whole = dict(training.train(tmp_path, SMALL, stream))
    with pytest.raises(Stopped):
        training.train(tmp_path, SMALL, Silent(tmp_path / "cut", end=60, saved=55))
    rest = training.train(tmp_path, SMALL, Silent(tmp_path / "cut", resume=tmp_path / "cut" / "checkpoint"))
    assert rest == whole
    assert "begins again" not in capsys.readouterr().out
    said = [said["loss"] for _, said in stream.said if "loss" in said]
    assert whole["loss"] < 0.2 < 0.6 < said[0]
    found = sizes(tmp_path, SMALL)
    assert (whole["N"], whole["C"], whole["d"]) == (found.N, found.C, 5)


def test_the_other_columns_are_there(tmp_path: Path) -> None:
    cell = SMALL.model_copy(update={"objective": "heteroscedastic", "dimension_points": 150, "iterations": 10})
    found = training.train(tmp_path, cell, Silent(tmp_path))
    assert {"pull_mean", "within_1", "dimension", "dimension_inputs", "epsilon"} <= set(found)
    assert all(np.isfinite(value) for value in found.values())
