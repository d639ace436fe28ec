"""Numeric tests with the kernels of another processor. These kernels sum in another order, but results must agree."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests import progress

ROOT = Path(__file__).parents[1]
SENSITIVE = (
    "tests/engine/fitting/kernels/test_kernels.py",
    "tests/trainers/behavior/test_judge.py",
    "tests/trainers/behavior/test_losses.py",
    "tests/trainers/behavior/test_metrics.py",
    "tests/trainers/jets/test_model.py",
)
"""Test files that depend most on the order of sums. They are run with other kernels."""
NARROW = {
    "OPENBLAS_CORETYPE": "Prescott",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}
"""Settings for kernels that run on all x86-64 processors."""
WIDE = {
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
"""Settings for kernels with fused multiply-add. These kernels cause most of the differences."""
KERNELS = """
import numpy
from threadpoolctl import threadpool_info
print(*{found["architecture"] for found in threadpool_info() if found["internal_api"] == "openblas"})
"""


def kernels(env: dict[str, str]) -> str:
    """Return the name of the kernels that numpy's OpenBLAS uses, or "" if numpy does not use OpenBLAS."""
    command = [sys.executable, "-c", KERNELS]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip()


def other_kernels(clean: dict[str, str]) -> dict[str, str]:
    """Return settings for kernels that this processor supports but does not select by default."""
    if platform.machine() not in ("x86_64", "AMD64") or not (own := kernels(clean)):
        pytest.skip("the kernels of this platform cannot be chosen")
    cpuinfo = Path("/proc/cpuinfo")
    flags = set(cpuinfo.read_text().split()) if cpuinfo.exists() else set()
    return WIDE if {"avx2", "fma"} <= flags and own != "Haswell" else NARROW


def test_numeric_tests_pass_with_the_kernels_of_another_processor() -> None:
    clean = {k: v for k, v in os.environ.items() if k not in NARROW and not k.startswith("PYTEST_")}
    env = clean | other_kernels(clean)
    assert kernels(env) != kernels(clean)
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = progress.run([sys.executable, "-m", "pytest", *options, *SENSITIVE], env=env, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-4000:]
