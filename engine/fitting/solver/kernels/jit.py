"""How kernels are compiled: without the interpreter's lock, without Python's check of every division.

``kernel`` marks what is called from Python and kept in the cache, ``inner`` what kernels call, ``exact`` the same where
sums must not be reordered. Reordering is what lets a sum over runs use vector registers; infinities and NaN keep their
meaning everywhere.
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
"""Runs are padded to a multiple of this, so that every loop over them fills vector registers."""


def kernel(function: Source) -> Any:
    """An entry point: compiled for one signature, which ``bindings`` names."""
    return jit(nogil=True, error_model="numpy", fastmath=REORDER)(function)


def inner(function: Source) -> Any:
    """A part of a kernel."""
    return jit(nogil=True, error_model="numpy", fastmath=REORDER)(function)


def exact(function: Source) -> Any:
    """A part of a kernel whose operations stay in the order in which they are written."""
    return jit(nogil=True, error_model="numpy", fastmath={"contract"})(function)


@intrinsic  # type: ignore[untyped-decorator]
def to_bits(_context: Any, _x: Any) -> Any:
    """The 64 bits of a float as an integer."""

    def generate(target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], target.get_value_type(numba.int64))

    return numba.int64(numba.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def to_float(_context: Any, _bits: Any) -> Any:
    """The float that 64 bits stand for."""

    def generate(target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], target.get_value_type(numba.float64))

    return numba.float64(numba.int64), generate
