"""The kinds of surrogates: how large they are, what they read of an event, and the model that is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlannerError
from trainers.amplitudes.surrogate import shape as mlp
from trainers.amplitudes.surrogate.invariants import inputs, log_invariants, pairs
from trainers.amplitudes.surrogate.lloca import shape as lloca
from trainers.amplitudes.surrogate.rates import LLOCA_RATE, RATE
from trainers.amplitudes.surrogate.standard import Standard
from trainers.amplitudes.surrogate.weights import Weight, mean

if TYPE_CHECKING:
    from torch import Tensor

    from trainers.amplitudes.cell import AmplitudeCell
    from trainers.amplitudes.source import Facts

Real = NDArray[np.float64]


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


@dataclass(frozen=True)
class Network:
    """A kind of surrogate: of its points ``at_once`` are looked at in one batch.

    ``size(cell, facts)`` and ``check(cell)`` raise PlannerError for what cannot be, ``unfit(facts)`` says why it cannot
    read the events of a file, if so, ``inputs(momenta, facts)`` are what it reads, (points, inputs),
    ``standard(inputs, weight)`` how these are standardised, to numbers of ``precision``, and ``model(size, cell, x)``
    the model as it begins for standardised points ``x`` to train on. ``rate`` is the learning rate of a cell that names
    none.
    """

    size: Callable[[AmplitudeCell, Facts], Size]
    check: Callable[[AmplitudeCell], None]
    unfit: Callable[[Facts], str]
    inputs: Callable[[Real, Facts], Real]
    standard: Callable[[Real, Weight], Standard]
    precision: type[np.floating[Any]]
    model: Callable[[Any, AmplitudeCell, Tensor], Model]
    rate: float
    at_once: int


def _mlp_size(cell: AmplitudeCell, facts: Facts) -> mlp.Shape:
    reads = inputs(facts.particles, facts.varying)
    if cell.parameters:
        return mlp.of_parameters(cell.parameters, reads, cell.outputs, cell.layers, cell.ratio)
    return mlp.Shape(reads, cell.width, cell.layers, cell.outputs)


def _mlp_inputs(momenta: Real, facts: Facts) -> Real:
    return log_invariants(momenta, pairs(facts.particles, facts.varying))


def _mlp_model(shape: mlp.Shape, cell: AmplitudeCell, x: Tensor) -> Model:
    from trainers.amplitudes.surrogate.model import Mlp

    model = Mlp(shape, cell.activation, str(x.device))
    model.initialise(cell.parametrization, cell.seed)
    return model


def _lloca_size(cell: AmplitudeCell, facts: Facts) -> lloca.LlocaShape:
    if cell.parameters:
        return lloca.of_parameters(cell.parameters, facts.kinds, cell.outputs, cell.layers, cell.ratio)
    return lloca.LlocaShape(facts.kinds, cell.width, cell.layers, cell.outputs)


def _lloca_check(cell: AmplitudeCell) -> None:
    if cell.parametrization != "standard":
        raise PlannerError("A LLoCa-Transformer has no muP: set parametrization to standard.")
    if find_spec("lloca") is None:
        raise PlannerError(
            "A LLoCa-Transformer needs the extra lloca: install it with pip install 'isoplan[lloca]', or set network "
            "to mlp."
        )


def _lloca_inputs(momenta: Real, facts: Facts) -> Real:
    return momenta.reshape(len(momenta), -1)


def beam_units(x: Real, weight: Weight = None) -> Standard:
    """Momenta ``x`` (points, 4 particles) in units of the root mean square of sqrt(s) / 2, in any frame the same."""
    total = x[:, :4] + x[:, 4:8]
    s = total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1)
    return Standard(np.zeros(x.shape[1]), np.full(x.shape[1], np.sqrt(mean(s, weight)) / 2))


def _lloca_model(shape: lloca.LlocaShape, cell: AmplitudeCell, x: Tensor) -> Model:
    from trainers.amplitudes.surrogate.lloca.model import Lloca

    return Lloca(shape, x, cell.seed)


NETWORKS: Mapping[str, Network] = {
    "mlp": Network(
        _mlp_size, lambda cell: None, lambda facts: facts.collinear, _mlp_inputs, Standard.of, np.float32, _mlp_model,
        RATE, 8_192,
    ),
    "lloca": Network(
        _lloca_size, _lloca_check, lambda facts: "", _lloca_inputs, beam_units, np.float64, _lloca_model, LLOCA_RATE,
        1_024,
    ),
}  # fmt: skip
"""By the field ``network`` of a cell."""
