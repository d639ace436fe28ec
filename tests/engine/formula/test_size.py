"""Tests of long and deeply nested formulas: bounded memory, bounded error messages, no subformula computed twice."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import jet, parse_formula, tree
from isoplan.engine.laws import typed_law
from isoplan.engine.store.columns import derive

ROWS = 10_000
COLUMN = 8 * ROWS
"""Size in bytes of one column of ``ROWS`` double-precision numbers."""


def peak(work: Callable[[], object]) -> float:
    """Return the peak memory of ``work`` in units of one column (``COLUMN`` bytes)."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / COLUMN
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    ["+".join(f"exp(N+{i})" for i in range(100)), "max(" + ",".join(f"exp(N+{i})" for i in range(100)) + ")"],
)
def test_a_long_formula_is_computed_in_the_memory_of_a_short_one(text: str) -> None:
    formula, columns = parse_formula(text), {"N": np.zeros(ROWS)}
    assert formula(columns)[0] == pytest.approx(sum(np.exp(range(100))) if "max" not in text else np.exp(99))
    assert peak(lambda: formula(columns)) < 8


@pytest.mark.parametrize(("joint", "start", "end"), [("+", "", ""), (",", "max(", ")")])
def test_derivatives_of_a_long_formula_take_the_memory_of_a_short_one(joint: str, start: str, end: str) -> None:
    letters, columns = "abcdef", {"N": np.full(ROWS, 2.0)}
    text = start + joint.join(f"exp({x}*{y}*N/{i + 9})" for i in range(3) for x in letters for y in letters) + end
    formula, theta = parse_formula(text), {x: np.full((1, 1), 0.1) for x in letters}
    first, second = len(letters), len(letters) * (len(letters) + 1) / 2
    assert peak(lambda: jet(formula.tree, columns, theta)) < 6 * (1 + first + second)


def test_a_part_that_occurs_twice_is_differentiated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Floats] = []
    exp = np.exp

    def counted(x: Floats) -> Floats:
        calls.append(x)
        return exp(x)

    monkeypatch.setattr(np, "exp", counted)
    found = jet(parse_formula("exp(a) + 1/exp(a)^a + exp(a)*exp(a)").tree, {}, {"a": np.array(0.5)})
    assert float(found.value) == pytest.approx(math.e**0.5 + math.e**-0.25 + math.e)
    assert float(found.first["a"]) == pytest.approx(math.e**0.5 - math.e**-0.25 + 2 * math.e)
    assert sum(np.allclose(x, 0.5) for x in calls) == 1


def test_a_divisor_is_computed_once_however_deep_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Floats] = []

    def exp(x: Floats) -> Floats:
        calls.append(x)
        return np.exp(x)

    monkeypatch.setitem(tree.FUNCTIONS, "exp", (1, exp))
    assert parse_formula("1/(2+" * 20 + "exp(N)" + ")" * 20)({"N": 1.0}) == pytest.approx(2**0.5 - 1)
    assert len(calls) == 1


def test_a_division_by_zero_is_found_where_it_is_hidden_by_another() -> None:
    with pytest.raises(PlannerError, match="divides by zero in row 4"):
        parse_formula("1/(1/(N-2))")({"N": np.array([1.0, 2.0])}, np.array([3, 4]))
    with pytest.raises(PlannerError, match="divides by zero"):
        parse_formula("A/(N-2) + B").check({"N": np.array([1.0, 2.0])})


@pytest.mark.parametrize(
    "use",
    [
        lambda text: parse_formula(text)({"N": 1.0}),
        lambda text: typed_law(text),
        lambda text: derive.read_derived([text]),
        lambda text: parse_formula(f"N {text}"),
        lambda text: parse_formula(f"{text}(N)"),
    ],
)
@pytest.mark.parametrize("text", ["x" * 1900, '"' + "x" * 1900 + '"', "9" * 1900, "N*" + "9" * 1900])
def test_a_refusal_repeats_the_start_of_what_is_long(use: Callable[[str], object], text: str) -> None:
    with pytest.raises(PlannerError) as error:
        use(text)
    assert len(str(error.value)) < 300


def test_parameters_are_listed_as_far_as_there_is_room() -> None:
    with pytest.raises(PlannerError, match=r"has 300 parameters \(a0, a1, .*\.\.\.\): use at most 12") as error:
        typed_law("N*" + "*".join(f"a{i}" for i in range(300)))
    assert len(str(error.value)) < 250


@pytest.mark.parametrize("text", ["N*\ud800", '"\udc80"*N', "\udcff", 'N*"\udfff"'])
def test_a_lone_surrogate_is_refused_in_a_sentence_that_can_be_shown(text: str) -> None:
    with pytest.raises(PlannerError) as error:
        parse_formula(text)({"N": 1.0})
    assert str(error.value).encode()
