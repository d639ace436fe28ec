"""``python -m benchmarks.coverage``: simulate tables, fit them, count, and write docs/coverage.md.

Results are stored in build/coverage, in blocks of 100 tables. A later run computes only the missing blocks. All designs
get their first block before any design gets its second one, so the page can be written at any time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.coverage.designs import DESIGNS, NOISES
from benchmarks.coverage.page import write
from benchmarks.coverage.simulate import BLOCK, path, work

METHODS = ("bc", "residual", "profile")
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"


def main() -> None:
    """Simulate the missing blocks, then write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument(
        "--tables", type=int, default=4000, help="number of tables per design and noise, for the default interval"
    )
    parser.add_argument(
        "--others", type=int, default=1000, help="number of tables per design and noise, for each other interval"
    )
    parser.add_argument("--refits", type=int, default=200, help="refits per table")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    waiting = [job for job in jobs(given.tables, given.others, given.refits) if not path(*job).exists()]
    with ProcessPoolExecutor(given.processes) as pool:
        for done, made in enumerate(pool.map(work, waiting), 1):
            print(f"{done} of {len(waiting)}: {made.stem}", flush=True)
    PAGE.write_text(write(given.refits))
    print(f"wrote {PAGE}")


def jobs(tables: int, others: int, refits: int) -> Iterator[tuple[str, str, str, int, int]]:
    """Yield the arguments of ``work`` for each block. The first block of each design comes before any second block."""
    for block in range(-(-tables // BLOCK)):
        methods = ("auto", *(METHODS if block < -(-others // BLOCK) else ()))
        for method in methods:
            for noise in NOISES:
                for design in DESIGNS.values():
                    if method not in design.covered_elsewhere():
                        yield design.name, noise, method, refits, block


if __name__ == "__main__":
    main()
