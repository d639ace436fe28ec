"""Approach 1: the lower envelope of training curves over compute, then N* = k C^a, D* = k_D C^b through it."""

from __future__ import annotations

from dataclasses import replace

from isoplan.engine.laws.catalogue.isoflop import ISOFLOP

ENVELOPE = replace(
    ISOFLOP,
    name="envelope",
    title="Lower envelope of training curves",
    summary="The least loss that any run had reached at each compute, and power laws through the runs that reached it. "
    "Reads training curves, or the end of each run where there are none. The luckiest run wins at each compute: with "
    "whole curves that is simulated and taken off, else intervals are too narrow.",
    reference="Hoffmann et al. 2022, arXiv:2203.15556, sec. 3.1",
    needs="N, D, C and loss, best along training curves: several model sizes that overtake one another.",
    estimator="envelope",
    extra_columns=("N", "D", "C"),
)
