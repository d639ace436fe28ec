"""The two kinds of surrogates (MLP and LLoCa-Transformer): for each, its size, its inputs, and its initial model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.surrogate import shape as mlp
from isoplan.trainers.amplitudes.surrogate.preprocessing import Standard, Weight, inputs, log_invariants, mean, pairs
from isoplan.trainers.amplitudes.surrogate.shape import LLOCA_RATE, RATE, Model, Parametrization, Size

if TYPE_CHECKING:
    from torch import Tensor

    from isoplan.trainers.amplitudes.source import Facts


Activation = Literal["silu", "gelu", "tanh", "relu"]


@dataclass(frozen=True)
class Architecture:
    """Network size that a training run requests.

    ``parameters`` is the number of parameters N. If N is 0, ``width`` determines the size. ``ratio`` is the width
    divided by the number of layers. If ``layers`` is 0, the number of layers is computed from N and ``ratio``.
    """

    parameters: float
    width: int
    layers: int
    ratio: float
    outputs: int


@dataclass(frozen=True)
class Start:
    """Settings of the initialisation of a model: activation, parametrization, and seed of the weights."""

    activation: Activation
    parametrization: Parametrization
    seed: int


@dataclass(frozen=True)
class Network:
    """A kind of surrogate, as functions.

    - ``size(architecture, facts)`` returns the size of the surrogate. It raises PlannerError if no surrogate has the
      requested size.
    - ``check(parametrization)`` raises PlannerError if this kind of surrogate does not support the parametrization.
    - ``unfit(facts)`` returns the reason why this kind of surrogate cannot use the events of a file, or "".
    - ``inputs(momenta, facts)`` returns the network inputs (points, inputs).
    - ``standard(inputs, weight)`` returns the standardisation of the inputs. Standardised inputs have the dtype
      ``precision``.
    - ``model(size, start, x)`` returns the initial model for standardised training points ``x``.

    ``rate`` is the default learning rate. ``at_once`` is the number of points that are evaluated together.
    """

    size: Callable[[Architecture, Facts], Size]
    check: Callable[[Parametrization], None]
    unfit: Callable[[Facts], str]
    inputs: Callable[[Floats, Facts], Floats]
    standard: Callable[[Floats, Weight], Standard]
    precision: type[np.floating[Any]]
    model: Callable[[Any, Start, Tensor], Model]
    rate: float
    at_once: int


def _mlp_size(architecture: Architecture, facts: Facts) -> mlp.Shape:
    reads = inputs(facts.particles, facts.varying)
    if architecture.parameters:
        return mlp.of_parameters(
            architecture.parameters, reads, architecture.outputs, architecture.layers, architecture.ratio
        )
    return mlp.Shape(reads, architecture.width, architecture.layers, architecture.outputs)


def _mlp_inputs(momenta: Floats, facts: Facts) -> Floats:
    return log_invariants(momenta, pairs(facts.particles, facts.varying))


def _mlp_model(shape: mlp.Shape, start: Start, x: Tensor) -> Model:
    from isoplan.trainers.amplitudes.surrogate.mlp import Mlp

    model = Mlp(shape, start.activation, str(x.device))
    model.initialise(start.parametrization, start.seed)
    return model


def _lloca_size(architecture: Architecture, facts: Facts) -> mlp.LlocaShape:
    if architecture.parameters:
        return mlp.lloca_of_parameters(
            architecture.parameters, facts.kinds, architecture.outputs, architecture.layers, architecture.ratio
        )
    return mlp.LlocaShape(facts.kinds, architecture.width, architecture.layers, architecture.outputs)


def _lloca_check(parametrization: Parametrization) -> None:
    if parametrization != "standard":
        raise PlannerError("A LLoCa-Transformer has no muP: set parametrization to standard.")
    if find_spec("lloca") is None:
        raise PlannerError(
            "A LLoCa-Transformer needs the package lloca: install it with pip install 'isoplan[lloca]', or set network "
            "to mlp."
        )


def _lloca_inputs(momenta: Floats, facts: Facts) -> Floats:
    return momenta.reshape(len(momenta), -1)


def beam_units(x: Floats, weight: Weight = None) -> Standard:
    """Return the standardisation that divides momenta by the root mean square of sqrt(s) / 2.

    ``x`` (points, 4 * particles) are the momenta in any frame. ``weight`` (points,) contains the weights of the points.
    """
    total = x[:, :4] + x[:, 4:8]
    s = total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1)
    return Standard(np.zeros(x.shape[1]), np.full(x.shape[1], np.sqrt(mean(s, weight)) / 2))


def _lloca_model(shape: mlp.LlocaShape, start: Start, x: Tensor) -> Model:
    from isoplan.trainers.amplitudes.surrogate.lloca_model import Lloca

    return Lloca(shape, x, start.seed)


NETWORKS: Mapping[str, Network] = {
    "mlp": Network(
        _mlp_size, lambda parametrization: None, lambda facts: facts.collinear, _mlp_inputs, Standard.of, np.float32,
        _mlp_model, RATE, 8_192,
    ),
    "lloca": Network(
        _lloca_size, _lloca_check, lambda facts: "", _lloca_inputs, beam_units, np.float64, _lloca_model, LLOCA_RATE,
        1_024,
    ),
}  # fmt: skip
"""Network for each value of the field ``network`` of a training run."""
