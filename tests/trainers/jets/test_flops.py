"""Parameters compared with hand counts, and FLOPs compared with torch's counter."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from isoplan.engine.errors import PlannerError
from isoplan.trainers.jets.cell import FORWARD_AND_BACKWARD, ON_DATA, Shape, parameters, training_flops
from isoplan.trainers.jets.model import SetTransformer, loss_of
from isoplan.trainers.packed.rectangles import lay_out
from tests.trainers.jets.plain import Plain, pad, random_batch

SHAPES = (*(Shape(21, d) for d in (4, 16, 64, 128)), Shape(3, 12, layers=2, heads=3, hidden=10, classes=4))


def label(shape: Shape) -> str:
    return f"d{shape.width}h{shape.heads}"


@pytest.mark.parametrize("width", [4, 8, 16, 32, 64, 128, 256, 512])
def test_parameters_are_those_counted_by_hand(width: int) -> None:
    d = width
    norms, attention, feed_forward = 2 * 2 * d, (3 * d * d + 3 * d) + (d * d + d), (4 * d * d + 4 * d) + (4 * d * d + d)
    by_hand = 4 * (norms + attention + feed_forward) + (21 * d + d) + d + 2 * d + (10 * d + 10)
    assert parameters(Shape(21, width)) == by_hand == 48 * d * d + 87 * d + 10
    if width <= 128:
        assert sum(w.numel() for w in SetTransformer(Shape(21, width)).parameters()) == by_hand


@pytest.mark.parametrize("shape", SHAPES, ids=label)
def test_parameters_of_any_shape_are_those_of_torch(shape: Shape) -> None:
    assert parameters(shape) == sum(w.numel() for w in Plain(shape).parameters())


@pytest.mark.parametrize("shape", SHAPES, ids=label)
def test_training_flops_are_those_that_torch_counts(shape: Shape) -> None:
    plain, lengths = Plain(shape), [1, 13, 40]
    counted = []
    for n in lengths:
        batch = pad(torch.randn(n, shape.features), torch.tensor([n]))
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            torch.autograd.backward(torch.nn.functional.cross_entropy(plain.logits(*batch), torch.tensor([1])))
        counted.append(counter.get_total_flops())
    np.testing.assert_allclose(training_flops(shape, lengths), counted, rtol=0.02)


def executed_flops(shape: Shape, lengths: NDArray[np.int64]) -> float:
    """Return the FLOPs of one step of ``trainers/jets/model.py`` on a batch of ``lengths`` (B,), with padding.

    The last layer computes only the output of the token [CLS], one token per jet.
    """
    d = shape.width
    layout = lay_out(lengths + 1)
    squares = sum((r.members.stop - r.members.start) * r.tokens**2 for r in layout.rectangles)
    layer = layout.rows * (4 * d * d + 2 * d * shape.hidden) + 2 * d * squares
    last = len(lengths) * (4 * d * d + 2 * d * shape.hidden) + 2 * d * shape.heads * layout.rows
    products = (shape.layers - 1) * layer + last + len(lengths) * d * shape.classes
    return float(FORWARD_AND_BACKWARD * products + ON_DATA * lengths.sum() * shape.features * d)


@pytest.mark.parametrize("shape", SHAPES, ids=label)
def test_executed_flops_are_those_that_torch_counts(shape: Shape) -> None:
    particles, lengths, labels = random_batch(np.random.default_rng(0), 48, shape.features)
    model = SetTransformer(shape)
    with FlopCounterMode(display=False) as counter:
        torch.autograd.backward(loss_of(model, particles, lengths, labels % shape.classes))
    executed = executed_flops(shape, lengths.numpy())
    assert executed == pytest.approx(counter.get_total_flops(), rel=0.02)
    assert executed < training_flops(shape, lengths.numpy()).sum()


def test_padding_is_not_counted_and_a_jet_without_particles_is_one_token() -> None:
    shape = Shape(21, 16)
    assert training_flops(shape, [40, 128])[0] == training_flops(shape, [40])[0]
    assert training_flops(shape, [0])[0] == 6 * (4 * (12 * 16**2 + 2 * 16) + 160)


def test_six_n_d_is_low_where_attention_and_inputs_weigh() -> None:
    lengths = np.clip(np.rint(np.random.default_rng(0).normal(40, 15, 100_000)), 1, 128)
    ratios = {
        d: training_flops(Shape(21, d), lengths).mean() / (6 * lengths.mean() * parameters(Shape(21, d)))
        for d in (4, 16, 64, 512)
    }
    assert ratios == pytest.approx({4: 2.11, 16: 1.38, 64: 1.12, 512: 1.04}, abs=0.01)


def test_counting_needs_no_torch() -> None:
    code = "import sys, isoplan.trainers.jets.cell; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"width": 100, "heads": 3}, "Width 100 cannot be split over 3 heads: use a multiple of the number of heads"),
        ({"width": 200}, "Width 200 cannot be split over 3 heads"),
        ({"width": 0}, "width is 0: the Transformer needs at least 1"),
        ({"width": 4, "layers": 0}, "layers is 0"),
        ({"width": 4, "hidden": -2}, "hidden is -2"),
        ({"width": 4, "dropout": 1.0}, "Dropout is 1: use at least 0 and less than 1"),
    ],
)
def test_shapes_that_are_no_transformer(fields: dict[str, int], message: str) -> None:
    with pytest.raises(PlannerError, match=message):
        Shape(**{"features": 21, **fields})
