"""Memory of training in bytes: the model state, and the logits of the candidates in stage 2 of a recommender.

Activations of the network are not included. They depend on the code, and recomputing them saves memory but costs time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError

ADAM_BYTES = 16.0
"""Bytes per parameter for training with Adam in mixed precision: 2 + 2 for weights and gradients, and 4 + 4 + 4 for the
fp32 copy of the weights and both moments (Rajbhandari et al. 2020, arXiv:1910.02054, sec. 3.1). Training in fp32 also
needs 16: 4 x 4.
"""
BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
"""Bytes of one stored number, by precision; tf32 is stored in 32 bits."""
RUNNING = 8
"""Bytes per position for the running maximum and the running sum (fp32) of a softmax that is computed in chunks."""


def training_memory(N: ArrayLike, devices: int = 1, bytes_per_parameter: float = ADAM_BYTES) -> Floats:
    """Return the bytes per device for parameters, gradients and optimizer state of a model with N parameters.

    The state is fully sharded over ``devices`` (ZeRO stage 3, FSDP). N may be an array. Raises PlannerError if
    ``devices`` or ``bytes_per_parameter`` is below one.
    """
    _at_least_one(devices, "number of devices")
    _at_least_one(bytes_per_parameter, "bytes per parameter")
    return np.asarray(N, float) * bytes_per_parameter / devices


def largest_model(memory: ArrayLike, devices: int = 1, bytes_per_parameter: float = ADAM_BYTES) -> Floats:
    """Return the N at which training fills ``memory`` bytes on each device; inverse of ``training_memory``."""
    return np.asarray(memory, float) / training_memory(1.0, devices, bytes_per_parameter)


@dataclass(frozen=True)
class Candidates:
    """Memory on one device that scores its positions against the in-batch candidates and K extra negatives.

    The device has ``batch`` sequences of ``length`` events. All devices together have ``global_batch`` sequences, and
    each event of these sequences is a candidate. ``global_batch`` is None if there is only one device. ``width`` is h,
    the width of the cached embeddings. If ``chunk`` is given, the device scores ``chunk`` candidates at a time, and
    scores them again to compute the gradient, so it never stores all logits. Raises PlannerError that names the invalid
    field.
    """

    batch: int
    length: int
    width: int
    precision: str = "bf16"
    global_batch: int | None = None
    chunk: int | None = None

    def __post_init__(self) -> None:
        for name, what in (("batch", "batch"), ("length", "sequence length"), ("width", "embedding width")):
            _at_least_one(getattr(self, name), what)
        if self.precision not in BYTES:
            raise PlannerError(f"Precision {self.precision!r} of the logits is unknown: use {', '.join(BYTES)}.")
        if self.global_batch is not None and not self.global_batch >= self.batch:
            raise PlannerError(
                f"The global batch {self.global_batch:g} is smaller than the batch {self.batch:g} of one device: "
                "give the sequences of all devices."
            )
        if self.chunk is not None:
            _at_least_one(self.chunk, "chunk of candidates")

    @property
    def positions(self) -> int:
        """Number of events that the device scores."""
        return self.batch * self.length

    @property
    def in_batch(self) -> int:
        """Maximum number of in-batch candidates: ``B * L`` (behavioural, Sec. 2)."""
        return (self.global_batch or self.batch) * self.length

    @property
    def logits(self) -> int:
        """Bytes for the logits of one candidate at all positions, and for the gradients of these logits."""
        return 2 * self.positions * BYTES[self.precision]

    @property
    def row(self) -> int:
        """Bytes that one candidate needs: its logits, their gradients and its cached embedding."""
        return self.logits + self.width * BYTES[self.precision]

    def memory(self, K: ArrayLike) -> Floats:
        """Return the bytes for ``K`` extra negatives: ``2 * batch * length * candidates * bytes``, plus the embeddings.

        With ``chunk``, only the logits of one chunk are counted. K may be an array.
        """
        candidates = np.asarray(K, float) + self.in_batch
        kept = candidates if self.chunk is None else np.minimum(candidates, self.chunk)
        return kept * self.logits + candidates * (self.row - self.logits) + self._running

    def largest(self, room: float) -> int:
        """Return the largest number of extra negatives K that fits in ``room`` bytes of memory.

        Raises PlannerError if ``room`` is too small for one candidate or for the in-batch candidates.
        """
        if math.isinf(room):
            raise PlannerError("The memory is unlimited: give the memory of one device.")
        free = room - self._running
        if not free >= self.row:
            row = f"{_bytes(self.row + self._running)} for {self.positions:,} positions"
            raise PlannerError(
                f"A memory of {_bytes(room)} is smaller than one candidate row ({row}): give more memory, or a "
                "smaller batch on each device."
            )
        candidates = free / self.row
        if self.chunk is not None and candidates > self.chunk:
            candidates = (free - self.chunk * self.logits) / (self.row - self.logits)
        K = math.floor(candidates) - self.in_batch
        if K < 0:
            raise PlannerError(
                f"A memory of {_bytes(room)} has no room for the {self.in_batch:,} in-batch candidates, which need "
                f"{_bytes(float(self.memory(0)))}: give more memory, a smaller batch or chunks of candidates."
            )
        return K

    @property
    def _running(self) -> int:
        return 0 if self.chunk is None else RUNNING * self.positions


def _at_least_one(value: float, what: str) -> None:
    if not (math.isfinite(value) and value >= 1):
        raise PlannerError(f"The {what} is {value:g}: give at least 1.")


def _bytes(x: float) -> str:
    """Return a number of bytes as text, such as "16.4 kB" or "141 GB"."""
    for scale, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if x >= scale:
            return f"{x / scale:.3g} {unit}"
    return f"{x:.3g} B"
