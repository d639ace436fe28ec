"""Tests of wrong input to the Python API: the error is one sentence and names the wrong option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import isoplan as ip
from isoplan.engine.fitting import Fit
from tests.api.conftest import (
    GRIDS,
    ONE_PASS,
    ROLES,
)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"bootstap": 3}, "Option bootstap: isoplan.fit has no such option. Use bootstrap."),
        ({"columns": ("a",)}, "Option columns: isoplan.fit has no such option. Use bounds."),
        ({"xyz": 1}, "Option xyz: isoplan.fit has no such option. Use one of y, axis, realised, formula, bounds,"),
        ({"law": "power", "axis": "lr"}, "Option axis: the runs have no column 'lr'. Read it, as in isoplan.runs(..., "
                                         "extra='lr')."),
        ({"bootstrap": -3}, "Option bootstrap: -3 is not possible. Input should be greater than or equal to 0."),
        ({"interval": "boot"}, "Option interval: 'boot' is not possible. Input should be 'auto', 'bc', 'percentile'"),
        ({"objective": "l2"}, "Option objective: 'l2' is not possible. Input should be 'huber-log', 'ols',"),
        ({"fixed": {"E": "x"}}, "Option fixed: 'x' is not possible. Input should be a valid number"),
        ({"law": "chinchila"}, "Law 'chinchila' is unknown: use one of chinchilla,"),
        ({"y": "accc"}, "There is no metric 'accc'"),
        ({"share": "alpha"}, "A fit of groups needs groups: map a column to the role group."),
    ],
)  # fmt: skip
def test_wrong_options_of_a_fit_are_one_sentence(options: dict[str, Any], why: str, folder: Path) -> None:
    runs = ip.runs(folder / "runs.csv", **ROLES)
    with pytest.raises(ip.PlannerError) as raised:
        ip.fit(runs, **options)
    assert why in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"wher": "N > 1"}, "Option wher: isoplan.runs has no such option. Use where."),
        ({"N": "parms"}, "Column 'parms' for N is not in the table: did you mean params (M)?"),
        ({"N": "params (M)"}, "Read it in millions with convert='params (M)', or unchanged with "
                              "convert='params (M):as-is'."),
        ({"convert": "nope:millions"}, "Column 'nope' of convert is not in the table"),
        ({"convert": "loss"}, "convert='loss': no unit is recognised. Name it, as in convert='loss:millions'."),
        ({"rows": "first"}, "Option rows: 'first' is not possible. Use one of None, 'all', 'last', 'best'."),
        ({"metric": "tokens"}, "Option metric: the better direction of 'tokens' is not known. Write "
                               "metric='tokens:min' or metric='tokens:max'."),
        ({"rule": "6ND", "n_p": 4}, "Option n_p: the rule 6ND does not use it. Use the rule 6npND, or remove n_p."),
        ({"rule": "zetaND:zeta"}, "Option rule: 'zeta' cannot be read. Write zetaND:zeta=NUMBER."),
        ({"derive": {"X": "tokens"}}, "X: a formula can give N, D, U, C,"),
    ],
)  # fmt: skip
def test_wrong_options_of_a_table_are_one_sentence(options: dict[str, Any], why: str) -> None:
    frame = pd.DataFrame({"params (M)": [1.0, 2.0, 4.0], "tokens": [1e8, 2e8, 4e8], "loss": [3.0, 2.5, 2.2]})
    with pytest.raises(ip.PlannerError) as raised:
        ip.runs(frame, **options)
    assert why in str(raised.value)
    assert "--" not in str(raised.value)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([1, 2], "Table: list is not a table. Use a path or a pandas DataFrame."),
        ("nothing.csv", "There is no file nothing.csv: check the path."),
        (GRIDS, "grids is a folder: name a table file in it, or read the runs of a tracker with isoplan import."),
        (pd.DataFrame({"a": [1, "x"]}), "Conversion failed for column a"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "DataFrame: Duplicate column names found: ['a', 'a']. Give each"),
        (pd.DataFrame({"a": [1.0]}).iloc[:0], "DataFrame has a header and no rows: add at least one run."),
    ],
)
def test_what_is_no_table_is_one_sentence(table: Any, why: str) -> None:
    with pytest.raises(ip.PlannerError) as raised:
        ip.runs(table)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "Options budget, target_loss, target_metric: give exactly one of them."),
        ({"budget": 1e21, "target_loss": 1}, "Options budget, target_loss, target_metric: give exactly one of them."),
        ({"budget": "much"}, "The option budget 'much' cannot be read as a number: write it like 1e20,"),
        ({"budget": 1e21, "max_hour": 24}, "Option max_hour: isoplan.plan has no such option. Use max_hours."),
        ({"budgets": 1e21}, "Option budgets: isoplan.plan has no such option. Use budget."),
        ({"budget": 1e21, "device": "H100", "max_hours": "24 EUR"}, "The option max_hours '24 EUR' is in EUR, not"),
        ({"budget": 1e21, "hour_price": 3}, "Give the option device with the option hour_price"),
        ({"budget": 1e21, "runs": ONE_PASS}, "Option runs requires rule measured. Add it, or leave runs out."),
        ({"budget": 1e21, "rule": "measured"}, "Option rule: measured needs runs with a column of C. Add runs."),
        ({"budget": 1e21, "second_rule": "zetaND:x"}, "Option second_rule: 'x' cannot be read. Write zetaND:zeta="),
        ({"target_metric": "R"}, 'Option target_metric: name one metric and its value, as in {"R": 5000}.'),
        ({"target_metric": {"R": 5}}, "Option metric_map: if the target is a metric, give target_metric and"),
    ],
)
def test_wrong_options_of_a_plan_are_one_sentence(options: dict[str, Any], why: str, one_pass: Fit) -> None:
    with pytest.raises(ip.PlannerError) as raised:
        ip.plan(one_pass, **options)
    assert why in str(raised.value)


def test_wrong_options_of_other_answers_are_one_sentence(folder: Path, one_pass: Fit, repeated: Fit) -> None:
    runs: Any = ip.runs(folder / "runs.csv", **ROLES)
    with pytest.raises(ip.PlannerError, match=r"Option fit: Runs is not a fit. Use the result of isoplan.fit"):
        ip.plan(runs, budget=1e21)
    with pytest.raises(ip.PlannerError, match=r"Option bootstrap: isoplan.compare has no such option. Use one of y,"):
        ip.compare(runs, bootstrap=3)
    with pytest.raises(ip.PlannerError, match=r"Options budget, target_loss: give exactly one of them"):
        ip.smaller(one_pass)
    with pytest.raises(ip.PlannerError, match=r"Options kappa, curves: give exactly one of them"):
        ip.repeat(one_pass, repeated, target_loss=2.1)
    with pytest.raises(ip.PlannerError, match=r"Option hour_price: the price of a device hour is missing"):
        ip.repeat(one_pass, repeated, target_loss=2.1, kappa=10, device="H100")
    with pytest.raises(ip.PlannerError, match=r"Option width requires device. Add it, or leave width out"):
        ip.recipe(1e18, "recall@10", width=3)
    with pytest.raises(ip.PlannerError, match=r"Option where requires runs. Add it, or leave where out"):
        ip.recipe(1e18, "recall@10", where="N > 1")
    with pytest.raises(ip.PlannerError, match=r"Option instead: 'x' is not possible. Use one of 's', 'B', 'K'"):
        ip.recipe(1e18, "recall@10", instead={"x": 1})  # type: ignore[dict-item]
    with pytest.raises(ip.PlannerError, match=r"Option runs: the table contains no sweep of N, s, B or K"):
        ip.recipe(1e18, "recall@10", runs=pd.DataFrame({"alpha": [1, 3], "beta": [2, 4]}))
    with pytest.raises(ip.PlannerError, match=r"Options target_mse, target_error, points: give exactly one of them"):
        ip.amplitude(5)
    with pytest.raises(ip.PlannerError, match=r"Option anchors: give the axis that limits the run, then the loss"):
        ip.amplitude(5, target_mse=1e-6, anchors=[{"loss": 1e-3}])
