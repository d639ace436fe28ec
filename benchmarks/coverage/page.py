"""Text of docs/coverage.md, made from the measured coverages."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from datetime import UTC, datetime

from benchmarks.coverage.count import Cell, cells, codes
from benchmarks.coverage.designs import DESIGNS, HELD_OUT_SEED, NOISES

HEAD = """# Coverage of the intervals

This page shows how far the intervals can be trusted. A 68 % interval should contain the true value in 68 of 100 tables,
and a 95 % interval in 95. Less means that the interval is too narrow, more that it is too wide.

Simulated tables with known truth, each fitted by `huber-log` (delta 1e-3) with {refits} refits; written by
`python -m benchmarks.coverage`. An entry is the share of tables whose interval holds the truth, in percent, at
68 % / 95 %, and behind it the median width over that of an oracle, who gives the central 68 % (95 %) of the estimates
themselves (of logarithms for k, C_L, X_c and what a target costs).

A cell passes where both coverages lie within 3 points of nominal after three binomial standard errors. With few runs,
or without a floor, an interval may cover too much but not too little. A floor that is zero in truth is checked as an
upper limit. Cells that fail are bold. The number of tables stands above each table. L is the loss at 10 and 100 times
the largest run (on the frontier: its compute); the target is the true loss at 10 times.

The default `auto` was tuned on the designs marked "tuned". Between runs of this benchmark on these designs three rules
changed: few runs are fewer than 4 runs a free parameter (8 before), percentiles of resampled runs are expanded for the
degrees of freedom, and the noise of few runs is raised. The irregular runs tuned no rule, and the held-out designs were
drawn from the seed {seed} after the rules were frozen. [floors.md](floors.md) has more designs with floors that
are not resolved; there the interval of a floor is an upper limit from the profile likelihood.

- Noise: log-normal with the standard deviation of the design; with 2 % of the runs ten times as noisy; and unequal, the
  smallest run three times as noisy as the largest.
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
    text = f"{shown} tables a cell. {len(found) - len(failed)} of {len(found)} cells pass."
    if failed:
        worst = max(failed, key=lambda c: max(0.68 - c.coverage[0], 0.95 - c.coverage[1]))
        text += (
            f" The lowest that fails is {worst.name} of {worst.design.name} under {worst.noise} noise, {_entry(worst)}."
        )
    if found[0].method == "auto":
        text += "\n\n" + _warned(refits)
    return text


def _warned(refits: int) -> str:
    """Return the fraction of tables with each of two warnings, by design: unresolved floor, and non-monotone scale."""
    return "\n".join(
        (
            f"- Tables whose fit says that a floor is not resolved: {_said(refits, 'floor-zero', 'floor-weak')}.",
            "- Tables whose fit says that a scale turns back, so that its own interval covers too little: "
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
