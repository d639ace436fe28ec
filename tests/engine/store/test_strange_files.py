"""Unusual files from ``benchmarks/reliability/files``, each imported in the terminal or on the Data page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.reliability.files import GENERATORS, SEED, WAYS
from benchmarks.reliability.files.attempt import imported
from benchmarks.reliability.files.case import Case
from benchmarks.reliability.files.judge import Way, judge
from tests.compiled import compiled_kernels

EACH = 7
"""Number of files that are tested from each generator."""
ALWAYS_SELECTED = frozenset(
    {
        *("total row.csv", "mean row.csv", "total row.xlsx", "separator line of Excel.csv", "utf-32.csv"),
        *("no-break spaces before numbers.csv", "loss of spaces.csv", "loss missing 6.jsonl", "mark of utf-8.json"),
        *("key twice.jsonl", "key twice in one line.jsonl", "row twice.xlsx", "row of minus one.xlsx"),
        *("points before 3 digits and decimal commas, comma.csv", "mean and total row.csv", "utf-32 cut.csv"),
        "column 31.csv",
    }
)
"""Files that an earlier version read incorrectly or refused without need."""


def select_files() -> list[tuple[Case, Way]]:
    """Select small files of each generator, and assign them alternately to the terminal and the Data page."""
    pairs = []
    for place, module in enumerate(GENERATORS):
        small = [case for case in module.cases(np.random.default_rng([SEED, place])) if not case.large]
        spread = {int(i) for i in np.linspace(0, len(small) - 1, min(EACH, len(small)))}
        selected = [case for i, case in enumerate(small) if i in spread or case.name in ALWAYS_SELECTED]
        pairs += [(case, WAYS[i % 2]) for i, case in enumerate(selected)]
    return pairs


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    with compiled_kernels():
        pass


@pytest.mark.parametrize(
    ("case", "way"), [pytest.param(*one, id=f"{one[0].kind} {i}") for i, one in enumerate(select_files())]
)
def test_a_strange_file_is_read_as_a_person_would_or_refused_in_a_sentence(
    tmp_path: Path, case: Case, way: Way
) -> None:
    path = tmp_path / case.name
    case.write(path)
    expected = case.expected
    before, after = imported(way, path, bool(expected.asks), expected.rows is not None, expected.answers)
    verdict = judge(way, expected, path, before, after)
    assert verdict.kind not in ("differs", "broke"), f"{case.name}: {verdict.why}"
