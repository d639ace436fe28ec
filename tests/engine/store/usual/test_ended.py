"""How runs ended: states of trackers and schedulers, flags, and runs that did not train."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.mixtures import questions
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.store.usual.conftest import RUNS, SPEC, Write, check

GRIDS = Path(__file__).parents[4] / "data" / "grids" / "games"
BOTH = pd.concat([RUNS, RUNS.iloc[:6].assign(loss=9.0)])


def ended(good: object, bad: object) -> list[object]:
    return [good] * 36 + [bad] * 6


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("TERMINATED", "ERROR"),
        ("TERMINATED", "PENDING"),
        ("COMPLETED", "NODE_FAIL"),
        ("COMPLETED", "BOOT_FAIL"),
        ("COMPLETED", "DEADLINE"),
        ("COMPLETED", "REVOKED"),
        ("COMPLETED", "CANCELLED by 1000"),
        ("COMPLETED", "CANCELLED+"),
        ("finished", "terminated"),
    ],
)
@pytest.mark.parametrize("column", ["state", "outcome", "job_status"])
def test_states_of_schedulers_leave_runs_out(
    column: str, good: str, bad: str, write: Write, right: dict[str, float]
) -> None:
    runs = read_runs(write(**BOTH, **{column: ended(good, bad)}))
    assert runs.notes == ("6 rows that did not finish were left out.",)
    check(runs, right)


def test_runs_that_all_terminated_are_finished(write: Write, right: dict[str, float]) -> None:
    runs = read_runs(write(**RUNS, state=["TERMINATED"] * 36))
    assert not runs.notes
    check(runs, right)


FLAGS = {
    "diverged": (False, True),
    "crashed": (0, 1),
    "failed": ("no", "yes"),
    "not_converged": (0, 1),
    "finished": (True, False),
    "converged": (1, 0),
    "completed": ("yes", "no"),
    "success": (True, False),
    "is_train": (1, 0),
    "use": (1, 0),
    "flag": ("", "outlier"),
    "quality": ("ok", "bad"),
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_is_asked_about_and_its_condition_leaves_runs_out(
    name: str, write: Write, right: dict[str, float]
) -> None:
    path = write(**BOTH, **{name: ended(*FLAGS[name])})
    (question,) = questions(read_runs(path))
    assert (question.kind, question.column, question.left_out) == ("flag", name, 6)
    (warning,) = [w for w in fit(SPEC, read_runs(path)).warnings if w.code == "flagged"]
    assert warning.text.startswith(f"6 of 42 runs have {name} = ")
    assert question.only() in warning.text
    check(read_runs(path, where=question.only()), right)
    assert not questions(read_runs(path, pooled=(name,)))


@pytest.mark.parametrize("name", ["untrained", "not_trained"])
def test_runs_that_did_not_train_enter_no_law(name: str, write: Write, right: dict[str, float]) -> None:
    path = write(**BOTH, **{name: ended(0, 1)})
    runs = read_runs(path)
    assert runs.notes == (f"6 rows that did not train (column '{name}') were left out.",)
    check(runs, right)
    assert len(read_runs(path, pooled=(name,))) == 42


def test_a_table_of_runs_that_did_not_train_is_refused(write: Write) -> None:
    with pytest.raises(PlannerError, match=r"No run is left: the table has 36 rows that did not train"):
        fit(SPEC, read_runs(write(**RUNS, untrained=[1] * 36)))


def test_bundled_cells_that_did_not_train_enter_no_law() -> None:
    runs = read_runs(GRIDS / "behavior_allocation.csv")
    assert len(runs) == 14
    assert "1 row that did not train (column 'untrained') was left out." in runs.notes
    spec = FitSpec(law="log-parabola", axis="negatives", y="recall@10", objective="ols", bootstrap=0)
    mapping = {"metric": "recall@10", "hyper": "negatives"}
    negatives = read_runs(GRIDS / "behavior_negatives.csv", mapping, "budget = 1e11")
    with pytest.raises(PlannerError, match=r"the table has 7 rows that did not train \(column 'untrained'\)"):
        fit(spec, negatives)
