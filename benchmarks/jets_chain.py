"""Speed of the whole jet simulation, from Pythia to features read from a ROOT file, compared with Pythia alone."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import awkward as ak
import numpy as np

from benchmarks.report import Report
from isoplan.trainers.jets.features import CONFIGURATIONS, NAMES
from isoplan.trainers.jets.jetset import read_jets
from isoplan.trainers.jets.simulate.chain import jets_of
from isoplan.trainers.jets.simulate.detector import Noise
from isoplan.trainers.jets.simulate.generate import Generator
from isoplan.trainers.jets.simulate.parts import write_jets
from isoplan.trainers.jets.simulate.processes import PROCESSES

BATCH, BATCHES = 128, 5


def run() -> Report:
    """Measure batches with the same seed alternately: with Pythia alone, and with the whole simulation."""
    return Report(
        "The chain of simulated jets",
        f"{BATCH * BATCHES} events of each class in batches of {BATCH}. Times are processor times of one core. Bare: "
        "Pythia's nextBatch alone, with the same settings and seed. Chain: generation, detector, clustering, matching, "
        "substructure and branches, then writing a ROOT file and reading the 21 features of 128 particles from it. "
        "Both are measured alternately. Goal: at least 0.75 of the events/s of bare nextBatch.",
        ("class", "bare events/s", "chain events/s", "ratio", "jets per event", "jets/s"),
        tuple(_row(kind) for kind in NAMES),
    )


def _row(kind: str) -> tuple[str, ...]:
    process = PROCESSES[kind]
    alone, first = Generator(process, 1), Generator(process, 1)
    noise = Noise.of(np.random.SeedSequence(1))
    bare, chain, found = 0.0, 0.0, []
    for _ in range(BATCHES):
        began = time.process_time()
        alone.batch(BATCH)
        then = time.process_time()
        found.append(jets_of(first, first.batch(BATCH), process, kind, noise))
        bare, chain = bare + then - began, chain + time.process_time() - then
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        write_jets(Path(folder) / "jets.root", found)
        jets = sum(len(piece.labels) for piece in read_jets([Path(folder) / "jets.root"], CONFIGURATIONS["21x128"]))
        chain += time.process_time() - began
    assert jets == len(ak.concatenate(found))
    events = BATCH * BATCHES
    rates = events / bare, events / chain
    return (
        kind,
        f"{rates[0]:.0f}",
        f"{rates[1]:.0f}",
        f"{bare / chain:.2f}",
        f"{jets / events:.2f}",
        f"{jets / chain:.0f}",
    )
