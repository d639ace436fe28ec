"""Combination of two run tables: columns are matched by role, units are converted, and the origin is stored."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.mixtures import questions
from isoplan.engine.schema import Metric, Runs
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.cell_index import CellRow, Indexed
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.combine import combine
from isoplan.engine.store.tables.tables import TableInfo

Add = Callable[..., TableInfo]
A = "name,params,tokens,loss,acc,lr\n" + "".join(
    f"a{i},{i}e6,{i}e8,{4 - i / 10:.2f},0.{i},0.0{i}\n" for i in range(1, 5)
)
B = "Params (M),Tokens (B),val_ppl,acc,seed\n" + "".join(f"{i},{i},{10 + i},0.5,{i}\n" for i in range(1, 4))


def agree(db: Database, info: TableInfo, **changes: object) -> None:
    tables.set_roles(db, info.id, tables.roles(db, info.id).model_copy(update=changes))


def read(db: Database, info: TableInfo) -> Runs:
    return snapshots.runs(db, snapshots.take(db, info.id))


@pytest.fixture
def both(db: Database, add: Add) -> tuple[TableInfo, TableInfo]:
    first, second = add(A, "a.csv"), add(B, "b.csv")
    units = {"Params (M)": "millions", "Tokens (B)": "billions", "val_ppl": "perplexity"}
    agree(
        db, second, N="Params (M)", D="Tokens (B)", loss="val_ppl", metrics=(Metric(column="acc"),), conversions=units
    )
    return first, second


def test_columns_are_matched_by_role_and_units_are_converted(db: Database, both: tuple[TableInfo, TableInfo]) -> None:
    before = [(tables.get(db, t.id), tables.roles(db, t.id), tables.frame(db, t.id)) for t in both]
    made = combine(db, *(t.id for t in both))
    runs = read(db, made)
    assert made.name == "a.csv + b.csv"
    assert runs["N"].tolist() == [1e6, 2e6, 3e6, 4e6, 1e6, 2e6, 3e6]
    assert runs["D"].tolist() == [1e8, 2e8, 3e8, 4e8, 1e9, 2e9, 3e9]
    np.testing.assert_allclose(runs["loss"], [3.9, 3.8, 3.7, 3.6, math.log(11), math.log(12), math.log(13)], rtol=1e-15)
    assert runs["C"].tolist() == (6 * runs["N"] * runs["D"]).tolist()
    assert runs["acc"].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5]
    np.testing.assert_array_equal(runs["lr"], [0.01, 0.02, 0.03, 0.04, np.nan, np.nan, np.nan])
    assert runs.labels["seed"].tolist() == ["", "", "", "", "1", "2", "3"]
    assert runs.labels["run"].tolist()[:4] == ["a1", "a2", "a3", "a4"]
    for (info, roles, frame), table in zip(before, both, strict=True):
        assert (tables.get(db, table.id), tables.roles(db, table.id)) == (info, roles)
        assert tables.frame(db, table.id).equals(frame)


def test_the_origin_is_a_dataset_and_the_provenance_names_both_tables(
    db: Database, both: tuple[TableInfo, TableInfo]
) -> None:
    made = combine(db, *(t.id for t in both))
    (question,) = [q for q in questions(read(db, made)) if q.kind == "dataset"]
    assert (question.column, question.counts) == ("table", {"a.csv": 4, "b.csv": 3})
    for table in both:
        assert f"{table.name} ({table.rows} runs, SHA-256 {table.sha256[:12]}" in made.provenance
    again = combine(db, *(t.id for t in both))
    assert (again.id, again.known) == (made.id, True)


def test_withdrawn_runs_are_not_included_and_a_third_table_keeps_the_origins(
    db: Database, add: Add, both: tuple[TableInfo, TableInfo]
) -> None:
    tables.withdraw(db, both[0].id, [1], "diverged")
    third = add("N,D,loss\n1e7,1e9,2\n2e7,1e9,1.9\n3e7,1e9,1.8\n", "c.csv")
    made = combine(db, combine(db, *(t.id for t in both)).id, third.id)
    runs = read(db, made)
    assert runs.categories["table"].counts == {"a.csv": 3, "b.csv": 3, "c.csv": 3}
    assert 2e6 not in runs["N"][:3].tolist()


def test_compute_is_that_of_each_table(db: Database, add: Add) -> None:
    measured = add("N,D,C,loss\n1e6,1e8,9e14,3\n2e6,1e8,,2.9\n", "measured.csv")
    ruled = add("N,D,loss\n1e6,1e8,3.1\n", "ruled.csv")
    agree(db, ruled, compute=ComputeRule(rule="6npND", n_p=40))
    assert read(db, combine(db, measured.id, ruled.id))["C"].tolist() == [9e14, 12e14, 240e14]
    derived = add("N,C,loss\n1e6,6e14,3\n2e6,24e14,2.9\n", "derived.csv")
    agree(db, derived, C="C", conversions={"C": "as-is"})
    assert read(db, combine(db, ruled.id, derived.id))["D"].tolist() == [1e8, 1e8, 2e8]


def test_cells_that_did_not_train_stay_left_out_and_weights_are_one(db: Database, add: Add) -> None:
    own = add("N,D,loss,weight\n1e6,1e8,3,2\n2e6,1e8,2.9,0.5\n4e6,1e8,2.8,1\n", "own.csv")
    cells = [
        CellRow(f"c{i}", "series", {"size": i}, {"loss": 3.0 - i, "untrained": float(i == 0)}, {"N": 1e6, "D": 1e9})
        for i in range(4)
    ]
    cell_index.grow(db, [Indexed(c.name, "series", "done") for c in cells], cells)
    made = combine(db, own.id, cell_index.table_of("series"))
    runs = read(db, made)
    assert runs["loss"].tolist() == [3, 2.9, 2.8, 2, 1, 0]
    assert runs["weight"].tolist() == [2, 0.5, 1, 1, 1, 1]
    assert runs.left_out.untrained == 1
    assert [q.column for q in questions(runs)] == ["table"]


def test_a_size_that_only_one_table_has_is_stored_but_not_mapped(db: Database, add: Add) -> None:
    one, other = add("N,D,loss\n1e6,1e8,3\n2e6,2e8,2.9\n", "a.csv"), add("D,loss\n3e8,2.8\n", "b.csv")
    made = combine(db, one.id, other.id)
    roles = tables.roles(db, made.id)
    assert (roles.N, roles.D, roles.C) == (None, "D", None)
    assert read(db, made)["D"].tolist() == [1e8, 2e8, 3e8]
    np.testing.assert_array_equal(tables.frame(db, made.id)["N"].to_numpy(float, na_value=np.nan), [1e6, 2e6, np.nan])


def test_a_converted_metric_is_not_converted_again(db: Database, add: Add) -> None:
    one, other = add("N,loss,acc_percent\n1e6,3,50\n", "a.csv"), add("N,loss,acc_percent\n2e6,2.9,0.25\n", "b.csv")
    metric = (Metric(column="acc_percent"),)
    agree(db, one, metrics=metric, conversions={"acc_percent": "percent"})
    agree(db, other, metrics=metric)
    made = combine(db, one.id, other.id)
    assert read(db, made)["acc_percent"].tolist() == [0.5, 0.25]
    assert tables.roles(db, made.id).conversions == {"acc_percent": "as-is"}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("N,loss\n1e6,3\n", "D,loss\n1e8,3\n", "Sizes: a.csv has N, and b.csv has D. Map N, D or C in both tables."),
        (
            "N,D,loss\n1e6,1e8,3\n",
            "N,D,width\n1e6,1e8,5\n",
            "Loss of b.csv: no column is read as the loss. Map a loss, or the same metric, in both tables.",
        ),
        (
            "N,D,val_mse\n1e6,1e8,3\n",
            "N,D,val_nll\n1e6,1e8,3\n",
            "Loss: it is a mean squared error in a.csv and a cross-entropy in b.csv. Map the same loss in both tables.",
        ),
    ],
)
def test_tables_that_cannot_be_compared_are_refused(
    db: Database, add: Add, first: str, second: str, message: str
) -> None:
    one, other = add(first, "a.csv"), add(second, "b.csv")
    for table, column in ((one, "val_mse"), (other, "val_nll")):
        if column in [c.name for c in tables.columns(db, table.id)]:
            agree(db, table, loss=column, metrics=())
    with pytest.raises(PlannerError, match=f"^{re.escape(message)}$"):
        combine(db, one.id, other.id)
    assert len(tables.all(db)) == 2


def test_a_table_is_not_added_to_itself_and_directions_must_agree(db: Database, add: Add) -> None:
    one, other = add("N,q,loss\n1e6,1,3\n", "a.csv"), add("N,q,loss\n2e6,1,3\n", "b.csv")
    with pytest.raises(PlannerError, match="a table cannot be added to itself"):
        combine(db, one.id, one.id)
    agree(db, one, metrics=(Metric(column="q", direction="max"),))
    agree(db, other, metrics=(Metric(column="q", direction="min"),))
    with pytest.raises(PlannerError, match="Metric q: its better direction differs"):
        combine(db, one.id, other.id)


def test_tables_of_the_same_name_are_told_apart(db: Database, add: Add) -> None:
    one, other = add("N,loss\n1e6,3\n", "runs.csv"), add("N,loss\n2e6,3\n", "runs.csv")
    made = combine(db, one.id, other.id)
    assert tables.frame(db, made.id)["table"].tolist() == [f"runs.csv ({t.id[:6]})" for t in (one, other)]
