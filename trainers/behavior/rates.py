"""The learning rate of a cell that names none: that of the behavioural paper, by the square root of the batch."""

from __future__ import annotations

VERSION = 1
"""Part of the name of a cell, to be raised where the same cell gives other numbers."""
RATE, BATCH = 2.0e-3, 512
LARGEST = 1e-2


def learning_rate(batch: int) -> float:
    """Of AdamW for ``batch`` sequences a step: 2e-3 sqrt(B / 512) (behavioural, Table 7), at most 1e-2.

    The paper tries three rates a cell and keeps the one with the least training loss; so does a cell with ``rates`` 3.
    """
    return float(min(RATE * (batch / BATCH) ** 0.5, LARGEST))
