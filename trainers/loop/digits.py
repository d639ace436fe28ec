"""The same digits again, as far as PyTorch can give them."""

from __future__ import annotations

import os

import torch

from isoplan.trainers.cell import Cell


def settle(cell: Cell) -> None:
    """The threads of the cell and, where it asks for them, algorithms that always give the same digits."""
    torch.set_num_threads(cell.threads)
    if cell.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(cell.deterministic)
