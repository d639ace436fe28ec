"""Sets of jets on disk, computed from ROOT files with JetClass's branches.

A set of jets is a folder of .npy files, which are memory-mapped and never loaded completely. One of them contains the
features of all particles. The ROOT files are files of JetClass or files that Isoplan simulated. A ROOT file is read in
steps of several thousand jets. The memory never contains a whole ROOT file, but only one step and one basket of each
branch. A basket is the unit of compression in ROOT.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from isoplan.engine.arrays import Ints, Singles
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.files import TEMPORARY, room, sync_folder
from isoplan.trainers.jets.features import LABELS, MOST_PARTICLES, TREE, Configuration, hardest
from isoplan.trainers.packed.rectangles import runs

TYPES: dict[str, np.dtype[Any]] = {"features": np.dtype("<f4"), "starts": np.dtype("<i8"), "labels": np.dtype("<i8")}
"""Data types of the arrays of a set. Each array is stored in a file with its name, such as ``labels.npy``."""


@dataclass(frozen=True, eq=False)
class JetSet:
    """Jets with any number of particles.

    ``features`` (particles, F) contains the particles of all jets, one jet after the other. The particles of a jet are
    sorted by decreasing pT. ``starts`` (jets + 1,) are the offsets of the jets in ``features``: the first is 0, the
    last the number of particles. ``labels`` (jets,) is the index of each jet's class in
    ``isoplan.trainers.jets.features.KINDS``.
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
        """Return the jets in ``folder``, mapped into memory for reading.

        Raises PlannerError if a file is missing, damaged, or has another data type.
        """
        found = {}
        for name, kind in TYPES.items():
            path = folder / f"{name}.npy"
            try:
                found[name] = np.load(path, mmap_mode="r", allow_pickle=False)
            except FileNotFoundError:
                raise PlannerError(f"{folder} holds no jets: {path.name} is missing; prepare the jets again.") from None
            except (OSError, ValueError, EOFError):
                raise PlannerError(f"{path} is damaged: prepare the jets again.") from None
            if found[name].dtype != kind:
                raise PlannerError(f"{path} holds {found[name].dtype}, not {kind}: prepare the jets again.")
        try:
            return cls(**found)
        except (ValueError, IndexError):
            raise PlannerError(f"The files of {folder} do not belong together: prepare the jets again.") from None


def write(pieces: Iterable[JetSet], folder: Path) -> JetSet:
    """Write the jets of all ``pieces``, in order, to ``folder``, and return them as memory-mapped arrays.

    Only one piece at a time is in memory. The write is atomic. Raises PlannerError if there are no jets, DiskFull if
    the disk is full, and OSError if the folder exists.
    """
    place = folder.with_name(f"{TEMPORARY}{secrets.token_hex(6)}-{folder.name}")
    with room(folder.parent):
        try:
            place.mkdir(parents=True)
            _fill(pieces, place)
            sync_folder(place)
            os.rename(place, folder)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return JetSet.open(folder)


def _fill(pieces: Iterable[JetSet], place: Path) -> None:
    """Write the pieces to .npy files, one after the other.

    The number of jets is not known at the beginning. Therefore, the header of each file is overwritten at the end.
    Numpy pads headers for this purpose.
    """
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
                raise ValueError(
                    f"all jets must have {width} features like the first jets, not {piece.features.shape[1]}"
                )
            _append(out["features"], "features", piece.features)
            _append(out["starts"], "starts", piece.starts[1:] + particles)
            _append(out["labels"], "labels", piece.labels)
            jets, particles = jets + len(piece), particles + len(piece.features)
        if not jets:
            raise PlannerError("There are no jets to write: name files with jets.")
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


def gather(jets: JetSet, chosen: Ints, most: int = MOST_PARTICLES) -> tuple[Singles, Ints, Ints]:
    """Return the particles (P, F) of the ``chosen`` jets (B,), jet after jet, with lengths (B,) and labels (B,).

    At most the first ``most`` particles of each jet are read. These are the particles with the largest pT.
    """
    starts = jets.starts[chosen]
    lengths = np.minimum(jets.starts[chosen + 1] - starts, most)
    return jets.features[runs(starts, lengths)], lengths, jets.labels[chosen]


STEP = 5_000
"""Number of jets that are read in one step."""
POSITIVE = ("jet_pt", "jet_energy")
VERSION = 1
"""Version of the stored features. Increase it if a change of the code changes the features of the same files."""


def read_jets(files: Sequence[Path], configuration: Configuration) -> Iterator[JetSet]:
    """Yield the jets of ``files`` in order, a few thousand at a time.

    Jets without particles are included, because a tagger must classify these jets too. All files are opened and checked
    before the first jet is read. Raises PlannerError with the file and the branch for invalid data.
    """
    branches = (*configuration.branches, *LABELS)
    for path in files:
        _check_tree(path, branches)
    for path in files:
        first = 0
        with _tree(path) as tree:
            for arrays in tree.iterate(list(branches), step_size=STEP, library="ak"):
                yield _jets(path, first, arrays, configuration)
                first += len(arrays)


def prepare(files: Sequence[Path], configuration: Configuration, folder: Path) -> JetSet:
    """Return the jets of ``read_jets``, memory-mapped from a subfolder of ``folder``.

    The first call reads the jets and writes the subfolder. The name of the subfolder is a hash of ``configuration`` and
    of the files (name, size, modification time). Different inputs therefore have different subfolders. Each feature of
    a particle needs 4 bytes. Raises the errors of ``read_jets`` and ``write``.
    """
    features = [(f.name, f.branches, f.centre, f.scale, f.low, f.high) for f in configuration.features]
    states = [(p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in files]
    whole = repr((VERSION, configuration.name, configuration.particles, features, states, None))
    place = folder / f"{configuration.name}-{hashlib.sha256(whole.encode()).hexdigest()[:16]}"
    if place.is_dir():
        try:
            return JetSet.open(place)
        except PlannerError:  # a damaged set is written again below
            shutil.rmtree(place, ignore_errors=True)
    return write(read_jets(files, configuration), place)


def find_files(folder: Path) -> list[Path]:
    """Return the ROOT files of a folder, sorted by name. Raises PlannerError if there are none."""
    files = sorted(path for path in folder.glob("*.root") if not path.name.startswith("."))
    if not files:
        raise PlannerError(f"{folder} contains no ROOT file: give a folder of *.root files.")
    return files


@contextmanager
def _tree(path: Path) -> Iterator[Any]:
    """Yield the open tree of a ROOT file. Any error of uproot becomes a PlannerError with one sentence."""
    try:
        import uproot
    except ImportError:
        raise PlannerError("ROOT files need the package uproot: install it with pip install 'isoplan[jets]'.") from None
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise PlannerError(f"{path} cannot be read: {error.strerror or error}.") from None
    if magic != b"root":
        raise PlannerError(f"{path} is {'not a ROOT file' if magic else 'empty'}: give files with the JetClass tree.")
    try:
        with uproot.open(path, array_cache=None, object_cache=None) as file:
            if path.stat().st_size < file.file.fEND:
                raise EOFError
            kinds = file.classnames(recursive=False, cycle=False)
            if kinds.get(TREE) != "TTree":
                held = ", ".join(f"{kind} {name}" for name, kind in kinds.items()) or "nothing"
                raise PlannerError(
                    f"{path} contains no TTree {TREE}, it contains {held}: give files with the JetClass tree."
                )
            yield file[TREE]
    except (PlannerError, MemoryError):
        raise
    except Exception as error:  # a damaged file can raise almost any exception
        raise PlannerError(f"{path} is damaged or cut short: copy it or simulate it again.") from error


def _check_tree(path: Path, branches: Sequence[str]) -> None:
    """Check that a file has jets and the given branches. Raises PlannerError if not."""
    with _tree(path) as tree:
        if missing := [name for name in branches if name not in tree]:
            some = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            raise PlannerError(f"{path} has no branch {some}: give files with the branches of JetClass.")
        if tree.num_entries == 0:
            raise PlannerError(f"{path} contains no jets: leave it out or simulate it again.")


def _jets(path: Path, first: int, arrays: Any, configuration: Configuration) -> JetSet:
    """Return the jets of one step as features. ``first`` is the position of the first jet of this step in the file."""
    lengths, flat = _flat(path, first, arrays, configuration.branches)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    order, new = hardest(np.hypot(flat["part_px"], flat["part_py"]), starts, configuration.particles)
    kept = np.diff(new)
    columns = {name: v[order] if name.startswith("part_") else np.repeat(v, kept) for name, v in flat.items()}
    return JetSet(configuration.compute(columns), new, _labels(path, first, arrays))


def _flat(path: Path, first: int, arrays: Any, branches: Sequence[str]) -> tuple[Ints, dict[str, Singles]]:
    """Return the number of particles of each jet, (jets,), and every branch as a flat array of finite numbers."""
    import awkward as ak

    lengths, flat = None, {}
    for name in branches:
        values = arrays[name]
        jagged = name.startswith("part_")
        if values.ndim != 1 + jagged:
            what = "one list of numbers" if jagged else "one number"
            raise PlannerError(f"Branch {name} of {path} must hold {what} per jet.")
        if jagged:
            own = ak.to_numpy(ak.num(values)).astype(np.int64)
            lengths = own if lengths is None else lengths
            if (wrong := own != lengths).any():
                raise PlannerError(
                    f"Jet {first + wrong.argmax()} of {path} has {lengths[wrong][0]} particles in {branches[0]} and "
                    f"{own[wrong][0]} in {name}: write the file again."
                )
            values = ak.flatten(values)
        flat[name] = _numbers(path, first, name, values, lengths if jagged else None)
    assert lengths is not None
    return lengths, flat


def _numbers(path: Path, first: int, name: str, values: Any, lengths: Ints | None) -> Singles:
    """Return the values of one branch as float32. Raises PlannerError if a value is invalid.

    ``lengths`` is the number of particles of each jet if the branch has one value per particle, and None otherwise.
    """
    try:
        with np.errstate(over="ignore"):
            found = np.asarray(values).astype(np.float32)
    except (TypeError, ValueError):
        raise PlannerError(f"Branch {name} of {path} does not hold numbers.") from None
    bad, what = ~np.isfinite(found), "is not finite"
    if not bad.any() and name in POSITIVE:
        bad, what = found <= 0, "is not above zero"
    if not bad.any() and name == "part_energy":
        bad, what = found < 0, "is below zero"
    if bad.any():
        at = int(bad.argmax())
        jet = first + (at if lengths is None else int(np.searchsorted(np.cumsum(lengths), at, side="right")))
        raise PlannerError(f"{name} of jet {jet} in {path} {what} ({found[at]:g}): leave the jet out of the file.")
    return found


def _labels(path: Path, first: int, arrays: Any) -> NDArray[np.int64]:
    """Return the class of each jet, (jets,). Raises PlannerError unless exactly one of its ten label branches is 1."""
    try:
        marks = np.stack([np.asarray(arrays[name]).astype(np.float64) for name in LABELS], axis=1)
    except (TypeError, ValueError):
        raise PlannerError(
            f"The branches {LABELS[0]} to {LABELS[-1]} of {path} must hold one number per jet."
        ) from None
    wrong = ~np.isin(marks, (0, 1)).all(axis=1) | (marks.sum(axis=1) != 1)
    if wrong.any():
        raise PlannerError(
            f"Jet {first + wrong.argmax()} of {path} has no single class: exactly one of the branches {LABELS[0]} to "
            f"{LABELS[-1]} must be 1, the others 0."
        )
    return marks.argmax(axis=1).astype(np.int64)
