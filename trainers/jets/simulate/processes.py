"""Pythia settings for each class of jets: processes, decays, and bounds of pT.

The events are proton collisions at 13 TeV at leading order, with Pythia's parton showers, multiparton interactions,
hadronisation and decays. Top quarks are produced in pairs. Every other signal particle recoils against a Z that decays
to neutrinos, so its event contains no second object that resembles a jet of its class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

PT = (500.0, 1000.0)
"""Minimum and maximum transverse momentum of jets in GeV."""
ETA = 2.0
"""Maximum absolute pseudorapidity of the axis of a jet."""
RADIUS = 0.8
NEUTRINOS = (12, 14, 16)

GLUON, W, Z, H, TOP = 21, 24, 23, 25, 6


SCALE = 30.0
"""Scale of the shower evolution in GeV at which an event is checked. An event that cannot give a jet is rejected."""


Hope: TypeAlias = tuple[float, float]
"""pT in GeV and pseudorapidity of a jet candidate."""


@dataclass(frozen=True)
class Bounds:
    """Limits that save time: an event outside these limits almost never gives a jet in the window of pT.

    ``pt_hat`` is the minimum pT of the hard process in GeV. When the shower has evolved to ``SCALE``, a jet candidate
    is within the limits if its pT is at least ``hope`` (in GeV) and its absolute pseudorapidity at most ``eta``. The
    benchmark ``python -m benchmarks jets_physics`` measures how many jets are lost at the two ends of the pT window.
    """

    pt_hat: float = 200.0
    hope: float = 420.0
    eta: float = 2.3

    def allow(self, hopes: Iterable[Hope]) -> bool:
        """Return whether any of the candidates ``hopes`` is within the bounds."""
        return any(pt > self.hope and abs(eta) < self.eta for pt, eta in hopes)


@dataclass(frozen=True)
class Process:
    """One class of jets: the settings of Pythia, and the selection of the jets in an event.

    A jet represents the decay of a particle with the absolute PDG code ``parent``, or a parton of the hard process if
    ``parent`` is 0. The jet must contain all visible products of the decay, that is, all products except neutrinos.
    ``visible`` is the number of these products. Only events whose hard process has exactly ``neutrinos`` neutrinos are
    used.
    """

    settings: tuple[str, ...]
    parent: int
    visible: int
    neutrinos: int

    @property
    def lines(self) -> tuple[str, ...]:
        """All settings of the class except the seed and the minimum pT."""
        return (*COMMON, *self.settings)


COMMON = (
    "Print:quiet = on",
    "Beams:eCM = 13000.",
    "Random:setSeed = on",
    "Next:numberCount = 0",
    "WeakZ0:gmZmode = 2",  # only the Z, without its interference with the photon
)
INVISIBLE_Z = ("23:onMode = off", "23:onIfAny = 12 14 16")
HADRONIC_W = ("24:onMode = off", "24:onIfAny = 1 2 3 4 5")
LEPTONIC_W = ("24:onMode = off", "24:onIfAny = 11 13")
ANY_W = ("24:onMode = off", "24:onIfAny = 1 2 3 4 5 11 13")
TOPS = ("Top:gg2ttbar = on", "Top:qqbar2ttbar = on")


def _higgs(products: str, *more: str) -> tuple[str, ...]:
    decay = ("25:m0 = 125.", "25:onMode = off", f"25:onIfMatch = {products}")
    return ("HiggsSM:ffbar2HZ = on", *decay, *INVISIBLE_Z, *more)


PROCESSES: Mapping[str, Process] = MappingProxyType(
    {
        "QCD": Process(
            ("WeakBosonAndParton:qqbar2gmZg = on", "WeakBosonAndParton:qg2gmZq = on", *INVISIBLE_Z), 0, 1, 2
        ),
        "Hbb": Process(_higgs("5 -5"), H, 2, 2),
        "Hcc": Process(_higgs("4 -4"), H, 2, 2),
        "Hgg": Process(_higgs("21 21"), H, 2, 2),
        "H4q": Process(_higgs("24 -24", *HADRONIC_W), H, 4, 2),
        "Hqql": Process(_higgs("24 -24", *ANY_W), H, 3, 3),
        "Zqq": Process(
            ("WeakDoubleBoson:ffbar2gmZgmZ = on", "23:onMode = off", "23:onIfAny = 1 2 3 4 5 12 14 16"), Z, 2, 2
        ),
        "Wqq": Process(("WeakDoubleBoson:ffbar2ZW = on", *INVISIBLE_Z, *HADRONIC_W), W, 2, 2),
        "Tbqq": Process((*TOPS, *HADRONIC_W), TOP, 3, 0),
        "Tbl": Process((*TOPS, *LEPTONIC_W), TOP, 2, 2),
    }
)
