"""Notes on units: what was converted, values that do not fit their role, compute that is not that of the rule. Pure."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator

import numpy as np

from engine.costs import ComputeRule
from engine.schema import Floats, Role, Roles, Runs
from engine.store.conversions import PF_DAY, read_conversion
from engine.store.names import LARGER, SMALLER, words
from engine.store.unit_names import is_bits

_WORDS = {3: "thousands", 6: "millions", 9: "billions", 12: "trillions"}
_EMPTY = 1.5  # decades without a value between two parts of a column that are in different units
_NEAR = 0.5  # decades: how far a ratio may lie from a power of 1000
_SMALL = {"N": 2e3, "D": 2e3}
_MOST_PARAMETERS = 1e15
_MOST_NATS = 15.0
"""A cross-entropy above the logarithm of any vocabulary."""
_COMPUTE = {"pf-days": math.log10(PF_DAY), "petaflop": 15.0, "exaflop": 18.0, "zettaflop": 21.0, "teraflop": 12.0}
_EXACT = 0.15  # decades: how far C may lie from the rule in a unit that is no power of 1000


def reading_notes(roles: Roles) -> list[str]:
    """How columns were read whose unit was converted, and roles that a formula gave; empty for most mappings."""
    used = {name: role.value for role in Role if (name := roles.column(role)) is not None}
    used |= {m.column: m.column for m in roles.metrics}
    notes = []
    for name, how in roles.conversions.items():
        about = read_conversion(how, name).about
        if about and name in used:
            notes.append(f"{used[name]} is read from column {name!r} {about}.")
    return [*notes, *(f"{role} is computed as {formula}." for role, formula in roles.derived.items())]


def unit_notes(runs: Runs) -> tuple[str, ...]:
    """A sentence for each column whose unit looks wrong or mixed; empty where nothing does.

    Looked at: parts of N, D, U or C that a power of 1000 would bring together, C against the compute rule, and sizes
    too small to be counted in ones.
    """
    notes = [note for role in ("N", "D", "U", "C") if getattr(runs.roles, role) for note in _mixed(runs, role)]
    notes += _unlikely(runs)
    against = _against_rule(runs)
    if against:
        return (*notes, *against)
    return (
        *notes,
        *(note for role in _SMALL if getattr(runs.roles, role) and not notes for note in _too_small(runs, role)),
    )


def _unlikely(runs: Runs) -> Iterator[str]:
    """Values that a role does not have: too many parameters, samples below one, a loss that is another measure."""
    N, D, loss = (runs.values[r][np.isfinite(runs.values[r])] if r in runs else np.empty(0) for r in ("N", "D", "loss"))
    if len(N) and N.max() > _MOST_PARAMETERS:
        yield f"{_column(runs, 'N')} reaches {N.max():.3g}, more parameters than any model has: check its unit."
    if len(D) and (D < 1).any():
        yield f"{_column(runs, 'D')} is below one sample in {int((D < 1).sum()):,} rows: check its unit."
    name = runs.roles.loss
    if name is None or len(loss) == 0 or name in runs.roles.conversions:
        return
    named = words(name)
    if named & LARGER and not named & SMALLER:
        error = "1 - " + (name if name.isidentifier() else f'"{name}"') + (" / 100" if loss.max() > 1.5 else "")
        yield (
            f"{_column(runs, 'loss')} is named like a metric of which larger is better, and a loss decreases: "
            f"use the error instead, loss = {error} (--derive in the terminal)."
        )
    elif is_bits(name):
        yield f"{_column(runs, 'loss')} is in bits, and so is E. To read it in nats, {_convert(name, 'bits')}."
    elif named & {"ppl", "perplexity"} or (loss.min() >= 1 and loss.max() > _MOST_NATS and not named & {"mse", "mae"}):
        yield (
            f"{_column(runs, 'loss')} lies between {loss.min():.3g} and {loss.max():.3g}, as a perplexity does: "
            f"a law describes its logarithm. To read it so, {_convert(name, 'perplexity')}."
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
    rest = rule.text.removeprefix("C = ")
    if (unit := _unit_of_compute(off)) and off < -_NEAR:
        times, what = ("8.64e19", "PF-days") if unit == "pf-days" else (f"10^{-power}", f"units of 10^{-power} FLOPs")
        name = runs.roles.C
        hours = f", or in GPU-hours ({_convert(name, 'H100')})" if power == -18 else ""
        return [
            f"{_column(runs, 'C')} is about {times} times less than {rest}: it may be in {what} "
            f"({_convert(name, unit)}){hours}."
        ]
    if power == 0 or abs(off - power) > _NEAR:
        return _stragglers(runs, rule, ratio)
    which = f"{_column(runs, 'N')} or {_column(runs, 'D')}"
    if power < 0:
        unit = f"10^{-power}"
        return [f"{_column(runs, 'C')} is about {unit} times less than {rest}: it may be in units of {unit} FLOPs."]
    word = _WORDS.get(power, f"units of 10^{power}")
    why = f"{which} may be in {word}, or a sample may hold about 10^{power} tokens (rule 6npND)"
    return [f"{_column(runs, 'C')} is about 10^{power} times more than {rest}: {why}."]


def _unit_of_compute(off: float) -> str:
    """The unit of C that explains its distance ``off`` to the rule, in decades; empty where none does."""
    near = {unit: abs(off + power) for unit, power in _COMPUTE.items()}
    best = min(near, key=near.__getitem__)
    return best if near[best] < (_EXACT if best == "pf-days" else _NEAR) else ""


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
    column = getattr(runs.roles, role)
    if column in runs.roles.conversions:
        return []
    how = f"{_convert(column, 'millions')}, or compute is wrong"
    return [f"{name} is at most {x.max():.3g}: if it counts {_WORDS[6]}, {how}."]


def _convert(column: str, how: str) -> str:
    """What to do so that a column is converted."""
    return f"convert it on the Data page, or with --convert {shlex.quote(f'{column}:{how}')}"


def _column(runs: Runs, role: str) -> str:
    """The role with the column that it is read from: ``N (column params)``."""
    name = getattr(runs.roles, role, None)
    return role if name in (None, role) else f"{role} (column {name!r})"
