"""The surrogate MLP with an explicit backward pass, its initialisation, and Adam with learning rates by layer.

The network is MLP-I of the amplitude paper (eq. 17). All parameters are in one vector: first those that learn at the
full rate (W_1 and the biases), then the other matrices. For small surrogates, most of the training time is the overhead
of PyTorch calls. This module needs few calls, so training is two to three times faster than with a PyTorch module,
autograd and a general optimiser. Tests check that the results agree with those of a PyTorch module.
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
"""Settings of Adam: (beta_1, beta_2) and epsilon.

Epsilon must be much smaller than the gradients, which decrease to 1e-6 if the loss is small.
"""


@dataclass(frozen=True)
class Activation:
    """An activation function phi(z) and its derivative.

    ``of`` maps z to phi(z). ``back`` maps dL/dphi, z and phi(z) to dL/dz, where L is the loss.
    """

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
    """The MLP f(x) = W_last phi(... phi(W_1 x + b_1) ...).

    The weights and biases are views of the vector ``theta`` (N,), and their gradients are views of ``gradient`` (N,).
    """

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
        """Number of parameters that learn at the full learning rate: W_1 and all biases, at the start of ``theta``."""
        return self.shape.width * (self.shape.inputs + self.shape.layers)

    def initialise(self, parametrization: Parametrization, seed: int) -> None:
        """Draw the weights from ``seed``, and set the biases to 0.

        The weights are identical on every device. Their distribution is eq. 18 (standard) or eq. 19 (mup) of the
        amplitude paper: the variances are 1 / d_in for W_1, 1 / n for the hidden matrices, and 1 / n (standard) or n_0
        / n^2 (mup) for the last matrix. Here d_in is the number of inputs, n the width, and n_0 the base width. At n =
        n_0, the two initialisations are identical.
        """
        rng, shape = np.random.default_rng([seed, 0]), self.shape
        last = BASE_WIDTH / shape.width**2 if parametrization == "mup" else 1 / shape.width
        variances = [1 / shape.inputs, *[1 / shape.width] * (shape.layers - 1), last]
        for weight, variance in zip(self.weights, variances, strict=True):
            drawn = rng.standard_normal(tuple(weight.shape)) * math.sqrt(variance)
            weight.copy_(torch.from_numpy(drawn))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs (B, outputs) for standardised invariants ``x`` (B, inputs).

        The intermediate values are stored for ``backward``.
        """
        self._z, self._h = [], [x]
        for bias, transposed in zip(self.biases, self._transposed, strict=False):
            self._z.append(torch.addmm(bias, self._h[-1], transposed))
            self._h.append(self.phi.of(self._z[-1]))
        return torch.mm(self._h[-1], self._transposed[-1])

    def backward(self, by_output: Tensor) -> None:
        """Write the gradient of the loss with respect to the parameters to ``gradient``.

        ``by_output`` is the gradient of the loss with respect to the outputs of the last ``forward``.
        """
        torch.mm(by_output.T, self._h[-1], out=self._weight_gradients[-1])
        for k in reversed(range(self.shape.layers)):
            by_h = torch.mm(by_output, self.weights[k + 1])
            by_output = self.phi.back(by_h, self._z[k], self._h[k + 1])
            torch.mm(by_output.T, self._h[k], out=self._weight_gradients[k])
            torch.sum(by_output, 0, out=self._bias_gradients[k])

    def layers_of(self, x: Tensor) -> list[Tensor]:
        """Return the activations of every hidden layer, (B, width) each, and the outputs (B, outputs)."""
        out = self.forward(x)
        return [*self._h[1:], out]


def _views(shape: Shape, vector: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Return the matrices (out, in) and the biases (width,) of all layers as views of ``vector`` (N,)."""
    n, inside = shape.width, shape.layers - 1
    first, rest = vector[: n * shape.inputs], vector[n * (shape.inputs + shape.layers) :]
    biases = list(vector[n * shape.inputs : n * (shape.inputs + shape.layers)].view(shape.layers, n))
    hidden = list(rest[: inside * n * n].view(inside, n, n)) if inside else []
    return [first.view(n, shape.inputs), *hidden, rest[inside * n * n :].view(shape.outputs, n)], biases


class Adam:
    """Adam (Kingma and Ba, arXiv:1412.6980) with a learning rate for each layer, and an L2 term.

    The learning rates are those of eq. 20 (standard) or eq. 21 (mup) of the amplitude paper.

    In mup, the learning rate of the hidden and the last matrices is multiplied by n_0 / n. Here n is the width. The
    constant n_0 is the base width, at which the standard parametrization and mup are identical. The L2 term
    ``l2 / 2 * sum(theta**2)`` is part of the loss.
    """

    def __init__(self, model: Model, parametrization: Parametrization, l2: float = 0.0) -> None:
        self.model, self.l2 = model, l2
        self.slower = BASE_WIDTH / model.shape.width if parametrization == "mup" else 1.0
        self.mean, self.square, self._root = (torch.zeros_like(model.theta) for _ in range(3))
        self.steps = 0

    def step(self, rate: float) -> None:
        """Update the parameters of the model by one step of Adam with the gradient in ``model.gradient``.

        ``rate`` is the full learning rate.
        """
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
