"""Physics checks of simulated jets: masses, multiplicities, displaced tracks, and effects of the pT bounds."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import awkward as ak
import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

from benchmarks.pictures import draw
from benchmarks.report import Report
from isoplan.app.figures.style.axes import axis
from isoplan.app.figures.style.palette import CATEGORIES, GREY
from isoplan.app.figures.style.theme import LIGHT, compose, legend
from isoplan.trainers.backend.cluster.machine import this_machine
from isoplan.trainers.jets.features import KINDS, NAMES, TREE
from isoplan.trainers.jets.simulate.chain import select
from isoplan.trainers.jets.simulate.detector import Noise
from isoplan.trainers.jets.simulate.generate import BOUNDS, Generator
from isoplan.trainers.jets.simulate.parts import Request, simulate
from isoplan.trainers.jets.simulate.processes import GLUON, PROCESSES, Bounds

JETS, EVENTS = 2000, 1280
"""Number of simulated jets per class, and number of events that are simulated with the wide bounds."""
WIDE = Bounds(120.0, 350.0, 2.8)
LOW, HIGH = 550.0, 700.0
"""Limits of pT in GeV. An effect of the pT bounds would appear in jets below the first or above the second value."""
PEAKS = {"Hbb": 125, "Hcc": 125, "Hgg": 125, "H4q": 125, "Zqq": 91.2, "Wqq": 80.4, "Tbqq": 173}
DISPLACED = 5.0
"""Minimum of (impact parameter) / (error of the impact parameter) for a displaced track."""
COLUMNS = (
    "class", "mode of the mass [GeV]", "middle half [GeV]", "particles", "tracks", "photons", "neutral hadrons",
    "displaced", "τ2/τ1", "τ3/τ2", "lost", f"lost below {LOW:g} GeV", f"lost above {HIGH:g} GeV",
)  # fmt: skip
Floats: TypeAlias = NDArray[np.float64]
Jets: TypeAlias = Mapping[str, ak.Array]


def run() -> Report:
    """Simulate jets of all classes, draw docs/images/jets_*.png, and report the properties of each class."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "jets.root"
        simulate(Request(NAMES, JETS * len(NAMES), 2024), out, this_machine().cores)
        jets = _read(out)
    draw(figures(jets))
    multiplicity = np.mean([ak.mean(one.jet_nparticles) for one in jets.values()])
    gluons = np.mean(np.asarray(jets["QCD"].aux_genpart_pid) == GLUON)
    fall = ", ".join(f"{n}" for n in np.histogram(jets["QCD"].jet_sdmass, np.arange(0, 201, 40))[0])
    return Report(
        "Simulated jets",
        f"{JETS:,} jets of each class, {multiplicity:.1f} particles on average (goal: 40 ± 5). Goals for the mode of "
        "the soft-drop mass: within 4 GeV of 80.4, 91.2 and 125, within 8 GeV of 173; for Hqql and Tbl broad and "
        f"below 125 and 173; for QCD falling ({fall} jets in steps of 40 GeV). Gluons are {gluons:.1%} of the QCD "
        f"jets (17 % of the process). Displaced: tracks with a transverse impact parameter above {DISPLACED:g} "
        f"errors. Lost: share of the jets that the lower bounds of pT reject, among all jets and at both ends of the "
        f"pT window. The bounds are {BOUNDS.pt_hat:g} GeV for the hard process and {BOUNDS.hope:g} GeV for the jet "
        "candidate; there are no upper bounds. The share is measured in "
        f"{EVENTS:,} events with wider bounds ({WIDE.pt_hat:g} and {WIDE.hope:g} GeV).",
        COLUMNS,
        tuple(_row(kind, jets[kind]) for kind in NAMES),
    )


def _read(path: Path) -> Jets:
    import uproot

    with uproot.open(path) as file:
        every = file[TREE].arrays()
    return {kind.name: every[every[kind.label] == 1] for kind in KINDS}


def mode(values: Floats) -> float:
    """Return the most frequent value: the maximum of a Gaussian kernel density with a width of 2 GeV."""
    grid = np.arange(5.0, 250.0, 0.1)
    kernel = gaussian_kde(values, 2.0 / np.std(values, ddof=1))
    return float(grid[np.argmax(kernel(grid))])


def _row(kind: str, jets: ak.Array) -> tuple[str, ...]:
    mass = np.asarray(jets.jet_sdmass, float)
    goal = f" ({PEAKS[kind]})" if kind in PEAKS else ""
    low, high = np.quantile(mass, (0.25, 0.75))
    kinds = [ak.mean(ak.sum(jets[f"part_is{name}"], axis=1)) for name in ("Photon", "NeutralHadron")]
    ratios = (np.median(_over(jets[f"jet_tau{i + 1}"], jets[f"jet_tau{i}"])) for i in (1, 2))
    return (
        kind,
        f"{mode(mass):.1f}{goal}",
        f"{low:.0f} to {high:.0f}",
        f"{ak.mean(jets.jet_nparticles):.1f}",
        f"{ak.mean(ak.sum(np.abs(jets.part_charge), axis=1)):.1f}",
        *(f"{value:.1f}" for value in kinds),
        f"{ak.mean(displaced(jets)):.2f}",
        *(f"{value:.2f}" for value in ratios),
        *_bounds(kind),
    )


def _over(above: ak.Array, below: ak.Array) -> Floats:
    return np.asarray(above, float) / np.maximum(np.asarray(below, float), 1e-9)


def displaced(jets: ak.Array) -> Floats:
    """Return the number of displaced tracks in each jet."""
    return np.asarray(ak.sum(np.abs(jets.part_d0val) > DISPLACED * jets.part_d0err, axis=1), float)


def _bounds(kind: str) -> tuple[str, str, str]:
    """Return the fraction of jets that is lost to the pT bounds, as three texts.

    The fractions are those of all jets, of jets below ``LOW`` GeV, and of jets above ``HIGH`` GeV. The jets are
    simulated with wider bounds. A jet is lost if its event does not pass the normal bounds.
    """
    process = PROCESSES[kind]
    generator, noise = Generator(process, 7, WIDE), Noise.of(np.random.SeedSequence(7))
    pt, passed = np.zeros(0), np.zeros(0, bool)
    for _ in range(EVENTS // 128):
        batch = generator.batch(128)
        hopeless = [not BOUNDS.allow(hopes) for hopes in generator.hopes[-len(batch) :]]
        soft = np.asarray(batch.info.pT2Hat) ** 0.5 < BOUNDS.pt_hat
        _, jets, _ = select(generator, batch, process, noise)
        pt, passed = np.append(pt, jets.pt), np.append(passed, (hopeless | soft)[jets.event])
    return _share(passed), _share(passed[pt < LOW]), _share(passed[pt > HIGH])


def _share(which: NDArray[np.bool_]) -> str:
    lost, of = max(int(np.sum(which)), 1), max(len(which), 1)
    return f"{np.sum(which) / of:.1%} ± {np.sqrt(lost) / of:.1%}"


def figures(jets: Jets) -> dict[str, go.Figure]:
    """Return histograms of masses, particles, pT and displaced tracks, by the file name of their picture."""

    def of(branch: str, *kinds: str) -> dict[str, Floats]:
        return {kind: np.asarray(jets[kind][branch], float) for kind in kinds}

    two, more = ("QCD", "Wqq", "Zqq", "Hbb", "Tbqq"), ("QCD", "Hcc", "Hgg", "H4q", "Hqql", "Tbl")
    mass, far = "Soft-drop mass [GeV]", {kind: displaced(jets[kind]) for kind in ("QCD", "Wqq", "Hcc", "Hbb", "Tbqq")}
    masses, counts, pts = np.arange(0.0, 241, 5), np.arange(0.0, 129, 4), np.arange(500.0, 1001, 20)
    particles, pt = of("jet_nparticles", "QCD", "Wqq", "Hgg", "Tbqq", "Tbl"), of("jet_pt", "QCD", "Hbb", "Tbqq", "Tbl")
    tracks = f"Tracks with an impact parameter above {DISPLACED:g} errors"
    return {
        "jets_mass": histogram("mass", mass, of("jet_sdmass", *two), masses),
        "jets_mass_more": histogram("mass-more", mass, of("jet_sdmass", *more), masses),
        "jets_particles": histogram("particles", "Particles", particles, counts),
        "jets_pt": histogram("pt", "Transverse momentum [GeV]", pt, pts, log=True),
        "jets_displaced": histogram("displaced", tracks, far, np.arange(-0.5, 20, 1)),
    }


def histogram(name: str, title: str, values: Mapping[str, Floats], edges: Floats, log: bool = False) -> go.Figure:
    """Draw a step histogram for each class: the fraction of its jets in each bin."""
    titles = {kind.name: kind.title for kind in KINDS}
    traces: list[dict[str, Any]] = []
    for i, (kind, of) in enumerate(values.items()):
        counts, _ = np.histogram(of, edges)
        share = np.where((counts > 0) | (not log), counts / len(of), np.nan)
        colour = GREY if kind == "QCD" else CATEGORIES[(i - 1) % len(CATEGORIES)]
        line = {"color": colour, "width": PAGE.line(2), "shape": "hv"}
        x, y = edges.tolist(), [*share.tolist(), share[-1]]
        traces.append({"type": "scatter", "mode": "lines", "x": x, "y": y, "name": titles[kind], "line": line})
    scale = {"type": "log", "dtick": 1} if log else {"rangemode": "tozero", "tickformat": ".0%"}
    upright = axis(PAGE, "Share of jets") | scale
    across = axis(PAGE, title) | {"range": [float(edges[0]), float(edges[-1])]}
    return compose(PAGE, 340, name, traces, xaxis=across, yaxis=upright, **legend(PAGE))


PAGE = replace(LIGHT, width=680)
