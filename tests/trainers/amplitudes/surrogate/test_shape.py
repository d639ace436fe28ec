"""Parameters and FLOPs of a surrogate, compared with torch. The width of a surrogate with a given parameter count."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.surrogate import trainer
from isoplan.trainers.amplitudes.surrogate.mlp import Mlp
from isoplan.trainers.amplitudes.surrogate.shape import Shape, of_parameters

SHAPES = (Shape(8, 1, 1), Shape(10, 64, 3), Shape(15, 20, 1), Shape(21, 33, 6, 2), Shape(1, 7, 2))


def module(shape: Shape) -> torch.nn.Sequential:
    """Return a module of torch's layers with the size ``shape``."""
    widths = [shape.inputs, *[shape.width] * shape.layers]
    pairs = itertools.pairwise(widths)
    hidden = [layer for a, b in pairs for layer in (torch.nn.Linear(a, b), torch.nn.GELU("tanh"))]
    return torch.nn.Sequential(*hidden, torch.nn.Linear(shape.width, shape.outputs, bias=False))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_parameters_are_those_of_torch(shape: Shape) -> None:
    assert shape.parameters == sum(w.numel() for w in module(shape).parameters())
    assert shape.parameters == len(Mlp(shape, "gelu").theta)


def test_parameters_by_hand() -> None:
    assert Shape(10, 64, 3).parameters == (10 * 64 + 64) + 2 * (64 * 64 + 64) + 64 == 9088


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("own", [True, False])
def test_training_flops_are_those_that_torch_counts(shape: Shape, own: bool) -> None:
    batch, x, y = 32, torch.randn(32, shape.inputs), torch.randn(32, 1)
    objective = trainer.mse if shape.outputs == 1 else trainer.heteroscedastic
    model, plain = Mlp(shape, "gelu"), module(shape)
    with FlopCounterMode(display=False) as counter:
        if own:
            model.backward(objective(model.forward(x), y)[1])
        else:
            torch.autograd.backward(objective(plain(x), y)[0].mean())
    assert batch * shape.training_flops == pytest.approx(counter.get_total_flops(), rel=0.02)


@given(N=st.floats(100, 1e8), inputs=st.integers(3, 28), outputs=st.integers(1, 2), layers=st.integers(0, 8))
def test_no_other_width_is_nearer_to_the_parameters(N: float, inputs: int, outputs: int, layers: int) -> None:
    try:
        found = of_parameters(N, inputs, outputs, layers)
    except PlannerError:
        assert Shape(inputs, 1, max(layers, 1), outputs).parameters > 2 * N
        return
    assert (found.inputs, found.outputs, layers or found.layers) == (inputs, outputs, found.layers)
    off = abs(found.parameters - N)
    for width in (found.width - 1, found.width + 1):
        if width:
            assert off <= abs(Shape(inputs, width, found.layers, outputs).parameters - N) * (1 + 1e-9)


def test_width_and_depth_grow_together() -> None:
    found = {N: of_parameters(N, 10, ratio=32) for N in (1e2, 1e3, 1e4, 1e5, 1e6, 1e7)}
    depths = [shape.layers for shape in found.values()]
    assert depths == [1, 2, 3, 5, 10, 22]
    for N in (1e4, 1e5, 1e6, 1e7):
        assert found[N].width / found[N].layers == pytest.approx(32, rel=0.35)
        assert found[N].parameters == pytest.approx(N, rel=0.02)
    assert {of_parameters(N, 10, layers=3).layers for N in found} == {3}


def test_too_few_parameters_are_one_sentence() -> None:
    with pytest.raises(PlannerError, match="N = 10 is too small for an MLP with 21 invariants and 3 layers"):
        of_parameters(10, 21, layers=3)
    with pytest.raises(PlannerError, match="width is 0: the surrogate needs at least 1"):
        Shape(3, 0)


def test_counting_needs_no_torch() -> None:
    code = "import sys, isoplan.trainers.amplitudes.family; "
    code += "sys.exit(bool({'torch', 'skdim', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
