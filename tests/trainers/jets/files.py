"""Small ROOT files with the branches of JetClass and random numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot
from numpy.typing import NDArray

from isoplan.trainers.jets.features import LABELS, PARTICLE_FLAGS, TREE


def columns(lengths: list[int] | NDArray[np.int64], seed: int = 0) -> dict[str, Any]:
    """Return arrays by branch name for jets with ``lengths`` particles. In a jet, the pT of the particles decreases.

    The class of jet i is i mod 10.
    """
    rng = np.random.default_rng(seed)
    n = np.asarray(lengths, np.int64)
    total, jet = int(n.sum()), np.repeat(np.arange(len(n)), n)
    pt = rng.lognormal(1, 1.5, total).astype(np.float32)
    pt = pt[np.lexsort((-pt, jet))]
    phi, eta = rng.uniform(-np.pi, np.pi, total), rng.uniform(-2, 2, total)
    flat: dict[str, NDArray[Any]] = {
        "part_px": pt * np.cos(phi),
        "part_py": pt * np.sin(phi),
        "part_pz": pt * np.sinh(eta),
    }
    flat["part_energy"] = pt * np.cosh(eta)
    flat |= {name: rng.normal(0, 0.4, total) for name in ("part_deta", "part_dphi")}
    flat |= {name: rng.normal(0, 2, total) for name in ("part_d0val", "part_dzval")}
    flat |= {name: rng.exponential(0.7, total) for name in ("part_d0err", "part_dzerr")}
    flat["part_charge"] = rng.integers(-1, 2, total)
    kind = rng.integers(0, 5, total)
    flat |= {name: kind == i for i, name in enumerate(PARTICLE_FLAGS)}
    found: dict[str, Any] = {name: ak.unflatten(v.astype(np.float32), n) for name, v in flat.items()}
    found["jet_pt"] = rng.uniform(500, 1000, len(n)).astype(np.float32)
    found["jet_energy"] = found["jet_pt"] * 1.5
    return found | {name: (np.arange(len(n)) % 10 == i).astype(np.float32) for i, name in enumerate(LABELS)}


def write_root(path: Path, whole: dict[str, Any], basket: int = 10_000, tree: str = TREE) -> Path:
    """Write the branches to a ROOT file with ``basket`` jets in each basket, and return its path."""
    types = {k: v.dtype if isinstance(v, np.ndarray) else f"var * {v.type.content.content}" for k, v in whole.items()}
    jets = len(next(iter(whole.values())))
    with uproot.recreate(path) as file:
        out = file.mktree(tree, types)
        for first in range(0, jets, basket):
            out.extend({name: values[first : first + basket] for name, values in whole.items()})
    return path
