"""Parts of the training loop that families share: batches, learning rates, checkpoints, memory, determinism."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from isoplan.engine.arrays import Ints
from isoplan.trainers.backend.cluster.machine import usable_memory
from isoplan.trainers.cell import Cell, CellError, RunContext


class Resumable(Protocol):
    """A trainer that can continue from a checkpoint that it saved."""

    def load(self, place: Path) -> None:
        """Load the checkpoint ``place``. Raises CellError if it cannot be read."""
        ...


T = TypeVar("T", bound=Resumable)


def save_checkpoint(place: Path, device: torch.device, **parts: Any) -> None:
    """Write ``parts`` by name, and the state of the random number generators of the CPU and of ``device``."""
    with place.open("wb") as file:  # If torch gets the path, it rejects a file name that begins with a dot.
        torch.save({**parts, "rng": random_state(device)}, file)


def random_state(device: torch.device) -> dict[str, Tensor]:
    """Return the state of the random number generators of the CPU and of ``device``."""
    rng = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        rng["cuda"] = torch.cuda.get_rng_state(device)
    return rng


def set_random_state(rng: Mapping[str, Tensor], device: torch.device) -> None:
    """Set the random number generators to a state that ``random_state`` returned."""
    torch.set_rng_state(rng["cpu"].cpu())
    if device.type == "cuda" and "cuda" in rng:
        torch.cuda.set_rng_state(rng["cuda"].cpu(), device)


@contextmanager
def read_checkpoint(place: Path, device: torch.device) -> Iterator[dict[str, Any]]:
    """Yield the parts that ``save_checkpoint`` wrote.

    The random number generators are set at the end of the ``with`` block. Raises CellError if the file cannot be read,
    or if the ``with`` block raises an error because the parts do not fit the cell.
    """
    try:
        parts = torch.load(place, map_location=device, weights_only=True)
        yield parts
        set_random_state(parts["rng"], device)
    except Exception as error:
        raise CellError(f"The {place.name} cannot be used ({error}).") from error


def make_or_resume(make: Callable[[], T], stream: RunContext) -> T:
    """Return a trainer. The trainer continues from the checkpoint ``stream.resume`` if this checkpoint is readable."""
    if stream.resume is not None:
        try:
            made = make()
            made.load(stream.resume)
            return made
        except CellError as error:
            print(f"{error} The cell begins again.")
    return make()


WARM = 0.05
"""Fraction of the training steps in which the learning rate rises linearly. Afterwards it decreases as a cosine."""


def warm_cosine(peak: float, update: int, total: int) -> float:
    """Return the learning rate of step ``update`` (from 0) of ``total`` steps.

    The learning rate is the minimum of two curves: a linear rise to ``peak`` in the first 5 % of the steps, and a
    cosine from ``peak`` to 0 over all steps.
    """
    return peak * min((update + 1) / max(WARM * total, 1), 0.5 * (1 + math.cos(math.pi * update / total)))


def cosine(peak: float, update: int, total: int, least: float = 0.0) -> float:
    """Return the learning rate of step ``update`` of ``total``: a cosine from ``peak`` to ``least``.

    The formula is eq. 22 of the amplitudes paper.
    """
    return least + 0.5 * (peak - least) * (1 + math.cos(math.pi * update / total))


def whole_batches(samples: int, batch: int, seed: tuple[int, ...], first: int, total: int) -> Iterator[Ints]:
    """Yield the indices (batch,) of the samples of each training step from step ``first`` up to ``total``.

    ``samples`` is the number of samples, at least ``batch``. The order of the samples in each pass is random and
    depends on ``seed`` and on the number of the pass. The last batch of a pass is filled with samples of the next pass,
    so every batch is full.
    """

    @lru_cache(maxsize=2)
    def order(epoch: int) -> Ints:
        return np.random.default_rng([*seed, epoch]).permutation(samples)

    for k in range(first, total):
        epoch, at = divmod(k * batch, samples)
        chosen = order(epoch)[at : at + batch]
        rest = batch - len(chosen)
        yield np.concatenate([chosen, order(epoch + 1)[:rest]]) if rest else chosen


def memory_of(device: str) -> float:
    """Return the memory of ``device`` in bytes.

    For ``cpu``, this is the memory of the machine or container. Unknown memory counts as infinite.
    """
    if device.startswith("cuda"):
        return float(torch.cuda.get_device_properties(device).total_memory)
    return usable_memory() or math.inf


def check_memory(takes: float, device: str, advice: str) -> None:
    """Check that ``device`` has the memory for a cell that needs ``takes`` bytes.

    Raises CellError if the memory is too small. The error contains ``advice``, which names the settings to reduce.
    """
    there = memory_of(device)
    if takes > there:
        raise CellError(
            f"This cell takes about {takes / 1e9:,.0f} GB of memory, but there are only {there / 1e9:,.0f} GB: "
            f"{advice}."
        )


def set_determinism(cell: Cell) -> None:
    """Set torch's number of threads for the cell, and use deterministic algorithms if the cell requires them."""
    torch.set_num_threads(cell.threads)
    if cell.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(cell.deterministic)
