"""Memory of a training process: malloc reuses its pages between steps, for any malloc settings of the worker."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FAULTS = """
import contextlib, resource, sys
import numpy as np
from isoplan.trainers.backend.worker.attempt_process import reuse_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

with reuse_freed_memory() if sys.argv[1] == "kept" else contextlib.nullcontext():
    np.ones(2_000_000)
    before = faults()
    for _ in range(50):
        np.ones(2_000_000)
    print(faults() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="no glibc: there is nothing to set")
def test_an_update_gets_the_pages_of_the_last_one() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MALLOC_TRIM_THRESHOLD_": "65536"}
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", FAULTS, how], env=env, capture_output=True, check=True).stdout)
        for how in ("kept", "given back")
    )
    assert given_back > 50 * 2_000_000 * 8 / 2**21  # lower limit on page faults if pages have at most 2 MiB
    assert kept < 0.02 * given_back
