"""Array types. ``Floats`` are 64-bit numbers, for fits and plans. ``Singles`` are 32-bit numbers, for networks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
