"""Protocols of a surrogate: its size before it is built, and the model with its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from torch import Tensor

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
