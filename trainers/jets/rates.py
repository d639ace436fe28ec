"""The learning rate of a cell that names none: a power law of width and updates."""

from __future__ import annotations

VERSION = 0
"""Part of the name of a cell, to be raised with the numbers below; 0: they are a guess, the study is not made yet."""
PEAK = {"cosine": 4.0e-3, "constant": 2.0e-3}
WIDTH, UPDATES = 16, 1000
BY_WIDTH, BY_UPDATES = -0.5, -0.25
LARGEST = 2e-2


def learning_rate(width: int, updates: int, schedule: str) -> float:
    """The rate of AdamW at embedding ``width`` for so many ``updates`` in all."""
    scale = (width / WIDTH) ** BY_WIDTH * (max(updates, 1) / UPDATES) ** (BY_UPDATES if schedule == "cosine" else 0.0)
    return min(PEAK[schedule] * scale, LARGEST)
