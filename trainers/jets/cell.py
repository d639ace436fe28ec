"""Cells of the jets family: their fields, and the values that follow from them before training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from isoplan.engine.errors import PlannerError
from isoplan.trainers.cell import NAME, PROCESS, Cell, Device, Resources, Sizes
from isoplan.trainers.jets.features import CONFIGURATIONS, KINDS, Configuration
from isoplan.trainers.jets.shape import Shape, learning_rate, parameters, training_flops

SIMULATED, TOY, FOLDER = "simulated", "toy", "jets"
BATCH, LEAST_UPDATES = 128, 250
ONCE, AGAIN = 8.0, 1.5
"""Divisors of the square root of the number of jets that give the batch, for one pass and for several passes.

In one pass, more jets allow more steps and larger batches. With repeated jets there are many steps, and larger batches,
which are less noisy, reach a smaller loss.
"""
SHORT = 2_560
"""Number of jets of a cell of about one second."""
TYPICAL = {10: (10,), 40: (23, 35, 40, 40), 128: (23, 35, 46, 64)}
"""Typical numbers of particles by the maximum that is read, one per quarter of simulated jets.

They are used for jets whose lengths are unknown.
"""
BYTES_A_TOKEN = 34 * 4
"""Bytes per token, layer and width during training."""


class JetCell(Cell):
    """A set Transformer of one size, trained on ``jets`` jets. Defaults are those of the jet paper (Sec. 2)."""

    data: Annotated[
        str,
        Field(
            pattern=NAME,
            title="Data",
            description="simulated makes what is missing with Pythia; toy makes up numbers to try things out; any "
            "other name is a folder in jets/ of the workspace, with JetClass files in train, validation and test.",
        ),
    ] = SIMULATED
    inputs: Annotated[
        Literal["3x40", "21x10", "21x40", "21x128"],
        Field(title="Inputs", description="Features x hardest particles that the model reads of a jet."),
    ] = "21x128"
    width: Annotated[int, Field(ge=1, le=4096, title="Width d", description="Of the embedding; N grows as 48 d².")] = 16
    jets: Annotated[int, Field(ge=10, le=10**8, title="Jets U", description="Different jets to train on.")] = 10_000
    epochs: Annotated[
        int,
        Field(ge=1, le=10_000, title="Epochs", description="Passes at most; above 1 the best of them is kept."),
    ] = 1
    patience: Annotated[
        float,
        Field(gt=0, le=10, title="Patience", description="Passes without a better loss, as a share of those before."),
    ] = 0.5
    batch: Annotated[
        int,
        Field(
            ge=0,
            le=65_536,
            title="Batch",
            description="Jets of an update; 0: √U / 8 (√U / 1.5 for several passes) up to 128.",
        ),
    ] = 0
    rate: Annotated[
        float,
        Field(ge=0, le=1, title="Learning rate", description="Of AdamW, 0.0001 in the paper; 0 takes one by width."),
    ] = 0.0
    schedule: Annotated[
        Literal["constant", "cosine"],
        Field(title="Schedule", description="Of the rate: as in the paper, or warmed up and then to zero by a cosine."),
    ] = "constant"
    weight_decay: Annotated[float, Field(ge=0, le=1, title="Weight decay", description="Of AdamW.")] = 0.01
    dropout: Annotated[float, Field(ge=0, lt=1, title="Dropout", description="Share of numbers left out.")] = 0.01
    layers: Annotated[int, Field(ge=1, le=64, title="Layers", description="Of the Transformer.")] = 4
    heads: Annotated[int, Field(ge=0, le=64, title="Heads", description="Of attention; 0 is max(1, d // 64).")] = 0
    hidden: Annotated[int, Field(ge=0, le=65_536, title="Hidden", description="Of the feed-forward; 0 is 4 d.")] = 0
    validation: Annotated[
        int, Field(ge=100, le=5_000_000, title="Validation jets", description="On which the loss is taken.")
    ] = 20_000
    tests: Annotated[
        int,
        Field(
            ge=0, le=20_000_000, title="Test jets of QCD",
            description="For rejections, with a hundredth as many of each signal; 0 takes the validation jets.",
        ),
    ] = 0  # fmt: skip
    device: Device = "auto"
    compile: Annotated[bool, Field(title="Compile", description="The model, on a GPU.")] = False

    @property
    def configuration(self) -> Configuration:
        """The features and particles of a jet that are read."""
        return CONFIGURATIONS[self.inputs]

    @property
    def shape(self) -> Shape:
        """The shape of the Transformer. Raises PlannerError if it is invalid."""
        features = len(self.configuration.features)
        return Shape(features, self.width, self.layers, self.heads, self.hidden, len(KINDS), self.dropout)

    @property
    def jets_a_batch(self) -> int:
        """The batch: proportional to the root of the jets, at most 128 as in the paper, and small enough for 250
        steps.
        """
        enough, root = self.jets * self.epochs // LEAST_UPDATES, self.jets**0.5
        return self.batch or max(min(BATCH, round(root / (ONCE if self.epochs == 1 else AGAIN)), enough), 1)

    @property
    def updates_a_pass(self) -> int:
        """The number of steps of one pass. The last one may have fewer jets."""
        return -(-self.jets // self.jets_a_batch)

    @property
    def peak_rate(self) -> float:
        """The learning rate of the cell, or the default for its width if it is 0."""
        return self.rate or learning_rate(self.width)


def sizes(cell: JetCell) -> Sizes:
    """Return N (exact), U, D of one pass, and C for typical jets. A finished cell reports exact values."""
    flops = float(training_flops(cell.shape, TYPICAL[cell.configuration.particles]).mean())
    seen = cell.jets * cell.epochs
    return Sizes(
        float(parameters(cell.shape)), float(seen) if cell.epochs == 1 else None, float(cell.jets), flops * seen
    )


def needs(cell: JetCell) -> Resources:
    """Return the cores, and the memory for the weights, their moments, and the largest batch."""
    took = memory(cell)
    return Resources(cell.threads, PROCESS + took, 0.0 if cell.device == "cpu" else PROCESS + took)


def memory(cell: JetCell) -> float:
    """Return the bytes of training in addition to the process: four copies of N and the activations of a batch."""
    shape, tokens = cell.shape, cell.configuration.particles + 1
    rows = cell.jets_a_batch * tokens
    attention = 3 * 4 * rows * tokens * shape.heads
    return 16.0 * parameters(shape) + shape.layers * (BYTES_A_TOKEN * rows * shape.width + attention)


def calibration_cell(cell: JetCell) -> JetCell:
    """Return a short cell: the same model on a few jets without simulation."""
    few = {"jets": SHORT, "epochs": 1, "batch": min(cell.jets_a_batch, BATCH), "validation": 100, "tests": 0}
    return cell.model_copy(update={**few, "data": TOY, "rate": cell.peak_rate})


def check(root: Path, cell: JetCell) -> None:
    """Check the fields of a cell. Raises PlannerError if they are incompatible or the jets do not exist."""
    _ = cell.shape
    if cell.schedule == "cosine" and cell.epochs > 1:
        raise PlannerError("A cosine needs a known end: with more than one epoch use schedule constant.")
    if cell.data not in (SIMULATED, TOY) and not (root / FOLDER / cell.data / "train").is_dir():
        raise PlannerError(
            f"There are no jets {cell.data!r}: put JetClass files into {FOLDER}/{cell.data}/train and "
            f"{FOLDER}/{cell.data}/validation of the workspace, or use {SIMULATED}."
        )
