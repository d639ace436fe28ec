"""docs/calibration.md from the tables that were simulated."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from benchmarks.calibration.cases import CASES, MAP, MAP_NOISE, UNIQUE, WIDTH
from benchmarks.calibration.simulate import COLUMNS, load
from benchmarks.report import Report
from engine.laws.law import Floats

ALL = "all surfaces"
COVERS, CHANCE, ENOUGH = 0.04, 0.07, 100
"""How far the 68 % interval's coverage and a tenth's observed share may be off, and the tables that a tenth needs."""
HEAD = """# Calibration of the planner

Simulated tables with known laws, each fitted by `huber-log` with {refits} refits and the default interval (`auto`),
then planned with; written by `python -m benchmarks calibration`.

The floors of all these designs are resolved in nearly every table. Where a floor is not resolved a plan states no
probability; [floors.md](floors.md) shows how often its verdicts are right there, for each floor on its own, and on
designs that tuned no rule. The table of probabilities below was made when the probability was the share of the
resamples that reach the target; without limits on the plan it is the confidence curve of the floor now.

- The true floor of every table is drawn evenly from three standard errors on either side of the target (the width
  stands below, in the unit of the loss); all else of the law stays as it is. A fit knows nothing of where targets and
  floors lie, so its resamples can be right only where the spread is broad beside its own uncertainty: were floors known
  to lie closer to the target, that would be knowledge which the runs do not hold.
- Near target: the floor of the design itself, reached where the table's own floor lies below; the plan states its
  probability, the share of the resamples that reach it. With a limit on unique samples ({unique} of them) the target
  lies as much higher as that many samples cost. With a metric map, R = {A:g} e^({B:g} L) + {C:g}, measured with a noise
  of {noise:.0%}, it is the R of that loss, and law and map share their resampled runs.
- Far target: the table's true loss at ten times its largest compute on the frontier (with unique samples: at ten times
  its largest model on all of them). What it costs is always finite; the near target costs infinity in half of the
  tables, and its interval is counted in the other half.
- One more run: the size that is best at ten times the largest compute is planned and a run of that size measured, as
  noisy as the largest of the table. It is held against its prediction interval, the law and the scatter of single runs,
  and against the interval of the law alone. The scatter is that of an average run, so where the largest are the least
  noisy (heteroscedastic) the prediction interval holds too much.
- The iso-FLOP minima are no surface: a law of seven parameters goes through five minima. Its floor errs farther down
  than up, and so do its resamples, so that they state too high a probability; plans by such a law say so.

"""


def write(refits: int) -> str:
    """The page as far as the tables were simulated."""
    head = HEAD.format(refits=refits, unique=f"{UNIQUE:.0e}", noise=MAP_NOISE, **MAP)
    found = _found(refits)
    parts = [
        "## What a target costs, and what a run comes to",
        "",
        f"Share of tables in percent, 68 % / 95 %. Goal for the far target: 68 within {100 * COVERS:g} points. Bold is "
        "farther off: of all surfaces together strictly, of a single case after two binomial standard errors.",
        "",
        *_table(
            ("case", "floors", "tables", "far target", "near, reachable", "one more run", "the law alone"),
            [(name, _spread(name), f"{len(t):,}", *_shares(t, name == ALL)) for name, t in found.items()],
        ),
        "",
        "## The probability that a target can be reached",
        "",
        f"Observed share less mean stated probability, in points, by tenths of the stated one (tables). Goal: within "
        f"{100 * CHANCE:g} points in every tenth with {ENOUGH} tables or more. Bold is farther off, as above.",
        "",
        *_tenths_table(found),
        "",
        _beyond({name: tenths(t) for name, t in found.items() if name in CASES and CASES[name].plain}),
    ]
    stamp = f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, Python {platform.python_version()}"
    return head + "\n".join((*parts, "", stamp)) + "\n"


def report(refits: int) -> Report:
    """One line a case for docs/benchmarks.md."""
    rows = []
    for name, tables in _found(refits).items():
        enough = [t for t in tenths(tables) if t.tables >= ENOUGH]
        worst = max((t.off for t in enough), key=abs, default=math.nan)
        far = 100 * np.mean(tables[:, COLUMNS.index("far 68")])
        run = 100 * np.mean(tables[:, COLUMNS.index("run 68")])
        rows.append((name, f"{len(tables):,}", f"{far:.1f}", f"{100 * worst:+.1f}", f"{run:.1f}"))
    return Report(
        "Calibration of the planner",
        "Tables of known laws, planned with; [the whole page](calibration.md). Goals: the 68 % interval of the compute "
        f"that a target needs holds the truth within {100 * COVERS:g} points; the probability to reach a target is off "
        f"by at most {100 * CHANCE:g} points in every tenth with {ENOUGH} tables or more.",
        ("case", "tables", "C of a target, 68 %", "worst tenth [points]", "one more run, 68 %"),
        tuple(rows),
    )


@dataclass(frozen=True)
class Tenth:
    """The tables of one tenth of the stated probability: how many, and the observed share less the mean stated one."""

    tables: int
    off: float


def tenths(tables: Floats) -> list[Tenth]:
    """The ten tenths of the stated probability."""
    reached, stated = tables[:, 0], tables[:, 1]
    place = np.minimum((stated * 10 + 1e-9).astype(int), 9)
    own = [place == k for k in range(10)]
    return [Tenth(int(i.sum()), float(np.mean(reached[i] - stated[i])) if i.any() else math.nan) for i in own]


def _found(refits: int) -> dict[str, Floats]:
    """The tables by case, as far as they were simulated, those of all surfaces together first."""
    found = {case: load(case.name, refits) for case in CASES.values()}
    plain = [tables for case, tables in found.items() if case.plain]
    return {ALL: np.concatenate(plain)} | {case.name: tables for case, tables in found.items() if len(tables)}


def _spread(name: str) -> str:
    """How far true floors lie from the target at most."""
    return f"± {WIDTH * CASES[name].error:.2g}" if name in CASES else ""


def _shares(tables: Floats, strict: bool) -> tuple[str, ...]:
    """Coverages: far target, near target where it can be reached, one more run, and that run by the law alone."""
    reachable = tables[tables[:, 0] == 1]
    far, near, run, law = (
        [100 * float(np.mean(t[:, COLUMNS.index(f"{what} {level}")])) for level in (68, 95)]
        for what, t in (("far", tables), ("near", reachable), ("run", tables), ("law", tables))
    )
    shown = [f"{one:.1f} / {other:.1f}" for one, other in (far, near, run, law)]
    slack = 0.0 if strict else 2 * math.sqrt(0.68 * 0.32 / len(tables))
    return (f"**{shown[0]}**" if abs(far[0] / 100 - 0.68) > COVERS + slack else shown[0], *shown[1:])


def _tenths_table(found: Mapping[str, Floats]) -> list[str]:
    head = ("stated", *(f"{k / 10:.1f} to {(k + 1) / 10:.1f}" for k in range(10)))
    cells = {name: [_entry(t, k, name == ALL) for k, t in enumerate(tenths(x))] for name, x in found.items()}
    return _table(head, [(name, *line) for name, line in cells.items()])


def _entry(t: Tenth, place: int, strict: bool) -> str:
    """Off and tables; bold where it is farther off than allowed."""
    if not t.tables:
        return ""
    middle = (place + 0.5) / 10
    slack = 0.0 if strict else 2 * math.sqrt(middle * (1 - middle) / t.tables)
    shown = f"{100 * t.off:+.1f} ({t.tables})"
    return f"**{shown}**" if t.tables >= ENOUGH and abs(t.off) > CHANCE + slack else shown


def _beyond(found: Mapping[str, Sequence[Tenth]]) -> str:
    """How many tenths of single surfaces are farther off than the goal, and how many scatter alone would put there."""
    own = [(k, t) for row in found.values() for k, t in enumerate(row) if t.tables >= ENOUGH]
    far = sum(abs(t.off) > CHANCE for _, t in own)
    by_chance = sum(math.erfc(CHANCE / math.sqrt(2 * (k + 0.5) / 10 * (1 - (k + 0.5) / 10) / t.tables)) for k, t in own)
    return (
        f"Of {len(own)} tenths of single surfaces with {ENOUGH} tables or more {far} are farther off than "
        f"{100 * CHANCE:g} points; the scatter of so few tables alone would put {by_chance:.0f} there. The rest is a "
        "bias that the row of all surfaces shows: between 0.1 and 0.6 the stated probability is some 4 to 6 points "
        "too high."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]
