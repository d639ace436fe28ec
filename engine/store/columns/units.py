"""Notes on units: which units are converted, which values do not fit their role, and whether C fits the compute rule.

N is the number of parameters, D the samples seen, U the unique samples and C the compute in FLOPs. This module does not
read the database.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.schema import Role, Roles, Runs
from isoplan.engine.store.columns.column import OPEN, PF_DAY, Column, convert_options, read_conversion
from isoplan.engine.store.columns.names import ERRORS, LARGER, SMALLER, words
from isoplan.engine.store.columns.unit_names import in_percent, is_bits, named_unit

_WORDS = {3: "thousands", 6: "millions", 9: "billions", 12: "trillions"}
_EMPTY = 1.5  # Minimum gap, in decades, between small and large values of a column if they are in different units.
_NEAR = 0.5  # Maximum distance, in decades, of a ratio from a power of 1000.
_FEWEST = 2e3
"""If the largest N or D is below this number, the column is probably in a larger unit, such as millions."""
_FEWEST_OF_TEXT = {"N": 1e5, "D": 1e7}
"""Limits like ``_FEWEST`` for language models, which have larger N and D. They are used if losses look like
cross-entropies.
"""
_FEWEST_FLOPS, _MOST_FLOPS = 1e9, 1e27
_TYPICAL = 20.0
"""Samples per parameter of many training runs (Hoffmann et al. 2022). The unit with the closest ratio is proposed."""
PER_PARAMETER = (1e-3, 1e7)
"""Range of samples per parameter in real training runs. A ratio outside this range means that a unit is wrong."""
_MOST_PARAMETERS = 1e15
_MOST_NATS = 15.0
"""Upper limit of cross-entropies in nats: it exceeds the logarithm of any vocabulary size. A larger loss is probably a
perplexity.
"""
_NO_NATS = {"mse", "rmse", "mae", "pct", "percent"}
_COUNTED = {"1e3": 3.0, "millions": 6.0, "billions": 9.0, "trillions": 12.0}
_COMPUTE = {"pf-days": math.log10(PF_DAY), "petaflop": 15.0, "exaflop": 18.0, "zettaflop": 21.0, "teraflop": 12.0}
_EXACT = 0.15  # Maximum distance, in decades, of C from the compute rule after a conversion from PF-days.


def reading_notes(roles: Roles) -> list[str]:
    """Return notes on the columns whose unit is converted and on the roles that a formula gives."""
    used = {name: role.value for role in Role if (name := roles.column(role)) is not None}
    used |= {m.column: m.column for m in roles.metrics}
    notes = []
    for name, how in roles.conversions.items():
        about = read_conversion(how, name).about
        if about and name in used:
            notes.append(f"{used[name]} is read from column {name!r} {about}.")
    return [*notes, *(f"{role} is computed as {formula}." for role, formula in roles.derived.items())]


def unit_notes(runs: Runs) -> tuple[str, ...]:
    """Return one sentence for each column whose unit seems wrong or mixed.

    The checks search for: values of N, D, U or C that differ by a power of 1000; a C that differs from the compute
    rule; a C that gives less than one sample; and an N or D so small that it is probably in a larger unit.
    """
    mixed = [note for role in ("N", "D", "U", "C") if getattr(runs.roles, role) for note in _mixed(runs, role)]
    against = [*_against_rule(runs), *_few_flops(runs)]
    return (*mixed, *_unlikely(runs), *(against or ([] if mixed else _too_small(runs))))


def percent_note(runs: Runs, y: str) -> list[str]:
    """Return a note if ``y`` is an accuracy or an error rate in percent that is not converted; otherwise []."""
    finite = runs[y][np.isfinite(runs[y])] if y in runs else np.empty(0)
    name = (runs.roles.loss or y) if y == "loss" else y
    if not len(finite) or name in runs.roles.conversions or "loss" in runs.roles.derived:
        return []
    if not in_percent(name, float(finite.min()), float(finite.max())):
        return []
    return [
        f"{_column(runs, y)} is in percent, so the limit and the amplitudes of its law are in percent too. To "
        f"use fractions of 1, "
        f"{_convert(name, 'percent')}."
    ]


def unknown_compute(values: Mapping[str, Floats], roles: Roles) -> str:
    """Return a reason if D cannot be derived from C and N because the unit of C is unknown; otherwise an empty text.

    The text is also empty if D is a column. The unit of C is known if the column name contains FLOPs, if the user
    accepted a conversion, or if a formula computes C. If the unit is not known, D is derived only if it gives a usual
    number of samples per parameter. A derived D below one sample is always rejected.
    """
    if "D" in values or not {"C", "N"} <= values.keys():
        return ""
    D, per_parameter = _samples(values["C"], values["N"], roles, values)
    if len(D) == 0:
        return ""
    name = roles.C or "C"
    unit = _unit_in_name(name, "C", values["C"]) or _likely_compute(per_parameter)
    stated = bool(words(name) & {"flop", "flops"}) or name in roles.conversions or "C" in roles.derived
    low, high = np.quantile(per_parameter, [0.1, 0.9])
    if np.median(D) >= 1 and (stated or (PER_PARAMETER[0] <= low and high <= PER_PARAMETER[1])):
        return ""
    return (
        f"it cannot be computed from C (column {name!r}) because the unit of C is not known: if C were in FLOPs, "
        f"D would be {D.min():.2g} to {D.max():.2g} samples; {_may_be(name, unit)}, or map a column to D"
    )


def below_a_sample(values: Mapping[str, Floats], roles: Roles) -> str:
    """Return a reason not to use C if C in FLOPs would give most runs less than one sample; otherwise empty."""
    name = roles.C
    if name is None or name in roles.conversions or not {"C", "N"} <= values.keys():
        return ""
    D, per_parameter = _samples(values["C"], values["N"], roles, values)
    if len(D) == 0 or np.median(D) >= 1:
        return ""
    unit = _unit_in_name(name, "C", values["C"]) or _likely_compute(per_parameter)
    return f"column {name!r} gives most runs less than one sample if it is in FLOPs; {_may_be(name, unit)}"


def _samples(C: Floats, N: Floats, roles: Roles, values: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Return D that follows from C in FLOPs, and D / N (samples per parameter), for the runs with a valid result."""
    with np.errstate(all="ignore"):
        D = roles.compute.samples(C, np.where(N > 0, N, np.nan), values)
        known = np.isfinite(D) & (D > 0)
        return D[known], (D / N)[known]


def _likely_compute(per_parameter: Floats) -> str:
    """Return the unit of C for which the runs see about ``_TYPICAL`` samples per parameter.

    ``per_parameter`` (n,) would be the samples per parameter if C were in FLOPs.
    """
    return _nearest(float(np.median(per_parameter)), {"1e3": 3.0, "1e6": 6.0, "gigaflop": 9.0} | _COMPUTE)


def _nearest(per_parameter: float, powers: Mapping[str, float]) -> str:
    """Return the unit in ``powers`` for which the samples per parameter are closest to ``_TYPICAL``.

    ``powers`` maps a unit to log10 of its factor.
    """
    return min(powers, key=lambda unit: abs(math.log10(per_parameter / _TYPICAL) + powers[unit]))


def _may_be(column: str, unit: str) -> str:
    what = OPEN[unit][0] if unit in OPEN else read_conversion(unit, column).about.removeprefix("as ")
    return f"the column may be {what}: {_convert(column, unit)}"


def _unit_in_name(column: str, role: str, x: Floats) -> str:
    """Return the unit in the column name if it is a unit of ``role``; otherwise "".

    ``x`` are the numbers of the column.
    """
    x = x[np.isfinite(x)]
    if len(x) == 0:
        return ""
    unit = named_unit(Column(column, "number", minimum=float(x.min()), maximum=float(x.max())))
    return unit.how if unit is not None and Role(role) in unit.roles else ""


def _few_flops(runs: Runs) -> list[str]:
    """Return a note if C is too small to be in FLOPs and the table has no D to compare it with; otherwise []."""
    name = runs.roles.C
    if name is None or "D" in runs or name in runs.roles.conversions:
        return []
    if why := unknown_compute(runs.values, runs.roles):
        return [f"D is not known: {why}."]
    C = runs["C"][np.isfinite(runs["C"]) & (runs["C"] > 0)]
    if "N" in runs or not len(C) or C.max() >= _FEWEST_FLOPS:
        return []
    unit = _unit_in_name(name, "C", C) or next(
        (u for u in ("pf-days", "exaflop") if C.max() * 10 ** _COMPUTE[u] < _MOST_FLOPS), "petaflop"
    )
    return [f"{_column(runs, 'C')} is at most {C.max():.3g}, which is too small for FLOPs; {_may_be(name, unit)}."]


def _unlikely(runs: Runs) -> Iterator[str]:
    """Yield notes on implausible values: too many parameters, less than one sample, or another metric as the loss."""
    N, D, loss = (runs.values[r][np.isfinite(runs.values[r])] if r in runs else np.empty(0) for r in ("N", "D", "loss"))
    if len(N) and N.max() > _MOST_PARAMETERS:
        yield f"{_column(runs, 'N')} reaches {N.max():.3g}, more parameters than any model has: check its unit."
    if len(D) and (D < 1).any():
        rows = f"{int((D < 1).sum()):,} row{'' if (D < 1).sum() == 1 else 's'}"
        yield f"{_column(runs, 'D')} is below one sample in {rows}: check its unit."
    name = runs.roles.loss
    if name is None or len(loss) == 0 or name in runs.roles.conversions:
        return
    named = words(name)
    if named & LARGER and not named & SMALLER:
        error = "1 - " + (name if name.isidentifier() else f'"{name}"') + (" / 100" if loss.max() > 1.5 else "")
        yield (
            f"{_column(runs, 'loss')} is named like a metric for which larger is better, but a smaller loss is better: "
            f"use the error instead, loss = {error} (--derive in the terminal)."
        )
    elif is_bits(name):
        yield f"{_column(runs, 'loss')} is in bits, so E is in bits too. To use nats, {_convert(name, 'bits')}."
    elif in_percent(name, loss.min(), loss.max()):
        yield from percent_note(runs, "loss")
    elif named & {"log", "log10", "ln", "lg"}:
        how = "log10" if named & {"log10", "lg"} else "ln"
        yield (
            f"{_column(runs, 'loss')} is named like the logarithm of a loss, but a law describes the loss itself. "
            f"If it is a logarithm, {_convert(name, how)}; if it is a cross-entropy, keep it."
        )
    elif named & {"ppl", "perplexity"} or (
        loss.min() >= 1 and loss.max() > _MOST_NATS and not named & (_NO_NATS | ERRORS)
    ):
        yield (
            f"{_column(runs, 'loss')} lies between {loss.min():.3g} and {loss.max():.3g}, like a perplexity: "
            f"a law describes its logarithm. To use the logarithm, {_convert(name, 'perplexity')}."
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
            between = f"between {low[0]:.3g} and {low[-1]:.3g}" if len(low) > 1 else f"at {low[0]:.3g}"
            verbs = ("lie", "fit", "they are") if len(low) > 1 else ("lies", "fits", "it is")
            return [
                f"{_column(runs, role)} may mix units: {len(low):,} of {len(x):,} values {verbs[0]} {between} and "
                f"{verbs[1]} the other values only if {verbs[2]} in {word}: write all values in the same unit."
            ]
    return []


def _against_rule(runs: Runs) -> list[str]:
    """Return a note if a column C differs from the compute rule by a power of 1000 or by another unit of compute."""
    rule, ratio = runs.roles.compute, off_rule(runs)
    if len(ratio) == 0:
        return []
    off = float(np.median(ratio))
    power = 3 * round(off / 3)
    rest = rule.text.removeprefix("C = ")
    if (unit := unit_of_compute(off)) and off < -_NEAR:
        times, what = ("8.64e19", "PF-days") if unit == "pf-days" else (f"10^{-power}", f"units of 10^{-power} FLOPs")
        name = str(runs.roles.C)
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


def off_rule(runs: Runs) -> Floats:
    """Return log10 of (C of the table / C of the compute rule), for the runs in which both are finite.

    The result is empty if C, N or D has no column in the table, or if the rule is not proportional to N D.
    """
    rule: ComputeRule = runs.roles.compute
    if runs.roles.C is None or not {"N", "D"} <= runs.values.keys() or runs.roles.D is None or not rule.proportional:
        return np.empty(0)
    ratio = np.log10(runs["C"]) - np.log10(rule.flops(runs["N"], runs["D"]))
    return np.asarray(ratio[np.isfinite(ratio)], np.float64)


def unit_of_compute(off: float) -> str:
    """Return the unit of C that explains ``off``, log10 of (C of the table / C of the rule); empty if none does."""
    near = {unit: abs(off + power) for unit, power in _COMPUTE.items()}
    best = min(near, key=near.__getitem__)
    return best if near[best] < (_EXACT if best == "pf-days" else _NEAR) else ""


def _stragglers(runs: Runs, rule: ComputeRule, ratio: Floats) -> list[str]:
    """Return a note if C differs from the rule by a power of 1000 in some rows and agrees with it in most rows."""
    off = ratio - np.median(ratio)
    far = np.abs(off) > 3 - _NEAR
    agree = np.abs(off) < _NEAR
    thousandfold = np.abs(off[far] / 3 - np.round(off[far] / 3)) * 3 < _NEAR
    if not far.any() or not thousandfold.all() or not (far | agree).all() or far.mean() > 0.5:
        return []
    count = int(far.sum())
    return [
        f"In {count:,} of {len(ratio):,} rows, {_column(runs, 'C')} differs from {rule.text.removeprefix('C = ')} by a "
        "factor of about 1000 or more, and in the other rows it agrees: the rows may have different units."
    ]


def _too_small(runs: Runs) -> Iterator[str]:
    """Yield notes on N or D that are so small that they are probably in a larger unit, such as millions.

    Each note proposes a unit that gives a plausible number of samples per parameter.
    """
    sizes = {role: runs[role] for role in ("N", "D") if getattr(runs.roles, role) and len(runs)}
    top = {role: float(np.nanmax(x)) for role, x in sizes.items()}
    with np.errstate(all="ignore"):  # D / N may overflow for sizes near the limits of float64
        ratio = float(np.median(sizes["D"] / sizes["N"])) if len(sizes) == 2 else _TYPICAL
    text = _like_text(runs) and not _confirmed(runs)
    power = 0.0
    if top.get("N", math.inf) < (_FEWEST_OF_TEXT["N"] if text else _FEWEST):
        unit = "billions" if top["N"] < 50 else "millions"
        if top.get("D", 0.0) > _FEWEST_OF_TEXT["D"]:
            unit = _nearest(_TYPICAL**2 / ratio, {u: p for u, p in _COUNTED.items() if u != "trillions"})
        power = _COUNTED[unit]
        yield from _in_unit(runs, "N", unit)
    ratio *= 10.0**-power
    if top.get("D", math.inf) < _FEWEST or (
        text and top.get("D", math.inf) < _FEWEST_OF_TEXT["D"] and ratio < PER_PARAMETER[0]
    ):
        yield from _in_unit(runs, "D", _nearest(ratio, _COUNTED) if len(sizes) == 2 else "millions")


def _in_unit(runs: Runs, role: str, unit: str) -> Iterator[str]:
    column = getattr(runs.roles, role)
    if column in runs.roles.conversions:
        return
    if name_unit := _unit_in_name(column, role, runs[role]):
        yield f"{_column(runs, role)} is at most {np.nanmax(runs[role]):.3g}; {_may_be(column, name_unit)}."
    else:
        counts = read_conversion(unit, column).about.removeprefix("in ")
        yield (
            f"{_column(runs, role)} is at most {np.nanmax(runs[role]):.3g}: if it counts {counts}, "
            f"{_convert(column, unit)}. Without this conversion, compute is wrong."
        )


def _like_text(runs: Runs) -> bool:
    """Return whether the losses are between 1 and 15, like cross-entropies of language models in nats or bits."""
    name, loss = runs.roles.loss, runs.values.get("loss", np.empty(0))
    if name is None or not len(loss) or words(name) & (LARGER | ERRORS | _NO_NATS):
        return False
    return bool(1 <= np.nanmin(loss) and np.nanmax(loss) <= _MOST_NATS)


def _confirmed(runs: Runs) -> bool:
    """Return whether C agrees with the compute rule for N and D.

    C may be up to 300 times larger than by the rule, because a sample may consist of many tokens.
    """
    ratio = off_rule(runs)
    return len(ratio) > 0 and -_NEAR < float(np.median(ratio)) < 3 - _NEAR


def _convert(column: str, how: str) -> str:
    """Return the instruction to convert a column, for the end of a sentence."""
    hows = OPEN[how][1] if how in OPEN else (how,)
    return f"convert it on the Data page, or with {convert_options(column, hows)}"


def _column(runs: Runs, role: str) -> str:
    """Return the role and the name of its column: ``N (column 'params')``; only the role if both are equal."""
    name = getattr(runs.roles, role, None)
    return role if name in (None, role) else f"{role} (column {name!r})"
