"""The jets that a cell trains on: a set on disk, the ones of it that are asked for, and what the model sees of them.

Every jet lies there once, with all features; smaller inputs read less of the same set.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from isoplan.engine.arrays import Ints, Singles
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import CellError, RunContext, Stopped
from isoplan.trainers.jets.cell import FOLDER, SIMULATED, TOY, JetCell
from isoplan.trainers.jets.features import ALL, CONFIGURATIONS, KINDS, NAMES, Configuration
from isoplan.trainers.jets.jetset import JetSet, gather
from isoplan.trainers.jets.read import find_files, prepare
from isoplan.trainers.jets.simulate import need_extra
from isoplan.trainers.jets.simulate.parts import CHUNK, Chunk, make_parts

WHOLE = CONFIGURATIONS["21x128"]
STREAMS = {"train": 20_260_001, "validation": 20_260_002, "test": 20_260_003}
"""Sets of jets that share none, and their seeds, which nobody types by chance."""
PREPARED = "prepared"
SIGNALS = 100
"""Of the test jets each signal has so many times fewer than QCD."""


@dataclass(frozen=True, eq=False)
class Jets:
    """Jet i is jet ``order[i]`` of the set ``whole``, seen as ``configuration`` says."""

    whole: JetSet
    order: Ints
    configuration: Configuration

    @cached_property
    def labels(self) -> Ints:
        """Places of the classes, (jets,)."""
        return np.asarray(self.whole.labels[self.order])

    @cached_property
    def lengths(self) -> Ints:
        """Particles that are read of each jet, (jets,)."""
        return np.minimum(self.whole.lengths[self.order], self.configuration.particles)

    @cached_property
    def fingerprint(self) -> int:
        """A number that other jets do not share: of their labels and lengths in their order."""
        return zlib.crc32(self.lengths.tobytes(), zlib.crc32(self.labels.astype(np.int64).tobytes()))

    def gather(self, chosen: Ints) -> tuple[Singles, Ints, Ints]:
        """Particles (P, F) of the ``chosen`` jets (B,), one jet after the other, their lengths (B,) and labels (B,)."""
        particles, lengths, labels = gather(self.whole, self.order[chosen], self.configuration.particles)
        return (particles if self._columns is None else particles[:, self._columns]), lengths, labels

    @cached_property
    def _columns(self) -> Ints | None:
        """Places of the features that are read among all of them; None for all."""
        names = [feature.name for feature in ALL]
        found = np.array([names.index(feature.name) for feature in self.configuration.features])
        return None if len(found) == len(names) else found


@dataclass(frozen=True, eq=False)
class Data:
    """What a cell trains on, what its loss is taken on, and its rejections where those are jets of their own."""

    train: Jets
    validation: Jets
    test: Jets | None = None


def open_jets(root: Path, cell: JetCell, stream: RunContext) -> Data:
    """The jets of a cell of the workspace ``root``; those of the set ``simulated`` are made as far as they are missing.

    Raises CellError where there are fewer jets than asked for, and PlannerError for files that hold none.
    """
    asked = _asked(cell)
    found = {name: _open(root, cell, name, counts, stream) for name, counts in asked.items()}
    train = _first(found["train"], cell.jets, cell, "train")
    validation = _first(found["validation"], cell.validation, cell, "validation")
    if not cell.tests:
        return Data(train, validation)
    most = np.array([asked["test"][name] for name in NAMES])
    return Data(train, validation, _some(found["test"], most, cell))


def _asked(cell: JetCell) -> dict[str, dict[str, int]]:
    """Jets of each class that a cell needs, by the set."""
    asked = {"train": _each(cell.jets), "validation": _each(cell.validation)}
    if cell.tests:
        few = max(cell.tests // SIGNALS, 1)
        asked["test"] = {name: cell.tests if name == "QCD" else few for name in NAMES}
    return asked


def missing(root: Path, cells: Iterable[JetCell]) -> int:
    """Count the jets that ``cells`` of the workspace ``root`` have to simulate before they train, each once."""
    wanted = {
        (root / FOLDER / cell.data / name / chunk.name, chunk.jets)
        for cell in cells
        if cell.data == SIMULATED
        for name, counts in _asked(cell).items()
        for chunk in chunks(counts, STREAMS[name])
    }
    return sum(jets for path, jets in wanted if not path.exists())


def in_turn(labels: Ints) -> Ints:
    """Jets (jets,) so that the classes take turns, each in the order of the set: the first n hold all evenly."""
    return np.lexsort((labels, ranks(labels)))


def ranks(labels: Ints) -> Ints:
    """How many jets of its class come before each one, (jets,)."""
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels, minlength=len(KINDS))
    found = np.empty(len(labels), np.int64)
    found[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found


def toy(counts: Sequence[int], seed: int) -> JetSet:
    """Made-up jets, so many of each class: as many particles as real ones, and means that differ a little by class."""
    labels = np.repeat(np.arange(len(KINDS)), counts)
    rng = np.random.default_rng([seed, len(labels)])
    lengths = np.clip(rng.gamma(7.0, 40 / 7.0, len(labels)), 1, WHOLE.particles).astype(np.int64)
    means = np.random.default_rng(0).normal(0, 0.05, (len(KINDS), len(ALL)))
    features = rng.standard_normal((lengths.sum(), len(ALL)), np.float32) + means[np.repeat(labels, lengths)]
    return JetSet(features.astype(np.float32), np.concatenate([[0], np.cumsum(lengths)]), labels)


def _open(root: Path, cell: JetCell, name: str, counts: Mapping[str, int], stream: RunContext) -> JetSet:
    if cell.data == TOY:
        return toy(list(counts.values()), STREAMS[name])
    folder = root / FOLDER / cell.data / name
    if cell.data == SIMULATED:
        wanted = chunks(counts, STREAMS[name])
        _simulate(folder, wanted, stream)
        return _prepared(folder, [folder / chunk.name for chunk in wanted], stream)
    if not folder.is_dir():
        raise CellError(
            f"There is no folder {FOLDER}/{cell.data}/{name}: put JetClass files there, or ask for no tests."
        )
    return _prepared(folder, find_files(folder), stream)


def chunks(counts: Mapping[str, int], seed: int) -> list[Chunk]:
    """The parts with so many jets of each class at least; those of fewer jets are the first of those of more."""
    most = max(counts.values())
    rungs = list(itertools.takewhile(lambda rung: rung[1] < most, _ladder()))
    return [
        Chunk(kind, seed, index, jets)
        for index, before, jets in rungs
        for kind, wanted in counts.items()
        if before < wanted
    ]


def _ladder() -> Iterator[tuple[int, int, int]]:
    """Number, jets before it and jets of each part of a class: small ones first, so that a small cell waits little."""
    before = 0
    for index in itertools.count():
        jets = min(50 * 2**index, CHUNK)
        yield index, before, jets
        before += jets


def _simulate(folder: Path, wanted: list[Chunk], stream: RunContext) -> None:
    """Make the parts that are missing; other cells that need them help."""
    if all((folder / chunk.name).exists() for chunk in wanted):
        return
    need_extra()
    folder.mkdir(parents=True, exist_ok=True)

    shown, whole = -1.0, float(sum(chunk.jets for chunk in wanted))

    def said(_: int) -> None:
        nonlocal shown
        done = sum(chunk.jets for chunk in wanted if (folder / chunk.name).exists())
        if done > 1.05 * shown:  # few points, so that none of the curve has to make room for them
            shown = float(done)
            stream.step(0, None, simulated=shown, to_simulate=whole)
        else:
            stream.step(0)

    make_parts(folder, wanted, lambda: stream.stopping, said)


def _prepared(folder: Path, files: list[Path], stream: RunContext) -> JetSet:
    """The jets of these files as features, made once by whoever comes first. Raises Stopped where the cell must end."""
    while True:
        with hold_lock(folder / ".lock", patience=0.5) as mine:
            if mine:
                return prepare(files, WHOLE, folder / PREPARED)
        if stream.stopping:
            raise Stopped


def _each(jets: int) -> dict[str, int]:
    """So many of each class that they are ``jets`` at least."""
    return dict.fromkeys(NAMES, -(-jets // len(NAMES)))


def _first(whole: JetSet, jets: int, cell: JetCell, name: str) -> Jets:
    if len(whole) < jets:
        raise CellError(f"{cell.data}/{name} holds {len(whole):,} jets, and the cell asks for {jets:,}: ask for fewer.")
    return Jets(whole, in_turn(np.asarray(whole.labels))[:jets], cell.configuration)


def _some(whole: JetSet, most: Ints, cell: JetCell) -> Jets:
    labels = np.asarray(whole.labels)
    if (labels == 0).sum() < most[0]:
        there = int((labels == 0).sum())
        raise CellError(
            f"{cell.data}/test holds {there:,} jets of QCD, and the cell asks for {most[0]:,}: ask for fewer."
        )
    return Jets(whole, np.flatnonzero(ranks(labels) < most[labels]), cell.configuration)
