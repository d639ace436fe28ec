"""How large a surrogate is: parameters, training FLOPs, and the width and depth of a given number of parameters.

A multiply-add is two FLOPs. Only matrix products are counted, as ``torch.utils.flop_counter.FlopCounterMode`` does:
forward, gradient of the weights, gradient of the inputs (none for the invariants, which are data). Needs no torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from isoplan.engine.errors import PlannerError

FORWARD_AND_BACKWARD, ON_DATA = 2 * 3, 2 * 2
MOST_LAYERS = 64


@dataclass(frozen=True)
class Shape:
    """An MLP of eq. 17: ``inputs`` -> ``layers`` hidden layers of ``width`` with biases -> ``outputs`` without."""

    inputs: int
    width: int
    layers: int = 3
    outputs: int = 1

    def __post_init__(self) -> None:
        for name in ("inputs", "width", "layers", "outputs"):
            if getattr(self, name) < 1:
                raise PlannerError(f"{name} is {getattr(self, name)}: the surrogate needs at least 1.")

    @property
    def parameters(self) -> int:
        """N = (m + 1) n + (L - 1) (n^2 + n) + n o, for m inputs, L hidden layers of width n, and o outputs."""
        n = self.width
        return (self.inputs + 1) * n + (self.layers - 1) * (n * n + n) + n * self.outputs

    @property
    def training_flops(self) -> int:
        """FLOPs of one point in one iteration: C over the points seen. 4 m n + 6 ((L - 1) n^2 + n o)."""
        n = self.width
        inside = (self.layers - 1) * n * n + n * self.outputs
        return FORWARD_AND_BACKWARD * inside + ON_DATA * self.inputs * n

    @property
    def activations(self) -> float:
        """Bytes of a point while it is looked at or learned from."""
        return 12.0 * self.width * self.layers


def of_parameters(N: float, inputs: int, outputs: int = 1, layers: int = 0, ratio: float = 32.0) -> Shape:
    """The surrogate whose parameters are nearest to ``N``.

    With ``layers`` 0 its depth is the one whose width is nearest to ``ratio`` times as large, so that both grow
    together (amplitudes, Sec. 3.2). Raises PlannerError where not even a width of 1 has so few parameters.
    """
    depths = [layers] if layers else range(1, MOST_LAYERS + 1)
    found = {depth: _width(N, inputs, outputs, depth) for depth in depths}
    depth = min(found, key=lambda one: abs(math.log(found[one] / one / ratio)))
    low = Shape(inputs, max(math.floor(found[depth]), 1), depth, outputs)
    if replace(low, width=1).parameters > 2 * N:
        raise PlannerError(
            f"N = {N:g} is too few for {inputs} invariants and {depth} layers, which take {low.parameters:,} "
            "parameters at width 1: raise it or take fewer layers."
        )
    return min(low, replace(low, width=low.width + 1), key=lambda one: abs(one.parameters - N))


def _width(N: float, inputs: int, outputs: int, layers: int) -> float:
    """The positive root n of N = (L - 1) n^2 + (m + L + o) n, before it is made whole."""
    a, b = layers - 1, inputs + layers + outputs
    return N / b if a == 0 else (math.sqrt(b * b + 4 * a * N) - b) / (2 * a)
