"""Reading of JetClass files: the result, the memory used, and error messages for invalid files."""

from __future__ import annotations

import re
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from isoplan.engine.errors import PlannerError
from isoplan.trainers.jets import jetset
from isoplan.trainers.jets.features import CONFIGURATIONS, LABELS
from isoplan.trainers.jets.jetset import JetSet, find_files, prepare, read_jets
from tests.trainers.jets.files import columns, write_root

ALL = CONFIGURATIONS["21x128"]
KINEMATIC = CONFIGURATIONS["3x40"]


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """Return the arrays of 40 jets with 0 to 150 particles each."""
    return columns([*np.random.default_rng(1).integers(0, 151, 36), 0, 150, 0, 1])


@pytest.fixture
def file(whole: dict[str, Any], tmp_path: Path) -> Path:
    return write_root(tmp_path / "jets_000.root", whole, basket=15)


def one(pieces: Any) -> JetSet:
    (found,) = pieces
    return found


def fault(path: Path, **changed: Any) -> str:
    """Return the error message for a file in which the branches ``changed`` differ. None removes a branch."""
    good = columns([3, 1, 2]) | changed
    write_root(path, {name: values for name, values in good.items() if values is not None})
    with pytest.raises(PlannerError) as error:
        list(read_jets([path], ALL))
    return str(error.value).replace(str(path), "FILE")


def _bounds(piece: JetSet) -> list[tuple[int, int, int]]:
    return list(zip(piece.starts[:-1], piece.starts[1:], piece.labels, strict=True))


@pytest.mark.parametrize("name", list(CONFIGURATIONS))
def test_every_jet_as_it_is_worked_out_alone(
    name: str, file: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jetset, "STEP", 7)
    configuration = CONFIGURATIONS[name]
    pieces = list(read_jets([file], configuration))
    assert [len(piece) for piece in pieces] == [7, 7, 7, 7, 7, 5]
    jets = [(piece.features[a:b], y) for piece in pieces for a, b, y in _bounds(piece)]
    for i, (features, jet_label) in enumerate(jets):
        n = min(len(whole["part_px"][i]), configuration.particles)
        here = {
            b: np.asarray(whole[b][i])[:n] if b.startswith("part_") else np.full(n, whole[b][i], np.float32)
            for b in configuration.branches
        }
        assert np.array_equal(features, configuration.compute(here))
        assert jet_label == i % 10
    assert 0 in [len(features) for features, _ in jets]  # a jet without particles is not dropped


def test_particles_in_any_order_are_read_by_falling_pt(file: Path, whole: dict[str, Any], tmp_path: Path) -> None:
    order = ak.argsort(whole["part_deta"])
    mixed = {name: v[order] if name.startswith("part_") else v for name, v in whole.items()}
    for name in ("3x40", "21x10"):
        sorted_, found = (
            one(read_jets([f], CONFIGURATIONS[name])) for f in (file, write_root(tmp_path / "mixed.root", mixed))
        )
        assert np.array_equal(sorted_.features, found.features)
        assert np.array_equal(sorted_.starts, found.starts)


def test_only_the_branches_that_are_needed(file: Path, tmp_path: Path, whole: dict[str, Any]) -> None:
    few = {name: whole[name] for name in (*KINEMATIC.branches, *LABELS)}
    found = one(read_jets([write_root(tmp_path / "few.root", few)], KINEMATIC))
    assert np.array_equal(found.features, one(read_jets([file], KINEMATIC)).features)
    with pytest.raises(PlannerError, match=r"few\.root has no branch part_energy, .* and 9 more: give files with"):
        next(read_jets([tmp_path / "few.root"], ALL))


def test_other_types_of_numbers_give_the_same(file: Path, tmp_path: Path, whole: dict[str, Any]) -> None:
    other = whole | {name: whole[name].astype(bool) for name in LABELS[:5]}
    other |= {name: whole[name].astype(np.int32) for name in LABELS[5:]}
    other |= {name: ak.values_astype(whole[name], np.int32) for name in ("part_charge", "part_isMuon")}
    other |= {name: ak.values_astype(whole[name], np.float64) for name in ("part_px", "part_py")}
    found = one(read_jets([write_root(tmp_path / "other.root", other)], ALL))
    assert np.array_equal(found.features, one(read_jets([file], ALL)).features)
    assert np.array_equal(found.labels, one(read_jets([file], ALL)).labels)


def test_memory_is_bounded_by_the_basket_and_not_by_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jetset, "STEP", 100)
    basket = columns([40] * 100)
    peaks = []
    for name, times in (("small", 4), ("large", 32)):
        path = write_root(tmp_path / f"{name}.root", {k: _repeat(v, times) for k, v in basket.items()}, basket=100)
        tracemalloc.start()
        jets = prepare([path], ALL, tmp_path / "sets")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(jets) == 100 * times
    features = 100 * 32 * 40 * 21 * 4
    assert peaks[1] < features / 3
    assert peaks[1] < 1.3 * peaks[0]


def _repeat(values: Any, times: int) -> Any:
    return np.tile(values, times) if isinstance(values, np.ndarray) else ak.concatenate([values] * times)


def test_a_prepared_set_is_read_once(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepare([file], ALL, tmp_path / "sets")
    assert np.array_equal(first.features, one(read_jets([file], ALL)).features)
    prepare([file], KINEMATIC, tmp_path / "sets")
    sets = sorted((tmp_path / "sets").iterdir())
    assert [p.name.split("-")[0] for p in sets] == ["21x128", "3x40"]
    with monkeypatch.context() as patch:
        patch.setattr(jetset, "read_jets", None)
        assert np.array_equal(prepare([file], ALL, tmp_path / "sets").features, first.features)
    (sets[1] / "labels.npy").write_bytes(b"")
    assert len(prepare([file], KINEMATIC, tmp_path / "sets")) == 40  # a damaged set is written again
    write_root(file, columns([2] * 11))
    assert len(prepare([file], ALL, tmp_path / "sets")) == 11  # the set of a changed file is also written again


def test_the_jets_of_a_folder_file_after_file(tmp_path: Path) -> None:
    for name in ("b.root", "a.root", ".tmp-1-c.root", "notes.txt", "deep/d.root"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_root(tmp_path / name, columns([1] * (3 if name == "b.root" else 9)))
    files = find_files(tmp_path)
    assert files == [tmp_path / "a.root", tmp_path / "b.root"]
    assert [len(piece) for piece in read_jets(files, KINEMATIC)] == [9, 3]
    (tmp_path / "none").mkdir()
    for folder in (tmp_path / "none", tmp_path / "missing"):
        with pytest.raises(PlannerError, match=r"contains no ROOT file: give a folder"):
            find_files(folder)
    with pytest.raises(PlannerError, match=r"missing\.root cannot be read: No such file"):
        next(read_jets([tmp_path / "missing.root"], KINEMATIC))


def test_a_file_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "x.root"
    for content, said in ((b"", "is empty"), (b"PK\3\4 and more", "is not a ROOT file"), (b"root" * 99, "is damaged")):
        path.write_bytes(content)
        with pytest.raises(PlannerError, match=re.escape(f"{path} {said}")):
            next(read_jets([path], ALL))
    write_root(path, columns([1]), tree="Events")
    with pytest.raises(
        PlannerError, match=r"x\.root contains no TTree tree, it contains TTree Events: give files with"
    ):
        next(read_jets([path], ALL))
    with uproot.recreate(path) as file:
        file["tree"] = "a note"
    with pytest.raises(PlannerError, match=r"x\.root contains no TTree tree, it contains TObjString tree"):
        next(read_jets([path], ALL))
    write_root(path, columns([]))
    with pytest.raises(PlannerError, match=r"x\.root contains no jets: leave it out or simulate it again"):
        next(read_jets([path], ALL))


def test_a_file_that_is_cut_short_anywhere(file: Path, tmp_path: Path) -> None:
    content = file.read_bytes()
    cut = tmp_path / "cut.root"
    for length in [4, 50, 99, *np.linspace(100, len(content) - 1, 40).astype(int)]:
        cut.write_bytes(content[:length])
        with pytest.raises(PlannerError, match=r"cut\.root is damaged or cut short: copy it or simulate it again"):
            list(read_jets([file, cut], ALL))
    # ROOT files have no checksum of the complete content, so damage can be undetected
    for first in range(90, len(content) - 3000, len(content) // 40):
        cut.write_bytes(content[:first] + bytes(3000) + content[first + 3000 :])
        with suppress(PlannerError):
            assert sum(len(piece) for piece in read_jets([cut], ALL)) == 40


def test_numbers_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "x.root"
    nan, inf, low = ([[1.0, 2, 3], [bad], [1, 1]] for bad in (np.nan, np.inf, -1.0))
    said = "leave the jet out of the file."
    assert fault(path, part_px=ak.Array(nan)) == f"part_px of jet 1 in FILE is not finite (nan): {said}"
    assert fault(path, part_dzerr=ak.Array(inf)) == f"part_dzerr of jet 1 in FILE is not finite (inf): {said}"
    assert fault(path, part_energy=ak.Array(low)) == f"part_energy of jet 1 in FILE is below zero (-1): {said}"
    assert fault(path, jet_pt=np.array([1.0, 2, 0])) == f"jet_pt of jet 2 in FILE is not above zero (0): {said}"
    assert fault(path, jet_pt=np.array([1.0, 2, 1e99])) == f"jet_pt of jet 2 in FILE is not finite (inf): {said}"


def test_branches_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "x.root"
    said = "Branch part_charge of FILE must hold one list of numbers per jet."
    assert fault(path, part_charge=np.zeros(3)) == said
    assert fault(path, jet_pt=ak.Array([[1.0], [1.0], [1.0]])) == "Branch jet_pt of FILE must hold one number per jet."
    assert fault(path, part_charge=ak.Array([[1.0, 2, 3], [1, 2], [1, 1]])) == (
        "Jet 1 of FILE has 1 particles in part_px and 2 in part_charge: write the file again."
    )
    assert "FILE has no branch label_Hcc: give files" in fault(path, label_Hcc=None)


def test_labels_that_are_no_single_class(tmp_path: Path) -> None:
    path = tmp_path / "x.root"
    said = (
        "Jet 2 of FILE has no single class: exactly one of the branches label_QCD to label_Tbl must be 1, the others 0."
    )
    assert fault(path, label_Hcc=np.zeros(3)) == said
    assert fault(path, label_QCD=np.array([1.0, 0, 1])) == said
    assert fault(path, label_Hcc=np.array([0, 0, 0.5]), label_Tbl=np.array([0, 0, 0.5])) == said
    assert fault(path, label_Hcc=np.array([0, 0, np.nan])) == said
    assert "label_QCD to label_Tbl of FILE must hold one number" in fault(path, label_Hcc=ak.Array([[1.0], [], [1.0]]))


def test_without_uproot_the_extra_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uproot", None)
    with pytest.raises(PlannerError, match=r"ROOT files need the package uproot: install it with pip install"):
        next(read_jets([file], ALL))
