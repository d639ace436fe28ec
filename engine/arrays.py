"""Types of arrays. ``Floats`` are 64-bit, wherever numbers are fitted or planned; networks use 32-bit ``Singles``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
