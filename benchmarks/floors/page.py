"""Text of docs/floors.md, made from the simulated tables."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

import numpy as np

from benchmarks.floors.designs import DESIGNS, HELD_OUT_SEED, FloorDesign
from benchmarks.floors.simulate import COLUMNS, FOLDER, LIMITS, PLACES, path
from benchmarks.report import Report, table
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.intervals import SURE

NOMINAL = (0.05, 0.16, 0.32)
WITHIN, WRONG, ENOUGH, ERRORS = 0.05, 0.07, 0.80, 4.0
HEAD = """# How right statements about a floor are

This page shows how often a verdict about a target, "reachable" or "out of reach", is right.

The tables are simulated from known laws E + A/N^alpha + B/D^beta with log-normal noise. This page is written by
`python -m benchmarks floors`. A design is a set of runs with one true floor; its tables differ only by their noise.
Each table gives a confidence curve p(t), the confidence that the floor lies below t
(`engine/fitting/resampling/floor_profile.py`).

- **Confidence.** The share of tables in which p at the true floor is below 5, 16 and 32 %. The nominal shares are 5,
  16 and 32 %, or less if the true floor is zero. Goal: within {within:g} percentage points.
- **Upper limits.** The share of tables whose one-sided limit at 68, 84 and 95 % lies below the true floor. The
  nominal shares are 32, 16 and 5 %, or less. Goal: at most {within:g} percentage points more.
- **Wrong verdicts.** For a target at the true floor, the share of tables with the verdict "reachable" (p of at least
  {sure:.0%}) and with the verdict "out of reach" (p of at most {other:.0%}, and zero excluded). p rises with the
  target, so other targets get wrong verdicts less often. Goal: at most {wrong:.0%}.
- **Right verdicts.** The share of tables with the right verdict for a target {errors:g} standard errors below and
  above the floor. The standard error is the smallest that an unbiased estimate can have. Goal on designs whose floor
  is resolved in at least {enough:.0%} of the tables: {enough:.0%}.
- **Resolved.** The share of tables in which the 95 % interval of the floor has two ends, the lower one above zero.

The rules of the confidence curve (the signed root, its calibration by simulated tables, and the levels) were tuned on
the designs marked "tuned" and on irregular designs that are not listed. No rule was tuned on designs marked
"untuned". Designs marked "held out" were drawn from the seed {seed} after the rules were frozen. In designs with
outliers, one run in twenty has five times as much noise. The curve assumes normal noise, and these rows show the
effect of this assumption. The statistical error of a share of 500 tables is about 1 percentage point at 5 % and 2
percentage points at 32 %. A bold number misses its goal.

"""


def write() -> str:
    """Return the text of the page from all tables that are simulated so far."""
    head = HEAD.format(
        within=100 * WITHIN, sure=SURE, other=1 - SURE, wrong=WRONG, errors=ERRORS, enough=ENOUGH, seed=HELD_OUT_SEED
    )
    columns = ("design", "kind", "tables", "resolved", "p below 5 / 16 / 32 %", "limit 68 / 84 / 95 % too low",
               "wrong: reachable / out of reach", "right at -4 / +4 errors")  # fmt: skip
    stamp = f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, Python {platform.python_version()}"
    return head + "\n".join((*table(columns, rows()), "", stamp)) + "\n"


def report() -> Report:
    """Return a report for docs/benchmarks.md with four columns of the table in docs/floors.md."""
    some = tuple((r[0], r[2], r[4], r[6]) for r in rows())
    return Report(
        "Statements about floors",
        "Statements about simulated tables with a known floor; [floors.md](floors.md) explains them. Goals: the "
        "confidence p at the true floor is below 5, 16 and 32 % in 5, 16 and 32 % of the tables, within 5 percentage "
        f"points; wrong verdicts in at most {WRONG:.0%} of the tables.",
        ("design", "tables", "p below 5 / 16 / 32 %", "wrong: reachable / out of reach"),
        some,
    )


def rows() -> tuple[tuple[str, ...], ...]:
    """Return one row of the table for each design that is simulated so far."""
    found = ((d, *load(d)) for d in DESIGNS)
    return tuple(_row(d, numbers, curves) for d, numbers, curves in found if len(numbers))


def load(d: FloorDesign) -> tuple[Floats, Floats]:
    """Return the stored results for all tables of a design.

    The results are numbers of shape (tables, 7) and confidence curves of shape (tables, positions).
    """
    names = FOLDER.glob(path(d.name, 0).name.replace("-0.npz", "-[0-9]*.npz"))
    blocks = [np.load(name) for name in sorted(names) if ".half" not in name.name]
    if not blocks:
        return np.empty((0, len(COLUMNS))), np.empty((0, len(PLACES)))
    return np.concatenate([b["numbers"] for b in blocks]), np.concatenate([b["curves"] for b in blocks])


def _row(d: FloorDesign, numbers: Floats, curves: Floats) -> tuple[str, ...]:
    p, _, resolved = numbers[:, 0], numbers[:, 1], numbers[:, 2] == 1
    share = [float(np.mean(p < level)) for level in NOMINAL]
    low = [float(np.mean(numbers[:, 4 + i] < d.floor)) for i in range(len(LIMITS))]
    wrong = [float(np.mean(p >= SURE)) if d.floor > 0 else 0.0, float(np.mean((p <= 1 - SURE) & resolved))]
    down, up = (curves[:, int(np.argmin(np.abs(PLACES - x)))] for x in (-ERRORS, ERRORS))
    right = [float(np.mean((down <= 1 - SURE) & resolved)), float(np.mean(up >= SURE))]
    there = float(np.mean(resolved))
    asked = there >= ENOUGH and d.floor > ERRORS * d.error
    return (
        d.name,
        d.kind,
        f"{len(p):,}",
        f"{100 * there:.0f} %",
        _shares(
            share, [s <= n + WITHIN and (d.floor == 0 or s >= n - WITHIN) for s, n in zip(share, NOMINAL, strict=True)]
        ),
        _shares(low, [x <= 1 - level + WITHIN for x, level in zip(low, LIMITS, strict=True)]),
        _shares(wrong, [w <= WRONG for w in wrong]),
        _shares(right, [r >= ENOUGH or not asked for r in right]) if d.floor > ERRORS * d.error else "-",
    )


def _shares(found: list[float], good: list[bool]) -> str:
    return " / ".join(f"{100 * x:.1f}" if ok else f"**{100 * x:.1f}**" for x, ok in zip(found, good, strict=True))
