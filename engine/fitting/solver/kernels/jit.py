"""Compilation of kernels with numba, without the interpreter lock and without Python's check for division by zero.

``kernel`` is the decorator of functions that Python calls; their machine code is cached. ``inner`` is that of functions
that kernels call. ``exact`` is like ``inner``, but the compiler must not reorder sums. In the others it may, so that a
sum over runs can use vector registers. Infinity and NaN are respected everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import extending

Source = Callable[..., Any]
jit: Any = numba.njit
intrinsic: Any = extending.intrinsic
REORDER = {"reassoc", "contract", "arcp", "nsz"}
LANES = 16
"""The number of runs is padded to a multiple of this, so that loops over runs fill vector registers completely."""


def kernel(function: Source) -> Any:
    """Compile a function that Python calls, for the single signature in ``bindings``."""
    return jit(nogil=True, error_model="numpy", fastmath=REORDER)(function)


def inner(function: Source) -> Any:
    """Compile a function that kernels call."""
    return jit(nogil=True, error_model="numpy", fastmath=REORDER)(function)


def exact(function: Source) -> Any:
    """Compile a function that kernels call, with its operations in the written order."""
    return jit(nogil=True, error_model="numpy", fastmath={"contract"})(function)


@intrinsic  # type: ignore[untyped-decorator]
def to_bits(_context: Any, _x: Any) -> Any:
    """Return the 64 bits of a float as an integer."""

    def generate(target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], target.get_value_type(numba.int64))

    return numba.int64(numba.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def to_float(_context: Any, _bits: Any) -> Any:
    """Return the float with the given 64 bits."""

    def generate(target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], target.get_value_type(numba.float64))

    return numba.float64(numba.int64), generate
