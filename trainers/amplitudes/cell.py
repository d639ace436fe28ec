"""The cells of the amplitudes family: what one asks for, and what follows from it before anything is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.files.formats import COPIES, bytes_of
from isoplan.trainers.amplitudes.phase_space.sampler import need_vegas
from isoplan.trainers.amplitudes.simulate import Request
from isoplan.trainers.amplitudes.source import FOLDER, SIMULATED, TOY, Facts, Source, check_enough, facts_of
from isoplan.trainers.amplitudes.surrogate.dimension import check_points, need_skdim
from isoplan.trainers.amplitudes.surrogate.networks import NETWORKS, Activation, Architecture, Start
from isoplan.trainers.amplitudes.surrogate.shape import LLOCA_RATE, RATE, Parametrization, Size
from isoplan.trainers.cell import Cell, Resources, Sizes

OUTPUTS = {"mse": 1, "heteroscedastic": 2, "relative": 1}
"""What a surrogate says of a point: the target, with the heteroscedastic loss also log sigma (eq. 15)."""
SHORT, FEW_TESTS = 1_000, 1_000
"""Points and test points of a cell of about a second, at most."""
SHORT_FLOPS, SHORT_ITERATIONS = 5e9, (50, 1_000)
"""FLOPs of such a cell, as far as they come to so many iterations."""
PROCESS = 0.6e9
"""Bytes that a process takes with torch and nothing to train."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class AmplitudeCell(Cell):
    """A surrogate, trained on so many points of phase space; zeros are taken by rule."""

    data: Annotated[
        str,
        Field(
            pattern=NAME,
            title="Data",
            description="simulated makes events of the process; toy makes amplitudes up, to try things out; any other "
            "name is a file in amplitudes/ of the workspace.",
        ),
    ] = SIMULATED
    process: Annotated[
        Literal["Zg", "Zgg", "Zggg", "Zgggg", "ttH", "WZ", "WZg", "WZgg", "WWZ"],
        Field(title="Process", description="Of simulated events, at tree level."),
    ] = "Zg"
    sqrt_s: Annotated[
        float,
        Field(ge=0, le=1e5, title="sqrt(s)", description="Of simulated events in GeV; 0: it varies, d is one more."),
    ] = 0.0
    points: Annotated[
        int,
        Field(ge=2, le=10**8, title="Training points D", description="A quarter as many are validated on."),
    ] = 10_000
    network: Annotated[
        Literal["mlp", "lloca"],
        Field(
            title="Network",
            description="An MLP on invariants, or a LLoCa-Transformer on momenta, which needs the extra lloca.",
        ),
    ] = "mlp"
    parameters: Annotated[
        float,
        Field(ge=0, le=1e9, title="Parameters N", description="The width follows; 0 takes the width as it is."),
    ] = 0.0
    width: Annotated[
        int,
        Field(
            ge=1, le=16_384, title="Width n",
            description="Of the hidden layers, where N is 0; of a LLoCa-Transformer a multiple of 16.",
        ),
    ] = 64  # fmt: skip
    layers: Annotated[
        int,
        Field(ge=0, le=64, title="Layers", description="Hidden ones; 0, with N: as many as keep width / layers."),
    ] = 3
    ratio: Annotated[
        float, Field(gt=0, le=1e4, title="Width / layers", description="Where layers is 0; it stays as N grows.")
    ] = 32.0
    iterations: Annotated[
        int, Field(ge=1, le=10**9, title="Iterations", description="Updates, where there is no budget.")
    ] = 10_000
    budget: Annotated[
        float, Field(ge=0, le=1e24, title="Compute C", description="FLOPs of the training; 0 takes the iterations.")
    ] = 0.0
    batch: Annotated[
        int, Field(ge=1, le=10**6, title="Batch", description="Points of an update, at most all of them.")
    ] = 128
    objective: Annotated[
        Literal["mse", "heteroscedastic", "relative"],
        Field(title="Objective", description="That is trained on; heteroscedastic learns an uncertainty (eq. 15)."),
    ] = "mse"
    target: Annotated[
        Literal["log", "raw"],
        Field(title="Target", description="The logarithm of the amplitude, or the amplitude; standardised."),
    ] = "log"
    parametrization: Annotated[
        Parametrization,
        Field(
            title="Parametrization",
            description="muP keeps the best rate of an MLP as the width grows (eqs. 18 to 21); a LLoCa-Transformer is "
            "standard.",
        ),
    ] = "mup"
    rate: Annotated[
        float,
        Field(
            ge=0, le=10, title="Learning rate", validate_default=True,
            description=f"Of Adam, at the start; 0 takes {RATE:g}, of a LLoCa-Transformer {LLOCA_RATE:g}.",
        ),
    ] = 0.0  # fmt: skip
    l2: Annotated[
        float, Field(ge=0, le=10, title="L2", description="Half of it times the squared weights joins the loss.")
    ] = 0.0
    activation: Annotated[
        Activation,
        Field(title="Activation", description="Of an MLP's hidden layers; a LLoCa-Transformer has GELU."),
    ] = "silu"
    tests: Annotated[
        int, Field(ge=100, le=10**7, title="Test points", description="On which the best weights are judged.")
    ] = 20_000
    dimension_points: Annotated[
        int,
        Field(
            ge=0, le=10**5, title="Dimension points",
            description="Of each subset on which the intrinsic dimension is taken; 0 leaves it out.",
        ),
    ] = 5_000  # fmt: skip
    device: Annotated[
        Literal["auto", "cpu"], Field(title="Device", description="A GPU where there is one, or never.")
    ] = "auto"

    @field_validator("rate")
    @classmethod
    def _of_the_network(cls, rate: float, info: ValidationInfo) -> float:
        """As asked, else that of the network: the cell says with what it is trained."""
        return rate or NETWORKS[info.data.get("network", "mlp")].rate

    @property
    def source(self) -> Source:
        """Where the events come from."""
        return Source(self.data, self.process, self.sqrt_s)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Events to train, to validate and to test on."""
        return self.points, self.validation, self.tests

    @property
    def points_a_batch(self) -> int:
        """As asked, at most all points."""
        return min(self.batch, self.points)

    @property
    def validation(self) -> int:
        """A quarter of the training points (amplitudes, Sec. 3.2)."""
        return max(self.points // 4, 1)

    @property
    def outputs(self) -> int:
        """Numbers that the surrogate says of a point."""
        return OUTPUTS[self.objective]

    @property
    def architecture(self) -> Architecture:
        """The size that the cell asks for."""
        return Architecture(self.parameters, self.width, self.layers, self.ratio, self.outputs)

    @property
    def start(self) -> Start:
        """How the model of the cell begins."""
        return Start(self.activation, self.parametrization, self.seed)

    def shape(self, facts: Facts) -> Size:
        """The surrogate. Raises PlannerError where N is too small for one, or where there is none of the width."""
        return NETWORKS[self.network].size(self.architecture, facts)

    def updates(self, facts: Facts) -> int:
        """Iterations: those that spend the budget, or as many as asked. Raises PlannerError for less than one."""
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
    """N, D and C exactly, where the events are known. D counts the training points, as the paper's D_train does."""
    facts = facts_of(root, cell.source)
    shape = cell.shape(facts)
    seen = float(cell.points_a_batch * cell.updates(facts))
    return Sizes(float(shape.parameters), float(cell.points), C=shape.training_flops * seen, seen=seen)


def needs(root: Path, cell: AmplitudeCell) -> Resources:
    """Cores, and memory for the weights, the events, and the largest batch."""
    took = memory(root, cell)
    return Resources(cell.threads, PROCESS + took, 0.0 if cell.device == "cpu" else PROCESS + took)


def memory(root: Path, cell: AmplitudeCell) -> float:
    """Bytes beside the process: vectors of N, events with their inputs, activations of a block of points.

    A file is read whole, however few of its events are asked for.
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
    """The same model on a few points that need no simulation, for a few iterations."""
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
    """Raises PlannerError for fields that do not go together, and for events that there are not."""
    if not cell.layers and not cell.parameters:
        raise PlannerError("Layers 0 are taken by the parameters: give parameters N, or layers.")
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
    """Raises PlannerError for a file with too few events, or with some that the network cannot read or learn."""
    check_enough(cell.source, facts.events, cell.counts)
    if why := facts.unfit.get(cell.target) or NETWORKS[cell.network].unfit(facts):
        raise PlannerError(f"{FOLDER}/{cell.data}: {why}")
