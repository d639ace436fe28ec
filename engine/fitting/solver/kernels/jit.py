"""Compilation of kernels: without the interpreter lock and without Python's check of every division.

``kernel`` decorates functions that Python calls and that are cached, ``inner`` those that kernels call, and ``exact``
the same if sums must not be reordered. Reordering allows a sum over runs to use vector registers. Infinities and NaN
keep their meaning everywhere.
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
    """Compile an entry point, for the one signature that ``bindings`` gives."""
    return jit(nogil=True, error_model="numpy", fastmath=REORDER)(function)


def inner(function: Source) -> Any:
    """Compile a part of a kernel."""
    return jit(nogil=True, error_model="numpy", fastmath=REORDER)(function)


def exact(function: Source) -> Any:
    """Compile a part of a kernel whose operations keep the order in which they are written."""
    return jit(nogil=True, error_model="numpy", fastmath={"contract"})(function)


@intrinsic  # type: ignore[untyped-decorator]
def to_bits(_context: Any, _x: Any) -> Any:
    """Return the 64 bits of a float as an integer."""

    def generate(target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], target.get_value_type(numba.int64))

    return numba.int64(numba.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def to_float(_context: Any, _bits: Any) -> Any:
    """Return the float that has these 64 bits."""

    def generate(target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], target.get_value_type(numba.float64))

    return numba.float64(numba.int64), generate
