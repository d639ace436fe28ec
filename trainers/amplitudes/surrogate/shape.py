"""Sizes of surrogates before they are built: parameters, training FLOPs, width and depth for N, learning rates.

A multiply-add is two FLOPs. Only matrix products are counted, as ``torch.utils.flop_counter.FlopCounterMode`` does:
forward, gradient of the weights, gradient of the inputs (none for the invariants, which are data). Needs no torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from isoplan.engine.errors import PlannerError

if TYPE_CHECKING:
    from torch import Tensor

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
    widths = {depth: _width(N, inputs, outputs, depth) for depth in depths}
    depth = min(widths, key=lambda one: abs(math.log(widths[one] / one / ratio)))
    low = Shape(inputs, max(math.floor(widths[depth]), 1), depth, outputs)
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


def lloca_of_parameters(
    N: float, kinds: tuple[int, ...], outputs: int = 1, layers: int = 0, ratio: float = 32.0
) -> LlocaShape:
    """The LLoCa-Transformer whose parameters are nearest to ``N``; its width goes in steps of a head.

    With ``layers`` 0 its depth is the one whose width is nearest to ``ratio`` times as large. Raises PlannerError where
    not even a single head has so few parameters.
    """
    shapes = {
        depth: _lloca_width(N, LlocaShape(kinds, HEAD, depth, outputs))
        for depth in ([layers] if layers else range(1, MOST_LAYERS + 1))
    }
    depth = min(shapes, key=lambda one: abs(math.log(max(shapes[one], 1) / one / ratio)))
    least = LlocaShape(kinds, HEAD, depth, outputs)
    if least.parameters > 2 * N:
        raise PlannerError(
            f"N = {N:g} is too few for a LLoCa-Transformer of {depth} layers, which takes {least.parameters:,} "
            f"parameters at width {HEAD}: raise it or take fewer layers."
        )
    low = replace(least, width=max(math.floor(shapes[depth] / HEAD), 1) * HEAD)
    return min(low, replace(low, width=low.width + HEAD), key=lambda one: abs(one.parameters - N))


def _lloca_width(N: float, shape: LlocaShape) -> float:
    """The width at which so many layers have ``N`` parameters, before it is made whole; 0 where there is none."""
    a, b, c = shape._polynomial
    return max((math.sqrt(max(b * b + 4 * a * (N - c), 0.0)) - b) / (2 * a), 0.0)


VERSION = 3
"""Part of the name of a cell, to be raised where the same cell gives other numbers."""
BASE_WIDTH = 64
"""n_0 of muP: there its initialisation and its rates are those of the standard parametrization."""
RATE = 3e-3
"""Of Adam at the beginning of the cosine, at every width in muP: that of long trainings (docs/amplitudes.md)."""
LLOCA_RATE = 1e-3
"""The same of a LLoCa-Transformer."""


Parametrization = Literal["mup", "standard"]


class Size(Protocol):
    """How large a surrogate is: numbers that it reads of a point, ``width`` and number of hidden layers, outputs."""

    @property
    def inputs(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def layers(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def parameters(self) -> int:
        """N."""

    @property
    def training_flops(self) -> int:
        """FLOPs of one point in one iteration: C over the points seen."""

    @property
    def activations(self) -> float:
        """Bytes of a point while it is looked at or learned from."""


class Model(Protocol):
    """What is trained: outputs and gradients of vectors ``theta`` and ``gradient`` (N,)."""

    theta: Tensor
    gradient: Tensor

    @property
    def shape(self) -> Size: ...
    @property
    def full_rate(self) -> int:
        """So many numbers of the vector, from its beginning, learn at the full rate in muP."""

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (B, outputs) for standardised inputs ``x`` (B, inputs); keeps what ``backward`` needs."""

    def backward(self, by_output: Tensor) -> None:
        """Put into ``gradient`` that of the loss whose gradient by the outputs of the last ``forward`` is given."""

    def layers_of(self, x: Tensor) -> list[Tensor]:
        """Activations of hidden layers, the last one (B, width) last but one, and the outputs (B, outputs)."""
