"""Questions of the page Data about units, decimal commas, formulas, samples and rows of one run."""

from __future__ import annotations

import pytest

from isoplan.engine.store.columns.unread_roles import withheld
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import snapshots, tables
from tests.app.views.conftest import Open, told, written


def test_a_comma_with_two_readings_is_asked_about(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N\tD\tloss\n1e6\t2e7\t3,412\n4e6\t2e7\t3,101\n16e6\t8e7\t2,812\n", "commas.tsv")
    at = open_page("data", table=table.id)
    assert any("'3,412' may be 3.412 or 3412" in text.value for text in at.markdown)
    assert tables.roles(db, table.id).loss is None
    choice = next(c for c in at.button_group if c.label == "Comma of loss")
    choice.set_value("comma").run()
    roles = tables.roles(db, table.id)
    assert (roles.loss, roles.conversions) == ("loss", {"loss": "comma"})
    assert snapshots.runs(db, snapshots.take(db, table.id, roles))["loss"].tolist() == [3.412, 3.101, 2.812]


def test_a_point_with_two_readings_is_asked_about(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N;D;loss\n1e6;100.000;3,4121\n4e6;137.000;3,1011\n16e6;729.000;2,8121\n", "points.csv")
    at = open_page("data", table=table.id)
    assert any("'100.000' may be 100000 or 100 in a file with decimal commas" in text.value for text in at.markdown)
    assert tables.roles(db, table.id).D is None
    next(c for c in at.button_group if c.label == "Point of D").set_value("comma").run()
    roles = tables.roles(db, table.id)
    assert (roles.D, roles.conversions) == ("D", {"D": "comma"})
    next(c for c in at.button_group if c.label == "Point of D").set_value("point").run()
    assert tables.roles(db, table.id).conversions == {"D": "point"}


def test_a_unit_is_converted_only_after_a_choice(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"Params (M),Tokens (B),loss\n1.5,2.5,3.4\n4,2.5,3.1\n16,5,2.8\n", "units.csv")
    at = open_page("data", table=table.id)
    assert (tables.roles(db, table.id).N, tables.roles(db, table.id).D) == (None, None)
    unit = at.selectbox(key=f"unit_{table.id}_Params (M)")
    assert unit.placeholder == "Proposed: in millions, 1.5 M to 16 M"
    assert unit.value is None
    unit.select("millions").run()
    assert told(at) == ""
    roles = tables.roles(db, table.id)
    assert (roles.N, roles.D, roles.conversions) == ("Params (M)", None, {"Params (M)": "millions"})
    assert any("1.5 to 16 becomes 1.5 M to 16 M" in m.value for m in at.markdown)
    at.selectbox(key=f"unit_{table.id}_Params (M)").set_value(None).run()
    assert tables.roles(db, table.id).N is None
    at.button(key=f"convert_all_{table.id}").click().run()
    assert told(at) == ""
    assert tables.roles(db, table.id).conversions == {"Params (M)": "millions", "Tokens (B)": "billions"}
    assert (tables.roles(db, table.id).N, tables.roles(db, table.id).D) == ("Params (M)", "Tokens (B)")


@pytest.mark.parametrize(
    ("words", "asked", "button"),
    [
        (
            {3: "diverged"},
            "**loss**: 1 cell is not a number ('diverged' in row 3). Leave out this run?",
            "Leave out 1 run",
        ),
        (
            {1: "oom", 3: "diverged"},
            "**loss**: 2 cells are not numbers ('oom' in row 1, ...). Leave out these 2 runs?",
            "Leave out 2 runs",
        ),
    ],
)
def test_a_loss_with_words_asks_whether_to_leave_out_these_runs(
    db: Database, open_page: Open, words: dict[int, str], asked: str, button: str
) -> None:
    rows = "".join(f"{i + 1}e6,1e8,{words.get(i, 3 - i / 10)}\n" for i in range(6))
    table = tables.add(db, f"N,D,loss\n{rows}".encode(), "words.csv")
    at = open_page("data", table=table.id)
    assert asked in written(at).replace("\\", "")
    assert "Convert this column" not in written(at)
    assert at.button(key="fit_law").disabled
    leave = at.button(key=f"leave_{table.id}_loss")
    assert leave.label == button
    leave.click().run()
    assert told(at) == ""
    assert tables.roles(db, table.id).loss == "loss"
    assert len(snapshots.runs(db, snapshots.take(db, table.id))) == 6 - len(words)
    assert not at.button(key="fit_law").disabled
    undo = at.checkbox(key=f"convert_{table.id}_loss")
    assert undo.label.startswith(f"**loss**: {button}: ")
    undo.uncheck().run()
    assert tables.roles(db, table.id).loss is None


def test_a_word_in_another_column_leaves_its_cell_empty(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N,D,C,loss\n1e6,1e8,6e14,3\n2e6,1e8,?,2.9\n4e6,1e8,24e14,2.8\n", "words.csv")
    at = open_page("data", table=table.id)
    assert "1 cell is not a number ('?' in row 1)." in written(at).replace("\\", "")
    leave = at.button(key=f"leave_{table.id}_C")
    assert leave.label == "Leave 1 cell empty"
    leave.click().run()
    assert snapshots.runs(db, snapshots.take(db, table.id))["C"].tolist() == [6e14, 12e14, 24e14]


def test_the_button_for_a_word_in_d_says_what_the_sentence_says(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N,D,C,loss\n1e6,1e8,6e14,3\n2e6,?,12e14,2.9\n4e6,1e8,24e14,2.8\n", "words.csv")
    at = open_page("data", table=table.id)
    assert at.button(key=f"leave_{table.id}_D").label == "Leave 1 cell empty"
    reason = withheld(tables.columns(db, table.id), tables.roles(db, table.id))["D"]
    assert "correct it, or leave 1 cell empty on the Data page" in reason
    at.button(key=f"leave_{table.id}_D").click().run()
    assert snapshots.runs(db, snapshots.take(db, table.id))["D"].tolist() == pytest.approx([1e8, 1e8, 1e8])


def test_a_logarithm_of_two_possible_bases_asks_for_its_base(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"logN,D,loss\n9.9,1e9,3.4\n14.5,1e9,3.1\n", "logs.csv")
    at = open_page("data", table=table.id)
    unit = at.selectbox(key=f"unit_{table.id}_logN")
    assert unit.placeholder == "Proposed: a logarithm. Choose the base"
    unit.select("ln").run()
    assert not at.exception
    assert (tables.roles(db, table.id).N, tables.roles(db, table.id).conversions) == ("logN", {"logN": "ln"})


def test_hours_of_a_device_ask_for_the_device(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N,D,gpu_hours,loss\n1e6,1e9,1.5,3.4\n4e6,1e9,6,3.1\n", "hours.csv")
    at = open_page("data", table=table.id)
    at.selectbox(key=f"unit_{table.id}_gpu_hours").select("H100").run()
    assert told(at) == ""
    assert (tables.roles(db, table.id).C, tables.roles(db, table.id).conversions) == (
        "gpu_hours",
        {"gpu_hours": "H100"},
    )


def test_a_proposed_formula_is_used_after_a_click_and_removed(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N,epochs,dataset_size,loss\n1e6,2,1e8,3.4\n4e6,4,1e8,3.1\n", "epochs.csv")
    at = open_page("data", table=table.id)
    assert tables.roles(db, table.id).U == "dataset_size"
    at.button(key=f"derive_{table.id}_D").click().run()
    assert told(at) == ""
    assert tables.roles(db, table.id).derived == {"D": "epochs * dataset_size"}
    assert snapshots.runs(db, snapshots.take(db, table.id))["D"].tolist() == [2e8, 4e8]
    at.button(key=f"underive_{table.id}_D").click().run()
    assert tables.roles(db, table.id).derived == {}


def test_without_a_loss_the_page_offers_the_numeric_columns(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"params,tokens,quality,rej_top\n1e6,1e8,3.2,18\n2e6,1e8,3.1,40\n4e6,2e8,3,90\n", "own.csv")
    at = open_page("data", table=table.id)
    assert "**No column is read as the loss.**" in written(at)
    assert not [b for b in at.button if b.label == "Use this formula"]
    choice = at.selectbox(key=f"missing_{table.id}_loss")
    assert choice.options == ["quality", "rej_top"]
    choice.select("quality").run()
    assert told(at) == ""
    assert tables.roles(db, table.id).loss == "quality"
    assert "No column is read as the loss" not in written(at)


UNIQUE = b"n_params,n_train_jets,val_ce\n1e3,1e4,0.5\n1e4,1e4,0.4\n1e4,5e4,0.3\n"


def test_a_column_of_training_samples_is_asked_about_and_takes_the_epochs(db: Database, open_page: Open) -> None:
    table = tables.add(db, UNIQUE, "own.csv")
    at = open_page("data", table=table.id)
    assert "**n_train_jets**: samples seen in training, or unique samples?" in written(at)
    at.button(key=f"unique_samples_{table.id}").click().run()
    assert "Epochs per run: no value" in told(at)
    at.number_input(key=f"epochs_{table.id}").set_value(20.0)
    at.button(key=f"unique_samples_{table.id}").click().run()
    assert told(at) == ""
    roles = tables.roles(db, table.id)
    assert (roles.D, roles.U, roles.derived) == (None, "n_train_jets", {"D": "20 * n_train_jets"})
    runs = snapshots.runs(db, snapshots.take(db, table.id))
    assert runs["C"].tolist() == [1.2e9, 1.2e10, 6e10]
    assert runs["epochs"].tolist() == [20, 20, 20]


def test_samples_seen_are_confirmed_once(db: Database, open_page: Open) -> None:
    table = tables.add(db, UNIQUE, "own.csv")
    assert any("'n_train_jets' is read as the samples seen" in n for n in runs_notes(db, table.id))
    at = open_page("data", table=table.id)
    at.button(key=f"samples_seen_{table.id}").click().run()
    assert told(at) == ""
    assert tables.roles(db, table.id).samples_seen
    assert not any("read as the samples seen" in n for n in runs_notes(db, table.id))
    assert "samples seen in training, or unique" not in written(at)
    at.button(key=f"again_{table.id}_D").click().run()
    assert "samples seen in training, or unique" in written(at)


def runs_notes(db: Database, table: str) -> tuple[str, ...]:
    return snapshots.runs(db, snapshots.take(db, table)).notes


def test_a_formula_can_be_typed_and_a_column_takes_its_place(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N,D,k,loss\n1e6,1e9,2,3.4\n4e6,1e9,3,3.1\n", "typed.csv")
    at = open_page("data", table=table.id)
    at.selectbox(key=f"derive_role_{table.id}").select("D")
    at.text_input(key=f"derive_formula_{table.id}").set_value("D * speed")
    next(b for b in at.button if b.label == "Compute role").click().run()
    assert "reads 'speed', which is no column of the table" in told(at)
    at.selectbox(key=f"derive_role_{table.id}").select("D")
    at.text_input(key=f"derive_formula_{table.id}").set_value("D * k")
    next(b for b in at.button if b.label == "Compute role").click().run()
    assert told(at) == ""
    assert (tables.roles(db, table.id).D, tables.roles(db, table.id).derived) == (None, {"D": "D * k"})
    at.selectbox(key=f"role_{table.id}_D").set_value("D").run()
    assert (tables.roles(db, table.id).D, tables.roles(db, table.id).derived) == ("D", {})


def test_rows_of_one_run_are_asked_about(db: Database, open_page: Open) -> None:
    rows = "".join(f"r{i},{s},{1e6 * (i + 1)},{1e8 * s},{3 - 0.1 * s}\n" for i in range(6) for s in range(1, 5))
    table = tables.add(db, f"run,step,N,D,loss\n{rows}".encode(), "history.csv")
    at = open_page("data", table=table.id)
    assert any("24 rows, about 6 runs" in m.value for m in at.markdown)
    assert at.button_group(key=f"rows_{table.id}").value == "last"
    assert len(snapshots.runs(db, snapshots.take(db, table.id))) == 6
    at.button_group(key=f"rows_{table.id}").set_value("all").run()
    assert told(at) == ""
    assert len(snapshots.runs(db, snapshots.take(db, table.id))) == 24
    assert at.button_group(key=f"rows_{table.id}").value == "all"
