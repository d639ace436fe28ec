"""The LLoCa-Transformer on four-momenta, with one token per particle, from the package ``lloca``.

J. Spinner, L. Favaro et al., "Lorentz Local Canonicalization" (arXiv:2505.20280, arXiv:2508.14898). All parameters are
in one vector, as for the MLP.
"""

from __future__ import annotations

from functools import partial

import torch
from lloca.backbone.transformer import Transformer
from lloca.equivectors import MLPVectors
from lloca.framesnet import LearnedPDFrames
from lloca.reps import TensorReps, TensorRepsTransform
from torch import Tensor, nn

from isoplan.trainers.amplitudes.surrogate.shape import FRAMES_LAYERS, LlocaShape

HEAD = "8x0n+2x1n"
"""Content of an attention head in the notation of ``lloca``: 8 scalars and 2 four-vectors."""
FIRST = 1_000
"""Number of training points from which the standardisation of the invariants is computed.

The local frames are predicted from the standardised invariants.
"""


class Lloca:
    """The LLoCa-Transformer, with one token per particle.

    The LLoCa-Transformer consists of a network for the local frames, a Transformer, the mean over the particles, and a
    last linear layer. The parameters of the modules and their gradients are views of ``theta`` and ``gradient`` (N,).
    Momenta and frames are in double precision. All other values are in single precision.
    """

    def __init__(self, shape: LlocaShape, x: Tensor, seed: int) -> None:
        """Initialise the weights from ``seed``. The initial weights are identical on every device.

        The training points ``x`` (points, inputs) determine the device of the model and the standardisation of the
        invariants.
        """
        torch.manual_seed(seed)
        self.shape = shape
        of_pairs = partial(
            MLPVectors, num_scalars=shape.different, hidden_channels=shape.width, num_layers_mlp=FRAMES_LAYERS
        )
        self._frames = LearnedPDFrames(of_pairs).to(x.device)
        self._net = Transformer(4 + shape.different, HEAD, shape.outputs, shape.layers, shape.heads).to(x.device)
        # The last layer is linear, so the mean over the particles can be computed before this layer. The mean then
        # serves as the last hidden layer.
        self._last, self._net.linear_out = self._net.linear_out, nn.Identity()
        self._into_frame = TensorRepsTransform(TensorReps("1x1n"))
        kinds = torch.tensor(shape.kinds, device=x.device)
        self._kinds = nn.functional.one_hot(kinds, shape.different).to(torch.float32)
        self._frames.equivectors.init_standardization(self._momenta(x[:FIRST]))
        self.theta, self.gradient = _vectors(nn.ModuleList([self._frames, self._net, self._last]))
        self._out = self.theta

    @property
    def full_rate(self) -> int:
        """Number of parameters that learn at the full learning rate: all N."""
        return len(self.theta)

    @torch.enable_grad()
    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs (B, outputs) for standardised momenta ``x`` (B, inputs).

        The intermediate values are stored for ``backward``.
        """
        self._out = self.layers_of(x)[-1]
        return self._out.detach()

    def backward(self, by_output: Tensor) -> None:
        """Write the gradient of the loss with respect to the parameters to ``gradient``.

        ``by_output`` is the gradient of the loss with respect to the outputs of the last ``forward``.
        """
        self.gradient.zero_()
        torch.autograd.backward(self._out, by_output)

    def layers_of(self, x: Tensor) -> list[Tensor]:
        """Return the last hidden layer (B, width) and the outputs (B, outputs).

        The last hidden layer is the output of the last block, averaged over the particles.
        """
        momenta = self._momenta(x)
        kinds = self._kinds.expand(len(x), -1, -1)
        frames = self._frames(momenta, scalars=kinds)
        seen = self._into_frame(momenta, frames)
        frames.to(torch.float32)
        tokens = torch.cat([seen.to(torch.float32), kinds], -1)
        hidden = self._net(tokens, frames, p_ref=momenta[:, :2].sum(1)).mean(1)
        return [hidden, self._last(hidden)]

    def _momenta(self, x: Tensor) -> Tensor:
        return x.view(len(x), len(self.shape.kinds), 4)


def _vectors(module: nn.Module) -> tuple[Tensor, Tensor]:
    """Return the parameters of a module as one vector (N,), and a zero vector (N,) for their gradients.

    The parameters of the module and their gradients become views of the two vectors.
    """
    parameters = list(module.parameters())
    theta = torch.cat([one.detach().flatten() for one in parameters])
    gradient = torch.zeros_like(theta)
    sizes = [one.numel() for one in parameters]
    for one, value, slope in zip(parameters, torch.split(theta, sizes), torch.split(gradient, sizes), strict=True):
        one.data, one.grad = value.view_as(one), slope.view_as(one)
    return theta, gradient
