"""Classes and branches of JetClass, and the features of a particle that the model reads.

JetClass: H. Qu, C. Li, S. Qian, "JetClass: A Large-Scale Dataset for Deep Learning in Jet Physics" (2022), and
arXiv:2202.03772.

The first 17 features and their constants are those of the configuration "full" of Particle Transformer (H. Qu, C. Li,
S. Qian, arXiv:2202.03772, Table 2; jet-universe/particle_transformer, data/JetClass/JetClass_full.yaml). Variables that
Particle Transformer standardises are shifted, scaled, and clipped at -5 and 5. Its other variables are not changed. The
jet paper adds momentum and energy but does not give their unit. Here, both are in units of 100 GeV and are not clipped.
In this unit, both are small for most particles and of order one for the hardest particles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Ints, Singles

TREE = "tree"
MOST_PARTICLES = 128


@dataclass(frozen=True)
class JetKind:
    """A class of jets: its ``name``, the branch of its ``label``, its ``title`` in figures, and its rejection metric.

    ``metric`` is the name of the rejection of QCD jets at the signal ``efficiency`` of the jet paper (Sec. 4 and Fig.
    5). ``metric`` is empty for QCD.
    """

    name: str
    label: str
    title: str
    metric: str = ""
    efficiency: float = 0.5


KINDS = (
    JetKind("QCD", "label_QCD", "q/g"),
    JetKind("Hbb", "label_Hbb", "H → bb", "R_Hbb"),
    JetKind("Hcc", "label_Hcc", "H → cc", "R_Hcc"),
    JetKind("Hgg", "label_Hgg", "H → gg", "R_Hgg"),
    JetKind("H4q", "label_H4q", "H → 4q", "R_H4q"),
    JetKind("Hqql", "label_Hqql", "H → ℓνqq′", "R_Hlvqq", 0.99),
    JetKind("Zqq", "label_Zqq", "Z → qq", "R_Zqq"),
    JetKind("Wqq", "label_Wqq", "W → qq′", "R_Wqq"),
    JetKind("Tbqq", "label_Tbqq", "t → bqq′", "R_top"),
    JetKind("Tbl", "label_Tbl", "t → bℓν", "R_toplv", 0.995),
)
NAMES = tuple(kind.name for kind in KINDS)
LABELS = tuple(kind.label for kind in KINDS)

PARTICLE_FLAGS = (
    "part_isChargedHadron", "part_isNeutralHadron", "part_isPhoton", "part_isElectron", "part_isMuon",
)  # fmt: skip
"""Branches of the type of a particle. Exactly one of the five is true for each particle."""


Columns = Mapping[str, Singles]
"""Branches (columns of a ROOT file) by name, with one number per particle.

A number that belongs to a jet is repeated for each particle of the jet.
"""

MOMENTUM_UNIT = 100.0
"""Unit of momentum and energy in GeV."""


@dataclass(frozen=True)
class Feature:
    """A feature of a particle: (value - ``centre``) * ``scale``, clipped to ``low`` and ``high``.

    The function ``value`` computes the value from the ``branches`` (columns of a ROOT file) of the particle.
    """

    name: str
    branches: tuple[str, ...]
    value: Callable[[Columns], Singles]
    centre: float = 0.0
    scale: float = 1.0
    low: float = -np.inf
    high: float = np.inf

    def of(self, columns: Columns) -> Singles:
        """Return the feature of each particle, (particles,), from its branches."""
        with np.errstate(divide="ignore"):  # the log of a momentum of 0 is -inf, which is clipped
            value = self.value(columns)
        scaled = (value - np.float32(self.centre)) * np.float32(self.scale)
        return np.clip(scaled, np.float32(self.low), np.float32(self.high))


def _pt(c: Columns) -> Singles:
    return np.hypot(c["part_px"], c["part_py"])


def _plain(branch: str, scale: float = 1.0) -> Feature:
    return Feature(branch, (branch,), lambda c: c[branch], scale=scale)


def _log(name: str, branches: tuple[str, ...], value: Callable[[Columns], Singles], centre: float) -> Feature:
    return Feature(name, branches, lambda c: np.log(value(c)), centre, 0.7, -5, 5)


def _impact(way: str) -> tuple[Feature, Feature]:
    """Return two features for one direction ("d0" or "dz"): tanh of the impact parameter in mm, and its error in mm."""
    value, error = f"part_{way}val", f"part_{way}err"
    return (
        Feature(f"part_{way}", (value,), lambda c: np.tanh(c[value])),
        Feature(error, (error,), lambda c: c[error], low=0, high=1),
    )


_PT = ("part_px", "part_py")
LOG_PT = _log("part_pt_log", _PT, _pt, 1.7)
DIRECTION = (_plain("part_deta"), _plain("part_dphi"))

PARTICLE_TRANSFORMER = (
    LOG_PT,
    _log("part_e_log", ("part_energy",), lambda c: c["part_energy"], 2.0),
    _log("part_logptrel", (*_PT, "jet_pt"), lambda c: _pt(c) / c["jet_pt"], -4.7),
    _log("part_logerel", ("part_energy", "jet_energy"), lambda c: c["part_energy"] / c["jet_energy"], -4.7),
    Feature(
        "part_deltaR", ("part_deta", "part_dphi"), lambda c: np.hypot(c["part_deta"], c["part_dphi"]), 0.2, 4.0, -5, 5
    ),
    _plain("part_charge"),
    *(_plain(flag) for flag in PARTICLE_FLAGS),
    *_impact("d0"),
    *_impact("dz"),
    *DIRECTION,
)  # fmt: skip
MOMENTUM = tuple(_plain(f"part_{name}", 1 / MOMENTUM_UNIT) for name in ("px", "py", "pz", "energy"))
ALL = (*PARTICLE_TRANSFORMER, *MOMENTUM)
KINEMATIC = (*DIRECTION, LOG_PT)


@dataclass(frozen=True)
class Configuration:
    """Inputs of the model for a jet.

    The model reads the ``features`` of the hardest particles (largest pT). ``particles`` is the maximum number of
    these particles.
    """

    name: str
    features: tuple[Feature, ...]
    particles: int

    @property
    def branches(self) -> tuple[str, ...]:
        """The distinct branches from which the inputs are computed.

        They include the branches of pT, because particles are ordered by pT.
        """
        return tuple(dict.fromkeys((*_PT, *(branch for feature in self.features for branch in feature.branches))))

    def compute(self, columns: Columns) -> Singles:
        """Return the features (particles, F) of particles from their branches ``columns``, (particles,) each."""
        out = np.empty((len(columns["part_px"]), len(self.features)), np.float32)
        for i, feature in enumerate(self.features):
            out[:, i] = feature.of(columns)
        return out


CONFIGURATIONS = {
    found.name: found
    for found in (
        Configuration("3x40", KINEMATIC, 40),
        Configuration("21x10", ALL, 10),
        Configuration("21x40", ALL, 40),
        Configuration("21x128", ALL, MOST_PARTICLES),
    )
}
"""The inputs of the jet paper (Sec. 3.3 and Table 2). A name such as "21x40" is features x hardest particles."""


def hardest(pt: Singles, starts: Ints, most: int) -> tuple[Ints, Ints]:
    """Return the indices of the ``most`` hardest particles of each jet, and the new offsets of the jets.

    If a jet has fewer particles, the indices of all its particles are returned. The returned particles of a jet are
    sorted by decreasing ``pt`` (particles,). Particles with equal pT keep their order. ``starts`` (jets + 1,) contains
    the offsets of the jets in ``pt``.
    """
    lengths = np.diff(starts)
    jet = np.repeat(np.arange(len(lengths)), lengths)
    falls = (pt[1:] <= pt[:-1]) | (jet[1:] != jet[:-1])
    order = np.arange(len(pt)) if np.all(falls) else np.lexsort((-pt, jet))
    rank = np.arange(len(pt)) - np.repeat(starts[:-1], lengths)
    new = np.concatenate([[0], np.cumsum(np.minimum(lengths, most))])
    return order[rank < most], new
