"""Units that do not fit together: N in millions beside N in ones, compute that is not that of the rule. Pure."""

from __future__ import annotations

import numpy as np

from engine.costs import ComputeRule
from engine.schema import Floats, Runs

_WORDS = {3: "thousands", 6: "millions", 9: "billions", 12: "trillions"}
_EMPTY = 1.5  # decades without a value between two parts of a column that are in different units
_NEAR = 0.5  # decades: how far a ratio may lie from a power of 1000
_SMALL = {"N": 2e3, "D": 2e3}


def unit_notes(runs: Runs) -> tuple[str, ...]:
    """A sentence for each column whose unit looks wrong or mixed; empty where nothing does.

    Looked at: parts of N, D, U or C that a power of 1000 would bring together, C against the compute rule, and sizes
    too small to be counted in ones.
    """
    notes = [note for role in ("N", "D", "U", "C") if getattr(runs.roles, role) for note in _mixed(runs, role)]
    against = _against_rule(runs)
    if against:
        return (*notes, *against)
    return (
        *notes,
        *(note for role in _SMALL if getattr(runs.roles, role) and not notes for note in _too_small(runs, role)),
    )


def _mixed(runs: Runs, role: str) -> list[str]:
    x = np.sort(runs[role][np.isfinite(runs[role]) & (runs[role] > 0)])
    if len(x) < 4:
        return []
    gaps = np.diff(np.log10(x))
    cut = int(np.argmax(gaps)) + 1
    low, high = x[:cut], x[cut:]
    if gaps[cut - 1] < _EMPTY:
        return []
    for power, word in _WORDS.items():
        moved = low * 10.0**power
        inside = (moved >= high[0] / 3) & (moved <= high[-1] * 3)
        if inside.all():
            column = _column(runs, role)
            return [
                f"{column} may mix units: {len(low):,} of {len(x):,} values lie between {low[0]:.3g} and {low[-1]:.3g} "
                f"and fit the others if they are in {word}; write all of them in the same unit."
            ]
    return []


def _against_rule(runs: Runs) -> list[str]:
    """Where C is a column: whether it lies a power of 1000 away from the compute rule."""
    rule: ComputeRule = runs.roles.compute
    if runs.roles.C is None or not {"N", "D"} <= runs.values.keys() or runs.roles.D is None or not rule.proportional:
        return []
    ratio = np.log10(runs["C"]) - np.log10(rule.flops(runs["N"], runs["D"]))
    ratio = ratio[np.isfinite(ratio)]
    if len(ratio) == 0:
        return []
    off = float(np.median(ratio))
    power = 3 * round(off / 3)
    if power == 0 or abs(off - power) > _NEAR:
        return _stragglers(runs, rule, ratio)
    rest = rule.text.removeprefix("C = ")
    which = f"{_column(runs, 'N')} or {_column(runs, 'D')}"
    if power < 0:
        unit = f"10^{-power}"
        return [f"{_column(runs, 'C')} is about {unit} times less than {rest}: it may be in units of {unit} FLOPs."]
    word = _WORDS.get(power, f"units of 10^{power}")
    why = f"{which} may be in {word}, or a sample may hold about 10^{power} tokens (rule 6npND)"
    return [f"{_column(runs, 'C')} is about 10^{power} times more than {rest}: {why}."]


def _stragglers(runs: Runs, rule: ComputeRule, ratio: Floats) -> list[str]:
    """Single rows whose C is a power of 1000 off where most rows agree with the rule."""
    off = ratio - np.median(ratio)
    far = np.abs(off) > 3 - _NEAR
    agree = np.abs(off) < _NEAR
    thousandfold = np.abs(off[far] / 3 - np.round(off[far] / 3)) * 3 < _NEAR
    if not far.any() or not thousandfold.all() or not (far | agree).all() or far.mean() > 0.5:
        return []
    count = int(far.sum())
    return [
        f"In {count:,} of {len(ratio):,} rows {_column(runs, 'C')} is a thousand times or more away from "
        f"{rule.text.removeprefix('C = ')} while the others agree: their units may differ."
    ]


def _too_small(runs: Runs, role: str) -> list[str]:
    x = runs[role][np.isfinite(runs[role])]
    if len(x) == 0 or x.max() >= _SMALL[role]:
        return []
    name = _column(runs, role)
    return [f"{name} is at most {x.max():.3g}: if it counts {_WORDS[6]}, write it in ones, or compute comes out wrong."]


def _column(runs: Runs, role: str) -> str:
    """The role with the column that it is read from: ``N (column params)``."""
    name = getattr(runs.roles, role, None)
    return role if name in (None, role) else f"{role} (column {name!r})"
