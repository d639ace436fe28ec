"""Jets from ROOT files with the branches of JetClass, public or simulated by Isoplan.

A file is read some thousand jets at a time. Memory also contains one basket of each branch, the unit of compression in
ROOT, but never a whole file or set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Ints, Singles
from isoplan.engine.errors import PlannerError
from isoplan.trainers.jets.features import LABELS, TREE, Configuration, hardest
from isoplan.trainers.jets.jetset import JetSet, write

STEP = 5_000
"""Number of jets that are read at a time."""
POSITIVE = ("jet_pt", "jet_energy")
VERSION = 1
"""Version of the features. Increase it if the same files give other features."""


def read_jets(files: Sequence[Path], configuration: Configuration) -> Iterator[JetSet]:
    """Yield the jets of some files, a few thousand at a time, in the order of the files.

    Jets without particles are kept, since a tagger must classify them too. Every file is opened once before the first
    jet is read. Raises PlannerError, with file and branch, for invalid data.
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
    """Return the jets of ``read_jets``, mapped from a folder inside ``folder``. They are read only once.

    The folder's name is a hash of the files (name, size, modification time) and ``configuration``, so that other jets
    never replace these. A feature of a particle takes 4 bytes. Raises as ``read_jets`` and ``write``.
    """
    features = [(f.name, f.branches, f.centre, f.scale, f.low, f.high) for f in configuration.features]
    states = [(p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in files]
    whole = repr((VERSION, configuration.name, configuration.particles, features, states, None))
    place = folder / f"{configuration.name}-{hashlib.sha256(whole.encode()).hexdigest()[:16]}"
    if place.is_dir():
        try:
            return JetSet.open(place)
        except PlannerError:
            pass  # damaged: rewrite
    return write(read_jets(files, configuration), place)


def find_files(folder: Path) -> list[Path]:
    """Return the ROOT files of a folder by name. Raises PlannerError if there are none."""
    files = sorted(path for path in folder.glob("*.root") if not path.name.startswith("."))
    if not files:
        raise PlannerError(f"{folder} names no ROOT file: give a folder of *.root files.")
    return files


@contextmanager
def _tree(path: Path) -> Iterator[Any]:
    """Open the tree of a file. Errors of uproot become a PlannerError with one sentence."""
    try:
        import uproot
    except ImportError:
        raise PlannerError("ROOT files need the extra jets: install it with pip install 'isoplan[jets]'.") from None
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
                raise PlannerError(f"{path} holds no TTree {TREE}, but {held}: give files with the JetClass tree.")
            yield file[TREE]
    except (PlannerError, MemoryError):
        raise
    except Exception as error:  # a damaged file can raise almost any exception
        raise PlannerError(f"{path} is damaged or cut short: copy it or simulate it again.") from error


def _check_tree(path: Path, branches: Sequence[str]) -> None:
    """Check that a file has jets and all branches. Raises PlannerError if not."""
    with _tree(path) as tree:
        if missing := [name for name in branches if name not in tree]:
            some = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            raise PlannerError(f"{path} has no branch {some}: give files with the branches of JetClass.")
        if tree.num_entries == 0:
            raise PlannerError(f"{path} holds no jets: leave it out or simulate it again.")


def _jets(path: Path, first: int, arrays: Any, configuration: Configuration) -> JetSet:
    """Return the jets of one step as features. ``first`` is the index of its first jet in the file."""
    lengths, flat = _flat(path, first, arrays, configuration.branches)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    order, new = hardest(np.hypot(flat["part_px"], flat["part_py"]), starts, configuration.particles)
    kept = np.diff(new)
    columns = {name: v[order] if name.startswith("part_") else np.repeat(v, kept) for name, v in flat.items()}
    return JetSet(configuration.compute(columns), new, _labels(path, first, arrays))


def _flat(path: Path, first: int, arrays: Any, branches: Sequence[str]) -> tuple[Ints, dict[str, Singles]]:
    """Return the number of particles of each jet, and every branch as a flat array of finite numbers."""
    import awkward as ak

    lengths, flat = None, {}
    for name in branches:
        values = arrays[name]
        jagged = name.startswith("part_")
        if values.ndim != 1 + jagged:
            what = "one list of numbers" if jagged else "one number"
            raise PlannerError(f"Branch {name} of {path} must hold {what} a jet.")
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
    """Check one branch and return it as float32.

    ``lengths`` are the particles of each jet if the branch has one value per particle, else None.
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
    """Return the class of each jet, (jets,): the only one of the ten branches that is 1."""
    try:
        marks = np.stack([np.asarray(arrays[name]).astype(np.float64) for name in LABELS], axis=1)
    except (TypeError, ValueError):
        raise PlannerError(f"The branches {LABELS[0]} to {LABELS[-1]} of {path} must hold one number a jet.") from None
    wrong = ~np.isin(marks, (0, 1)).all(axis=1) | (marks.sum(axis=1) != 1)
    if wrong.any():
        raise PlannerError(
            f"Jet {first + wrong.argmax()} of {path} has no single class: exactly one of the branches {LABELS[0]} to "
            f"{LABELS[-1]} must be 1, the others 0."
        )
    return marks.argmax(axis=1).astype(np.int64)
