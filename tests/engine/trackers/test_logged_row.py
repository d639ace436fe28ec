"""Rows that training scripts log: nested values, and rows that are refused in one sentence."""

from __future__ import annotations

import json
import math

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.logged_row import MAX_LINE, check_table, flat_row, read_line


def test_nested_values_become_one_level() -> None:
    line = '{"run": 7, "opt": {"lr": 0.1, "betas": [0.9, 0.95]}, "ok": true, "gone": null, "name/x y": "v"}'
    assert read_line(line) == {
        "run": "7", "opt.lr": 0.1, "opt.betas": "[0.9, 0.95]", "ok": True, "gone": None, "name/x y": "v",
    }  # fmt: skip
    assert flat_row({"run": "a", "loss": math.nan, "N": 1}) == {"run": "a", "loss": None, "N": 1.0}


DEEP = '{"a":' * 3000 + "1" + "}" * 3000


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"loss": NaN}', "NaN is not JSON. Write null for a value that is missing."),
        ('{"loss": -Infinity}', "-Infinity is not JSON."),
        ("[1, 2]", r"\[1, 2\] is not an object."),
        ("3", "3 is not an object."),
        ("loss=3", "'loss=3' is not JSON. Write one JSON object on each line."),
        ('{"loss": 3', "is not JSON"),
        ("{}", "the row has no value."),
        ('{"run": "a"}', "the row has no value."),
        (json.dumps({"text": "x" * 999_000}), "the value of 'text' has 500 characters or more. Shorten it."),
        (json.dumps({"text": "x" * MAX_LINE}), "the line has more than 1,000,000 characters."),
        (json.dumps({"x" * 201: 1}), "is empty or too long"),
        (json.dumps({" ": 1}), "is empty or too long"),
        (json.dumps({f"x{i}": 1 for i in range(2500)}), "at least 2,000 values"),
        ('{"a":' * 30 + "1" + "}" * 30, "more than 20 levels"),
        (DEEP, "is not JSON|more than 20 levels"),
        ('{"run": "\\ud800", "x": 1}', "a text is not UTF-8"),
    ],
)
def test_bad_rows_get_a_sentence(line: str, sentence: str) -> None:
    with pytest.raises(PlannerError, match=sentence):
        read_line(line)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_bad_names_of_tables_are_refused(name: str) -> None:
    with pytest.raises(PlannerError, match="the name is not valid"):
        check_table(name)
