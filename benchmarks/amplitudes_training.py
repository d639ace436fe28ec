"""Training speed of amplitude surrogates on one core: Isoplan's loop compared with torch modules and autograd."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch

from benchmarks.report import Report
from isoplan.trainers.amplitudes.surrogate.mlp import Adam, Mlp
from isoplan.trainers.amplitudes.surrogate.shape import Shape
from isoplan.trainers.amplitudes.surrogate.trainer import mse

SHAPES = tuple(Shape(10, width, layers) for width, layers in ((8, 1), (26, 2), (67, 3), (156, 5), (332, 10)))
"""Networks with N from 10^2 to 10^6 parameters. The ratio (width) / (number of layers) increases from 8 to 33."""
POINTS, BATCH, RATE = 10_000, 128, 1e-3
SECONDS, ROUNDS = 0.3, 5
"""Duration of one measurement in seconds, and number of measurements. The fastest measurement is reported."""


def run() -> Report:
    """Measure each network with Isoplan's loop and with torch's loop, and report one row per network."""
    torch.set_num_threads(1)
    return Report(
        "Training of amplitude surrogates",
        f"10 invariants, batches of {BATCH} by index. Processor time of one thread, best of {ROUNDS}. Torch: "
        "nn.Sequential, autograd, fused Adam in two groups. Goal: twice as fast at N = 10^3, and never slower by more "
        "than a quarter.",
        ("N", "width x layers", "iterations/s", "torch, iterations/s", "ratio", "GFLOP/s"),
        tuple(_row(shape) for shape in SHAPES),
    )


def _row(shape: Shape) -> tuple[str, ...]:
    ours, theirs = _rate(_ours(shape)), _rate(_torch(shape))
    return (
        f"{shape.parameters:,}",
        f"{shape.width} x {shape.layers}",
        f"{float(f'{ours:.2g}'):,.0f}",
        f"{float(f'{theirs:.2g}'):,.0f}",
        f"{ours / theirs:.1f}",
        f"{ours * BATCH * shape.training_flops / 1e9:.2g}",
    )


def _rate(step: Callable[[], None]) -> float:
    """Return how many training steps ``step`` makes per second."""
    step()
    began, few = time.process_time(), 0
    while time.process_time() - began < SECONDS:
        step()
        few += 1
    best = (time.process_time() - began) / few
    for _ in range(ROUNDS - 1):
        began = time.process_time()
        for _ in range(few):
            step()
        best = min(best, (time.process_time() - began) / few)
    return 1 / best


def _points(shape: Shape) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(POINTS, shape.inputs), torch.randn(POINTS, 1), torch.randperm(POINTS)[:BATCH]


def _ours(shape: Shape) -> Callable[[], None]:
    x, y, chosen = _points(shape)
    model = Mlp(shape, "silu")
    model.initialise("mup", 0)
    adam = Adam(model, "mup")

    @torch.no_grad()
    def step() -> None:
        model.backward(mse(model.forward(x[chosen]), y[chosen])[1])
        adam.step(RATE)

    return step


def _torch(shape: Shape) -> Callable[[], None]:
    x, y, chosen = _points(shape)
    widths = [shape.inputs, *[shape.width] * shape.layers]
    hidden = [layer for a, b in pairwise(widths) for layer in (torch.nn.Linear(a, b), torch.nn.SiLU())]
    model = torch.nn.Sequential(*hidden, torch.nn.Linear(shape.width, 1, bias=False))
    first, *rest = model.parameters()
    groups: list[dict[str, Any]] = [{"params": [first]}, {"params": rest, "lr": RATE / 2}]
    optimiser = torch.optim.Adam(groups, RATE, fused=True)

    def step() -> None:
        optimiser.zero_grad()
        torch.autograd.backward(torch.nn.functional.mse_loss(model(x[chosen]), y[chosen]))
        optimiser.step()

    return step
