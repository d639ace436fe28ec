"""Text of docs/calibration.md, made from the simulated tables."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from benchmarks.calibration.cases import CASES, MAP, MAP_NOISE, UNIQUE, WIDTH
from benchmarks.calibration.simulate import COLUMNS, load
from benchmarks.report import Report
from isoplan.engine.arrays import Floats

ALL = "all surfaces"
COVERS = 0.04
"""The measured coverage of the 68 % interval may differ from 0.68 by at most this number."""
HEAD = """# Calibration of the planner

This page shows how far the stated cost of a target can be trusted: its 68 % interval should contain the true cost in
68 of 100 tables.

The tables are simulated from known laws. Each table is fitted by `huber-log` with {refits} refits and the default
interval (`auto`), and plans are computed from the fit. This page is written by `python -m benchmarks calibration`.

Other pages measure related questions:

- [floors.md](floors.md) tests statements on whether a target can be reached. It lists each design and each floor
  separately, including designs on which no rule was tuned, and designs that were drawn after the rules were frozen.
  At a target equal to the true floor, a correct probability has a uniform distribution; the page lists the shares
  below 5, 16 and 32 %.
- [coverage.md](coverage.md) tests the cost of a target on designs on which no rule was tuned, each with one true
  floor (the row "C at a target").
- [benchmarks.md](benchmarks.md) contains the test of this page for such designs ("Cost of a target on designs on
  which no rule was tuned"). On all five designs the 68 % interval meets its goal.

Terms of the table below:

- **Floors.** The true floor of each table is drawn uniformly from the range of three standard errors on either side
  of the target. The column "floors" contains the half-width of this range in the unit of the loss. All other
  parameters of the law are constant.
- **Near target.** The target is the floor of the design. It can be reached if the floor of the table lies below it.
  With a limit of {unique} unique samples, the target is higher by the loss that this limit costs. With a metric map,
  R = {A:g} e^({B:g} L) + {C:g}, measured with a noise of {noise:.0%}, the target is R at this loss. The law and the
  map use the same resampled runs.
- **Far target.** The target is the true loss of the table on the frontier at ten times its largest compute. With a
  limit on unique samples, it is the true loss of a model ten times its largest model, trained on all unique samples.
  The cost of the far target is always finite. The near target cannot be reached in half of the tables, and its
  interval is counted in the other half.
- **One more run.** The best size at ten times the largest compute is planned. A run of this size is simulated with
  the noise of the largest run of the table. The column "one more run" counts runs inside the prediction interval,
  which includes the uncertainty of the law and the scatter of single runs. The column "the law alone" counts runs
  inside the interval of the law. The prediction interval uses the scatter of an average run. In heteroscedastic
  tables the largest runs have the least noise, so the prediction interval contains too many runs.
- **Iso-FLOP minima.** This case has no loss surface over N and D: a law with seven parameters is fitted to five
  minima. A plan by such a law states no probability.

"""


def write(refits: int) -> str:
    """Return the text of the page from all tables that are simulated so far."""
    head = HEAD.format(refits=refits, unique=f"{UNIQUE:.0e}", noise=MAP_NOISE, **MAP)
    found = _found(refits)
    parts = [
        "## Coverage of the cost of a target and of one more run",
        "",
        "Each entry is the share of tables whose 68 % / 95 % interval contains the true value, in percent. Goal for "
        f"the far target: 68 within {100 * COVERS:g} percentage points. A bold number misses this goal. For a single "
        "case, the goal is widened by two binomial standard errors.",
        "",
        *_table(
            ("case", "floors", "tables", "far target", "near, reachable", "one more run", "the law alone"),
            [(name, _spread(name), f"{len(t):,}", *_shares(t, name == ALL)) for name, t in found.items()],
        ),
    ]
    stamp = f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, Python {platform.python_version()}"
    return head + "\n".join((*parts, "", stamp)) + "\n"


def report(refits: int) -> Report:
    """Return a report for docs/benchmarks.md with one row per case."""
    rows = []
    for name, tables in _found(refits).items():
        far = 100 * np.mean(tables[:, COLUMNS.index("far 68")])
        run = 100 * np.mean(tables[:, COLUMNS.index("run 68")])
        rows.append((name, f"{len(tables):,}", f"{far:.1f}", f"{run:.1f}"))
    return Report(
        "Calibration of the planner",
        "Plans from simulated tables of known laws; [calibration.md](calibration.md) explains them. Goal: the 68 % "
        f"interval of the compute of a target contains the true value in 68 % of the tables, within {100 * COVERS:g} "
        "percentage points.",
        ("case", "tables", "C of a target, 68 %", "one more run, 68 %"),
        tuple(rows),
    )


def _found(refits: int) -> dict[str, Floats]:
    """Return the results of the simulated tables by case. The first entry contains the tables of all loss surfaces."""
    found = {case: load(case.name, refits) for case in CASES.values()}
    plain = [tables for case, tables in found.items() if case.plain]
    return {ALL: np.concatenate(plain)} | {case.name: tables for case, tables in found.items() if len(tables)}


def _spread(name: str) -> str:
    """Return the maximum distance of a true floor from the target, as text in units of the loss."""
    return f"± {WIDTH * CASES[name].error:.2g}" if name in CASES else ""


def _shares(tables: Floats, strict: bool) -> tuple[str, ...]:
    """Return four coverages as text, each at 68 % and 95 %.

    The four covered numbers are: the compute for the far target; the compute for the near target (if this target can be
    met); the result of one more run (by its prediction interval); and this result (by the interval of the law). The
    first text is bold if its 68 % coverage differs from 0.68 by more than ``COVERS``. If ``strict`` is false, two
    standard errors are added to ``COVERS``.
    """
    reachable = tables[tables[:, 0] == 1]
    far, near, run, law = (
        [100 * float(np.mean(t[:, COLUMNS.index(f"{what} {level}")])) for level in (68, 95)]
        for what, t in (("far", tables), ("near", reachable), ("run", tables), ("law", tables))
    )
    shown = [f"{one:.1f} / {other:.1f}" for one, other in (far, near, run, law)]
    slack = 0.0 if strict else 2 * math.sqrt(0.68 * 0.32 / len(tables))
    return (f"**{shown[0]}**" if abs(far[0] / 100 - 0.68) > COVERS + slack else shown[0], *shown[1:])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]
