"""Pythia with a seed, and its events as flat columns: the particles of all events, one event after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import awkward as ak
import numpy as np
import pythia8mc
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.jets.simulate.processes import NEUTRINOS, RADIUS, SCALE, Bounds, Hope, Process

SEEDS = 900_000_000
"""Largest seed of Pythia. Seeds start at 1, and each seed gives a different sequence of events."""
FARTHEST = 3.2
"""Maximum absolute pseudorapidity of particles.

Particles with a larger value cannot belong to a jet: its axis has a value of at most 2, and its radius is 0.8.
"""

BOUNDS = Bounds()


@dataclass(frozen=True)
class Particles:
    """Stable visible particles of ``events`` events, one row per particle, sorted by event.

    Momenta and energies are in GeV, production vertices ``x``, ``y`` and ``z`` in mm, and charges in units of e.
    ``pid`` are the codes of the Particle Data Group.
    """

    events: int
    event: Ints
    pid: Ints
    charge: Floats
    px: Floats
    py: Floats
    pz: Floats
    e: Floats
    x: Floats
    y: Floats
    z: Floats


@dataclass(frozen=True)
class Partons:
    """Visible products of the decays that define jets, one row per product, sorted by event.

    ``pid`` is the code of each product, and ``parent`` the index of its decay. ``parents`` describes the decayed
    particle of each decay in the columns ``pid``, ``pt`` (in GeV), ``eta`` and ``phi``.
    """

    event: Ints
    parent: Ints
    pid: Ints
    eta: Floats
    phi: Floats
    parents: dict[str, Floats]


class _Wanted(pythia8mc.UserHooks):  # type: ignore[misc]  # no stubs
    """Hook of Pythia that rejects events early if they cannot give a jet of the class. This saves computing time.

    First, the hook rejects hard processes with the wrong number of neutrinos. When the shower has evolved to ``SCALE``,
    the hook also rejects events whose jet candidates are all outside the window of pT and pseudorapidity.
    """

    def __init__(self, process: Process, bounds: Bounds) -> None:
        super().__init__()
        self.process, self.bounds = process, bounds
        self.hopes: list[list[Hope]] = []
        self.wanted: list[int] = []

    def canVetoProcessLevel(self) -> bool:
        return True

    def doVetoProcessLevel(self, process: Any) -> bool:
        found = sum(process[i].idAbs() in NEUTRINOS for i in range(5, process.size()))
        out = [i for i in (5, 6) if process[i].idAbs() == self.process.parent]
        self.wanted = [i for i in out if process[process[i].daughter1()].idAbs() not in NEUTRINOS]
        return found != self.process.neutrinos

    def canVetoPT(self) -> bool:
        return True

    def scaleVetoPT(self) -> float:
        return SCALE

    def doVetoPT(self, place: int, event: Any) -> bool:
        if place >= 5:  # shower of a decay
            return False
        hopes = [_latest(event, i) for i in self.wanted] if self.process.parent else [_hardest(event)]
        if not self.bounds.allow(hopes):
            return True
        self.hopes.append(hopes)
        return False


def _latest(event: Any, made: int) -> Hope:
    """Return pT and pseudorapidity of the particle ``made`` of the hard process after all recoils so far."""
    one = event[event[made].iBotCopyId()]
    return one.pT(), one.eta()


def _hardest(event: Any) -> Hope:
    """Return the sum of pT of the partons around the hardest parton, and the pseudorapidity of the hardest parton."""
    partons = [event[i] for i in range(event.size()) if event[i].isFinal() and event[i].isParton()]
    polar = [(one.pT(), one.eta(), one.phi()) for one in partons]
    _, eta, phi = max(polar, default=(0.0, 0.0, 0.0))
    near = (pt for pt, y, f in polar if math.hypot(y - eta, math.remainder(f - phi, math.tau)) < RADIUS)
    return sum(near), eta


class Generator:
    """Pythia for one process. ``batch(n)`` generates the next ``n`` events; the sequence depends only on the seed."""

    def __init__(self, process: Process, seed: int, bounds: Bounds = BOUNDS) -> None:
        self._pythia = pythia8mc.Pythia("", False)
        lines = (*process.lines, f"PhaseSpace:pTHatMin = {bounds.pt_hat:g}", f"Random:seed = {seed}")
        for line in lines:
            if not self._pythia.readString(line):
                raise PlannerError(
                    f"This version of Pythia does not know the setting {line!r}: install pythia8mc 8.317."
                )
        self._hook = _Wanted(process, bounds)  # keep a reference, because Pythia keeps none
        self._pythia.setUserHooksPtr(self._hook)
        if not self._pythia.init():
            raise PlannerError("Pythia could not start with the settings of this class: read its messages above.")

    def batch(self, n: int) -> ak.Array:
        """Return the next ``n`` events, or fewer if Pythia failed for some of them."""
        return self._pythia.nextBatch(n)

    @property
    def hopes(self) -> list[list[Hope]]:
        """The jet candidates of every event that the hook has accepted so far."""
        return self._hook.hopes

    def charges(self, pid: NDArray[Any]) -> Floats:
        """Return the electric charge in units of e for each PDG code in ``pid``."""
        unique, number = np.unique(pid, return_inverse=True)
        of = np.array([self._pythia.particleData.charge(int(one)) for one in unique])
        return of[number]


class Columns:
    """Columns of all particles of some events, as views of Pythia's records. Event i begins at row ``offsets[i]``."""

    def __init__(self, events: ak.Array) -> None:
        particles = events.layout.content("prt")
        self.offsets: Ints = particles.offsets.data
        self._rows = particles.content

    def __call__(self, name: str) -> NDArray[Any]:
        """Return the column ``name``, such as ``id`` or ``status``."""
        return self._rows.content(name).data

    def momentum(self, rows: Ints) -> tuple[Floats, ...]:
        """Return px, py, pz and energy of the particles ``rows`` in GeV."""
        p = self._rows.content("p")
        return tuple(p.content(name).data[rows] for name in ("px", "py", "pz", "e"))

    def vertex(self, rows: Ints) -> Floats:
        """Return the production vertices of the particles ``rows`` in mm, (3, rows).

        A vertex is 0 for particles from the collision itself.
        """
        option = self._rows.content("vProd")
        at = option.index.data[rows]
        found = np.zeros((3, len(rows)))
        there = at >= 0
        for axis, name in enumerate(("px", "py", "pz")):
            found[axis, there] = option.content.content(name).data[at[there]]
        return found

    def event(self, rows: Ints) -> Ints:
        """Return the number of the event of each of the particles ``rows``."""
        return np.searchsorted(self.offsets, rows, side="right") - 1


def particles(columns: Columns, charges: Callable[[NDArray[Any]], Floats]) -> Particles:
    """Return the stable particles that are visible in a detector. ``charges`` gives the charge of a PDG code."""
    pid = columns("id")
    rows = np.flatnonzero((columns("status") > 0) & ~np.isin(np.abs(pid), NEUTRINOS))
    px, py, pz, e = columns.momentum(rows)
    central = np.abs(pz) < np.sinh(FARTHEST) * np.hypot(px, py)
    rows = rows[central]
    x, y, z = columns.vertex(rows)
    px, py, pz, e = px[central], py[central], pz[central], e[central]
    pid = pid[rows].astype(np.int64)
    return Particles(len(columns.offsets) - 1, columns.event(rows), pid, charges(pid), px, py, pz, e, x, y, z)


def partons(columns: Columns, parent: int) -> Partons:
    """Return the visible products (Pythia's status 23) of the decays of ``parent``.

    If ``parent`` is 0, all visible products of the hard process are returned. Otherwise, only products with an
    ancestor ``parent`` are returned.
    """
    pid = np.abs(columns("id"))
    rows = np.flatnonzero((np.abs(columns("status")) == 23) & ~np.isin(pid, NEUTRINOS))
    event = columns.event(rows)
    top = rows if parent == 0 else _ancestors(columns, rows, event, pid, parent)
    found = top >= 0
    rows, event, top = rows[found], event[found], top[found]
    unique, number = np.unique(top, return_inverse=True)
    _, eta, phi = _polar(columns, rows)
    pt_parent, eta_parent, phi_parent = _polar(columns, unique)
    signed = columns("id")
    parents = {"pid": signed[unique].astype(float), "pt": pt_parent, "eta": eta_parent, "phi": phi_parent}
    return Partons(event, number, signed[rows].astype(np.int64), eta, phi, parents)


def _ancestors(columns: Columns, rows: Ints, event: Ints, pid: NDArray[Any], parent: int) -> Ints:
    """Return, for each of ``rows``, the row of the nearest ancestor with the absolute PDG code ``parent``, or -1."""
    mother, start = columns("mother1"), columns.offsets[event]
    at, found = rows.copy(), np.full(len(rows), -1)
    for _ in range(8):  # t -> W -> q, with copies in between
        up = mother[at].astype(np.int64)
        at = np.where(up > 0, start + up, at)
        found = np.where((found < 0) & (pid[at] == parent), at, found)
    return found


def _polar(columns: Columns, rows: Ints) -> tuple[Floats, Floats, Floats]:
    px, py, pz, _ = columns.momentum(rows)
    pt = np.hypot(px, py)
    with np.errstate(divide="ignore"):
        return pt, np.arcsinh(pz / pt), np.arctan2(py, px)
