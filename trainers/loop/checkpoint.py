"""Checkpoints from which training goes on to the digit: what a family keeps, and the state of random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from isoplan.trainers.cell import CellError, RunContext


class Resumable(Protocol):
    """What goes on from a checkpoint of its own."""

    def load(self, place: Path) -> None:
        """Go on from a checkpoint. Raises CellError for one that cannot be read."""
        ...


T = TypeVar("T", bound=Resumable)


def save(place: Path, device: torch.device, **parts: Any) -> None:
    """Keep ``parts`` by name, with the random numbers to come on the CPU and on ``device``."""
    with place.open("wb") as file:  # by its name torch refuses a file that begins with a point
        torch.save({**parts, "rng": randomness(device)}, file)


def randomness(device: torch.device) -> dict[str, Tensor]:
    """The state of random numbers on the CPU and on ``device``."""
    rng = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        rng["cuda"] = torch.cuda.get_rng_state(device)
    return rng


def go_on(rng: Mapping[str, Tensor], device: torch.device) -> None:
    """Random numbers as they would have come after ``randomness``."""
    torch.set_rng_state(rng["cpu"].cpu())
    if device.type == "cuda" and "cuda" in rng:
        torch.cuda.set_rng_state(rng["cuda"].cpu(), device)


@contextmanager
def loading(place: Path, device: torch.device) -> Iterator[dict[str, Any]]:
    """The parts that ``save`` kept; what is done with them in the context is followed by the random numbers to come.

    Raises CellError where the file cannot be read, or where what it holds is of another cell.
    """
    try:
        found = torch.load(place, map_location=device, weights_only=True)
        yield found
        go_on(found["rng"], device)
    except Exception as error:
        raise CellError(f"The {place.name} cannot be read ({error}).") from error


def begin(make: Callable[[], T], stream: RunContext) -> T:
    """What ``make`` makes, or where it was at the checkpoint of the stream, if that can be read."""
    if stream.resume is not None:
        try:
            made = make()
            made.load(stream.resume)
            return made
        except CellError as error:
            print(f"{error} The cell begins again.")
    return make()
