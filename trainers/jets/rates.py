"""The learning rate of a cell that names none: inverse to the width, as the transfer study found it.

The study is data/grids/jets_rates.toml, and what came of it stands in docs/jets_laws.md.
"""

from __future__ import annotations

VERSION = 1
"""Part of the name of a cell, to be raised with the numbers below."""
AT_ONE = 0.064
"""The rate at width 1."""
LARGEST = 0.02


def learning_rate(width: int) -> float:
    """The rate of AdamW at embedding ``width``, for batches as cells choose them."""
    return min(AT_ONE / width, LARGEST)
