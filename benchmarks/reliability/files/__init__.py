"""Strange files from users and from attackers, imported in the terminal and on the page Data."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import groupby, islice
from pathlib import Path

import numpy as np

from benchmarks.reliability.files import (
    columnar,
    databases,
    layout,
    long,
    naming,
    objects,
    others,
    oversized,
    sheets,
    spelling,
)
from benchmarks.reliability.files.case import Case
from benchmarks.reliability.files.judge import KINDS, Way
from benchmarks.reliability.files.measure import Result, measure
from benchmarks.report import Report

SEED = 20_261_124
GENERATORS = (layout, spelling, naming, objects, columnar, sheets, oversized, databases, others, long)
WAYS: tuple[Way, ...] = ("terminal", "page")
SECONDS, MEGABYTES = 10.0, 1000.0
"""Maximum processor time of an import in seconds, and maximum memory of an import in MB."""
AT_ONCE = 2
"""Number of imports that run at the same time."""


def all_cases(seed: int = SEED) -> Iterator[Case]:
    """Yield all files, module by module. A file does not depend on the files of other modules."""
    for place, module in enumerate(GENERATORS):
        yield from module.cases(np.random.default_rng([seed, place]))


def run() -> Report:
    """Import each file in the terminal and on the page, each time in a separate process, and report the outcomes."""
    cases, results = enumerate(all_cases()), list[Result]()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        # Files are imported in batches, because the bytes of all files together do not fit in memory.
        while batch := list(islice(cases, 20 * AT_ONCE)):
            pairs = pool.map(lambda one: _both(Path(folder) / str(one[0]), one[1]), batch)
            results += [replace(result, case=_empty(result.case)) for pair in pairs for result in pair]
    return report(results)


def _empty(case: Case) -> Case:
    """Return the case with an empty file, so that its bytes are freed."""
    return replace(case, write=Path.touch)


def _both(folder: Path, case: Case) -> list[Result]:
    folder.mkdir()
    path = folder / case.name
    case.write(path)
    results = [measure(case, way, path) for way in WAYS]
    for file in folder.iterdir():
        file.unlink()
    return results


def report(results: Sequence[Result]) -> Report:
    """Return the report: one row per format, and a sentence that names the files with an unexpected outcome."""
    ordered = sorted(results, key=lambda r: r.case.kind)
    rows = [_row(kind, list(some)) for kind, some in groupby(ordered, key=lambda r: r.case.kind)]
    files = len(results) // len(WAYS)
    return Report(
        f"{files:,} strange files through the import of terminal and page",
        f"The files cover every format and are made from the seed {SEED}. `isoplan fit` and the upload box of the Data "
        "page read each file, and the result is compared with what a person reads in the file. The benchmark opens the "
        f"tabs of the page and answers its questions. Each import is a separate process, {AT_ONCE} at a time. Counts "
        "are for the terminal / for the page. Goal: no traceback, no misreading without a message, no import over "
        f"{SECONDS:g} s or {MEGABYTES:,.0f} MB. Times are processor times; the total time includes the fit in the "
        "terminal and the tabs of the page. " + _named(results),
        ("format", "files", *KINDS.values(), "slowest import", "longest total time", "largest"),
        (*rows, _row("all", ordered)),
    )


def _row(kind: str, results: Sequence[Result]) -> tuple[str, ...]:
    counts = [Counter(r.verdict.kind for r in results if r.way == way) for way in WAYS]
    return (
        kind,
        str(len(results) // len(WAYS)),
        *(" / ".join(str(count[one]) for count in counts) for one in KINDS),
        f"{max(r.cost.importing for r in results):.1f} s",
        f"{max(r.cost.processor for r in results):.1f} s",
        f"{max(r.cost.megabytes for r in results):,.0f} MB",
    )


def _named(results: Sequence[Result]) -> str:
    """Return sentences that name three kinds of files: unexpected outcome or traceback, too slow, too much memory."""
    wrong = [f"{r.case.name} ({r.way}: {r.verdict.why})" for r in results if r.verdict.kind in ("differs", "broke")]
    slow = [f"{r.case.name} ({r.way}, {r.cost.importing:.0f} s)" for r in results if r.cost.importing > SECONDS]
    heavy = [f"{r.case.name} ({r.way}, {r.cost.megabytes:,.0f} MB)" for r in results if r.cost.megabytes > MEGABYTES]
    lists = {"Other than expected": wrong, f"Imports over {SECONDS:g} s": slow, f"Over {MEGABYTES:,.0f} MB": heavy}
    return " ".join(f"{title}: {'; '.join(some) or 'none'}." for title, some in lists.items()).replace("|", "\\|")
