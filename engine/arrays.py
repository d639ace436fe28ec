"""Array types. ``Floats`` are 64-bit, for fits and plans; ``Singles`` are 32-bit, for networks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
