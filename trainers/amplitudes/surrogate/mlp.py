"""The surrogate MLP-I (eq. 17) with a backward pass of its own, its initialisation, and Adam with rates by layer.

All parameters lie in one vector: first what learns at the full rate (W_1 and the biases), then the other matrices.
Small surrogates spend their time on calls, not on numbers, so that few calls on few tensors are two to three times as
fast as a module, autograd and a general optimiser; tests compare both to the last digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from isoplan.trainers.amplitudes.surrogate.shape import BASE_WIDTH, Model, Parametrization, Shape

BETAS, EPSILON = (0.9, 0.999), 1e-12
"""Of Adam. The epsilon stays below gradients, which get as small as 1e-6 where the loss does."""


@dataclass(frozen=True)
class Activation:
    """phi(z), and from the gradient of the loss by phi, z and phi(z) that by z."""

    of: Callable[[Tensor], Tensor]
    back: Callable[[Tensor, Tensor, Tensor], Tensor]


_aten = torch.ops.aten
ACTIVATIONS = {
    "gelu": Activation(
        lambda z: F.gelu(z, approximate="tanh"), lambda d, z, h: _aten.gelu_backward(d, z, approximate="tanh")
    ),
    "silu": Activation(F.silu, lambda d, z, h: _aten.silu_backward(d, z)),
    "tanh": Activation(torch.tanh, lambda d, z, h: _aten.tanh_backward(d, h)),
    "relu": Activation(torch.relu, lambda d, z, h: _aten.threshold_backward(d, z, 0)),
}


class Mlp:
    """f(x) = W_last phi(... phi(W_1 x + b_1) ...): views of the vectors ``theta`` and ``gradient`` (N,)."""

    def __init__(self, shape: Shape, activation: str, device: str = "cpu") -> None:
        self.shape, self.phi = shape, ACTIVATIONS[activation]
        self.theta, self.gradient = (torch.zeros(shape.parameters, device=device) for _ in range(2))
        self.weights, self.biases = _views(shape, self.theta)
        self._transposed = [weight.T for weight in self.weights]
        self._weight_gradients, self._bias_gradients = _views(shape, self.gradient)
        self._z: list[Tensor] = []
        self._h: list[Tensor] = []

    @property
    def full_rate(self) -> int:
        """So many numbers of the vector, from its beginning, learn at the full rate: W_1 and all biases."""
        return self.shape.width * (self.shape.inputs + self.shape.layers)

    def initialise(self, parametrization: Parametrization, seed: int) -> None:
        """Draw the weights of eq. 18 (standard) or eq. 19 (mup), the same for every device; biases are 0.

        W_1 ~ N(0, 1 / d_in), hidden W ~ N(0, 1 / n), and the last N(0, 1 / n), in mup N(0, n_0 / n^2): at the base
        width n_0 both are the same.
        """
        rng, shape = np.random.default_rng([seed, 0]), self.shape
        last = BASE_WIDTH / shape.width**2 if parametrization == "mup" else 1 / shape.width
        variances = [1 / shape.inputs, *[1 / shape.width] * (shape.layers - 1), last]
        for weight, variance in zip(self.weights, variances, strict=True):
            drawn = rng.standard_normal(tuple(weight.shape)) * math.sqrt(variance)
            weight.copy_(torch.from_numpy(drawn))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (B, outputs) for standardised invariants ``x`` (B, inputs); keeps what ``backward`` needs."""
        self._z, self._h = [], [x]
        for bias, transposed in zip(self.biases, self._transposed, strict=False):
            self._z.append(torch.addmm(bias, self._h[-1], transposed))
            self._h.append(self.phi.of(self._z[-1]))
        return torch.mm(self._h[-1], self._transposed[-1])

    def backward(self, by_output: Tensor) -> None:
        """Put into ``gradient`` that of the loss whose gradient by the outputs of the last ``forward`` is given."""
        torch.mm(by_output.T, self._h[-1], out=self._weight_gradients[-1])
        for k in reversed(range(self.shape.layers)):
            by_h = torch.mm(by_output, self.weights[k + 1])
            by_output = self.phi.back(by_h, self._z[k], self._h[k + 1])
            torch.mm(by_output.T, self._h[k], out=self._weight_gradients[k])
            torch.sum(by_output, 0, out=self._bias_gradients[k])

    def layers_of(self, x: Tensor) -> list[Tensor]:
        """The activations of every hidden layer, (B, width) each, and the outputs (B, outputs)."""
        out = self.forward(x)
        return [*self._h[1:], out]


def _views(shape: Shape, vector: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The matrices (out, in) and the biases (width,) that ``vector`` (N,) holds."""
    n, inside = shape.width, shape.layers - 1
    first, rest = vector[: n * shape.inputs], vector[n * (shape.inputs + shape.layers) :]
    biases = list(vector[n * shape.inputs : n * (shape.inputs + shape.layers)].view(shape.layers, n))
    hidden = list(rest[: inside * n * n].view(inside, n, n)) if inside else []
    return [first.view(n, shape.inputs), *hidden, rest[inside * n * n :].view(shape.outputs, n)], biases


class Adam:
    """Adam (Kingma and Ba, arXiv:1412.6980) with the rates of eq. 20 or 21, and an L2 term in the loss.

    In mup the hidden and the last matrices learn at n_0 / n of the rate, which is eq. 21 with the constant n_0, the
    base width, at which both parametrizations are the same.
    """

    def __init__(self, model: Model, parametrization: Parametrization, l2: float = 0.0) -> None:
        self.model, self.l2 = model, l2
        self.slower = BASE_WIDTH / model.shape.width if parametrization == "mup" else 1.0
        self.mean, self.square, self._root = (torch.zeros_like(model.theta) for _ in range(3))
        self.steps = 0

    def step(self, rate: float) -> None:
        """One step along the gradient of the model."""
        model, (first, second) = self.model, BETAS
        self.steps += 1
        if self.l2:
            model.gradient.add_(model.theta, alpha=self.l2)
        self.mean.lerp_(model.gradient, 1 - first)
        self.square.mul_(second).addcmul_(model.gradient, model.gradient, value=1 - second)
        unbiased = math.sqrt(1 - second**self.steps)
        torch.sqrt(self.square, out=self._root).add_(EPSILON * unbiased)
        along = -rate * unbiased / (1 - first**self.steps)
        full = model.full_rate
        model.theta[:full].addcdiv_(self.mean[:full], self._root[:full], value=along)
        model.theta[full:].addcdiv_(self.mean[full:], self._root[full:], value=along * self.slower)
