"""Thirty run tables as people have them: each is read correctly, at once or after one question, or refused.

A refusal states what the table looks like. No table is read incorrectly.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import fit
from isoplan.engine.schema import Runs
from isoplan.engine.store.columns.derive import read_derived
from isoplan.engine.store.files.table_files import TableBytes, read_runs
from tests.engine.store.odd_tables import THIRTY, Table
from tests.engine.store.usual.conftest import SPEC

AT_ONCE, ASKED = "right at once", "right after one question"
REFUSED = {
    5: "looks like a file that TensorBoard",
    7: "looks like trainer_state.json of Hugging Face",
    8: "looks like metrics.csv of Lightning",
}
"""Tables that are refused, and a part of the sentence that states what each table looks like."""
QUESTIONS = (11, 12, 13, 14, 15, 19, 21, 22, 23, 26, 29, 30)
"""Tables that are read correctly after the user accepts what the message proposes."""
OUTCOMES = dict.fromkeys(THIRTY, AT_ONCE) | dict.fromkeys(QUESTIONS, ASKED) | REFUSED
_PROPOSED = re.compile(r"\((--.+?) in the terminal\)")


def read(table: Table, **options: Any) -> Runs:
    """Read the runs of a table and fit a law to them; a table from which no law follows raises PlannerError."""
    runs = read_runs(TableBytes(table.content(), table.name), **options)
    fit(SPEC, runs)
    return runs


def proposed(message: str) -> dict[str, Any]:
    """Return the options that a message proposes, as arguments of ``read_runs``."""
    words = [word for option in _PROPOSED.findall(message) for word in shlex.split(option.partition(" or --")[0])]
    given = list(zip(words[::2], words[1::2], strict=True))
    return {
        "agreed": tuple(value for option, value in given if option == "--convert"),
        "derived": read_derived(value for option, value in given if option == "--derive"),
        "mapping": dict(value.split("=", 1) for option, value in given if option == "--map"),
    }


def check(runs: Runs, table: Table) -> None:
    """Check that ``runs`` are the runs in the table, in any order. A loss that is not finite is not compared."""
    expected = table.runs()[["N", "D", "loss"]].to_numpy()
    found = np.column_stack([runs[role] for role in ("N", "D", "loss")])
    found = found[np.isfinite(found).all(axis=1)]
    order, same = np.lexsort(found.T), np.lexsort(expected.T)
    np.testing.assert_allclose(found[order], expected[same], rtol=1e-6)


def outcome(number: int) -> str:
    """Return AT_ONCE, ASKED or the sentence that refuses the table; raise AssertionError if its runs are not right."""
    table = THIRTY[number]
    try:
        runs = read(table)
    except PlannerError as refusal:
        question = proposed(str(refusal))
        if not any(question.values()):
            return str(refusal)
        check(read(table, **question), table)
        return ASKED
    check(runs, table)
    return AT_ONCE


@pytest.mark.parametrize("number", THIRTY, ids=[table.name for table in THIRTY.values()])
def test_each_table_has_its_outcome(number: int) -> None:
    expected, found = OUTCOMES[number], outcome(number)
    assert found == expected if expected in (AT_ONCE, ASKED) else expected in found


def test_at_least_26_of_the_thirty_tables_are_read() -> None:
    assert len(OUTCOMES) == 30
    assert sum(o in (AT_ONCE, ASKED) for o in OUTCOMES.values()) >= 26


def test_the_tables_are_the_same_on_every_call() -> None:
    for table in THIRTY.values():  # an Excel file contains the time at which it was written
        assert table.content() == table.content() or table.name.endswith(".xlsx")
