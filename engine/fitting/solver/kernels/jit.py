"""Decorators that compile functions with numba, without the interpreter lock and without checks for division by zero.

- ``kernel`` is for functions that Python calls. Their machine code is cached.
- ``inner`` is for functions that kernels call.
- ``exact`` is for functions that kernels call and in which the compiler must not reorder sums.

With ``kernel`` and ``inner``, the compiler may reorder sums, so that a sum over runs can use vector registers. With all
three decorators, infinity and NaN have their usual meaning.
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
"""Unit of padding: the number of runs is padded to a multiple of it. Loops over runs then fill vector registers."""


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
