"""Jets of a cell: the sets on disk, the selection of jets from them, and the inputs of the model.

Every jet is stored once, with all features and particles. A cell (training run) reads only the features and particles
that its model uses.
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
from isoplan.trainers.jets.jetset import JetSet, find_files, gather, prepare
from isoplan.trainers.jets.simulate import need_extra
from isoplan.trainers.jets.simulate.parts import CHUNK, Chunk, make_parts

WHOLE = CONFIGURATIONS["21x128"]
STREAMS = {"train": 20_260_001, "validation": 20_260_002, "test": 20_260_003}
"""Seeds of the three disjoint sets of simulated jets. The values are unusual, so users are unlikely to choose them."""
PREPARED = "prepared"
SIGNALS = 100
"""Number of QCD jets in the test set divided by the number of jets of one signal class."""


@dataclass(frozen=True, eq=False)
class Jets:
    """Selected jets of a set: jet i is jet ``order[i]`` of the set ``whole``.

    ``configuration`` defines which features and particles the model reads.
    """

    whole: JetSet
    order: Ints
    configuration: Configuration

    @cached_property
    def labels(self) -> Ints:
        """The index of the class of each jet, (jets,)."""
        return np.asarray(self.whole.labels[self.order])

    @cached_property
    def lengths(self) -> Ints:
        """The number of particles that the model reads, for each jet, (jets,)."""
        return np.minimum(self.whole.lengths[self.order], self.configuration.particles)

    @cached_property
    def fingerprint(self) -> int:
        """A checksum of the labels and lengths of the jets, in order."""
        return zlib.crc32(self.lengths.tobytes(), zlib.crc32(self.labels.astype(np.int64).tobytes()))

    def gather(self, chosen: Ints) -> tuple[Singles, Ints, Ints]:
        """Return the particles (P, F) of the ``chosen`` jets (B,), jet after jet, with lengths (B,) and labels (B,)."""
        particles, lengths, labels = gather(self.whole, self.order[chosen], self.configuration.particles)
        return (particles if self._columns is None else particles[:, self._columns]), lengths, labels

    @cached_property
    def _columns(self) -> Ints | None:
        """The columns of the stored features that the model reads, or None for all."""
        names = [feature.name for feature in ALL]
        found = np.array([names.index(feature.name) for feature in self.configuration.features])
        return None if len(found) == len(names) else found


@dataclass(frozen=True, eq=False)
class Data:
    """The jets of a cell for training, for validation and, if ``test`` is given, for the rejections."""

    train: Jets
    validation: Jets
    test: Jets | None = None


def open_jets(root: Path, cell: JetCell, stream: RunContext) -> Data:
    """Return the jets of a cell of the workspace ``root``.

    If the cell uses simulated jets, missing jets are simulated first.

    Raises CellError if a set has fewer jets than the cell needs, and PlannerError if files contain no jets.
    """
    asked = _asked(cell)
    found = {name: _open(root, cell, name, asked, stream) for name in asked}
    train = _first(found["train"], cell.jets, cell, "train")
    validation = _first(found["validation"], cell.validation, cell, "validation")
    if not cell.tests:
        return Data(train, validation)
    most = np.array([asked["test"][name] for name in NAMES])
    return Data(train, validation, _some(found["test"], most, cell))


def _asked(cell: JetCell) -> dict[str, dict[str, int]]:
    """Return the number of jets of each class that a cell needs, by the name of the set and of the class."""
    asked = {"train": _each(cell.jets), "validation": _each(cell.validation)}
    if cell.tests:
        few = max(cell.tests // SIGNALS, 1)
        asked["test"] = {name: cell.tests if name == "QCD" else few for name in NAMES}
    return asked


def missing(root: Path, cells: Iterable[JetCell]) -> int:
    """Return the number of distinct jets that must be simulated before all ``cells`` can train.

    ``root`` is the workspace. Jets that several cells share are counted once.
    """
    wanted = {
        (root / FOLDER / cell.data / name / chunk.name, chunk.jets)
        for cell in cells
        if cell.data == SIMULATED
        for name, counts in _asked(cell).items()
        for chunk in chunks(counts, STREAMS[name])
    }
    return sum(jets for path, jets in wanted if not path.exists())


def in_turn(labels: Ints) -> Ints:
    """Return indices (jets,) that sort the jets such that the classes alternate.

    The first n jets are then balanced for every n. Jets of the same class keep their relative order.
    """
    return np.lexsort((labels, ranks(labels)))


def ranks(labels: Ints) -> Ints:
    """Return, for each jet, the number of earlier jets of the same class, (jets,)."""
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels, minlength=len(KINDS))
    found = np.empty(len(labels), np.int64)
    found[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found


def toy(counts: Sequence[int], seed: int) -> JetSet:
    """Return random jets, ``counts`` of each class, for tests of the training without simulation.

    The jets have realistic numbers of particles. The means of the features differ slightly between the classes.
    """
    labels = np.repeat(np.arange(len(KINDS)), counts)
    rng = np.random.default_rng([seed, len(labels)])
    lengths = np.clip(rng.gamma(7.0, 40 / 7.0, len(labels)), 1, WHOLE.particles).astype(np.int64)
    means = np.random.default_rng(0).normal(0, 0.05, (len(KINDS), len(ALL)))
    features = rng.standard_normal((lengths.sum(), len(ALL)), np.float32) + means[np.repeat(labels, lengths)]
    return JetSet(features.astype(np.float32), np.concatenate([[0], np.cumsum(lengths)]), labels)


def _open(root: Path, cell: JetCell, name: str, asked: Mapping[str, Mapping[str, int]], stream: RunContext) -> JetSet:
    """Return the jets of the set ``name``.

    ``asked`` contains the number of jets that the cell needs, by set and class.
    """
    if cell.data == TOY:
        return toy(list(asked[name].values()), STREAMS[name])
    folder = root / FOLDER / cell.data / name
    if cell.data == SIMULATED:
        wanted = chunks(asked[name], STREAMS[name])
        every = {folder.with_name(one) / chunk.name: chunk.jets
                 for one, counts in asked.items() for chunk in chunks(counts, STREAMS[one])}  # fmt: skip
        _simulate(folder, wanted, every, stream)
        return _prepared(folder, [folder / chunk.name for chunk in wanted], stream)
    if not folder.is_dir():
        raise CellError(
            f"There is no folder {FOLDER}/{cell.data}/{name}: put JetClass files there, or set the number of "
            f"test jets to 0."
        )
    return _prepared(folder, find_files(folder), stream)


def chunks(counts: Mapping[str, int], seed: int) -> list[Chunk]:
    """Return the parts of a set that together contain at least ``counts`` jets of each class.

    For larger counts, the result begins with the same parts.
    """
    most = max(counts.values())
    rungs = list(itertools.takewhile(lambda rung: rung[1] < most, _ladder()))
    return [
        Chunk(kind, seed, index, jets)
        for index, before, jets in rungs
        for kind, wanted in counts.items()
        if before < wanted
    ]


def _ladder() -> Iterator[tuple[int, int, int]]:
    """Yield (index, number of jets in all earlier parts, number of jets in this part) for each part of a class.

    The first parts are small, so small training runs need few simulated jets.
    """
    before = 0
    for index in itertools.count():
        jets = min(50 * 2**index, CHUNK)
        yield index, before, jets
        before += jets


def _simulate(folder: Path, wanted: list[Chunk], every: Mapping[Path, int], stream: RunContext) -> None:
    """Simulate the missing parts of ``wanted``. Cells that need the same parts share the work.

    ``every`` contains the files of all parts that the cell needs, each with the number of jets in the part. The
    reported progress is the number of jets in the finished parts of ``every``.
    """
    if all((folder / chunk.name).exists() for chunk in wanted):
        return
    need_extra()
    folder.mkdir(parents=True, exist_ok=True)

    shown, whole = -1.0, float(sum(every.values()))

    def said(_: int) -> None:
        nonlocal shown
        done = sum(jets for path, jets in every.items() if path.exists())
        # The stored curve has a limited number of points. Report a point only if the number of jets has grown by more
        # than 5 % since the last point.
        if done > 1.05 * shown:
            shown = float(done)
            stream.step(0, None, simulated=shown, to_simulate=whole)
        else:
            stream.step(0)

    said(0)
    make_parts(folder, wanted, lambda: stream.stopping, said)


def _prepared(folder: Path, files: list[Path], stream: RunContext) -> JetSet:
    """Return the features of the jets in ``files``. The first cell computes and stores these features.

    Waits while another cell computes the features. Raises Stopped if the cell must end.
    """
    while True:
        with hold_lock(folder / ".lock", patience=0.5) as mine:
            if mine:
                return prepare(files, WHOLE, folder / PREPARED)
        if stream.stopping:
            raise Stopped


def _each(jets: int) -> dict[str, int]:
    """Return an equal number of jets for each class, with at least ``jets`` in total."""
    return dict.fromkeys(NAMES, -(-jets // len(NAMES)))


def _first(whole: JetSet, jets: int, cell: JetCell, name: str) -> Jets:
    if len(whole) < jets:
        raise CellError(
            f"{cell.data}/{name} contains {len(whole):,} jets, but the cell needs {jets:,}: set a smaller number."
        )
    return Jets(whole, in_turn(np.asarray(whole.labels))[:jets], cell.configuration)


def _some(whole: JetSet, most: Ints, cell: JetCell) -> Jets:
    labels = np.asarray(whole.labels)
    if (labels == 0).sum() < most[0]:
        there = int((labels == 0).sum())
        raise CellError(
            f"{cell.data}/test contains {there:,} jets of QCD, but the cell needs {most[0]:,}: set a smaller number."
        )
    return Jets(whole, np.flatnonzero(ranks(labels) < most[labels]), cell.configuration)
