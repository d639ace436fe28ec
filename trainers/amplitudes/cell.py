"""Training runs (cells) of the amplitudes family: fields, and the sizes and resources computed before training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.files import COPIES, bytes_of
from isoplan.trainers.amplitudes.phase_space.sampler import need_vegas
from isoplan.trainers.amplitudes.simulate import Request
from isoplan.trainers.amplitudes.source import FOLDER, SIMULATED, TOY, Facts, Source, check_enough, facts_of
from isoplan.trainers.amplitudes.surrogate.accuracy import check_points, need_skdim
from isoplan.trainers.amplitudes.surrogate.networks import NETWORKS, Activation, Architecture, Start
from isoplan.trainers.amplitudes.surrogate.shape import LLOCA_RATE, RATE, Parametrization, Size
from isoplan.trainers.cell import AUTOMATIC, NAME, PROCESS, ZERO, Cell, Device, Resources, Sizes

OUTPUTS = {"mse": 1, "heteroscedastic": 2, "relative": 1}
"""Number of network outputs per point for each objective.

If the number is 2, the outputs are the target and the log sigma of the target.
"""
SHORT, FEW_TESTS = 1_000, 1_000
"""Maximum numbers of training points and of test points of a calibration cell.

A calibration cell is a training run of about one second.
"""
SHORT_FLOPS, SHORT_ITERATIONS = 5e9, (50, 1_000)
"""Training FLOPs of a calibration cell (a short training run), and the (minimum, maximum) of its iteration count."""


class AmplitudeCell(Cell):
    """A training run of an amplitude surrogate on a given number of phase-space points.

    Several fields can be 0, which selects a default. The description of such a field states its default.
    """

    data: Annotated[
        str,
        Field(
            pattern=NAME,
            title="Data",
            description="simulated: Isoplan generates events of the process. toy: artificial amplitudes, for quick "
            "tests. Any other name: a file in amplitudes/ of the workspace.",
        ),
    ] = SIMULATED
    process: Annotated[
        Literal["Zg", "Zgg", "Zggg", "Zgggg", "ttH", "WZ", "WZg", "WZgg", "WWZ"],
        Field(title="Process", description="Process of simulated and toy events, at tree level."),
    ] = "Zg"
    sqrt_s: Annotated[
        float,
        Field(
            ge=0,
            le=1e5,
            json_schema_extra={ZERO: "varies"},
            title="sqrt(s)",
            description="Fixed sqrt(s) of simulated and toy events in GeV. Varies: sqrt(s) varies between "
            "events, so the dimension d of phase space is larger by one.",
        ),
    ] = 0.0
    points: Annotated[
        int,
        Field(
            ge=2,
            le=10**8,
            title="Training points D",
            description="Number of training points. A quarter of this number is added for validation.",
        ),
    ] = 10_000
    network: Annotated[
        Literal["mlp", "lloca"],
        Field(
            title="Network",
            description="mlp: an MLP on invariants. lloca: a LLoCa-Transformer on momenta (install isoplan[lloca]).",
        ),
    ] = "mlp"
    parameters: Annotated[
        float,
        Field(
            ge=0,
            le=1e9,
            json_schema_extra=AUTOMATIC,
            title="Parameters N",
            description="Number of parameters, from which the width is computed. Automatic: the field Width n sets the "
            "size.",
        ),
    ] = 0.0
    width: Annotated[
        int,
        Field(
            ge=1, le=16_384, title="Width n",
            description="Width of the hidden layers (used if N is 0). A LLoCa-Transformer needs a multiple of 16.",
        ),
    ] = 64  # fmt: skip
    layers: Annotated[
        int,
        Field(
            ge=0,
            le=64,
            json_schema_extra=AUTOMATIC,
            title="Layers",
            description="Number of hidden layers. Automatic: computed from N and from Width / layers.",
        ),
    ] = 3
    ratio: Annotated[
        float,
        Field(
            gt=0,
            le=1e4,
            title="Width / layers",
            description="Width divided by the number of layers, the same for every N (used if Layers is 0).",
        ),
    ] = 32.0
    iterations: Annotated[
        int, Field(ge=1, le=10**9, title="Iterations", description="Number of training steps (used if C is 0).")
    ] = 10_000
    budget: Annotated[
        float,
        Field(
            ge=0,
            le=1e24,
            json_schema_extra={ZERO: "none"},
            title="Compute C",
            description="Training FLOPs, from which the iterations are computed. None: the field Iterations is used.",
        ),
    ] = 0.0
    batch: Annotated[
        int, Field(ge=1, le=10**6, title="Batch", description="Number of training points in an iteration, at most D.")
    ] = 128
    objective: Annotated[
        Literal["mse", "heteroscedastic", "relative"],
        Field(title="Objective", description="Training loss. heteroscedastic also learns an uncertainty (eq. 15)."),
    ] = "mse"
    target: Annotated[
        Literal["log", "raw"],
        Field(
            title="Target", description="log: logarithm of the amplitude. raw: the amplitude. Both are standardised."
        ),
    ] = "log"
    parametrization: Annotated[
        Parametrization,
        Field(
            title="Parametrization",
            description="With muP the best learning rate of an MLP does not change with the width (eqs. 18 to 21). A "
            "LLoCa-Transformer needs standard.",
        ),
    ] = "mup"
    rate: Annotated[
        float,
        Field(
            ge=0, le=10, json_schema_extra=AUTOMATIC, title="Learning rate", validate_default=True,
            description=f"Initial learning rate of Adam. Automatic: {RATE:g} (MLP) or {LLOCA_RATE:g} "
            f"(LLoCa-Transformer).",
        ),
    ] = 0.0  # fmt: skip
    l2: Annotated[
        float,
        Field(ge=0, le=10, title="L2", description="L2 / 2 times the sum of squared parameters is added to the loss."),
    ] = 0.0
    activation: Annotated[
        Activation,
        Field(
            title="Activation",
            description="Activation of the hidden layers of an MLP. A LLoCa-Transformer always uses GELU.",
        ),
    ] = "silu"
    tests: Annotated[
        int,
        Field(
            ge=100, le=10**7, title="Test points", description="Number of points on which the best weights are tested."
        ),
    ] = 20_000
    dimension_points: Annotated[
        int,
        Field(
            ge=0, le=10**5, json_schema_extra={ZERO: "none"}, title="Dimension points",
            description="Number of points in each random subset from which the intrinsic dimension is estimated. "
            "None: the dimension is not estimated.",
        ),
    ] = 5_000  # fmt: skip
    device: Device = "auto"

    @field_validator("rate")
    @classmethod
    def _of_the_network(cls, rate: float, info: ValidationInfo) -> float:
        """Return ``rate``, or the default learning rate of the network if ``rate`` is 0.

        The stored cell then contains the actual learning rate.
        """
        return rate or NETWORKS[info.data.get("network", "mlp")].rate

    @property
    def source(self) -> Source:
        """Source of the events that the network is trained and tested on."""
        return Source(self.data, self.process, self.sqrt_s)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of training, validation and test events."""
        return self.points, self.validation, self.tests

    @property
    def points_a_batch(self) -> int:
        """Batch size: the field ``batch``, but at most the number of training points."""
        return min(self.batch, self.points)

    @property
    def validation(self) -> int:
        """Number of validation points: a quarter of the number of training points (amplitude paper, Sec. 3.2)."""
        return max(self.points // 4, 1)

    @property
    def outputs(self) -> int:
        """Number of network outputs per point: 2 if the network learns its uncertainty, otherwise 1."""
        return OUTPUTS[self.objective]

    @property
    def architecture(self) -> Architecture:
        """Network size that the fields ``parameters``, ``width``, ``layers`` and ``ratio`` of the cell request."""
        return Architecture(self.parameters, self.width, self.layers, self.ratio, self.outputs)

    @property
    def start(self) -> Start:
        """Settings of the initialisation of the model."""
        return Start(self.activation, self.parametrization, self.seed)

    def shape(self, facts: Facts) -> Size:
        """Return the size of the surrogate.

        Raises PlannerError if N (the number of parameters) is too small, or if the network cannot have the requested
        width.
        """
        return NETWORKS[self.network].size(self.architecture, facts)

    def updates(self, facts: Facts) -> int:
        """Return the number of training iterations.

        If ``budget`` (in FLOPs) is positive, the iterations together cost this budget. If ``budget`` is 0, the number
        is the field ``iterations``. Raises PlannerError if the budget is less than half of the FLOPs of one iteration.
        """
        if not self.budget:
            return self.iterations
        step = self.shape(facts).training_flops * self.points_a_batch
        if self.budget < step / 2:
            raise PlannerError(
                f"The budget of {self.budget:.3g} FLOPs is less than one iteration of {step:.3g} FLOPs: raise the "
                "budget, or make N or the batch smaller."
            )
        return max(round(self.budget / step), 1)


def sizes(root: Path, cell: AmplitudeCell) -> Sizes:
    """Return the exact N, D and C of a training run whose events are available.

    N is the number of parameters, D the number of training points (D_train in the paper), and C the training FLOPs. The
    field ``seen`` is the batch size times the number of iterations.
    """
    facts = facts_of(root, cell.source)
    shape = cell.shape(facts)
    seen = float(cell.points_a_batch * cell.updates(facts))
    return Sizes(float(shape.parameters), float(cell.points), C=shape.training_flops * seen, seen=seen)


def needs(root: Path, cell: AmplitudeCell) -> Resources:
    """Return the numbers of CPU cores and the amounts of memory and GPU memory that a training run needs."""
    took = memory(root, cell)
    return Resources(cell.threads, PROCESS + took, 0.0 if cell.device == "cpu" else PROCESS + took)


def memory(root: Path, cell: AmplitudeCell) -> float:
    """Return the memory in bytes that a training run adds to the memory of an idle process.

    The result is the sum of four terms:

    - vectors with one number per model parameter, for example weights and gradients,
    - events with their network inputs,
    - activations of one block of points,
    - points for the intrinsic dimension.

    A file is always read completely, even if the training run uses only a few events.
    """
    facts = facts_of(root, cell.source)
    shape = cell.shape(facts)
    used = sum(cell.counts) * (32.0 * facts.particles + 40.0 * shape.inputs)
    return (
        28.0 * shape.parameters
        + max(used, COPIES * bytes_of(facts.events, facts.particles))
        + shape.activations * max(cell.points_a_batch, NETWORKS[cell.network].at_once)
        + 24.0 * cell.dimension_points * shape.width
    )


def calibration_cell(root: Path, cell: AmplitudeCell) -> AmplitudeCell:
    """Return a short training run with the model of ``cell``. The run is used to measure the training speed.

    The short run has few points and few iterations. If ``cell`` uses simulated events, the short run uses toy events,
    because toy events need no simulation.
    """
    facts = facts_of(root, cell.source)
    shape = cell.shape(facts)
    least, most = SHORT_ITERATIONS
    enough = round(SHORT_FLOPS / (shape.training_flops * cell.points_a_batch))
    few = {
        "data": TOY if cell.source.made else cell.data, "parameters": 0.0, "width": shape.width, "budget": 0.0,
        "layers": shape.layers, "points": min(cell.points, SHORT), "tests": min(cell.tests, FEW_TESTS),
        "batch": cell.points_a_batch, "dimension_points": 0,
        "iterations": min(cell.updates(facts), max(least, min(enough, most))),
    }  # fmt: skip
    return cell.model_copy(update=few)


def check(root: Path, cell: AmplitudeCell) -> None:
    """Check that the fields of ``cell`` agree and that its events are available. Raises PlannerError otherwise."""
    if not cell.layers and not cell.parameters:
        raise PlannerError("Layers is 0, so it is computed from N, but N is 0: set Parameters N, or set Layers.")
    NETWORKS[cell.network].check(cell.parametrization)
    facts = facts_of(root, cell.source)
    _ = cell.updates(facts), cell.shape(facts)
    if not cell.source.made:
        _check_file(cell, facts)
    if cell.data == SIMULATED:
        _ = Request(cell.process, 1, 0, cell.sqrt_s or None)
        need_vegas()
    if cell.dimension_points:
        check_points(cell.dimension_points, cell.tests)
        need_skdim()


def _check_file(cell: AmplitudeCell, facts: Facts) -> None:
    """Check that an event file has enough events and that the network can learn from each of them.

    Raises PlannerError otherwise.
    """
    check_enough(cell.source, facts.events, cell.counts)
    if why := facts.unfit.get(cell.target) or NETWORKS[cell.network].unfit(facts):
        raise PlannerError(f"{FOLDER}/{cell.data}: {why}")
