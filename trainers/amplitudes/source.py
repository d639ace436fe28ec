"""Where the events of a cell come from, and what is known of them before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainers.amplitudes.events import Events
from trainers.amplitudes.processes.catalogue import find_process
from trainers.amplitudes.simulated import simulated
from trainers.cell import Stream

FOLDER, SIMULATED = "amplitudes", "simulated"


@dataclass(frozen=True)
class Facts:
    """External ``particles``, whether sqrt(s) is ``varying``, and how many ``events`` there are, 0 for any number."""

    particles: int
    varying: bool
    events: int = 0


@dataclass(frozen=True, eq=False)
class Data:
    """The events that a cell trains on, those that choose its best weights, and those that it is tested on."""

    train: Events
    validation: Events
    test: Events


def facts_of(root: Path, data: str, process: str, sqrt_s: float) -> Facts:
    """What is known of the events of a cell."""
    return Facts(len(find_process(process).particles), not sqrt_s)


def open_events(
    root: Path, data: str, process: str, sqrt_s: float, counts: tuple[int, int, int], stream: Stream
) -> Data:
    """So many events to train, validate and test on; simulated ones are made as far as they are missing."""
    folder = root / FOLDER / SIMULATED
    train, validation, test = (
        simulated(folder, process, sqrt_s, name, count, stream)
        for name, count in zip(("train", "validation", "test"), counts, strict=True)
    )
    return Data(train, validation, test)
