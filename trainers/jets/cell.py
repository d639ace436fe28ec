"""Cells of the jets family: their fields, and the parameters, FLOPs and memory of their set Transformer.

A cell is one training run. A multiply-add counts as two FLOPs. Only the FLOPs of matrix products are counted, as in
``torch.utils.flop_counter.FlopCounterMode``: the forward pass, the gradient of the weights, and the gradient of the
inputs. The inputs of the first product are data and need no gradient. This module does not import torch.

The default learning rate is inversely proportional to the embedding width. This was measured with the grid
data/grids/jets_rates.toml (docs/jets_laws.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.cell import AUTOMATIC, NAME, PROCESS, ZERO, Cell, Device, Resources, Sizes
from isoplan.trainers.jets.features import CONFIGURATIONS, KINDS, Configuration

HEAD_WIDTH = 64


@dataclass(frozen=True)
class Shape:
    """The set Transformer of the jet paper (jets, Sec. 2), with ``features`` per particle and embedding ``width`` d.

    If the number of ``heads`` is 0, max(1, d // 64) is used as in the paper. ``hidden`` is the width of the
    feed-forward layers; if it is 0, 4 d is used. Raises PlannerError for invalid numbers.
    """

    features: int
    width: int
    layers: int = 4
    heads: int = 0
    hidden: int = 0
    classes: int = 10
    dropout: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", self.heads or max(1, self.width // HEAD_WIDTH))
        object.__setattr__(self, "hidden", self.hidden or 4 * self.width)
        for name in ("features", "width", "layers", "heads", "hidden", "classes"):
            if getattr(self, name) < 1:
                raise PlannerError(f"{name} is {getattr(self, name)}: the Transformer needs at least 1.")
        if self.width % self.heads:
            raise PlannerError(
                f"Width {self.width} cannot be split over {self.heads} heads: use a multiple of the number of heads."
            )
        if not 0 <= self.dropout < 1:
            raise PlannerError(f"Dropout is {self.dropout:g}: use at least 0 and less than 1.")


VERSION = 1
"""Version of the model and its training. Increase it if a change of the code changes results.

The name of a cell (training run) contains the version.
"""
AT_ONE = 0.064
"""Product of the default learning rate and the embedding width d. The rate is 0.064 / d, but at most ``LARGEST``."""
LARGEST = 0.02


def learning_rate(width: int) -> float:
    """Return the default learning rate of AdamW for the embedding ``width``, for batches of the default size."""
    return min(AT_ONE / width, LARGEST)


FORWARD_AND_BACKWARD = 2 * 3
ON_DATA = 2 * 2


def parameters(shape: Shape) -> int:
    """Return the number N of trainable parameters.

    With 21 features, 4 layers and 10 classes, N is 48 d^2 + 87 d + 10 (jets, Sec. 2).
    """
    d, h = shape.width, shape.hidden
    attention = 4 * d * d + 4 * d
    feed_forward = 2 * d * h + d + h
    layer = attention + feed_forward + 2 * 2 * d
    ends = (shape.features + 1) * d + d + 2 * d + (d + 1) * shape.classes
    return shape.layers * layer + ends


def training_flops(shape: Shape, lengths: ArrayLike) -> Floats:
    """Return the training compute C in FLOPs of one pass over each jet, (jets,).

    ``lengths`` (jets,) contains the number of particles of each jet. All laws and plans use this C. It is the compute
    of the model in the paper: each token, including [CLS], passes through every layer and attends to every token of its
    jet. Padding is not counted. The implementation needs less compute, because it computes only the [CLS] output of the
    last layer.
    """
    d, n = shape.width, np.asarray(lengths, np.float64)
    tokens = n + 1
    layer = tokens * (4 * d * d + 2 * d * shape.hidden) + 2 * d * tokens**2
    products = shape.layers * layer + d * shape.classes
    return FORWARD_AND_BACKWARD * products + ON_DATA * n * shape.features * d


SIMULATED, TOY, FOLDER = "simulated", "toy", "jets"
BATCH, LEAST_UPDATES = 128, 250
ONCE, AGAIN = 8.0, 1.5
"""Constants of the default batch size: sqrt(jets) / ``ONCE`` for one pass, sqrt(jets) / ``AGAIN`` for several passes.

With several passes there are many training steps, so batches can be larger. Gradients of larger batches have less noise
and lead to a smaller loss.
"""
SHORT = 2_560
"""Number of jets in the short training run that measures the training speed. The run takes about one second."""
TYPICAL = {10: (10,), 40: (23, 35, 40, 40), 128: (23, 35, 46, 64)}
"""Typical numbers of particles per jet, by the maximum number of particles that the model reads.

These numbers replace the true numbers in estimates before training. Where there are four numbers, each represents a
quarter of the simulated jets. If the model reads at most 10 particles, all jets have 10.
"""
BYTES_A_TOKEN = 34 * 4
"""Memory of training in bytes: per token, per layer and per unit of the embedding width."""


class JetCell(Cell):
    """One training run of a set Transformer on ``jets`` jets. Defaults are those of the jet paper (Sec. 2)."""

    data: Annotated[
        str,
        Field(
            pattern=NAME,
            title="Data",
            description="Name of the jets. simulated: Pythia generates jets that are not yet in the workspace. toy: "
            "random numbers for tests. Any other name: a folder in jets/ of the workspace with JetClass files in its "
            "subfolders train, validation and test.",
        ),
    ] = SIMULATED
    inputs: Annotated[
        Literal["3x40", "21x10", "21x40", "21x128"],
        Field(
            title="Inputs",
            description="Numbers that the model reads for each jet: features per particle x particles. "
            "The particles are those with the largest pT.",
        ),
    ] = "21x128"
    width: Annotated[
        int, Field(ge=1, le=4096, title="Width d", description="Width of the embedding; N grows as 48 d².")
    ] = 16
    jets: Annotated[
        int, Field(ge=10, le=10**8, title="Jets U", description="Number of different jets to train on.")
    ] = 10_000
    epochs: Annotated[
        int,
        Field(
            ge=1,
            le=10_000,
            title="Epochs",
            description="Maximum number of passes over the jets. If it is above 1, the best pass is kept.",
        ),
    ] = 1
    patience: Annotated[
        float,
        Field(
            gt=0,
            le=10,
            title="Patience",
            description="Number of passes without a better loss after which training ends, divided by the number of "
            "passes up to the best pass.",
        ),
    ] = 0.5
    batch: Annotated[
        int,
        Field(
            ge=0,
            le=65_536,
            json_schema_extra=AUTOMATIC,
            title="Batch",
            description="Number of jets per training step. Automatic: √U / 8 for one pass and √U / 1.5 for "
            "several passes, but at most 128.",
        ),
    ] = 0
    rate: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            json_schema_extra=AUTOMATIC,
            title="Learning rate",
            description="Peak learning rate of AdamW; the paper has 0.0001. Automatic: 0.064 / d, at most 0.02.",
        ),
    ] = 0.0
    schedule: Annotated[
        Literal["constant", "cosine"],
        Field(
            title="Schedule",
            description="Schedule of the learning rate: constant as in the paper, or warm-up and cosine to 0.",
        ),
    ] = "constant"
    weight_decay: Annotated[float, Field(ge=0, le=1, title="Weight decay", description="Weight decay of AdamW.")] = 0.01
    dropout: Annotated[float, Field(ge=0, lt=1, title="Dropout", description="Dropout rate in the Transformer.")] = 0.01
    layers: Annotated[int, Field(ge=1, le=64, title="Layers", description="Number of layers of the Transformer.")] = 4
    heads: Annotated[
        int,
        Field(
            ge=0,
            le=64,
            json_schema_extra=AUTOMATIC,
            title="Heads",
            description="Number of attention heads. Automatic: max(1, d // 64).",
        ),
    ] = 0
    hidden: Annotated[
        int,
        Field(
            ge=0,
            le=65_536,
            json_schema_extra=AUTOMATIC,
            title="Hidden",
            description="Width of the feed-forward layers. Automatic: 4 d.",
        ),
    ] = 0
    validation: Annotated[
        int,
        Field(
            ge=100, le=5_000_000, title="Validation jets", description="Number of jets on which the loss is measured."
        ),
    ] = 20_000
    tests: Annotated[
        int,
        Field(
            ge=0, le=20_000_000, json_schema_extra={ZERO: "none"}, title="Test jets of QCD",
            description="Number of QCD test jets for the rejections. Each signal class has 1 % of this number. None: "
            "the validation jets are used.",
        ),
    ] = 0  # fmt: skip
    device: Device = "auto"
    compile: Annotated[bool, Field(title="Compile", description="Compile the model on a GPU.")] = False

    @property
    def configuration(self) -> Configuration:
        """The features of a particle that the model reads, and the maximum number of particles per jet."""
        return CONFIGURATIONS[self.inputs]

    @property
    def shape(self) -> Shape:
        """The shape of the Transformer. Raises PlannerError if it is invalid."""
        features = len(self.configuration.features)
        return Shape(features, self.width, self.layers, self.heads, self.hidden, len(KINDS), self.dropout)

    @property
    def jets_a_batch(self) -> int:
        """The number of jets of a batch: the field ``batch``, or a default if the field is 0.

        The default is proportional to the square root of the number of jets, but at most 128 (the batch size of the
        paper). The default is smaller if there would otherwise be fewer than 250 training steps.
        """
        enough, root = self.jets * self.epochs // LEAST_UPDATES, self.jets**0.5
        return self.batch or max(min(BATCH, round(root / (ONCE if self.epochs == 1 else AGAIN)), enough), 1)

    @property
    def updates_a_pass(self) -> int:
        """The number of training steps of one pass. The last batch of a pass can have fewer jets."""
        return -(-self.jets // self.jets_a_batch)

    @property
    def peak_rate(self) -> float:
        """The learning rate at the peak of the schedule: the field ``rate``, or a default by width if it is 0."""
        return self.rate or learning_rate(self.width)


def sizes(cell: JetCell) -> Sizes:
    """Return the sizes of a cell before training: N, U, D and C.

    N is the number of parameters, U the number of unique jets, D the number of jets times the number of passes, and C
    the compute in FLOPs. N and U are exact. C is computed for typical numbers of particles. If there can be several
    passes, the best pass is unknown, so D is None and C is the compute of all epochs. The result of a finished cell
    contains the exact values.
    """
    flops = float(training_flops(cell.shape, TYPICAL[cell.configuration.particles]).mean())
    seen = cell.jets * cell.epochs
    return Sizes(
        float(parameters(cell.shape)), float(seen) if cell.epochs == 1 else None, float(cell.jets), flops * seen
    )


def needs(cell: JetCell) -> Resources:
    """Return the cores and the memory that a cell needs. The memory includes that of an idle process."""
    took = memory(cell)
    return Resources(cell.threads, PROCESS + took, 0.0 if cell.device == "cpu" else PROCESS + took)


def memory(cell: JetCell) -> float:
    """Return the memory in bytes that training needs in addition to the import of torch.

    Training stores four copies of the weights in single precision, and the activations of one batch.
    """
    shape, tokens = cell.shape, cell.configuration.particles + 1
    rows = cell.jets_a_batch * tokens
    attention = 3 * 4 * rows * tokens * shape.heads
    return 16.0 * parameters(shape) + shape.layers * (BYTES_A_TOKEN * rows * shape.width + attention)


def calibration_cell(cell: JetCell) -> JetCell:
    """Return a short cell that measures the training speed: the model of ``cell``, trained on a few random jets."""
    few = {"jets": SHORT, "epochs": 1, "batch": min(cell.jets_a_batch, BATCH), "validation": 100, "tests": 0}
    return cell.model_copy(update={**few, "data": TOY, "rate": cell.peak_rate})


def check(root: Path, cell: JetCell) -> None:
    """Check that the fields of a cell are compatible and that its jets exist. Raises PlannerError if not."""
    _ = cell.shape
    if cell.schedule == "cosine" and cell.epochs > 1:
        raise PlannerError(
            "The schedule cosine needs a known number of steps: use constant if there is more than one epoch."
        )
    if cell.data not in (SIMULATED, TOY) and not (root / FOLDER / cell.data / "train").is_dir():
        raise PlannerError(
            f"There are no jets {cell.data!r}: put JetClass files into {FOLDER}/{cell.data}/train and "
            f"{FOLDER}/{cell.data}/validation of the workspace, or set data to {SIMULATED}."
        )
