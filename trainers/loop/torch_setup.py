"""PyTorch before training: whether a cell fits into memory, and results that repeat to the digit."""

from __future__ import annotations

import math
import os

import torch

from isoplan.trainers.backend.cluster.machine import usable_memory
from isoplan.trainers.cell import Cell, CellError


def memory_of(device: str) -> float:
    """Bytes of the GPU, or for ``cpu`` of the machine or the container; infinite where it does not say."""
    if device.startswith("cuda"):
        return float(torch.cuda.get_device_properties(device).total_memory)
    return usable_memory() or math.inf


def check_memory(takes: float, device: str, advice: str) -> None:
    """Raises CellError for a cell that ``takes`` more bytes than there are, with ``advice`` on what to make smaller."""
    there = memory_of(device)
    if takes > there:
        raise CellError(
            f"This cell takes about {takes / 1e9:,.0f} GB of memory and there are {there / 1e9:,.0f} GB: {advice}."
        )


def settle(cell: Cell) -> None:
    """The threads of the cell and, where it asks for them, algorithms that always give the same digits."""
    torch.set_num_threads(cell.threads)
    if cell.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(cell.deterministic)
