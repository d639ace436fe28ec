"""Simulation of jets with the branches of JetClass from a class and a seed."""

from __future__ import annotations

from collections.abc import Callable

import awkward as ak
import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.cell import Stopped
from isoplan.trainers.jets.features import KINDS, MOST_PARTICLES, NAMES
from isoplan.trainers.jets.simulate import cluster, detector
from isoplan.trainers.jets.simulate.cluster import match, turn
from isoplan.trainers.jets.simulate.generate import SEEDS, Columns, Generator, particles, partons
from isoplan.trainers.jets.simulate.processes import PROCESSES, Process

LEAST_BATCH, BATCH = 16, 128
"""Minimum and maximum number of events per batch of Pythia. Larger batches need memory and save no time."""
PATIENCE = 3000
"""Number of events without any jet after which a class counts as one without jets."""


def make_jets(
    kind: str,
    n: int,
    seed: int,
    chunk: int = 0,
    stop: Callable[[], bool] = lambda: False,
    said: Callable[[int], None] = lambda jets: None,
) -> ak.Array:
    """Return ``n`` jets of the class ``kind``.

    The result is a record array with the branches of JetClass and ``aux_*`` of their partons. The jets depend only on
    class, ``seed`` and ``chunk``, and a smaller ``n`` gives the first of them. Two chunks of a seed share no events.
    After every batch ``said`` is called with the number of jets, and ``stop`` is checked. Raises Stopped, and
    PlannerError for an unknown class or one without jets.
    """
    process = process_of(kind)
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


def process_of(kind: str) -> Process:
    """Return the process of a class. Raises PlannerError if the class does not exist."""
    if kind not in PROCESSES:
        raise PlannerError(f"There is no class {kind!r} of jets: use {', '.join(NAMES)}.")
    return PROCESSES[kind]


def _batch(wanted: int, jets: int, events: int) -> int:
    """Estimate the number of events that give the ``wanted`` jets, from the rate so far, within the batch limits."""
    expected = wanted * events / jets if jets else 4 * wanted + events
    return int(np.clip(np.ceil(1.1 * expected), LEAST_BATCH, BATCH))


def jets_of(generator: Generator, events: ak.Array, process: Process, kind: str, noise: detector.Noise) -> ak.Array:
    """Return the jets of the class in these events, with all branches."""
    seen, jets, parents = select(generator, events, process, noise)
    return branches(seen, jets, kind, parents)


def select(
    generator: Generator, events: ak.Array, process: Process, noise: detector.Noise
) -> tuple[detector.Seen, cluster.Jets, dict[str, Floats]]:
    """Return the reconstructed particles of these events, the jets of the class, and the decayed particles."""
    columns = Columns(events)
    seen = detector.detect(particles(columns, generator.charges), noise)
    decays = partons(columns, process.parent)
    jets = cluster.find_jets(seen)
    decay = match(jets, decays, process.visible)
    jets, decay = jets[decay >= 0], decay[decay >= 0]
    return seen, jets, {name: values[decay] for name, values in decays.parents.items()}


def empty(kind: str) -> ak.Array:
    """Return zero jets with all branches."""
    none, rows = np.zeros(0), np.zeros(0, np.int64)
    seen = detector.Seen(0, rows, *(none,) * 5, rows, *(none,) * 4)
    jets = cluster.Jets(rows, none, none, none, none, ak.unflatten(rows, rows))
    return branches(seen, jets, kind, dict.fromkeys(("pid", "pt", "eta", "phi"), none))


def branches(seen: detector.Seen, jets: cluster.Jets, kind: str, parents: dict[str, Floats]) -> ak.Array:
    """Return jets with JetClass's branches: up to 128 particles by falling pT, in single precision."""
    pt = ak.unflatten(np.hypot(seen.px, seen.py)[_flat(jets.rows)], ak.num(jets.rows))
    rows = jets.rows[ak.argsort(pt, ascending=False, stable=True)][:, :MOST_PARTICLES]
    many = ak.to_numpy(ak.num(rows))
    mass, tau = cluster.substructure(seen, jets)
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


def _parts(seen: detector.Seen, jets: cluster.Jets, rows: Ints, many: Ints) -> dict[str, Floats]:
    """Return the branches of all particles of all jets as flat arrays."""
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
