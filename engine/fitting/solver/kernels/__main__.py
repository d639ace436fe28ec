"""``python -m isoplan.engine.fitting.solver.kernels``: compile the kernels into the user's cache folder."""

from __future__ import annotations

import os

from isoplan.engine.fitting.solver.kernels import load

if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)
    load()
