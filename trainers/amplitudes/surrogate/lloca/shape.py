"""How large a LLoCa-Transformer is: parameters, training FLOPs, and the width and depth of a number of parameters.

FLOPs are counted as those of MLPs (``surrogate.shape``): a multiply-add is two, and only matrix products count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.surrogate.shape import FORWARD_AND_BACKWARD, MOST_LAYERS, ON_DATA

HEAD = 16
"""Channels of an attention head, 8 scalars and 2 four-vectors as in the amplitudes of the authors of LLoCa."""
FRAMES_LAYERS = 2
"""Hidden layers of the network that predicts the local frames; they are as wide as the Transformer."""
PRODUCTS = 96
"""Multiply-adds of the 4 x 4 products that make the local frame of a particle of three vectors."""


@dataclass(frozen=True)
class LlocaShape:
    """Tokens of ``kinds`` -> ``layers`` blocks of ``width`` -> the mean over tokens -> ``outputs``.

    Raises PlannerError for a width that is no number of heads.
    """

    kinds: tuple[int, ...]
    width: int
    layers: int = 3
    outputs: int = 1

    def __post_init__(self) -> None:
        for name in ("layers", "outputs"):
            if getattr(self, name) < 1:
                raise PlannerError(f"{name} is {getattr(self, name)}: the surrogate needs at least 1.")
        if self.width < 1 or self.width % HEAD:
            raise PlannerError(
                f"The width {self.width} is no number of heads: a LLoCa-Transformer needs a multiple of {HEAD}."
            )

    @property
    def inputs(self) -> int:
        """Numbers that it reads of a point: four of each particle."""
        return 4 * len(self.kinds)

    @property
    def different(self) -> int:
        """Kinds of particles, which tokens say by a one among zeros."""
        return len(set(self.kinds))

    @property
    def heads(self) -> int:
        """Attention heads."""
        return self.width // HEAD

    @property
    def parameters(self) -> int:
        """N = (12 L + 1) n^2 + (9 L + 3 t + 11 + o) n + 3 + o, for L blocks of width n, t kinds, and o outputs.

        (2 t + 1) n + n + n^2 + n + 3 n + 3 are those of the frames, (4 + t) n + n of the first layer, 12 n^2 + 9 n of
        a block (attention 4 n^2, two layers with 4 n between them 8 n^2), and (n + 1) o of the last layer.
        """
        square, linear, constant = self._polynomial
        return square * self.width**2 + linear * self.width + constant

    @property
    def _polynomial(self) -> tuple[int, int, int]:
        linear = 9 * self.layers + 3 * self.different + 11 + self.outputs
        return 12 * self.layers + 1, linear, 3 + self.outputs

    @property
    def training_flops(self) -> int:
        """FLOPs of one point in one iteration. With m particles and e = m (m - 1) pairs:

        4 (2 t + 1) n e + 6 ((n^2 + 3 n) e + (12 L n^2 + (4 + t) n + 96) m + 2 L n m^2 + n o) + 32 m. The first are the
        frames, whose inputs are data; what the tokens read depends on the frames and has a gradient. The 32 m scale
        the frames and have none.
        """
        n, m, t = self.width, len(self.kinds), self.different
        pairs = m * (m - 1)
        tokens = (12 * self.layers * n * n + (4 + t) * n + PRODUCTS) * m
        inside = (n * n + 3 * n) * pairs + tokens + 2 * self.layers * n * m * m + n * self.outputs
        return ON_DATA * (2 * t + 1) * n * pairs + FORWARD_AND_BACKWARD * inside + 32 * m

    @property
    def activations(self) -> float:
        """Bytes of a point while it is looked at or learned from."""
        m = len(self.kinds)
        return 4.0 * self.width * (60 * self.layers * m + 8 * m * (m - 1))


def of_parameters(
    N: float, kinds: tuple[int, ...], outputs: int = 1, layers: int = 0, ratio: float = 32.0
) -> LlocaShape:
    """The LLoCa-Transformer whose parameters are nearest to ``N``; its width goes in steps of a head.

    With ``layers`` 0 its depth is the one whose width is nearest to ``ratio`` times as large. Raises PlannerError where
    not even a single head has so few parameters.
    """
    found = {
        depth: _width(N, LlocaShape(kinds, HEAD, depth, outputs))
        for depth in ([layers] if layers else range(1, MOST_LAYERS + 1))
    }
    depth = min(found, key=lambda one: abs(math.log(max(found[one], 1) / one / ratio)))
    least = LlocaShape(kinds, HEAD, depth, outputs)
    if least.parameters > 2 * N:
        raise PlannerError(
            f"N = {N:g} is too few for a LLoCa-Transformer of {depth} layers, which takes {least.parameters:,} "
            f"parameters at width {HEAD}: raise it or take fewer layers."
        )
    low = replace(least, width=max(math.floor(found[depth] / HEAD), 1) * HEAD)
    return min(low, replace(low, width=low.width + HEAD), key=lambda one: abs(one.parameters - N))


def _width(N: float, shape: LlocaShape) -> float:
    """The width at which so many layers have ``N`` parameters, before it is made whole; 0 where there is none."""
    a, b, c = shape._polynomial
    return max((math.sqrt(max(b * b + 4 * a * (N - c), 0.0)) - b) / (2 * a), 0.0)
