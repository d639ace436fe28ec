"""Iso-FLOP groups found from the compute of the runs, where no column says them. Pure."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from isoplan.engine.arrays import Floats

MIN_RUNS = 3
_MAX_SPREAD = 0.15  # decades inside a group: a budget is a value of C, give or take a fifth
_MIN_GAP = 0.04  # decades between groups
_CLEAR = 3.0  # the smallest gap between groups over the widest group
_MAX_GROUPS = 200


def find_budgets(C: Floats) -> Floats:
    """The nominal budget of each run, NaN for a run in no group; all NaN where no groups stand out.

    ``C`` is (n,) in FLOPs. The sorted log10 C is cut at its widest gaps; of all numbers of cuts the one with the
    clearest groups counts, when at least two groups of ``MIN_RUNS`` runs hold half of the runs and the gaps between
    groups are several times the width of any group. The nominal budget is the median C of the group.
    """
    nominal = np.full(len(C), np.nan)
    usable = np.flatnonzero(np.isfinite(C) & (C > 0))
    order = usable[np.argsort(C[usable], kind="stable")]
    logs = np.log10(C[order])
    best: list[tuple[int, int]] = []
    clarity = _CLEAR
    gaps = np.diff(logs)
    wide = np.flatnonzero(gaps >= _MIN_GAP)
    widest = wide[np.argsort(-gaps[wide], kind="stable")][:_MAX_GROUPS]
    for cuts in range(1, len(widest) + 1):
        gap = gaps[widest[cuts - 1]]
        edges = [0, *(np.sort(widest[:cuts]) + 1).tolist(), len(logs)]
        groups = [(a, b) for a, b in pairwise(edges) if b - a >= MIN_RUNS]
        if len(groups) < 2 or sum(b - a for a, b in groups) * 2 < len(logs):
            continue
        spread = max(logs[b - 1] - logs[a] for a, b in groups)
        if spread <= _MAX_SPREAD and gap / (spread + 1e-6) > clarity:
            best, clarity = groups, gap / (spread + 1e-6)
    for a, b in best:
        nominal[order[a:b]] = np.median(C[order[a:b]])
    return nominal
