"""The learning rate of a cell that names none, and the width at which both parametrizations are the same."""

from __future__ import annotations

VERSION = 3
"""Part of the name of a cell, to be raised where the same cell gives other numbers."""
BASE_WIDTH = 64
"""n_0 of muP: there its initialisation and its rates are those of the standard parametrization."""
RATE = 3e-3
"""Of Adam at the beginning of the cosine, at every width in muP: that of long trainings (docs/amplitudes.md)."""
LLOCA_RATE = 1e-3
"""The same of a LLoCa-Transformer."""
