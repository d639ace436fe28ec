"""Columns that mark rows as training or held-out: each run has one row, or one row for each value of the column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from isoplan.engine.fitting import fit
from isoplan.engine.mixtures import questions
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.store.usual.conftest import RUNS, SPEC, Write, check

TRAINED = RUNS.loss * 0.9


@pytest.mark.parametrize(("column", "values"), [("phase", ("train", "test")), ("split", ("train", "valid"))])
def test_runs_measured_on_both_parts_of_a_split_are_fitted_held_out(
    column: str, values: tuple[str, str], write: Write, right: dict[str, float]
) -> None:
    both = pd.concat([RUNS.assign(loss=TRAINED, **{column: values[0]}), RUNS.assign(**{column: values[1]})])
    path = write(**both)
    (question,) = questions(read_runs(path))
    assert (question.kind, question.keep) == ("split", (values[1],))
    assert question.text.endswith("36 runs. Each run has a row for each value.")
    (warning,) = [w for w in fit(SPEC, read_runs(path)).warnings if w.code == "flagged"]
    assert f"On the Data page, fit only {column} = {values[1]}, or keep all" in warning.text
    assert f"""--where "{column} = '{values[1]}'\"""" in warning.text
    check(read_runs(path, where=question.only()), right)


def test_the_validation_loss_is_proposed_before_that_of_the_test(write: Write) -> None:
    parts = [RUNS.assign(phase=part) for part in ("test", "train", "val")]
    (question,) = questions(read_runs(write(**pd.concat(parts))))
    assert question.keep == ("val",)


def test_runs_in_one_part_of_a_split_each_are_fitted_on_the_training_part(write: Write) -> None:
    for part in (np.where(RUNS.N > 1e9, "test", "train"), np.resize(["train", "test"], 36)):
        (question,) = questions(read_runs(write(**RUNS, split=part)))
        assert question.keep == ("train",)
        assert "for each value" not in question.text
