"""Tests of the random one-line faults: each fault changes one line, and a seed always gives the same faults."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.seeded_faults import GROUPS
from benchmarks.seeded_faults.changes import Fault, draw_faults, faults_of

ROOT = Path(__file__).parents[1]
SOURCE = """
def f(x: int = 3, *, é: bool = True) -> Literal[7]:
    if not x or 0 <= x < 2**3:
        return {"é": x in (), "y": 1.5}
"""


def test_every_operator_and_constant_is_a_possible_fault_and_annotations_are_none() -> None:
    faults = list(faults_of("f.py", SOURCE))
    assert sorted((one.line, one.old, one.new) for one in faults) == [
        (2, "3", "(3 + 1)"),
        (2, "True", "False"),
        (3, "**", "*"),
        (3, "0", "(0 + 1)"),
        (3, "2", "(2 + 1)"),
        (3, "3", "(3 + 1)"),
        (3, "<", "<="),
        (3, "<=", "<"),
        (3, "not ", ""),
        (3, "or", "and"),
        (4, "1.5", "(1.5 + 1)"),
        (4, "in", "not in"),
    ]
    for one in faults:
        changed = one.apply(SOURCE)
        ast.parse(changed)
        assert [a == b for a, b in zip(SOURCE.splitlines(), changed.splitlines(), strict=True)].count(False) == 1


def test_a_seed_draws_the_same_faults_of_every_group() -> None:
    drawn = draw_faults(ROOT, GROUPS, 3, 1)
    assert drawn == draw_faults(ROOT, GROUPS, 3, 1) != draw_faults(ROOT, GROUPS, 3, 2)
    assert [Path(one.file).parts[0] for one in drawn] == ["engine"] * 9 + ["trainers"] * 3
    assert not any(one.file.startswith(("engine/planning", "engine/store")) for one in drawn[:3])
    for one in drawn:
        ast.parse(one.apply((ROOT / one.file).read_text()))


def test_a_fault_of_another_source_is_refused() -> None:
    with pytest.raises(ValueError, match=r"f\.py:1: < -> <=: the line is"):
        Fault("f.py", 1, 0, "<", "<=").apply("x = 1\n")
