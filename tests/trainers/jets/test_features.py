"""Features of a particle, compared with hand calculations by the rules of JetClass_full.yaml."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.trainers.jets.features import CONFIGURATIONS, hardest

BY_HAND = {"part_px": 3.0, "part_py": 4.0, "part_pz": 12.0, "part_energy": 13.0, "part_deta": 0.3, "part_dphi": -0.4,
           "part_d0val": 0.5, "part_d0err": 0.2, "part_dzval": -7.0, "part_dzerr": 3.0, "part_charge": -1.0,
           "part_isChargedHadron": 0.0, "part_isNeutralHadron": 0.0, "part_isPhoton": 0.0, "part_isElectron": 1.0,
           "part_isMuon": 0.0, "jet_pt": 500.0, "jet_energy": 1300.0}  # fmt: skip


def values(name: str, **changed: float) -> dict[str, float]:
    """Return the features of one particle by name."""
    whole = {key: np.array([value], np.float32) for key, value in (BY_HAND | changed).items()}
    configuration = CONFIGURATIONS[name]
    found = configuration.compute({branch: whole[branch] for branch in configuration.branches})
    assert found.shape == (1, len(configuration.features))
    assert found.dtype == np.float32
    return {f.name: float(value) for f, value in zip(configuration.features, found[0], strict=True)}


def test_the_features_of_a_particle_by_hand() -> None:
    expected = {
        "part_pt_log": (math.log(5) - 1.7) * 0.7, "part_e_log": (math.log(13) - 2) * 0.7,
        "part_logptrel": (math.log(0.01) + 4.7) * 0.7, "part_logerel": (math.log(0.01) + 4.7) * 0.7,
        "part_deltaR": (0.5 - 0.2) * 4, "part_charge": -1, "part_isChargedHadron": 0, "part_isNeutralHadron": 0,
        "part_isPhoton": 0, "part_isElectron": 1, "part_isMuon": 0, "part_d0": math.tanh(0.5), "part_d0err": 0.2,
        "part_dz": math.tanh(-7), "part_dzerr": 1, "part_deta": 0.3, "part_dphi": -0.4,
        "part_px": 0.03, "part_py": 0.04, "part_pz": 0.12, "part_energy": 0.13,
    }  # fmt: skip
    found = values("21x40")
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_the_kinematic_features_are_three_of_them() -> None:
    assert list(values("3x40")) == ["part_deta", "part_dphi", "part_pt_log"]
    assert values("3x40") == {name: values("21x40")[name] for name in values("3x40")}
    assert set(CONFIGURATIONS["3x40"].branches) == {"part_px", "part_py", "part_deta", "part_dphi"}


def test_what_is_standardised_is_cut_at_five_and_nothing_else() -> None:
    wild = values("21x40", part_px=0, part_py=0, part_energy=1e-9, part_deta=9, part_d0err=-1, part_pz=2000)
    assert [wild[n] for n in ("part_pt_log", "part_e_log", "part_logptrel", "part_logerel")] == [-5] * 4
    assert [wild[n] for n in ("part_deltaR", "part_deta", "part_d0err", "part_pz")] == [5, 9, 0, 20]
    hard = values("21x40", part_px=1e6, part_energy=1e9)
    assert [hard["part_pt_log"], hard["part_e_log"], hard["part_energy"]] == [5, 5, 1e7]


@pytest.mark.parametrize(("name", "features", "particles"), [
    ("3x40", 3, 40), ("21x10", 21, 10), ("21x40", 21, 40), ("21x128", 21, 128),
])  # fmt: skip
def test_the_four_inputs_of_the_jet_paper(name: str, features: int, particles: int) -> None:
    assert (len(CONFIGURATIONS[name].features), CONFIGURATIONS[name].particles) == (features, particles)


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=6), st.integers(1, 4), st.booleans())
def test_the_hardest_particles_of_each_jet_in_order(jets: list[list[int]], most: int, sort: bool) -> None:
    jets = [sorted(jet, reverse=True) if sort else jet for jet in jets]
    starts = np.cumsum([0, *(len(jet) for jet in jets)])
    pt = np.array([x for jet in jets for x in jet], np.float32)
    places, new = hardest(pt, starts, most)
    assert new.tolist() == np.cumsum([0, *(min(most, len(jet)) for jet in jets)]).tolist()
    for i, jet in enumerate(jets):
        by_hand = sorted(range(len(jet)), key=lambda k: -jet[k])[:most]  # sorted() keeps the order of equal values
        assert (places[new[i] : new[i + 1]] - starts[i]).tolist() == by_hand
