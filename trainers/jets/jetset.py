"""Jets for the set Transformer: features of all particles in one array.

A set of jets is a folder of plain .npy files on disk. They are mapped into memory and never loaded completely.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from isoplan.engine.arrays import Ints, Singles
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.files import TEMPORARY, room, sync_folder
from isoplan.trainers.jets.features import MOST_PARTICLES
from isoplan.trainers.packed.rectangles import runs

TYPES: dict[str, np.dtype[Any]] = {"features": np.dtype("<f4"), "starts": np.dtype("<i8"), "labels": np.dtype("<i8")}
"""Data types of the arrays of a set. Each array is in a file of its name."""


@dataclass(frozen=True, eq=False)
class JetSet:
    """Jets with any number of particles.

    ``features`` (particles, F) contains the particles of the first jet by decreasing pT, then those of the second, and
    so on. ``starts`` (jets + 1,) is the index of the first particle of each jet, from 0, and last the number of
    particles. ``labels`` (jets,) is the index of the jet's class in ``isoplan.trainers.jets.features.KINDS``.
    """

    features: Singles
    starts: Ints
    labels: Ints

    def __post_init__(self) -> None:
        f, s, y = self.features, self.starts, self.labels
        if f.ndim != 2 or s.ndim != 1 or len(s) != len(y) + 1 or s[0] != 0 or s[-1] != len(f) or np.any(s[1:] < s[:-1]):
            raise ValueError(f"not a set of jets: features {f.shape}, starts {s.shape}, labels {y.shape}")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> Ints:
        """The number of particles of each jet, (jets,)."""
        return np.diff(self.starts)

    @classmethod
    def open(cls, folder: Path) -> JetSet:
        """Open the jets in ``folder``, mapped for reading.

        Raises PlannerError if a file is missing, damaged, or of another type.
        """
        found = {}
        for name, kind in TYPES.items():
            path = folder / f"{name}.npy"
            try:
                found[name] = np.load(path, mmap_mode="r", allow_pickle=False)
            except FileNotFoundError:
                raise PlannerError(f"{folder} holds no jets: {path.name} is missing; prepare them anew.") from None
            except (OSError, ValueError, EOFError):
                raise PlannerError(f"{path} is damaged: prepare the jets anew.") from None
            if found[name].dtype != kind:
                raise PlannerError(f"{path} holds {found[name].dtype}, not {kind}: prepare the jets anew.")
        try:
            return cls(**found)
        except (ValueError, IndexError):
            raise PlannerError(f"The files of {folder} do not belong together: prepare the jets anew.") from None


def write(pieces: Iterable[JetSet], folder: Path) -> JetSet:
    """Write the jets of all ``pieces`` in order to ``folder`` and return them mapped from there.

    One piece is in memory at a time. The write is atomic and replaces an existing set of jets. Raises PlannerError if
    the folder has other content, if it cannot be written, or if there are no jets.
    """
    _check_place(folder)
    place = folder.with_name(f"{TEMPORARY}{secrets.token_hex(6)}-{folder.name}")
    with room(folder.parent):
        try:
            place.mkdir(parents=True)
            _fill(pieces, place)
            _put(place, folder)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
    return JetSet.open(folder)


def _check_place(folder: Path) -> None:
    """Check that ``folder`` is new or a set of jets, so that nothing else is replaced. Raises PlannerError if not."""
    if folder.exists() and (not folder.is_dir() or {p.name for p in folder.iterdir()} - {f"{n}.npy" for n in TYPES}):
        raise PlannerError(f"{folder} exists and is not a set of jets: name another folder.")


def _fill(pieces: Iterable[JetSet], place: Path) -> None:
    """Append the pieces to growing .npy files. The headers, padded by numpy for this, are corrected at the end."""
    jets = particles = width = 0
    with ExitStack() as files:
        out = {name: files.enter_context((place / f"{name}.npy").open("wb+")) for name in TYPES}
        for piece in pieces:
            if not width:
                width = piece.features.shape[1]
                for name, file in out.items():
                    _header(file, name, (0, width) if name == "features" else (0,))
                _append(out["starts"], "starts", np.zeros(1, np.int64))
            elif piece.features.shape[1] != width:
                raise ValueError(f"jets of {width} features, then of {piece.features.shape[1]}")
            _append(out["features"], "features", piece.features)
            _append(out["starts"], "starts", piece.starts[1:] + particles)
            _append(out["labels"], "labels", piece.labels)
            jets, particles = jets + len(piece), particles + len(piece.features)
        if not jets:
            raise PlannerError("There are no jets to write: name files that hold some.")
        shapes = {"features": (particles, width), "starts": (jets + 1,), "labels": (jets,)}
        for name, file in out.items():
            _header(file, name, shapes[name])
            file.flush()
            os.fsync(file.fileno())


def _append(file: BinaryIO, name: str, values: Singles | Ints) -> None:
    file.write(np.ascontiguousarray(values, TYPES[name]).data)


def _header(file: BinaryIO, name: str, shape: tuple[int, ...]) -> None:
    file.seek(0)
    npy.write_array_header_1_0(file, {"descr": npy.dtype_to_descr(TYPES[name]), "fortran_order": False, "shape": shape})


def _put(place: Path, folder: Path) -> None:
    """Rename a complete folder to its final name. An existing set of jets is removed."""
    sync_folder(place)
    while True:
        try:
            os.rename(place, folder)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        old = folder.with_name(f"{TEMPORARY}{secrets.token_hex(6)}-{folder.name}")
        os.rename(folder, old)
        shutil.rmtree(old, ignore_errors=True)
    sync_folder(folder.parent)


def gather(jets: JetSet, chosen: Ints, most: int = MOST_PARTICLES) -> tuple[Singles, Ints, Ints]:
    """Return the particles (P, F) of the ``chosen`` jets (B,), jet after jet, with lengths (B,) and labels (B,).

    The first ``most`` particles of each jet are read, which are its hardest.
    """
    starts = jets.starts[chosen]
    lengths = np.minimum(jets.starts[chosen + 1] - starts, most)
    return jets.features[runs(starts, lengths)], lengths, jets.labels[chosen]
