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
    """A trainer that continues from its own checkpoint."""

    def load(self, place: Path) -> None:
        """Continue from a checkpoint. Raises CellError if it cannot be read."""
        ...


T = TypeVar("T", bound=Resumable)


def save_checkpoint(place: Path, device: torch.device, **parts: Any) -> None:
    """Write ``parts`` by name, and the state of the random number generators on the CPU and on ``device``."""
    with place.open("wb") as file:  # If torch gets the path, it rejects a file name that begins with a dot.
        torch.save({**parts, "rng": random_state(device)}, file)


def random_state(device: torch.device) -> dict[str, Tensor]:
    """Return the state of the random number generators on the CPU and on ``device``."""
    rng = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        rng["cuda"] = torch.cuda.get_rng_state(device)
    return rng


def set_random_state(rng: Mapping[str, Tensor], device: torch.device) -> None:
    """Set the random number generators to a state returned by ``random_state``."""
    torch.set_rng_state(rng["cpu"].cpu())
    if device.type == "cuda" and "cuda" in rng:
        torch.cuda.set_rng_state(rng["cuda"].cpu(), device)


@contextmanager
def read_checkpoint(place: Path, device: torch.device) -> Iterator[dict[str, Any]]:
    """Yield the parts written by ``save_checkpoint``, and set the random number generators after the context.

    Raises CellError if the file cannot be read, or if the context raises because the parts are from another cell.
    """
    try:
        parts = torch.load(place, map_location=device, weights_only=True)
        yield parts
        set_random_state(parts["rng"], device)
    except Exception as error:
        raise CellError(f"The {place.name} cannot be read ({error}).") from error


def make_or_resume(make: Callable[[], T], stream: RunContext) -> T:
    """Make a trainer and continue from the checkpoint of the stream, if it exists and can be read."""
    if stream.resume is not None:
        try:
            made = make()
            made.load(stream.resume)
            return made
        except CellError as error:
            print(f"{error} The cell begins again.")
    return make()


WARM = 0.05
"""Share of the training steps for warm-up to the peak of a cosine."""


def warm_cosine(peak: float, update: int, total: int) -> float:
    """Return the learning rate of step ``update``, from 0, of ``total``: linear warm-up to ``peak``, then a cosine to
    zero.
    """
    return peak * min((update + 1) / max(WARM * total, 1), 0.5 * (1 + math.cos(math.pi * update / total)))


def cosine(peak: float, update: int, total: int, least: float = 0.0) -> float:
    """Return the learning rate of step ``update`` of ``total``: a cosine from ``peak`` to ``least`` (amplitudes, eq.
    22).
    """
    return least + 0.5 * (peak - least) * (1 + math.cos(math.pi * update / total))


def whole_batches(samples: int, batch: int, seed: tuple[int, ...], first: int, total: int) -> Iterator[Ints]:
    """Yield indices (batch,) of the samples of training steps ``first`` to ``total``.

    ``samples`` is at least ``batch``. ``seed`` and the number of a pass determine its order. The last batch of a pass
    is filled from the next pass, so that every batch is complete.
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
    """Return the memory in bytes of the GPU, or for ``cpu`` of the machine or container; infinite if unknown."""
    if device.startswith("cuda"):
        return float(torch.cuda.get_device_properties(device).total_memory)
    return usable_memory() or math.inf


def check_memory(takes: float, device: str, advice: str) -> None:
    """Check that a cell that needs ``takes`` bytes fits into memory.

    Raises CellError otherwise, with ``advice`` on what to make smaller.
    """
    there = memory_of(device)
    if takes > there:
        raise CellError(
            f"This cell takes about {takes / 1e9:,.0f} GB of memory and there are {there / 1e9:,.0f} GB: {advice}."
        )


def set_determinism(cell: Cell) -> None:
    """Set the number of threads of the cell and, if it requires them, deterministic algorithms."""
    torch.set_num_threads(cell.threads)
    if cell.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(cell.deterministic)
