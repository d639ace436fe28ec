"""Simulation of jets of one class from a seed, with the branches of JetClass.

FastJet finds the jets (anti-kt) and computes soft drop and N-subjettiness. A jet belongs to the class if it contains
all visible products of one decay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import awkward as ak
import fastjet
import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.cell import Stopped
from isoplan.trainers.jets.features import KINDS, MOST_PARTICLES, NAMES
from isoplan.trainers.jets.simulate import detector
from isoplan.trainers.jets.simulate.detector import Seen
from isoplan.trainers.jets.simulate.generate import SEEDS, Columns, Generator, Partons, particles, partons
from isoplan.trainers.jets.simulate.processes import ETA, PROCESSES, PT, RADIUS, Process

LEAST_BATCH, BATCH = 16, 128
"""Minimum and maximum number of events per batch of Pythia. Larger batches need more memory without saving time."""
PATIENCE = 3000
"""The simulation of a class ends with an error if the first ``PATIENCE`` events give no jet."""


def make_jets(
    kind: str,
    n: int,
    seed: int,
    chunk: int = 0,
    stop: Callable[[], bool] = lambda: False,
    said: Callable[[int], None] = lambda jets: None,
) -> ak.Array:
    """Return ``n`` jets of the class ``kind``.

    The result is a record array with the branches of JetClass, including the branches ``aux_*`` of the decayed
    particles. The jets depend only on the class, ``seed`` and ``chunk``. The first jets are the same for every ``n``.
    Two chunks of a seed share no events. After every batch, ``said`` is called with the number of jets so far, and
    ``stop`` is checked. Raises Stopped if ``stop`` returns true, and PlannerError if the class is unknown or gives no
    jets.
    """
    if kind not in PROCESSES:
        raise PlannerError(f"There is no class {kind!r} of jets: use {', '.join(NAMES)}.")
    process = PROCESSES[kind]
    whole = np.random.SeedSequence([seed, NAMES.index(kind)])
    first = int(whole.generate_state(1, np.uint64)[0])
    generator = Generator(process, 1 + (first + chunk) % SEEDS)
    noise = detector.Noise.of(np.random.SeedSequence([seed, NAMES.index(kind), chunk]))
    batches: list[ak.Array] = []
    jets, events = 0, 0
    while jets < n:
        if stop():
            raise Stopped
        asked = _batch(n - jets, jets, events)
        made = generator.batch(asked)
        found = jets_of(generator, made, process, kind, noise) if len(made) else empty(kind)
        batches.append(found)
        jets, events = jets + len(found), events + asked
        said(min(jets, n))
        if not jets and events >= PATIENCE:
            raise PlannerError(f"The class {kind} gave no jet in {events:,} events: leave it out of the classes.")
    return ak.concatenate(batches)[:n] if batches else empty(kind)


def _batch(wanted: int, jets: int, events: int) -> int:
    """Return the number of events of the next batch.

    The number is estimated from the jets per event so far, such that the next batch completes the ``wanted`` jets. It
    is limited to the range from ``LEAST_BATCH`` to ``BATCH``.
    """
    expected = wanted * events / jets if jets else 4 * wanted + events
    return int(np.clip(np.ceil(1.1 * expected), LEAST_BATCH, BATCH))


def jets_of(generator: Generator, events: ak.Array, process: Process, kind: str, noise: detector.Noise) -> ak.Array:
    """Return the jets of the class ``kind`` in these events, with all branches of JetClass."""
    seen, jets, parents = select(generator, events, process, noise)
    return branches(seen, jets, kind, parents)


def select(
    generator: Generator, events: ak.Array, process: Process, noise: detector.Noise
) -> tuple[Seen, Jets, dict[str, Floats]]:
    """Return the reconstructed particles of these events, the jets of the class, and the decayed particles."""
    columns = Columns(events)
    seen = detector.detect(particles(columns, generator.charges), noise)
    decays = partons(columns, process.parent)
    jets = find_jets(seen)
    decay = match(jets, decays, process.visible)
    jets, decay = jets[decay >= 0], decay[decay >= 0]
    return seen, jets, {name: values[decay] for name, values in decays.parents.items()}


def empty(kind: str) -> ak.Array:
    """Return zero jets with all branches."""
    none, rows = np.zeros(0), np.zeros(0, np.int64)
    seen = Seen(0, rows, *(none,) * 5, rows, *(none,) * 4)
    jets = Jets(rows, none, none, none, none, ak.unflatten(rows, rows))
    return branches(seen, jets, kind, dict.fromkeys(("pid", "pt", "eta", "phi"), none))


def branches(seen: Seen, jets: Jets, kind: str, parents: dict[str, Floats]) -> ak.Array:
    """Return jets with the branches of JetClass, in single precision.

    At most 128 particles of a jet are returned, sorted by decreasing pT.
    """
    pt = ak.unflatten(np.hypot(seen.px, seen.py)[_flat(jets.rows)], ak.num(jets.rows))
    rows = jets.rows[ak.argsort(pt, ascending=False, stable=True)][:, :MOST_PARTICLES]
    many = ak.to_numpy(ak.num(rows))
    mass, tau = substructure(seen, jets)
    columns: dict[str, Floats] = {
        "jet_pt": jets.pt,
        "jet_eta": jets.eta,
        "jet_phi": jets.phi,
        "jet_energy": jets.energy,
        "jet_nparticles": many,
        "jet_sdmass": mass,
        **{f"jet_tau{i + 1}": tau[:, i] for i in range(tau.shape[1])},
        **{f"aux_genpart_{name}": parents[name] for name in ("eta", "phi", "pid", "pt")},
        "aux_truth_match": np.ones(len(many)),
        **{one.label: np.full(len(many), one.name == kind) for one in KINDS},
    }
    parts = {name: ak.unflatten(values, many) for name, values in _parts(seen, jets, _flat(rows), many).items()}
    return ak.zip(parts | {name: values.astype(np.float32) for name, values in columns.items()}, depth_limit=1)


def _parts(seen: Seen, jets: Jets, rows: Ints, many: Ints) -> dict[str, Floats]:
    """Return the branches ``part_*`` for the particles ``rows`` of all jets, as flat arrays.

    ``many`` (jets,) is the number of particles of each jet.
    """
    eta = np.arcsinh(seen.pz[rows] / np.hypot(seen.px[rows], seen.py[rows]))
    phi = np.arctan2(seen.py[rows], seen.px[rows])
    side = np.where(jets.eta >= 0, 1.0, -1.0)
    kind = seen.kind[rows]
    values = {
        "part_px": seen.px[rows],
        "part_py": seen.py[rows],
        "part_pz": seen.pz[rows],
        "part_energy": seen.energy[rows],
        "part_deta": (eta - np.repeat(jets.eta, many)) * np.repeat(side, many),
        "part_dphi": turn(phi - np.repeat(jets.phi, many)),
        "part_d0val": seen.d0[rows],
        "part_d0err": seen.d0err[rows],
        "part_dzval": seen.dz[rows],
        "part_dzerr": seen.dzerr[rows],
        "part_charge": seen.charge[rows],
        "part_isChargedHadron": kind == detector.CHARGED,
        "part_isNeutralHadron": kind == detector.NEUTRAL,
        "part_isPhoton": kind == detector.PHOTON,
        "part_isElectron": kind == detector.ELECTRON,
        "part_isMuon": kind == detector.MUON,
    }
    return {name: column.astype(np.float32) for name, column in values.items()}


def _flat(rows: ak.Array) -> Ints:
    return np.asarray(ak.to_numpy(ak.flatten(rows)), np.int64)


fastjet._swig.ClusterSequence.set_fastjet_banner_stream(None)  # otherwise the banner goes to standard output
ANTI_KT = fastjet.JetDefinition(fastjet.antikt_algorithm, RADIUS)
# Cambridge/Aachen clusters all particles of a jet again. The radius is larger than any distance between them.
CAMBRIDGE = fastjet.JetDefinition(fastjet.cambridge_algorithm, 100.0)
Z_CUT, BETA = 0.1, 0.0
AXES = (1, 2, 3, 4)


@dataclass(frozen=True)
class Jets:
    """Jets in the window of transverse momentum and pseudorapidity, sorted by event.

    ``rows`` (jets * var) are the indices of the particles of each jet in ``Seen``. Momenta and energies are in GeV.
    """

    event: Ints
    px: Floats
    py: Floats
    pz: Floats
    energy: Floats
    rows: ak.Array

    @property
    def pt(self) -> Floats:
        """The transverse momentum in GeV."""
        return np.hypot(self.px, self.py)

    @property
    def eta(self) -> Floats:
        """The pseudorapidity of the jet axis."""
        return np.arcsinh(self.pz / self.pt)

    @property
    def phi(self) -> Floats:
        """The azimuth of the jet axis, from -pi to pi."""
        return np.arctan2(self.py, self.px)

    def __getitem__(self, kept: NDArray[np.bool_]) -> Jets:
        """Return the jets for which ``kept`` (jets,) is True."""
        px, py, pz, energy = (column[kept] for column in (self.px, self.py, self.pz, self.energy))
        return Jets(self.event[kept], px, py, pz, energy, self.rows[kept])


def find_jets(seen: Seen) -> Jets:
    """Return the anti-kt jets of all events in ``seen`` within the window of pT and pseudorapidity."""
    counts = np.bincount(seen.event, minlength=seen.events)
    full = np.flatnonzero(counts)  # FastJet gives no result for an event without particles
    starts = (np.cumsum(counts) - counts)[full]
    found = fastjet.ClusterSequence(ak.unflatten(_momenta(seen), counts[full]), ANTI_KT)
    jets, rows = found.inclusive_jets(min_pt=PT[0]), found.constituent_index(min_pt=PT[0])
    many = ak.to_numpy(ak.num(jets))
    event = np.repeat(np.arange(len(full)), many)
    flat = ak.flatten(jets)
    px, py, pz, energy = (ak.to_numpy(flat[name]) for name in ("px", "py", "pz", "E"))
    every = Jets(full[event], px, py, pz, energy, ak.flatten(rows) + starts[event])
    return every[(every.pt < PT[1]) & (np.abs(every.eta) < ETA)]


def substructure(seen: Seen, jets: Jets) -> tuple[Floats, Floats]:
    """Return the soft-drop mass in GeV (jets,), with z_cut 0.1 and beta 0, and the N-subjettiness (jets, 4).

    N-subjettiness is computed for N = 1 to 4 with beta 1 and one-pass kt axes.
    """
    if len(jets.event) == 0:
        return np.zeros(0), np.zeros((0, len(AXES)))
    particles = ak.unflatten(_momenta(seen)[ak.to_numpy(ak.flatten(jets.rows))], ak.num(jets.rows))
    found = fastjet.ClusterSequence(particles, CAMBRIDGE)
    groomed = found.exclusive_jets_softdrop_grooming(njets=1, beta=BETA, symmetry_cut=Z_CUT, R0=RADIUS)
    tau = found.njettiness(njets=list(AXES), R0=RADIUS)
    return ak.to_numpy(groomed.msoftdrop).astype(float), ak.to_numpy(tau).astype(float)


def _momenta(seen: Seen) -> ak.Array:
    return ak.zip({"px": seen.px, "py": seen.py, "pz": seen.pz, "E": seen.energy}, with_name="Momentum4D")


def turn(phi: Floats) -> Floats:
    """Return the angles ``phi``, shifted by multiples of 2 pi into the range from -pi to pi."""
    return (phi + np.pi) % (2 * np.pi) - np.pi


def match(jets: Jets, partons: Partons, visible: int) -> Ints:
    """Return, for each jet, the index of the decay that it contains, or -1.

    A jet contains a decay if all visible products of the decay are within 0.8 of the jet axis. Only decays with exactly
    ``visible`` visible products count. If a jet contains two decays, the first is returned.
    """
    of = np.searchsorted(partons.event, jets.event, "left"), np.searchsorted(partons.event, jets.event, "right")
    many = of[1] - of[0]
    jet = np.repeat(np.arange(len(many)), many)
    parton = np.arange(len(jet)) - np.repeat(np.cumsum(many) - many, many) + np.repeat(of[0], many)
    eta, phi = jets.eta[jet] - partons.eta[parton], turn(jets.phi[jet] - partons.phi[parton])
    inside = np.hypot(eta, phi) < RADIUS
    decays = len(partons.parents["pid"])
    pair, number = np.unique(jet * decays + partons.parent[parton], return_inverse=True)
    held, all_of = np.bincount(number, inside, len(pair)), np.bincount(partons.parent, minlength=decays)
    whole = pair[(held == visible) & (all_of[pair % decays] == visible)] if decays else pair
    found = np.full(len(many), -1)
    found[whole[::-1] // max(decays, 1)] = whole[::-1] % max(decays, 1)
    return found
