"""The ten classes of JetClass, in the order of their labels, and the branches of its files.

H. Qu, C. Li, S. Qian, JetClass: a large-scale dataset for deep learning in jet physics (2022), and arXiv:2202.03772.
"""

from __future__ import annotations

from dataclasses import dataclass

TREE = "tree"
MOST_PARTICLES = 128


@dataclass(frozen=True)
class JetKind:
    """A class of jets: its ``name``, the branch of its label, how figures name it, and how rejection is quoted.

    ``metric`` is the name that tables give the rejection of QCD jets at the signal ``efficiency`` of the jet paper
    (Sec. 4 and Fig. 5); empty for QCD itself.
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

PARTICLE_FLOATS = (
    "part_px", "part_py", "part_pz", "part_energy", "part_deta", "part_dphi",
    "part_d0val", "part_d0err", "part_dzval", "part_dzerr", "part_charge",
)  # fmt: skip
"""Momenta in GeV; impact parameters in mm; one float32 a particle, particles by falling pT."""
PARTICLE_FLAGS = (
    "part_isChargedHadron", "part_isNeutralHadron", "part_isPhoton", "part_isElectron", "part_isMuon",
)  # fmt: skip
"""What the particle is: one of the five is true."""
JET_FLOATS = (
    "jet_pt", "jet_eta", "jet_phi", "jet_energy", "jet_nparticles", "jet_sdmass",
    "jet_tau1", "jet_tau2", "jet_tau3", "jet_tau4",
)  # fmt: skip
