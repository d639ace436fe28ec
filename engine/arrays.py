"""Array types. ``Floats`` are 64-bit numbers, for fits and plans. ``Singles`` are 32-bit numbers, for networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def finite(x: ArrayLike | None) -> Any:
    """Return a number, or an array as nested lists, for JSON; None in place of each value that is not finite."""
    if x is None:
        return None
    array = np.asarray(x)
    if array.ndim:
        return [finite(part) for part in array]
    return array.item() if np.isfinite(array) else None
