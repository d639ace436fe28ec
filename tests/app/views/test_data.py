"""The page Data: uploads, the roles of columns, and the selection of rows."""

from __future__ import annotations

import io
import re

import pandas as pd
import pytest

from isoplan.app.views.tables.rows import with_range
from isoplan.data.catalogue import DEMOS
from isoplan.engine.costs import ComputeRule, TwoPart
from isoplan.engine.schema import Metric
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results, saved_items
from isoplan.engine.store.tables import tables
from tests.app.views.conftest import Open, grid, said, told, written
from tests.app.views.test_pages import upload


def test_the_same_bytes_twice_are_one_table(db: Database, open_page: Open) -> None:
    at = upload(open_page("data"), grid(), "one.csv")
    at = upload(at, grid(), "two.csv")
    assert told(at) == ""
    assert [t.name for t in tables.all(db)] == ["one.csv"]
    assert "This file is already in the workspace, as one" in said(at)


def test_a_paste_becomes_a_table(db: Database, open_page: Open) -> None:
    at = open_page("data")
    at.text_area[0].set_value("N\tD\tloss\n1e6\t2e7\t3.4\n4e6\t2e7\t3.1\n")
    next(b for b in at.button if b.label == "Add these rows").click().run()
    assert told(at) == ""
    (table,) = tables.all(db)
    assert table.rows == 2
    assert tables.roles(db, table.id).N == "N"


def workbook(*sheets: str) -> bytes:
    out = io.BytesIO()
    with pd.ExcelWriter(out, engine="openpyxl") as book:
        for i, name in enumerate(sheets):
            pd.DataFrame({"N": [1e6 * (i + 1)], "D": [2e7], "loss": [3.4]}).to_excel(book, sheet_name=name, index=False)
    return out.getvalue()


def test_a_workbook_with_two_sheets_asks_which(db: Database, open_page: Open) -> None:
    at = upload(open_page("data"), workbook("first", "second"), "book.xlsx")
    assert told(at) == ""
    assert tables.all(db) == []
    choice = next(s for s in at.selectbox if "tables. Choose one" in s.label)
    choice.select("second").run()
    next(b for b in at.button if b.label == "Add this table").click().run()
    assert [t.name for t in tables.all(db)] == ["book.xlsx · second"]


def test_text_is_converted_only_after_a_tick(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"params,tokens,loss\n1M,20M,3.4\n4M,20M,3.1\n16M,80M,2.8\n", "suffix.csv")
    at = open_page("data", table=table.id)
    assert tables.roles(db, table.id).N is None
    tick = at.checkbox(key=f"convert_{table.id}_params")
    assert "3 cells change" in tick.label
    tick.check().run()
    assert told(at) == ""
    roles = tables.roles(db, table.id)
    assert (roles.N, roles.conversions) == ("params", {"params": "suffix"})
    at.checkbox(key=f"convert_{table.id}_params").uncheck().run()
    assert tables.roles(db, table.id).N is None


def test_a_held_out_loss_beside_one_of_training_has_a_note(db: Database, open_page: Open) -> None:
    content = b"params,tokens,loss,val_loss\n1e6,1e8,3,3.2\n2e6,1e8,2.9,3.1\n4e6,1e8,2.8,3.0\n"
    table = tables.add(db, content, "keras.csv")
    at = open_page("data", table=table.id)
    assert tables.roles(db, table.id).loss == "val_loss"
    assert "is read as the loss; column" in "\n".join(c.value for c in at.caption)


def test_a_column_of_another_role_moves_and_the_roles_swap(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N,D,loss,loss_ptb\n1,2,3,4\n5,6,7,8\n", "two.csv")
    roles = tables.roles(db, table.id)
    metric = Metric(column="loss_ptb", direction="min")
    tables.set_roles(db, table.id, roles.model_copy(update={"metrics": (metric,)}))
    at = open_page("data", table=table.id)
    at.selectbox(key=f"role_{table.id}_D").set_value("N").run()
    roles = tables.roles(db, table.id)
    assert (roles.N, roles.D) == ("D", "N")
    assert "N moved from N: parameters to D: samples seen. N: parameters now has D." in said(at)
    at.selectbox(key=f"role_{table.id}_loss").set_value("loss_ptb").run()
    roles = tables.roles(db, table.id)
    assert (roles.loss, [m.column for m in roles.metrics]) == ("loss_ptb", ["loss"])
    assert "loss_ptb moved from the metrics to L: loss. The metrics now have loss." in said(at)
    assert told(at) == ""


def test_a_filter_is_in_the_badge(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("data", table=table.id)
    assert "25 runs" in "".join(str(m.value) for m in at.markdown)
    at = open_page("data", table=table.id, where="N > 1e8")
    assert "5 of 25 runs" in "".join(str(m.value) for m in at.markdown)


def test_after_an_upload_the_roles_are_lines_and_fit_law_is_the_one_primary_button(
    db: Database, open_page: Open
) -> None:
    at = upload(open_page("data"), grid(), "grid.csv")
    assert told(at) == ""
    for line in ("**N**: `N`, 1.0 M to 250 M", "**C**: computed as 6 N D", "**Loss**: `loss`, 1.77 to 3.08"):
        assert line in written(at)
    primary = [b for b in at.button if b.proto.type == "primary"]
    assert [(b.label, b.disabled) for b in primary] == [("Fit law", False)]


def together() -> bytes:
    """Return runs in which N and D increase together, so that the loss depends only on the compute."""
    return b"N,D,loss\n" + b"".join(b"%d,%d,%f\n" % (10**k, 20 * 10**k, 2 + 10 / k) for k in range(4, 12))


@pytest.mark.parametrize(("content", "law"), [(grid(), "chinchilla"), (together(), "power")])
def test_one_press_fits_the_suggested_law_once(db: Database, open_page: Open, content: bytes, law: str) -> None:
    at = upload(open_page("data"), content, "runs.csv")
    at = at.button(key="fit_law").click().run()
    assert told(at) == ""
    saved = results.fits(db)
    assert [one.law for one in saved] == [law]
    assert at.query_params["fit"] == saved[0].hash
    assert "1,000 resamples, seed 0." in written(at)
    saved_items.delete(db, "fits", saved[0].hash)
    at.run()
    assert results.fits(db) == []


def test_the_settings_of_a_recommender_are_listed_with_their_words(db: Database, open_page: Open) -> None:
    head, *rows = grid().decode().splitlines()
    more = [f"{r},0.{1 + i % 3},{128 * (1 + i % 2)},64,1e-3,7" for i, r in enumerate(rows)]
    content = "\n".join([f"{head},emb_share,neg_samples,batch_size,lr,width", *more]).encode()
    at = upload(open_page("data"), content, "games.csv")
    assert told(at) == ""
    for line in (
        "**Embedder share s**: `emb_share`, 0.1 to 0.3",
        "**Batch size B**: `batch_size`, 64",
        "**Extra negatives K**: `neg_samples`, 128 to 256",
        "**Learning rate**: `lr`, 0.001",
    ):
        assert line in written(at)
    for rest in re.findall(r"\*\*(?:Settings|Not used)\*\*: (.*)", written(at)):
        assert not {"emb_share", "neg_samples", "batch_size", "lr"} & set(re.findall(r"\w+", rest))
    at = upload(open_page("data"), b"N,D,loss,lr\n1e6,1e9,3,1e-3\n1e7,1e9,2,1e-2\n", "other.csv")
    assert "Learning rate" not in written(at)


def test_a_table_without_a_loss_says_what_is_missing(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N,D,width\n1e6,1e9,2\n1e7,1e9,3\n", "half.csv")
    at = open_page("data", table=table.id)
    assert at.button(key="fit_law").disabled
    assert "No column is read as the loss. Answer the question above." in written(at)
    assert "**Loss**: no column" in written(at)


def test_a_wrong_filter_gets_the_right_spelling_and_keeps_all_runs(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("data", table=table.id, where="N > 1B & D > 1e9")
    assert "Write 1e9 for 1B. Write AND for &. All rows are shown until the condition is corrected." in told(at)
    assert "25 runs" in written(at)
    at.button(key="clear_filter").click().run()
    assert told(at) == ""
    assert "where" not in at.query_params


def test_compute_far_from_the_rule_is_asked_about(db: Database, open_page: Open) -> None:
    head, *rows = grid().decode().splitlines()
    sizes = [[float(x) for x in row.split(",")[:2]] for row in rows]
    lines = [f"{head},C", *(f"{row},{240 * n * d:.9g}" for row, (n, d) in zip(rows, sizes, strict=True))]
    for key, shown, per_pair in (
        ("column", "**C**: `C`, 2.40 × 10¹⁶", 240.0),
        ("rule", "**C**: computed as 6 N D", 6.0),
    ):
        table = tables.add(db, "\n".join([*lines, ""]).encode(), "compute.csv")
        tables.set_roles(
            db, table.id, tables.roles(db, table.id).model_copy(update={"C": "C", "compute": ComputeRule()})
        )
        at = open_page("data", table=table.id)
        assert "C of the table (column 'C') is 40 times 6 N D (median)." in written(at)
        at.button(key=f"compute_{key}_{table.id}").click().run()
        assert told(at) == ""
        assert tables.roles(db, table.id).compute.per_pair == pytest.approx(per_pair)
        assert "times 6 N D" not in written(at)
        assert shown in written(at)


def test_metrics_have_a_direction(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N,D,loss,q\n1,2,3,4\n5,6,7,8\n", "q.csv")
    at = open_page("data", table=table.id)
    at.multiselect(key=f"metrics_min_{table.id}").set_value(["q"]).run()
    assert [(m.column, m.direction) for m in tables.roles(db, table.id).metrics] == [("q", "min")]
    at.multiselect(key=f"metrics_max_{table.id}").set_value(["q"]).run()
    assert [(m.column, m.direction) for m in tables.roles(db, table.id).metrics] == [("q", "max")]
    assert told(at) == ""


def test_the_compute_rule_is_saved(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("data", table=table.id)
    at.button_group(key=f"rule_{table.id}").set_value("6npND").run()
    at.number_input(key=f"n_p_{table.id}").set_value(40.0).run()
    assert tables.roles(db, table.id).compute.per_pair == 240
    at.button_group(key=f"rule_{table.id}").set_value("formula").run()
    at.text_input(key=f"formula_{table.id}").set_value("6*N*D + 2*N*").run()
    assert "6*N*D + 2*N*" in told(at)
    at.text_input(key=f"formula_{table.id}").set_value("8*N*D").run()
    assert told(at) == ""
    assert tables.roles(db, table.id).compute.formula == "8*N*D"


def test_a_compute_rule_that_the_page_does_not_offer_is_shown_and_can_be_left(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    step = ComputeRule(rule="step", parts=TwoPart(s=0.02, h=100, B=256))
    tables.set_roles(db, table.id, tables.roles(db, table.id).model_copy(update={"compute": step}))
    at = open_page("data", table=table.id)
    assert tables.roles(db, table.id).compute == step
    at.button_group(key=f"rule_{table.id}").set_value("6ND").run()
    assert told(at) == ""
    assert tables.roles(db, table.id).compute == ComputeRule()


def test_a_table_is_renamed_deleted_and_restored(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("data", table=table.id)
    next(t for t in at.text_input if t.label == "Name").set_value("My grid")
    next(b for b in at.button if b.label == "Rename").click().run()
    assert tables.get(db, table.id).name == "My grid"
    at.button(key=f"delete_{table.id}").click().run()
    assert tables.all(db) == []
    at.button(key=f"restore_{table.id}").click().run()
    assert told(at) == ""
    assert [t.name for t in tables.all(db)] == ["My grid"]


def test_demo_tables_cannot_be_changed(demo: Database, open_page: Open) -> None:
    table = tables.by_name(demo, DEMOS[0].name)
    at = open_page("data", table=table.id)
    assert at.selectbox(key=f"role_{table.id}_N").disabled
    assert not [b for b in at.button if b.label in ("Rename", "Delete")]


@pytest.mark.parametrize("show", ["Columns", "Runs", "Rows"])
def test_a_filter_counts_in_every_part(db: Database, open_page: Open, show: str) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("data", table=table.id, show=show, where="N < 1e7")
    assert told(at) == ""
    assert at.text_input(key="where_box").value == "N < 1e7"
    text = " ".join(str(c.value) for c in at.caption)
    if show == "Runs":
        assert "10 of 25 runs" in " ".join(str(m.value) for m in at.markdown)
    if show == "Rows":
        assert "of 10" in text


def test_a_range_becomes_a_condition(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("data", table=table.id, show="Rows")
    next(t for t in at.text_input if t.label == "From").set_value("5M")
    next(b for b in at.button if b.label == "Add this range").click().run()
    assert told(at) == ""
    assert at.query_params["where"] == '"N" >= 5e6'


def test_the_ends_of_a_range_keep_all_their_digits() -> None:
    condition = with_range("", 'a "b"', "1234567890123", "0,1234567890123")
    assert condition == '"a ""b""" >= 1234567890123 AND "a ""b""" <= 0.1234567890123'


def test_withdrawn_rows_come_back(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    tables.withdraw(db, table.id, [3, 4], "diverged")
    at = open_page("data", table=table.id, show="Runs")
    assert any("23 of 25 runs" in str(m.value) for m in at.markdown)
    next(b for b in at.button if b.label == "Bring all back").click().run()
    assert told(at) == ""
    assert tables.withdrawn(db, table.id) == []


def test_a_wide_table_stays_usable(db: Database, open_page: Open) -> None:
    names = [f"x{i}" for i in range(990)]
    table = tables.add(db, f"N,D,loss,{','.join(names)}\n1e6,1e8,3,{','.join(['1'] * 990)}\n".encode(), "wide.csv")
    for show in ("Columns", "Rows"):
        assert told(open_page("data", table=table.id, show=show)) == ""


def test_a_tab_of_an_older_link_opens_the_present_tab_without_a_message(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("data", table=table.id, show="Runs")
    assert said(at) == ""
    assert "Rows 1 to 25 of 25" in written(at)


def test_the_runs_of_another_table_are_added_in_a_new_table(db: Database, open_page: Open) -> None:
    own = tables.add(db, grid(), "grid.csv")
    at = open_page("data", table=own.id)
    assert not [b for b in at.button if b.label == "Combine tables"]
    other = tables.add(db, b"params,tokens,loss\n1e6,1e8,3.2\n2e6,1e8,3.1\n3e6,1e8,3\n", "more.csv")
    at.run()
    at.selectbox(key=f"other_table_{own.id}").set_value(other.id).run()
    at.button(key=f"combine_{own.id}").click().run()
    assert told(at) == ""
    made = tables.get(db, at.query_params["table"])
    assert (made.name, made.rows) == ("grid.csv + more.csv", 28)
    assert "Column 'table' has 2 values: grid.csv 25, more.csv 3 runs." in written(at).replace("\\", "")
    at.button(key=f"each_{made.id}_table").click().run()
    assert (tables.roles(db, made.id).group, tables.roles(db, made.id).each) == ("table", True)


def test_tables_that_cannot_be_combined_are_refused_in_one_sentence(db: Database, open_page: Open) -> None:
    own, other = tables.add(db, grid(), "grid.csv"), tables.add(db, b"width,loss\n1,3\n2,2\n", "width.csv")
    at = open_page("data", table=own.id)
    at.button(key=f"combine_{own.id}").click().run()
    assert told(at) == ("Sizes: grid.csv has N and D and C, and width.csv has no size. Map N, D or C in both tables.")
    assert {t.id for t in tables.all(db)} == {own.id, other.id}
