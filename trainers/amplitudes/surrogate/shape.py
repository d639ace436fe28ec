"""Sizes of surrogates before they are built: parameters, training FLOPs, width and depth for N, learning rates.

A multiply-add is two FLOPs. As in ``torch.utils.flop_counter.FlopCounterMode``, only matrix products are counted:
forward, gradient of the weights, gradient of the inputs (not for the invariants, which are data). Torch is not needed.
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
    """The MLP of eq. 17: ``inputs`` -> ``layers`` hidden layers of ``width`` (with biases) -> ``outputs`` (without)."""

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
        """FLOPs of one point in one iteration, 4 m n + 6 ((L - 1) n^2 + n o), that is, C per point seen."""
        n = self.width
        inside = (self.layers - 1) * n * n + n * self.outputs
        return FORWARD_AND_BACKWARD * inside + ON_DATA * self.inputs * n

    @property
    def activations(self) -> float:
        """Memory in bytes per point for the activations."""
        return 12.0 * self.width * self.layers


def of_parameters(N: float, inputs: int, outputs: int = 1, layers: int = 0, ratio: float = 32.0) -> Shape:
    """Return the surrogate whose number of parameters is nearest to ``N``.

    With ``layers`` 0, its depth is the one whose ratio of width to depth is nearest to ``ratio``, so that width and
    depth grow together (amplitudes, Sec. 3.2). Raises PlannerError if even a width of 1 has more parameters.
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
    """Return the positive root n of N = (L - 1) n^2 + (m + L + o) n, not rounded."""
    a, b = layers - 1, inputs + layers + outputs
    return N / b if a == 0 else (math.sqrt(b * b + 4 * a * N) - b) / (2 * a)


HEAD = 16
"""Channels of an attention head: 8 scalars and 2 four-vectors, as in the amplitude models of the LLoCa authors."""
FRAMES_LAYERS = 2
"""Hidden layers of the network that predicts the local frames; they have the width of the Transformer."""
PRODUCTS = 96
"""Multiply-adds of the 4 x 4 products that compute the local frame of a particle from three vectors."""


@dataclass(frozen=True)
class LlocaShape:
    """Shape: tokens of ``kinds`` -> ``layers`` blocks of ``width`` -> the mean over tokens -> ``outputs``.

    Raises PlannerError if the width is not a multiple of the head size.
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
        """Number of inputs per point: four per particle."""
        return 4 * len(self.kinds)

    @property
    def different(self) -> int:
        """Number of kinds of particles, the length of the one-hot code in a token."""
        return len(set(self.kinds))

    @property
    def heads(self) -> int:
        """Number of attention heads."""
        return self.width // HEAD

    @property
    def parameters(self) -> int:
        """N = (12 L + 1) n^2 + (9 L + 3 t + 11 + o) n + 3 + o, for L blocks of width n, t kinds, and o outputs.

        (2 t + 1) n + n + n^2 + n + 3 n + 3 belong to the frames, (4 + t) n + n to the first layer, 12 n^2 + 9 n to a
        block (attention 4 n^2, two layers with 4 n between them 8 n^2), and (n + 1) o to the last layer.
        """
        square, linear, constant = self._polynomial
        return square * self.width**2 + linear * self.width + constant

    @property
    def _polynomial(self) -> tuple[int, int, int]:
        linear = 9 * self.layers + 3 * self.different + 11 + self.outputs
        return 12 * self.layers + 1, linear, 3 + self.outputs

    @property
    def training_flops(self) -> int:
        """FLOPs of one point in one iteration, with m particles and e = m (m - 1) pairs.

        4 (2 t + 1) n e + 6 ((n^2 + 3 n) e + (12 L n^2 + (4 + t) n + 96) m + 2 L n m^2 + n o) + 32 m. The first term is
        the first layer of the frames, whose inputs are data. The inputs of the tokens depend on the frames and have a
        gradient. The term 32 m scales the frames and has no gradient.
        """
        n, m, t = self.width, len(self.kinds), self.different
        pairs = m * (m - 1)
        tokens = (12 * self.layers * n * n + (4 + t) * n + PRODUCTS) * m
        inside = (n * n + 3 * n) * pairs + tokens + 2 * self.layers * n * m * m + n * self.outputs
        return ON_DATA * (2 * t + 1) * n * pairs + FORWARD_AND_BACKWARD * inside + 32 * m

    @property
    def activations(self) -> float:
        """Memory in bytes per point for the activations."""
        m = len(self.kinds)
        return 4.0 * self.width * (60 * self.layers * m + 8 * m * (m - 1))


def lloca_of_parameters(
    N: float, kinds: tuple[int, ...], outputs: int = 1, layers: int = 0, ratio: float = 32.0
) -> LlocaShape:
    """Return the LLoCa-Transformer whose number of parameters is nearest to ``N``.

    Its width is a multiple of a head. With ``layers`` 0, its depth is the one whose ratio of width to depth is nearest
    to ``ratio``. Raises PlannerError if even a single head has more parameters.
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
    """Return the real-valued width at which the layers have ``N`` parameters; 0 if there is none."""
    a, b, c = shape._polynomial
    return max((math.sqrt(max(b * b + 4 * a * (N - c), 0.0)) - b) / (2 * a), 0.0)


VERSION = 3
"""Version, part of the name of a cell. Increase it if the same cell gives other numbers."""
BASE_WIDTH = 64
"""n_0 of muP, the width at which its initialisation and rates are those of the standard parametrization."""
RATE = 3e-3
"""Learning rate of Adam at the start of the cosine, for every width in muP; from long runs (docs/amplitudes.md)."""
LLOCA_RATE = 1e-3
"""The same for a LLoCa-Transformer."""


Parametrization = Literal["mup", "standard"]


Size = Shape | LlocaShape
"""Size of a surrogate, with its parameters N, FLOPs per point, and memory per point."""


class Model(Protocol):
    """A model under training, with the vectors ``theta`` and ``gradient`` (N,)."""

    theta: Tensor
    gradient: Tensor

    @property
    def shape(self) -> Size: ...
    @property
    def full_rate(self) -> int:
        """Number of parameters, from the start of the vector, that learn at the full rate in muP."""

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs (B, outputs) for standardised inputs ``x`` (B, inputs); store the values for ``backward``."""

    def backward(self, by_output: Tensor) -> None:
        """Write the gradient of the loss to ``gradient``.

        ``by_output`` is the gradient of the loss with respect to the outputs of the last ``forward``.
        """

    def layers_of(self, x: Tensor) -> list[Tensor]:
        """Return activations of hidden layers and the outputs (B, outputs); the last hidden layer is (B, width)."""
