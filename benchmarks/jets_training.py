"""Training speed of the set transformer on packed particles, compared with torch's encoder on padded batches."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.report import Report, ms
from isoplan.trainers.jets.cell import Shape, training_flops
from isoplan.trainers.jets.model import SetTransformer, loss_of
from tests.trainers.jets.plain import Plain, pad, random_batch

WIDTHS = (4, 8, 16, 32, 64, 128)
BATCH = 128
STEPS = 20
Batch = tuple[Tensor, Tensor, Tensor]


def run() -> Report:
    """Train both models on the same batches and on one thread, alternating after each step, and report their times."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = tuple(_row(width) for width in WIDTHS)
    finally:
        torch.set_num_threads(threads)
    return Report(
        "The set Transformer: packed against padded",
        f"Median processor time of {STEPS} steps of AdamW, on one CPU thread and on random batches of {BATCH} jets "
        "with 40 ± 15 particles. Packed: Isoplan's model on packed particles. Padded: nn.TransformerEncoder, with "
        "padding to the longest jet of each batch. Both start from the same weights. Losses are compared at dropout "
        "0. Goals: 1.3 times the jets/s, and losses that agree within 1e-5 at every step. The last column is C "
        "divided by the time of a packed step at the dropout of the paper.",
        (
            "width",
            "packed, dropout 0",
            "padded, dropout 0",
            "ratio",
            "packed, dropout 0.01",
            "padded, dropout 0.01",
            "ratio",
            "jets/s",
            "largest difference of losses",
            "GFLOP/s",
        ),
        rows,
    )


def _row(width: int) -> tuple[str, ...]:
    rng = np.random.default_rng(width)
    batches = [random_batch(rng, BATCH) for _ in range(STEPS)]
    ours, theirs, apart = _times(Shape(21, width, dropout=0), batches)
    dropped, padded, _ = _times(Shape(21, width), batches)
    flops = np.mean([training_flops(Shape(21, width), lengths).sum() for _, lengths, _ in batches])
    return (
        str(width),
        ms(ours),
        ms(theirs),
        f"{theirs / ours:.1f}",
        ms(dropped),
        ms(padded),
        f"{padded / dropped:.1f}",
        f"{BATCH / dropped:,.0f}",
        f"{apart:.0e}",
        f"{flops / dropped / 1e9:.0f}",
    )


def _times(shape: Shape, batches: list[Batch]) -> tuple[float, float, float]:
    """Return the seconds per step of both models, and the largest difference between their losses."""
    torch.manual_seed(0)
    model, plain = SetTransformer(shape), Plain(shape)
    plain.load_state_dict(model.state_dict())
    optimisers = [torch.optim.AdamW(m.parameters(), 1e-4, weight_decay=1e-2, fused=True) for m in (model, plain)]
    found = []
    for particles, lengths, labels in batches:
        padded = pad(particles, lengths)
        found.append(
            (
                *_step(optimisers[0], partial(loss_of, model, particles, lengths, labels)),
                *_step(optimisers[1], partial(_padded_loss, plain, *padded, labels)),
            )
        )
    ours, losses, theirs, others = (np.array(column) for column in zip(*found, strict=True))
    return median(ours), median(theirs), float(np.abs(losses - others).max())


def _padded_loss(plain: Plain, padded: Tensor, padding: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(plain.logits(padded, padding), labels)


def _step(optimiser: torch.optim.Optimizer, loss_of_step: Callable[[], Tensor]) -> tuple[float, float]:
    """Make one training step, and return the processor time of this thread in seconds, and the loss."""
    began = time.thread_time()
    optimiser.zero_grad()
    loss = loss_of_step()
    torch.autograd.backward(loss)
    optimiser.step()
    return time.thread_time() - began, loss.item()
