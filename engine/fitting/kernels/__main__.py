"""``python -m engine.fitting.kernels``: compile the kernels into the user's cache."""

from __future__ import annotations

import os

from engine.fitting.kernels import load

if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)
    load()
