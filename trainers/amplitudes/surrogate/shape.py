"""Sizes of surrogates, computed without PyTorch: parameters, training FLOPs, width and depth, learning rates.

A multiply-add is two FLOPs. As in ``torch.utils.flop_counter.FlopCounterMode``, only matrix products count: the forward
pass, the gradient of the weights, and the gradient of the inputs of each layer. The first layer needs no gradient of
its inputs, because its inputs are data.
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
    """Size of an MLP: ``inputs`` -> ``layers`` hidden layers of ``width`` -> ``outputs``.

    The hidden layers have biases. The output layer has no biases (amplitude paper, eq. 17).
    """

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
        """Number of parameters: N = (m + 1) n + (L - 1) (n^2 + n) + n o.

        m is the number of inputs, L the number of hidden layers, n their width, and o the number of outputs.
        """
        n = self.width
        return (self.inputs + 1) * n + (self.layers - 1) * (n * n + n) + n * self.outputs

    @property
    def training_flops(self) -> int:
        """Training FLOPs for one point in one iteration: 4 m n + 6 ((L - 1) n^2 + n o).

        m is the number of inputs, L the number of hidden layers, n their width, and o the number of outputs. The
        training compute C is the result times the number of points seen.
        """
        n = self.width
        inside = (self.layers - 1) * n * n + n * self.outputs
        return FORWARD_AND_BACKWARD * inside + ON_DATA * self.inputs * n

    @property
    def activations(self) -> float:
        """Memory in bytes for the activations of one point."""
        return 12.0 * self.width * self.layers


def of_parameters(N: float, inputs: int, outputs: int = 1, layers: int = 0, ratio: float = 32.0) -> Shape:
    """Return the surrogate with the number of parameters nearest to ``N``.

    If ``layers`` is 0, the depth is selected such that width / depth is as close as possible to ``ratio``. Width and
    depth then grow together (amplitude paper, Sec. 3.2). Raises PlannerError if even a surrogate of width 1 has more
    than 2 N parameters.
    """
    depths = [layers] if layers else range(1, MOST_LAYERS + 1)
    widths = {depth: _width(N, inputs, outputs, depth) for depth in depths}
    depth = min(widths, key=lambda one: abs(math.log(widths[one] / one / ratio)))
    low = Shape(inputs, max(math.floor(widths[depth]), 1), depth, outputs)
    if replace(low, width=1).parameters > 2 * N:
        raise PlannerError(
            f"N = {N:g} is too small for an MLP with {inputs} invariants and {depth} layers, which has "
            f"{low.parameters:,} parameters even at width 1: raise N or use fewer layers."
        )
    return min(low, replace(low, width=low.width + 1), key=lambda one: abs(one.parameters - N))


def _width(N: float, inputs: int, outputs: int, layers: int) -> float:
    """Return the width n, not rounded: the positive root of N = (L - 1) n^2 + (m + L + o) n.

    m is the number of inputs, L the number of layers, and o the number of outputs.
    """
    a, b = layers - 1, inputs + layers + outputs
    return N / b if a == 0 else (math.sqrt(b * b + 4 * a * N) - b) / (2 * a)


HEAD = 16
"""Number of channels of an attention head: 8 scalars and 2 four-vectors.

The amplitude models of the LLoCa authors use this head size.
"""
FRAMES_LAYERS = 2
"""Number of hidden layers in the network that predicts the local frames.

These layers are as wide as the Transformer.
"""
PRODUCTS = 96
"""Number of multiply-adds per particle to compute a local frame.

A local frame is computed from three vectors, with 4 x 4 matrices.
"""


@dataclass(frozen=True)
class LlocaShape:
    """Size of a LLoCa-Transformer: tokens -> ``layers`` blocks of ``width`` -> mean over tokens -> ``outputs``.

    Each particle is a token. ``kinds`` contains one integer per particle, and identical particles have equal integers.
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
                f"The width {self.width} cannot be divided into heads: a LLoCa-Transformer needs a multiple of {HEAD}."
            )

    @property
    def inputs(self) -> int:
        """Number of inputs per point: four per particle."""
        return 4 * len(self.kinds)

    @property
    def different(self) -> int:
        """Number of distinct kinds of particles. It is the length of the one-hot code in a token."""
        return len(set(self.kinds))

    @property
    def heads(self) -> int:
        """Number of attention heads."""
        return self.width // HEAD

    @property
    def parameters(self) -> int:
        """Number of parameters: N = (12 L + 1) n^2 + (9 L + 3 t + 11 + o) n + 3 + o.

        L is the number of blocks, n their width, t the number of kinds of particles, and o the number of outputs. N is
        the sum of these terms:

        - local frames: (2 t + 1) n + n + n^2 + n + 3 n + 3
        - first layer: (4 + t) n + n
        - each block: 12 n^2 + 9 n. Attention has 4 n^2, and the two layers around 4 n hidden channels have 8 n^2.
        - last layer: (n + 1) o
        """
        square, linear, constant = self._polynomial
        return square * self.width**2 + linear * self.width + constant

    @property
    def _polynomial(self) -> tuple[int, int, int]:
        linear = 9 * self.layers + 3 * self.different + 11 + self.outputs
        return 12 * self.layers + 1, linear, 3 + self.outputs

    @property
    def training_flops(self) -> int:
        """Training FLOPs for one point in one iteration, with m particles and e = m (m - 1) pairs.

        The result is 4 (2 t + 1) n e + 6 ((n^2 + 3 n) e + (12 L n^2 + (4 + t) n + 96) m + 2 L n m^2 + n o) + 32 m. L is
        the number of blocks, n their width, t the number of kinds of particles, and o the number of outputs. The first
        term is the first layer of the frames. Its inputs are data, so they need no gradient. The inputs of the tokens
        depend on the frames, so they need a gradient. The term 32 m scales the frames and has no gradient.
        """
        n, m, t = self.width, len(self.kinds), self.different
        pairs = m * (m - 1)
        tokens = (12 * self.layers * n * n + (4 + t) * n + PRODUCTS) * m
        inside = (n * n + 3 * n) * pairs + tokens + 2 * self.layers * n * m * m + n * self.outputs
        return ON_DATA * (2 * t + 1) * n * pairs + FORWARD_AND_BACKWARD * inside + 32 * m

    @property
    def activations(self) -> float:
        """Memory in bytes for the activations of one point."""
        m = len(self.kinds)
        return 4.0 * self.width * (60 * self.layers * m + 8 * m * (m - 1))


def lloca_of_parameters(
    N: float, kinds: tuple[int, ...], outputs: int = 1, layers: int = 0, ratio: float = 32.0
) -> LlocaShape:
    """Return the LLoCa-Transformer with the number of parameters nearest to ``N``.

    The width is a multiple of the head size. If ``layers`` is 0, the depth is selected such that width / depth is as
    close as possible to ``ratio``. Raises PlannerError if even a surrogate with one head has more than 2 N parameters.
    """
    shapes = {
        depth: _lloca_width(N, LlocaShape(kinds, HEAD, depth, outputs))
        for depth in ([layers] if layers else range(1, MOST_LAYERS + 1))
    }
    depth = min(shapes, key=lambda one: abs(math.log(max(shapes[one], 1) / one / ratio)))
    least = LlocaShape(kinds, HEAD, depth, outputs)
    if least.parameters > 2 * N:
        raise PlannerError(
            f"N = {N:g} is too few for a LLoCa-Transformer of {depth} layers, which has {least.parameters:,} "
            f"parameters at width {HEAD}: raise N or use fewer layers."
        )
    low = replace(least, width=max(math.floor(shapes[depth] / HEAD), 1) * HEAD)
    return min(low, replace(low, width=low.width + HEAD), key=lambda one: abs(one.parameters - N))


def _lloca_width(N: float, shape: LlocaShape) -> float:
    """Return the width, not rounded, at which a surrogate with the layers of ``shape`` has ``N`` parameters.

    Returns 0 if every width has more than ``N`` parameters.
    """
    a, b, c = shape._polynomial
    return max((math.sqrt(max(b * b + 4 * a * (N - c), 0.0)) - b) / (2 * a), 0.0)


VERSION = 3
"""Version of the training code, a part of the version of the family.

Increase it if a change of the code changes the results of a training run.
"""
BASE_WIDTH = 64
"""Base width n_0 of muP.

At this width, muP and the standard parametrization have identical initialisations and learning rates.
"""
RATE = 3e-3
"""Default learning rate of an MLP, for Adam at the start of the cosine schedule.

In muP, this value applies at every width. It was determined in long runs (docs/amplitudes.md).
"""
LLOCA_RATE = 1e-3
"""Default learning rate of a LLoCa-Transformer, for Adam at the start of the cosine schedule."""


Parametrization = Literal["mup", "standard"]


Size = Shape | LlocaShape
"""Size of a surrogate. It determines N, the training FLOPs per point, and the memory per point."""


class Model(Protocol):
    """A model that is trained: its parameters ``theta`` (N,), and the ``gradient`` (N,) of the loss."""

    theta: Tensor
    gradient: Tensor

    @property
    def shape(self) -> Size: ...
    @property
    def full_rate(self) -> int:
        """Number of parameters with the full learning rate in muP. They are at the start of the parameter vector."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs (B, outputs) for standardised inputs ``x`` (B, inputs).

        The intermediate values are stored for ``backward``.
        """

    def backward(self, by_output: Tensor) -> None:
        """Write the gradient of the loss with respect to the parameters to ``gradient``.

        ``by_output`` is the gradient of the loss with respect to the outputs of the last ``forward``.
        """

    def layers_of(self, x: Tensor) -> list[Tensor]:
        """Return the activations of the hidden layers and, as the last entry, the outputs (B, outputs).

        The last hidden layer has the shape (B, width).
        """
