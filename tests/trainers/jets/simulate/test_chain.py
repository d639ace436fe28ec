"""The complete simulation chain, tested with a few Pythia events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot

from isoplan.engine.errors import PlannerError
from isoplan.trainers.cell import Stopped
from isoplan.trainers.jets.features import (
    CONFIGURATIONS,
    LABELS,
    NAMES,
    PARTICLE_FLAGS,
    TREE,
)
from isoplan.trainers.jets.jetset import read_jets
from isoplan.trainers.jets.simulate import chain, processes
from isoplan.trainers.jets.simulate.chain import empty, make_jets, turn
from isoplan.trainers.jets.simulate.generate import Columns, Generator, particles, partons
from isoplan.trainers.jets.simulate.parts import write_jets
from isoplan.trainers.jets.simulate.processes import PROCESSES

QUARKS, LEPTONS = {1, 2, 3, 4, 5}, {11, 13}


def one_of(*kinds: set[int]) -> Callable[[list[int]], bool]:
    """Return a function that checks whether a list has one decay product for each of ``kinds``, in any order."""

    def fits(products: list[int]) -> bool:
        return len(products) == len(kinds) and all(
            sum(abs(p) in kind for p in products) == sum(k == kind for k in kinds) for kind in kinds
        )

    return fits


# Expected for each class: the number of decays per event, the decaying particles, and a check of the decay products.
EXPECTED = {
    "QCD": (1, {1, 2, 3, 4, 5, 21}, one_of(QUARKS | {21})),
    "Hbb": (1, {25}, lambda found: sorted(found) == [-5, 5]),
    "Hcc": (1, {25}, lambda found: sorted(found) == [-4, 4]),
    "Hgg": (1, {25}, lambda found: found == [21, 21]),
    "H4q": (1, {25}, one_of(QUARKS, QUARKS, QUARKS, QUARKS)),
    "Hqql": (1, {25}, one_of(QUARKS, QUARKS, LEPTONS)),
    "Zqq": (1, {23}, one_of(QUARKS, QUARKS)),
    "Wqq": (1, {24}, one_of(QUARKS, QUARKS)),
    "Tbqq": (2, {6}, one_of({5}, {1, 2, 3, 4}, {1, 2, 3, 4})),
    "Tbl": (2, {6}, one_of({5}, LEPTONS)),
}


@pytest.mark.parametrize("kind", NAMES)
def test_every_event_holds_the_decays_of_its_class(kind: str) -> None:
    process = PROCESSES[kind]
    columns = Columns(Generator(process, 4).batch(8))
    found = partons(columns, process.parent)
    decays, parents, fits = EXPECTED[kind]
    assert np.bincount(found.event, minlength=8).tolist() == [decays * process.visible] * 8
    assert set(np.abs(found.parents["pid"])) <= parents
    for number in range(8 * decays):
        products = found.pid[found.parent == number].tolist()
        assert fits(products), products
    # At least one decaying particle per event can give a jet. The pT limit for this particle differs from the pT limit
    # for a jet, because the pT of a parton differs from the pT of its jet.
    if process.parent:
        assert (found.parents["pt"].reshape(8, decays).max(axis=1) > 400).all()


def test_particles_conserve_momentum_and_charge() -> None:
    generator = Generator(PROCESSES["Tbqq"], 1)
    columns = Columns(generator.batch(4))
    pid, rows = columns("id"), np.flatnonzero(columns("status") > 0)
    charge, event = generator.charges(pid[rows]), columns.event(rows)
    assert np.bincount(event, charge) == pytest.approx(2, abs=1e-9)  # the two colliding protons have the charge 2
    px, _, _, e = columns.momentum(rows)
    assert np.bincount(event, px) == pytest.approx(0, abs=1e-3)
    assert np.bincount(event, e) == pytest.approx(13000, rel=1e-6)
    seen = particles(columns, generator.charges)
    assert not set(np.abs(seen.pid)) & {12, 14, 16}
    eta = np.arcsinh(seen.pz / np.hypot(seen.px, seen.py))
    assert np.abs(eta).max() < 3.2
    central = np.abs(np.arcsinh(columns.momentum(rows)[2] / np.hypot(*columns.momentum(rows)[:2]))) < 3.2
    assert len(seen.pid) == (central & ~np.isin(np.abs(pid[rows]), (12, 14, 16))).sum()
    born = np.hypot(seen.x, seen.y)
    assert 0.5 < (born < 0.01).mean() < 1
    assert born.max() > 1  # strange hadrons decay after some centimetres


@pytest.fixture(scope="module")
def higgs() -> ak.Array:
    return make_jets("Hbb", 70, 5)


def test_jets_depend_on_class_seed_and_chunk_alone(higgs: ak.Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "BATCH", 23)
    fewer = make_jets("Hbb", 20, 5)
    assert all(ak.array_equal(fewer[name], higgs[name][:20]) for name in higgs.fields)
    others = make_jets("Hbb", 5, 5, chunk=1), make_jets("Hbb", 5, 6)
    pts = [set(jets.jet_pt.to_list()) for jets in (fewer, *others)]
    assert not pts[0] & pts[1] | pts[0] & pts[2] | pts[1] & pts[2]


def test_a_jet_is_what_its_branches_say(higgs: ak.Array) -> None:
    assert len(higgs) == 70
    assert (higgs.jet_pt > 500).to_numpy().all()
    assert (higgs.jet_pt < 1000).to_numpy().all()
    assert (np.abs(higgs.jet_eta) < 2).to_numpy().all()
    assert ak.all(ak.num(higgs.part_px) == higgs.jet_nparticles)
    pt = np.hypot(higgs.part_px, higgs.part_py)
    assert ak.all(pt[:, :-1] >= pt[:, 1:])
    for jet, part in (("pt", None), ("energy", "energy")):
        total = (
            ak.sum(higgs[f"part_{part}"], axis=1)
            if part
            else np.hypot(ak.sum(higgs.part_px, 1), ak.sum(higgs.part_py, 1))
        )
        assert total.to_numpy() == pytest.approx(higgs[f"jet_{jet}"].to_numpy(), rel=1e-5)
    eta, phi = np.arcsinh(higgs.part_pz / pt), np.arctan2(higgs.part_py, higgs.part_px)
    side = np.where(higgs.jet_eta < 0, -1, 1)
    assert ak.all(np.abs((eta - higgs.jet_eta) * side - higgs.part_deta) < 1e-4)
    assert np.abs(turn(ak.to_numpy(ak.flatten(phi - higgs.jet_phi - higgs.part_dphi)))).max() < 1e-4
    assert (ak.to_numpy(ak.flatten(np.hypot(higgs.part_deta, higgs.part_dphi))) < 1.2).all()
    assert ak.all(sum(higgs[name] for name in PARTICLE_FLAGS) == 1)
    charged = higgs.part_isChargedHadron + higgs.part_isElectron + higgs.part_isMuon
    assert ak.all(np.abs(higgs.part_charge) == charged)
    assert ak.all((higgs.part_d0err > 0) == charged)
    assert ak.all(higgs.label_Hbb == 1)
    assert sum(ak.sum(higgs[name]) for name in LABELS) == 70


def test_the_jets_look_like_higgs_bosons(higgs: ak.Array) -> None:
    # The limits are wide, because there are only 70 jets. `python -m benchmarks jets_physics` uses many jets.
    assert 105 < np.median(higgs.jet_sdmass) < 130
    assert 35 < ak.mean(higgs.jet_nparticles) < 52
    assert (higgs.aux_genpart_pid == 25).to_numpy().all()
    apart = np.hypot(higgs.aux_genpart_eta - higgs.jet_eta, turn((higgs.aux_genpart_phi - higgs.jet_phi).to_numpy()))
    assert np.quantile(apart, 0.9) < 0.15
    tracks = higgs.part_d0err > 0
    significance = np.abs(higgs.part_d0val[tracks] / higgs.part_d0err[tracks])
    # these tracks come from two b hadrons, which decay after some millimetres
    assert ak.mean(ak.sum(significance > 5, axis=1)) > 2
    assert np.median(higgs.jet_tau2 / higgs.jet_tau1) < 0.5


def test_files_have_the_branches_of_jetclass_and_are_read_again(higgs: ak.Array, tmp_path: Path) -> None:
    path = tmp_path / "jets.root"
    write_jets(path, [higgs[:30], higgs[30:]])
    with uproot.open(path) as file:
        tree = file[TREE]
        particle_floats = ("px", "py", "pz", "energy", "deta", "dphi", "d0val", "d0err", "dzval", "dzerr", "charge")
        jet_floats = ("pt", "eta", "phi", "energy", "nparticles", "sdmass", "tau1", "tau2", "tau3", "tau4")
        names = {*(f"part_{name}" for name in particle_floats), *(f"jet_{name}" for name in jet_floats)}
        names |= {*PARTICLE_FLAGS, *LABELS}
        assert names <= set(tree.keys())
        assert {tree[name].typename for name in names} == {"float[]", "float"}
        for name in names:
            assert ak.array_equal(tree[name].array(), higgs[name]), name
    (jets,) = read_jets([path], CONFIGURATIONS["21x128"])
    assert jets.labels.tolist() == [NAMES.index("Hbb")] * 70
    assert [p.name for p in tmp_path.iterdir()] == ["jets.root"]


def test_no_jets_have_all_branches(higgs: ak.Array) -> None:
    none = empty("Hbb")
    assert (len(none), none.fields) == (0, higgs.fields)
    assert len(make_jets("Hbb", 0, 1)) == 0


def test_a_class_that_yields_no_jets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "PATIENCE", 40)
    impossible = processes.Process(PROCESSES["Zqq"].settings, processes.Z, 3, 2)
    monkeypatch.setattr(chain, "PROCESSES", {**PROCESSES, "Zqq": impossible})
    with pytest.raises(PlannerError, match=r"The class Zqq gave no jet in \d+ events: leave it out of the classes\."):
        make_jets("Zqq", 5, 1)


def test_stopped_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "BATCH", 16)
    said: list[int] = []
    with pytest.raises(Stopped):
        make_jets("Wqq", 10_000, 1, stop=lambda: bool(said), said=said.append)
    assert len(said) == 1


def test_a_pythia_that_gives_every_event_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "PATIENCE", 40)
    nothing = Generator.batch
    monkeypatch.setattr(Generator, "batch", lambda self, n: nothing(self, 0))
    with pytest.raises(PlannerError, match=r"The class Wqq gave no jet in [4-7]. events"):
        make_jets("Wqq", 5, 1)


def test_an_unknown_class() -> None:
    with pytest.raises(PlannerError, match="There is no class 'Hxx' of jets: use QCD, Hbb, "):
        make_jets("Hxx", 1, 1)
