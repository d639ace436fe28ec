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
from isoplan.engine.store.tables.combined import combine
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
    with pytest.raises(PlannerError, match="Metric q: higher values are better in one table"):
        combine(db, one.id, other.id)


def test_tables_of_the_same_name_are_told_apart(db: Database, add: Add) -> None:
    one, other = add("N,loss\n1e6,3\n", "runs.csv"), add("N,loss\n2e6,3\n", "runs.csv")
    made = combine(db, one.id, other.id)
    assert tables.frame(db, made.id)["table"].tolist() == [f"runs.csv ({t.id[:6]})" for t in (one, other)]


def test_summary_rows_are_not_copied(db: Database, add: Add) -> None:
    one = add("run,N,D,loss\na,1e6,1e8,3\nb,2e6,1e8,2.9\nc,4e6,1e8,2.8\nmean,2e6,1e8,2.9\ntotal,7e6,3e8,8.7\n", "a.csv")
    other = add("run,N,D,loss\nd,8e6,1e8,2.7\n", "b.csv")
    made = combine(db, one.id, other.id)
    assert read(db, made).labels["run"].tolist() == ["a", "b", "c", "d"]
    assert "a.csv (3 runs, " in made.provenance


def test_the_status_of_a_usable_run_is_finished_in_the_new_table(db: Database, add: Add) -> None:
    ray = add("N,D,loss,status\n1e6,1e8,3,TERMINATED\n2e6,1e8,2.9,TERMINATED\n4e6,1e8,2,ERROR\n", "ray.csv")
    other = add("N,D,loss,status\n8e6,1e8,2.7,finished\n9e6,1e8,2.6,terminated\n", "b.csv")
    made = combine(db, ray.id, other.id)
    assert read(db, made)["N"].tolist() == [1e6, 2e6, 8e6]
    finished = ["finished", "finished", "ERROR", "finished", "terminated"]
    assert tables.frame(db, made.id)["status"].tolist() == finished


def one_loss(db: Database, add: Add, name: str, loss: str, value: float, formula: str = "", **conversions: str) -> str:
    """Import a table of two runs whose loss is the column ``loss`` or ``formula``, and return the id of the table."""
    info = add(f"N,D,{loss}\n1e6,1e8,{value}\n{1 + value}e6,1e8,{value - 0.1}\n", f"{name}.csv")
    given = {"derived": {"loss": formula}, "loss": None} if formula else {"loss": loss}
    agree(db, info, metrics=(), hyper=(), conversions=conversions, **given)
    return info.id


CONVERT = "Convert its unit, or map another loss."
SAME_LOSS = "Map the same loss in both tables."


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (("val_bpb", 0.9), ("val_loss", 3.0), f"Loss of a.csv: it is in bits. {CONVERT}"),
        (("loss", 3.0), ("val_ppl", 20.0), f"Loss of b.csv: it is a perplexity. {CONVERT}"),
        (("error_pct", 12.0), ("error", 0.2), f"Loss of a.csv: it is in percent. {CONVERT}"),
        (("wer", 12.0), ("error", 0.2), f"Loss of a.csv: it is in percent. {CONVERT}"),
        (("val_bpb", 0.9), ("test_bpb", 0.8), f"Loss of a.csv: it is in bits. {CONVERT}"),
        (
            ("val_loss", 3.0),
            ("train_loss", 3.0),
            f"Loss: it is of held-out data in a.csv and of training data in b.csv. {SAME_LOSS}",
        ),
        (
            ("mean_squared_error", 0.3),
            ("log_loss", 0.3),
            f"Loss: it is a mean squared error in a.csv and a cross-entropy in b.csv. {SAME_LOSS}",
        ),
        (
            ("rmse", 0.3),
            ("mean_absolute_error", 0.3),
            f"Loss: it is a root mean squared error in a.csv and a mean absolute error in b.csv. {SAME_LOSS}",
        ),
        (("error", 0.3), ("accuracy", 0.3), f"Loss: it is an error rate in a.csv and a score in b.csv. {SAME_LOSS}"),
    ],
)
def test_losses_of_different_units_kinds_and_data_are_refused(
    db: Database, add: Add, first: tuple[str, float], second: tuple[str, float], message: str
) -> None:
    ids = one_loss(db, add, "a", *first), one_loss(db, add, "b", *second)
    with pytest.raises(PlannerError, match=f"^{re.escape(message)}$"):
        combine(db, *ids)


@pytest.mark.parametrize(
    ("first", "second", "losses"),
    [
        (("val_mse", 0.5, ""), ("mean_squared_error", 0.5, ""), [0.5, 0.4]),
        (("val_ppl", 20.0, "log(val_ppl)"), ("val_ce", 3.0, ""), [math.log(20), math.log(19.9)]),
        (("cross_entropy", 3.0, ""), ("log_loss", 3.0, ""), [3.0, 2.9]),
        (("val_loss", 3.0, ""), ("loss", 3.0, ""), [3.0, 2.9]),
        (("log_perplexity", 3.0, ""), ("nll", 3.0, ""), [3.0, 2.9]),
        (("efficiency_loss", 3.0, ""), ("nll", 3.0, ""), [3.0, 2.9]),
    ],
)
def test_losses_of_the_same_kind_are_combined(
    db: Database, add: Add, first: tuple[str, float, str], second: tuple[str, float, str], losses: list[float]
) -> None:
    ids = one_loss(db, add, "a", *first), one_loss(db, add, "b", *second)
    np.testing.assert_allclose(read(db, combine(db, *ids))["loss"][:2], losses, rtol=1e-15)


def test_bits_that_are_converted_are_combined_with_nats(db: Database, add: Add) -> None:
    ids = one_loss(db, add, "a", "val_bpb", 1.0, val_bpb="bits"), one_loss(db, add, "b", "val_nll", 3.0)
    runs = read(db, combine(db, *ids))
    np.testing.assert_allclose(runs["loss"], [math.log(2), 0.9 * math.log(2), 3, 2.9], rtol=1e-15)
    with pytest.raises(PlannerError, match=r"it is a cross-entropy in a\.csv and a mean squared error in c\.csv"):
        combine(db, ids[0], one_loss(db, add, "c", "mse", 0.5))


def test_compute_in_an_unknown_unit_is_not_used(db: Database, add: Add) -> None:
    unknown = add("N,D,C,loss\n1e6,1e8,6,3\n2e6,1e8,12,2.9\n", "unknown.csv")
    agree(db, unknown, C="C", conversions={})
    assert "C" in read(db, unknown).withheld
    known = add("N,D,C,loss\n4e6,1e8,3e15,2.8\n", "known.csv")
    made = combine(db, unknown.id, known.id)
    stored = tables.frame(db, made.id)["C"].to_numpy(float, na_value=np.nan)
    np.testing.assert_array_equal(stored, [np.nan, np.nan, 3e15])
    assert tables.roles(db, made.id).C is None
    assert read(db, made)["C"].tolist() == [6e14, 12e14, 24e14]


def test_another_mapping_gives_another_table(db: Database, add: Add) -> None:
    one, other = add("N,loss,q\n1e6,3,1\n", "a.csv"), add("N,loss,q\n2e6,2.9,2\n", "b.csv")
    for table in (one, other):
        agree(db, table, metrics=(Metric(column="q", direction="max"),))
    first = combine(db, one.id, other.id)
    for table in (one, other):
        agree(db, table, metrics=(Metric(column="q", direction="min"),))
    second = combine(db, one.id, other.id)
    assert (second.known, second.id == first.id) == (False, False)
    assert [tables.roles(db, t.id).direction("q") for t in (first, second)] == ["max", "min"]
    assert combine(db, one.id, other.id).id == second.id


def test_copies_that_a_table_removes_stay_removed(db: Database, add: Add) -> None:
    one = add("N,D,loss\n1e6,1e8,3\n1e6,1e8,3\n2e6,1e8,2.9\n", "a.csv")
    agree(db, one, repeats="once")
    made = combine(db, one.id, add("N,D,loss\n4e6,1e8,2.8\n4e6,1e8,2.8\n", "b.csv").id)
    assert tables.roles(db, made.id).repeats == "all"
    assert read(db, made)["N"].tolist() == [1e6, 2e6, 4e6, 4e6]


def test_repeated_runs_keep_the_compute_of_their_table(db: Database, add: Add) -> None:
    one = add("N,D,loss,seed\n1e6,1e8,3,1\n1e6,1e8,3.2,2\n", "a.csv")
    agree(db, one, repeats="mean", compute=ComputeRule(rule="6npND", n_p=40))
    made = combine(db, one.id, add("N,D,loss,seed\n2e6,1e8,2.9,1\n", "b.csv").id)
    assert read(db, made)["C"].tolist() == [240e14, 240e14, 12e14]


def test_agreements_on_pooled_values_are_kept(db: Database, add: Add) -> None:
    rows = "".join(f"{i}e6,1e8,3,{name}\n" for i, name in enumerate(["c4", "pile"] * 3, 1))
    one, other = (
        add(f"N,D,loss,corpus\n{rows}", "a.csv"),
        add(f"N,D,loss,corpus\n{rows.replace('1e8', '2e8')}", "b.csv"),
    )
    agree(db, one, pooled=("corpus",))
    asked = combine(db, one.id, other.id)
    assert tables.roles(db, asked.id).pooled == ()
    assert [q.column for q in questions(read(db, asked))] == ["table", "corpus"]
    agree(db, other, pooled=("corpus",))
    settled = combine(db, one.id, other.id)
    assert tables.roles(db, settled.id).pooled == ("corpus",)
    assert [q.column for q in questions(read(db, settled))] == ["table"]


def test_an_open_question_about_samples_is_answered_before_tables_are_combined(db: Database, add: Add) -> None:
    one, other = add("N,n_train_jets,loss\n1e6,1e5,3\n", "a.csv"), add("N,D,loss\n2e6,1e8,2.9\n", "b.csv")
    agree(db, one, D="n_train_jets", hyper=())
    with pytest.raises(PlannerError) as refused:
        combine(db, one.id, other.id)
    assert str(refused.value) == (
        "D of a.csv: column 'n_train_jets' counts either the samples seen or the unique samples. Answer this question "
        "on the Data page of a.csv."
    )
    agree(db, one, samples_seen=True)
    assert read(db, combine(db, one.id, other.id))["D"].tolist() == [1e5, 1e8]


@pytest.mark.parametrize(
    ("name", "first", "second", "kept", "stored"),
    [
        ("is_outlier", ("0", "1"), ("False", "True"), "0", [0, 1, 0, 1]),
        ("converged", ("1", "0"), ("yes", "no"), "1", [1, 0, 1, 0]),
        ("notes", ("", "diverged"), ("ok", "bad"), "ok", ["ok", "outlier", "ok", "outlier"]),
    ],
)
def test_flags_that_are_written_differently_give_one_question(
    db: Database, add: Add, name: str, first: tuple[str, str], second: tuple[str, str], kept: str, stored: list[object]
) -> None:
    ids = [
        add(f"N,D,loss,{name}\n1e{n},1e8,3,{values[0]}\n2e{n},1e8,2.9,{values[1]}\n", f"{n}.csv").id
        for n, values in ((6, first), (7, second))
    ]
    made = combine(db, *ids)
    assert tables.frame(db, made.id)[name].tolist() == stored
    (question,) = [q for q in questions(read(db, made)) if q.kind == "flag"]
    assert (question.column, question.keep, question.left_out) == (name, (kept,), 2)


def test_an_own_column_table_is_not_the_origin(db: Database, add: Add) -> None:
    rows = "".join(f"{i}e6,1e8,3,{name}\n" for i, name in enumerate(["desk", "chair"] * 3, 1))
    made = combine(db, add(f"N,D,loss,table\n{rows}", "a.csv").id, add("N,D,loss\n9e6,1e8,2.7\n", "b.csv").id)
    frame = tables.frame(db, made.id)
    assert frame["table"].tolist() == ["a.csv"] * 6 + ["b.csv"]
    assert frame["column.table"].tolist()[:6] == ["desk", "chair"] * 3
    again = combine(db, made.id, add("N,D,loss\n10e6,1e8,2.6\n", "c.csv").id)
    assert tables.frame(db, again.id)["table"].tolist() == ["a.csv"] * 6 + ["b.csv", "c.csv"]
    assert read(db, again).categories["column.table"].kind == "dataset"


def test_the_provenance_states_that_the_compute_rules_differ(db: Database, add: Add) -> None:
    one, other = add("N,D,loss\n1e6,1e8,3\n", "a.csv"), add("N,D,loss\n2e6,1e8,2.9\n", "b.csv")
    assert "rule" not in combine(db, one.id, other.id).provenance
    agree(db, one, compute=ComputeRule(rule="6npND", n_p=40))
    made = combine(db, one.id, other.id)
    assert made.provenance.endswith(
        " The compute rules differ: C = 6 n_p N D with n_p = 40 in a.csv and C = 6 N D in b.csv. "
        "Plans use C = 6 n_p N D with n_p = 40."
    )
    assert read(db, made)["C"].tolist() == [240e14, 12e14]


def test_a_table_whose_runs_are_all_withdrawn_is_refused(db: Database, add: Add) -> None:
    one, other = add("N,loss\n1e6,3\n2e6,2.9\n", "a.csv"), add("N,loss\n4e6,2.8\n", "b.csv")
    tables.withdraw(db, one.id, [0, 1], "wrong data")
    message = "a.csv: all runs are withdrawn. Bring runs back, or choose another table."
    with pytest.raises(PlannerError, match=f"^{re.escape(message)}$"):
        combine(db, other.id, one.id)


def test_left_out_rows_are_counted_among_rows_and_not_among_means(db: Database, add: Add) -> None:
    one = add("N,D,loss,seed,untrained\n1e6,1e8,3,1,0\n1e6,1e8,3.2,2,0\n2e6,1e8,9,1,1\n", "a.csv")
    agree(db, one, repeats="mean")
    runs = read(db, one)
    assert (len(runs), runs.left_out.untrained, runs.left_out.total) == (1, 1, 3)
