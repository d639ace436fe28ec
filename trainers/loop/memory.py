"""Whether a cell fits into the memory of the machine that it is given to."""

from __future__ import annotations

import math

import torch

from isoplan.trainers.backend.cluster.machine import usable_memory
from isoplan.trainers.cell import CellError


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
