"""Cells of the amplitudes family: their fields, and the sizes and resources that are computed before training."""

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
"""Number of network outputs per point for each objective: the target and, for heteroscedastic, log sigma (eq. 15)."""
SHORT, FEW_TESTS = 1_000, 1_000
"""Maximum numbers of training points and of test points of a calibration cell, which trains for about one second."""
SHORT_FLOPS, SHORT_ITERATIONS = 5e9, (50, 1_000)
"""Training FLOPs of a calibration cell, and the limits (minimum, maximum) of its number of iterations."""


class AmplitudeCell(Cell):
    """An amplitude surrogate that is trained on a given number of phase-space points.

    Several fields can be 0. The description of such a field states which value is then used.
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
            description="Fixed sqrt(s) of simulated and toy events in GeV. Varies: d is larger by one.",
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
            description="mlp: an MLP on invariants. lloca: a LLoCa-Transformer on momenta (needs the extra lloca).",
        ),
    ] = "mlp"
    parameters: Annotated[
        float,
        Field(
            ge=0,
            le=1e9,
            json_schema_extra=AUTOMATIC,
            title="Parameters N",
            description="Number of parameters, from which the width is computed. Automatic: from the field Width n.",
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
        int, Field(ge=1, le=10**9, title="Iterations", description="Training steps (used if the budget is 0).")
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
            description=f"Initial, of Adam. Automatic: {RATE:g} (MLP) or {LLOCA_RATE:g} (LLoCa-Transformer).",
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
            description="Points in each random subset for the intrinsic dimension. None: no estimate of the dimension.",
        ),
    ] = 5_000  # fmt: skip
    device: Device = "auto"

    @field_validator("rate")
    @classmethod
    def _of_the_network(cls, rate: float, info: ValidationInfo) -> float:
        """Return ``rate`` or, if it is 0, the default learning rate of the network of the cell.

        The stored cell then contains the learning rate that is used.
        """
        return rate or NETWORKS[info.data.get("network", "mlp")].rate

    @property
    def source(self) -> Source:
        """Source of the events."""
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
        """Number of validation points: a quarter of the training points (amplitudes, Sec. 3.2)."""
        return max(self.points // 4, 1)

    @property
    def outputs(self) -> int:
        """Number of network outputs per point: 2 with a learned uncertainty, otherwise 1."""
        return OUTPUTS[self.objective]

    @property
    def architecture(self) -> Architecture:
        """Size of the network, as requested in the fields of the cell."""
        return Architecture(self.parameters, self.width, self.layers, self.ratio, self.outputs)

    @property
    def start(self) -> Start:
        """Settings of the initialisation of the model."""
        return Start(self.activation, self.parametrization, self.seed)

    def shape(self, facts: Facts) -> Size:
        """Return the size of the surrogate.

        Raises PlannerError if N is too small for a surrogate or if no surrogate has the requested width.
        """
        return NETWORKS[self.network].size(self.architecture, facts)

    def updates(self, facts: Facts) -> int:
        """Return the number of training iterations.

        It is the number of iterations whose FLOPs equal ``budget``, or the field ``iterations`` if ``budget`` is 0.
        Raises PlannerError if the budget is less than half of the FLOPs of one iteration.
        """
        if not self.budget:
            return self.iterations
        step = self.shape(facts).training_flops * self.points_a_batch
        if self.budget < step / 2:
            raise PlannerError(
                f"The budget of {self.budget:.3g} FLOPs is less than one iteration of {step:.3g} FLOPs: raise it, or "
                "make N or the batch smaller."
            )
        return max(round(self.budget / step), 1)


def sizes(root: Path, cell: AmplitudeCell) -> Sizes:
    """Return the exact N, D and C of a cell whose events are available.

    N is the number of parameters, D the number of training points (D_train in the paper), and C the training FLOPs.
    ``seen`` is the batch size times the number of iterations.
    """
    facts = facts_of(root, cell.source)
    shape = cell.shape(facts)
    seen = float(cell.points_a_batch * cell.updates(facts))
    return Sizes(float(shape.parameters), float(cell.points), C=shape.training_flops * seen, seen=seen)


def needs(root: Path, cell: AmplitudeCell) -> Resources:
    """Return the CPU cores, the memory and the GPU memory that a cell needs."""
    took = memory(root, cell)
    return Resources(cell.threads, PROCESS + took, 0.0 if cell.device == "cpu" else PROCESS + took)


def memory(root: Path, cell: AmplitudeCell) -> float:
    """Return the memory in bytes that a cell needs in addition to the memory of the bare process.

    It is the sum of the vectors of length N (such as weights and gradients), the events with their network inputs, the
    activations of one block of points, and the points for the intrinsic dimension. A file is always read completely,
    even if the cell uses only a few of its events.
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
    """Return a short version of a cell, with which the speed of the cell is measured.

    It has the same model, but few points and few iterations. Toy events replace simulated events, because they need no
    simulation.
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
    """Check that the fields of a cell are consistent and that its events are available. Raises PlannerError if not."""
    if not cell.layers and not cell.parameters:
        raise PlannerError("Layers is 0 and must then be computed from N, but N is 0: set Parameters N, or set Layers.")
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
    """Check that an event file has enough events and that the network can learn from all of them.

    Raises PlannerError otherwise.
    """
    check_enough(cell.source, facts.events, cell.counts)
    if why := facts.unfit.get(cell.target) or NETWORKS[cell.network].unfit(facts):
        raise PlannerError(f"{FOLDER}/{cell.data}: {why}")
