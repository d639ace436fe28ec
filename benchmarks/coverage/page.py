"""Text of docs/coverage.md, made from the measured coverages."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from datetime import UTC, datetime

from benchmarks.coverage.count import Cell, cells, codes
from benchmarks.coverage.designs import DESIGNS, HELD_OUT_SEED, NOISES

HEAD = """# Coverage of the intervals

This page shows how far the intervals can be trusted. A 68 % interval should contain the true value in 68 of 100
tables, and a 95 % interval in 95. A lower number means that the interval is too narrow. A higher number means that it
is too wide.

The tables are simulated with known parameters. Each table is fitted by `huber-log` (delta 1e-3) with {refits} refits.
This page is written by `python -m benchmarks.coverage`. An entry such as "65.3 / 95.5, 1.04 / 1.06" has two parts:

- The first two numbers are the share of tables whose 68 % and 95 % interval contains the true value, in percent.
- The last two numbers are the median widths of these intervals, divided by the width of a reference interval. The
  reference interval contains the central 68 % (95 %) of the estimates of all tables. For k, C_L, X_c and the cost of
  a target, the widths are those of the logarithms.

An entry passes if both coverages differ from their nominal values by at most 3 percentage points plus three binomial
standard errors. With few runs, or without a floor, the coverage may be too large, but not too small. If the true floor
is zero, its interval is checked as an upper limit. Entries that fail are bold. For the law power, "L at 10 x" and "L at
100 x" are the losses at 10 and 100 times the largest D. For the other laws, they are the losses on the frontier at 10
and 100 times the largest compute. The target is the true value of "L at 10 x".

The rules of the default interval `auto` were tuned on the designs marked "tuned". Three rules changed after earlier
runs of this benchmark on these designs:

- A table has few runs if it has fewer than 4 runs per free parameter (8 before).
- Percentiles of resampled runs are expanded for the degrees of freedom.
- The estimated noise of tables with few runs is increased.

No rule was tuned on the irregular runs, and the held-out designs were drawn from the seed {seed} after the rules were
frozen. [floors.md](floors.md) has more designs with floors that are not resolved. For these floors, the interval is
an upper limit from the profile likelihood.

The columns are three kinds of noise. "Log-normal" has the standard deviation of the design. With "outliers", 2 % of
the runs have ten times as much noise. With "heteroscedastic" noise, the smallest run has three times as much noise as
the largest run.

Designs:

{designs}
"""
TITLES = {
    "auto": "The default (`auto`)",
    "bc": "`bc`: runs resampled, percentiles corrected for bias and expanded (where it is not the default)",
    "percentile": "`percentile`: runs resampled, plain percentiles",
    "residual": "`residual`: noise drawn from the residuals, Student's correction (where it is not the default)",
    "profile": "`profile`: drawn from the likelihood",
}


def write(refits: int) -> str:
    """Return the text of the page from all tables that are simulated so far."""
    designs = "\n".join(f"- {d.name} (law {d.law}{', tuned' if d.tuned else ''}): {d.text}." for d in DESIGNS.values())
    parts = [HEAD.format(refits=f"{refits:,}", designs=designs, seed=HELD_OUT_SEED)]
    for method in TITLES:
        found = list(cells(method, refits))
        if found:
            parts += [f"## {TITLES[method]}", "", _verdict(found, refits), "", *_tables(found)]
    parts.append(f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, Python {platform.python_version()}")
    return "\n".join(parts) + "\n"


def _verdict(found: list[Cell], refits: int) -> str:
    failed = [c for c in found if not c.passes()]
    tables = sorted({c.tables for c in found})
    shown = f"{tables[0]:,}" if len(tables) == 1 else f"{tables[0]:,} to {tables[-1]:,}"
    text = f"{shown} tables per entry. {len(found) - len(failed)} of {len(found)} entries pass."
    if failed:
        worst = max(failed, key=lambda c: max(0.68 - c.coverage[0], 0.95 - c.coverage[1]))
        text += (
            f" The failed entry with the lowest coverage is {worst.name} of {worst.design.name}, noise {worst.noise}:"
        )
        text += f" {_entry(worst)}."
    if found[0].method == "auto":
        text += "\n\n" + _warned(refits)
    return text


def _warned(refits: int) -> str:
    """Return two lines, one per warning (unresolved floor, non-monotone scale): the fraction of tables, by design."""
    return "\n".join(
        (
            f"- Tables with the warning that a floor is not resolved: {_said(refits, 'floor-zero', 'floor-weak')}.",
            "- Tables with the warning that a scale is not a monotone function of its exponent, so its interval is too "
            "narrow: "
            f"{_said(refits, 'fold')}.",
        )
    )


def _said(refits: int, *code: str) -> str:
    parts = []
    for d in DESIGNS.values():
        said = [bool(c & {*code}) for noise in NOISES for c in codes(d, noise, "auto", refits)]
        if said:
            parts.append(f"{d.name} {100 * sum(said) / len(said):.1f} %")
    return ", ".join(parts)


def _tables(found: list[Cell]) -> Iterator[str]:
    """Yield one Markdown table per design, with a row per quantity and a column per noise."""
    for design in DESIGNS.values():
        own = [c for c in found if c.design is design]
        if not own:
            continue
        yield f"| {design.name} | {' | '.join(NOISES)} |"
        yield f"| --- |{' --- |' * len(NOISES)}"
        for name in dict.fromkeys(c.name for c in own):
            by_noise = {c.noise: c for c in own if c.name == name}
            row = [_entry(by_noise[noise]) if noise in by_noise else "" for noise in NOISES]
            limit = " (upper limit)" if any(c.one_sided for c in by_noise.values()) else ""
            yield f"| {name}{limit} | {' | '.join(row)} |"
        yield ""


def _entry(c: Cell) -> str:
    """Return both coverages in percent and both relative widths as text: ``67.8 / 94.9, 1.02 / 1.05``."""
    held = f"{100 * c.coverage[0]:.1f} / {100 * c.coverage[1]:.1f}"
    width = " / ".join("-" if math.isnan(w) else f"{w:.2f}" for w in c.width)
    return f"{held if c.passes() else f'**{held}**'}, {width}"
