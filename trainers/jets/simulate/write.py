"""ROOT files of jets for readers of JetClass, written atomically."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import awkward as ak
import numpy as np
import uproot

from isoplan.trainers.backend.store.files import replace
from isoplan.trainers.jets.features import TREE

COUNTER = "npart"
"""Branch with the number of particles, which ROOT needs for lists. JetClass uses vectors and has none."""


def write_jets(path: Path, pieces: Iterable[ak.Array]) -> None:
    """Write jets to a ROOT file at ``path`` in pieces. Every piece has the fields of the first.

    Raises DiskFull if the disk is full; an existing file is then unchanged.
    """
    replace(path, lambda place: _write(place, pieces))


def _write(place: Path, pieces: Iterable[ak.Array]) -> None:
    with place.open("wb+") as sink, uproot.recreate(sink) as file:
        tree = None
        for piece in pieces:
            columns = {name: piece[name] for name in piece.fields}
            if tree is None:
                kinds = {name: str(values.type.content) for name, values in columns.items()}
                tree = file.mktree(TREE, kinds, counter_name=lambda _: COUNTER)
            tree.extend(columns)


def read_jets(path: Path) -> ak.Array:
    """Read the jets of a file from ``write_jets``."""
    with uproot.open(path) as file:
        tree = file[TREE]
        return tree.arrays([name for name in tree.keys() if name != COUNTER])  # noqa: SIM118  # no mapping


def shuffled(groups: Iterable[list[Path]], seed: int) -> Iterator[ak.Array]:
    """Yield the jets of each group of files in random order, group after group."""
    for number, paths in enumerate(groups):
        found = ak.concatenate([read_jets(path) for path in paths])
        order = np.random.default_rng([seed, number]).permutation(len(found))
        yield found[order]
