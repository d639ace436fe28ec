"""The form of the page Train: inputs, errors, the cost estimate, and the cells that a launch adds to the queue."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from isoplan.app import workspace
from isoplan.app.sweep_costs import bundled_cells
from isoplan.app.views.training import costs, form
from isoplan.app.workspace import Settings
from isoplan.engine.store.database.database import Database
from isoplan.trainers.backend.estimate.forecast import Estimate, estimate
from isoplan.trainers.backend.queue import sweep
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import Cap
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import cells as grid_cells
from isoplan.trainers.grid import typed_grid, write_grid
from tests.app.views.conftest import Open, said, told
from tests.app.views.train.conftest import EXAMPLE, NINE, bars, flops, press, words


def test_an_empty_page_starts_with_an_example_and_its_estimate(open_page: Open) -> None:
    at = open_page("train")
    assert (at.text_input(key="cell_width").value, at.text_input(key="cell_samples").value) == (
        "8, 16, 32", "16384, 65536, 262144",
    )  # fmt: skip
    whole = sum(flops(w, s) for w in (8, 16, 32) for s in (16384, 65536, 262144))
    assert whole == pytest.approx(5.36e9, rel=1e-3)
    assert "3 × 3 = 9 cells, 5.36 × 10⁹ FLOPs in all" in words(at)
    assert "Estimate (rough, from bundled cells): " in words(at)
    assert at.text_input(key="spend_cap").value == "no limit"
    assert at.text_input(key="cell_rate").value == "automatic"
    assert all(field.value and not field.placeholder for field in at.text_input)
    assert not dict(at.query_params)
    assert told(at) == ""


def test_models_have_titles(open_page: Open) -> None:
    box = open_page("train").selectbox(key="family_choice")
    assert list(box.options) == ["Your program (example)", "Amplitude surrogate", "Recommender", "Jet tagger"]


def test_the_scans_of_amplitudes_are_a_click_each(open_page: Open) -> None:
    at = open_page("train", family="amplitudes")
    assert at.text_input(key="cell_points").value == "100, 1000, 10000"
    assert "3 × 2 = 6 cells" in words(at)
    press(at, "Compute scan")
    table = next(d.value for d in at.dataframe if "C" in d.value)
    assert list(table["C"]) == pytest.approx(list(table["budget"]), rel=0.01)
    assert list(table["D"]) == list(table["points"])
    assert set(table["N"]) == {11 * 67 + 2 * (67 * 67 + 67) + 67}
    assert told(at) == ""


def test_what_is_typed_stands_in_the_link_and_comes_back_from_it(open_page: Open) -> None:
    at = open_page("train", **NINE)
    assert at.text_input(key="cell_width").value == "8, 16, 32"
    table = next(d.value for d in at.dataframe if "C" in d.value)
    assert list(table["width"]) == [8, 8, 8, 16, 16, 16, 32, 32, 32]
    assert list(table["samples"][:3]) == [16384, 65536, 262144]
    assert table["C"][8] == flops(32, 262144)
    assert table["N"][0] == 8 * 33 + 8 * 9 + 9


@pytest.mark.parametrize(
    ("field", "typed", "sentence"),
    [
        ("width", "8, x", "cannot read 'x' as a number"),
        ("width", "0", "The field width of the family teacher-student cannot be 0: input should be greater than"),
        ("width", "8..5000 x 3", "cannot be 5000: input should be less than or equal to 4096"),
        ("samples", "8..", "cannot read the range '8..': write it like 8..512 x 7"),
        ("deterministic", "maybe", "cannot be 'maybe': give it yes or no"),
    ],
)
def test_a_wrong_field_says_so_in_one_sentence_and_nothing_can_be_launched(
    open_page: Open, field: str, typed: str, sentence: str
) -> None:
    at = open_page("train")
    at.text_input(key=f"cell_{field}").set_value(typed).run()
    assert [sentence in str(e.value).replace("\\", "") for e in at.error] == [True]
    assert not [b for b in at.button if b.label.startswith("Launch")]
    at.text_input(key=f"cell_{field}").set_value("").run()
    assert f"The field {field.capitalize()} is empty: enter a value, " in told(at)
    at.text_input(key=f"cell_{field}").set_value("no" if field == "deterministic" else "512").run()
    assert told(at) == ""


def test_a_grid_of_a_million_cells_is_refused_before_it_is_made(open_page: Open) -> None:
    at = open_page("train", cell_width="1..1000 x 1000", cell_seed="0..999 x 1000")
    assert "can contain 20,000 at most" in told(at)
    assert "width" in told(at)


def test_a_launch_queues_each_cell_once_however_often_it_is_pressed(open_page: Open, root: Path) -> None:
    at = press(open_page("train", **NINE), "Launch 9 cells")
    assert told(at) == ""
    launched = ":green[:material/check:] Launched 9 cells."
    assert f"{launched} The sweep is shown below." in [m.value for m in at.markdown]
    cells = Queue(root).scan()
    assert sorted((r.cell["width"], r.cell["samples"]) for r in cells.values()) == sorted(
        (w, s) for w in (8, 16, 32) for s in (16384, 65536, 262144)
    )
    press(at, "Launch 9 cells")
    again = f"{launched} 9 cells of this grid exist already. The sweep is shown below."
    assert again in [m.value for m in at.markdown]
    assert set(Queue(root).scan()) == set(cells)
    assert len(sweep.read_sweeps(root)) == 1
    (table,) = (d.value for d in at.dataframe if "State" in d.value)
    assert list(table["State"]) == ["Waiting"] * 9
    assert list(table.columns[:4]) == ["State", "width", "samples", "Done"]


def test_a_sweep_is_held_cancelled_retried_and_deleted_as_a_whole(open_page: Open, root: Path) -> None:
    at = press(open_page("train", **NINE), "Launch 9 cells")
    press(at, "Hold the sweep")
    assert "9 held" in bars(at)
    press(at, "Resume the sweep")
    assert "9 waiting" in bars(at)
    press(at, "Cancel the sweep")
    assert "9 cancelled" in bars(at)
    press(at, "Retry 9 cells")
    assert "9 waiting" in bars(at)
    assert told(at) == ""


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [(Settings(shared=True), "Training is off on a shared server")],
)
def test_where_nothing_may_be_trained_one_sentence_says_why(
    db: Database, open_page: Open, settings: Settings, sentence: str
) -> None:
    with workspace.registered(db, settings):
        at = open_page("train")
    assert sentence in said(at)
    assert not at.text_input


def test_without_the_packages_of_the_cluster_one_sentence_says_how_to_get_them(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "isoplan.trainers.backend.runner.runner_process.NEEDED", ("distributed", "a_package_that_there_is_not")
    )
    at = open_page("train")
    assert "pip install 'isoplan[cluster]'" in said(at)
    assert not at.text_input


def test_another_family_starts_with_its_own_values(open_page: Open) -> None:
    at = open_page("train", family="teacher-student", **NINE, hour_price="3", spend_cap="2 h", cell_noise="0.2")
    at.selectbox(key="family_choice").set_value("jets").run()
    shown = {key: at.text_input(key=key).value for key in ("cell_width", "cell_jets", "cell_rate", "spend_cap")}
    assert shown == {"cell_width": "4, 8, 16", "cell_jets": "125, 250, 500", "cell_rate": "0.004",
                     "spend_cap": "no limit"}  # fmt: skip
    assert at.text_input(key="device_price").value == "none"
    assert dict(at.query_params) == {"family": "jets"}
    at.text_input(key="cell_width").set_value("4").run()
    at.selectbox(key="family_choice").set_value("teacher-student").run()
    assert at.text_input(key="cell_width").value == "8, 16, 32"
    assert (at.query_params["cell_width"], at.query_params["device_price"]) == ("8, 16, 32", "3")
    at.selectbox(key="family_choice").set_value("jets").run()
    assert at.text_input(key="cell_width").value == "4"
    assert at.text_input(key="cell_rate").value == "0.004"


def test_a_link_without_a_family_means_the_first_one_and_other_fields_have_their_defaults(open_page: Open) -> None:
    """Links of earlier versions omit fields with default values. They also omit the family if it is the first one."""
    at = open_page("train", cell_width="8, 16")
    assert at.selectbox(key="family_choice").value == "teacher-student"
    assert (at.text_input(key="cell_width").value, at.text_input(key="cell_samples").value) == ("8, 16", "65536")
    at = open_page("train", family="jets", cell_width="8")
    assert at.text_input(key="cell_epochs").value == "1"


def test_words_for_zero_are_values_of_a_grid(open_page: Open, root: Path) -> None:
    at = open_page("train", family="jets", cell_width="8", cell_jets="500", cell_rate="automatic, 0.01")
    assert told(at) == ""
    press(at, "Launch 2 cells")
    assert sorted(record.cell["rate"] for record in Queue(root).scan().values()) == [0.0, 0.01]


def test_a_price_of_plan_is_none_of_this_machine(open_page: Open) -> None:
    at = open_page("plan", device="H100", hour_price="3")
    at.query_params.clear()
    at.switch_page("views/train.py").run()
    assert at.text_input(key="device_price").value == "none"
    assert "EUR" not in words(at)


def test_the_settings_are_kept_while_another_page_is_open(open_page: Open) -> None:
    at = open_page("train", family="jets", cell_width="8", device_price="2 USD")
    at.query_params.clear()
    at.switch_page("views/plan.py").run()
    at.query_params.clear()
    at.switch_page("views/train.py").run()
    assert told(at) == ""
    shown = {key: at.text_input(key=key).value for key in ("cell_width", "cell_jets", "device_price")}
    assert shown == {"cell_width": "8", "cell_jets": "10000", "device_price": "2 USD"}
    assert (at.query_params["family"], at.query_params["cell_width"]) == ("jets", "8")


def test_an_estimate_has_money_only_with_a_price_and_in_its_currency(open_page: Open) -> None:
    at = open_page("train", **NINE)
    assert "device hours. The longest" in words(at)
    at.text_input(key="device_price").set_value("2 USD").run()
    assert " USD. The longest" in words(at)


@pytest.mark.parametrize("name", ["jets", "behavior", "amplitudes", "teacher-student"])
def test_a_bundled_family_has_an_estimate_where_no_short_cell_tells(root: Path, name: str) -> None:
    family = find_family(name, root)
    for preset in family.presets.values():
        grid = typed_grid(family, dict(preset.fields))
        found = estimate(root, family, grid_cells(grid, family), measure=lambda *_: [], earlier=bundled_cells(name))
        assert found.seconds is not None
        assert 0 < found.seconds < 30 * 86400
        assert found.basis.startswith(f"Estimated from the training times of {len(bundled_cells(name))} cells")


def test_a_grid_goes_to_a_file_and_comes_back_into_the_form(open_page: Open) -> None:
    at = open_page("train")
    text = 'family = "teacher-student"\nname = "from a file"\n\n[cell]\nwidth = "8..512 x 7"\nnoise = [0.1, 0.2]\n'
    at.file_uploader(key="grid_file_0").set_value(("GRID.toml", text.encode(), "application/toml")).run()
    assert told(at) == ""
    assert at.text_input(key="cell_width").value == "8..512 x 7"
    assert at.text_input(key="cell_noise").value == "0.1, 0.2"
    assert at.text_input(key="grid_name").value == "from a file"
    assert "7 × 2 = 14 cells" in words(at)
    texts = {f"cell_{field}": at.text_input(key=f"cell_{field}").value or "" for field in EXAMPLE.cell.model_fields}
    again = form.grid_of(EXAMPLE, {**texts, "grid_name": "from a file"})
    assert write_grid(again) == text


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        (b"family = ", "GRID.toml cannot be read as TOML"),
        (b'family = "nobody"', "There is no family 'nobody' of cells: use teacher-student"),
        (b"\xff\xfe", "GRID.toml is not a text file. Write the grid as TOML in UTF-8."),
        (b'family = "teacher-student"\n[cell]\nwidth = [' + b"8, " * 1500 + b"9]", "too many values"),
        (
            b'family = "teacher-student"\n[[cells]]\nwidth = 8',
            "GRID.toml lists cells, which this form cannot show. Train it",
        ),
    ],
)
def test_a_file_that_is_no_grid_says_why_and_the_form_stays(open_page: Open, file: bytes, sentence: str) -> None:
    at = open_page("train", cell_width="64")
    at.file_uploader(key="grid_file_0").set_value(("GRID.toml", file, "application/toml")).run()
    assert sentence in told(at).replace("\\", "")
    assert at.text_input(key="cell_width").value == "64"


def test_a_cap_is_kept_with_the_sweep_and_a_wrong_one_says_so(open_page: Open, root: Path) -> None:
    at = open_page("train", **NINE, hour_price="0.5", spend_cap="2 EUR")
    press(at, "Launch 9 cells")
    (made,) = sweep.read_sweeps(root)
    assert (made.order.cap.hours, made.order.cap.price, made.order.cap.currency) == (4.0, 0.5, "EUR")
    at.text_input(key="spend_cap").set_value("5").run()
    assert "The cap of the sweep '5' has no unit: write it like 50 EUR or 20 h." in told(at)


@pytest.mark.parametrize(
    ("found", "cap", "text"),
    [
        (Estimate(9, 0, 5e9, 34.0, 0.0141, 8.0, 1.2e6, "", "rough"), Cap(None, 2.0, "EUR"),
         "Estimate (rough): 34 s on this machine, 0.014 device hours, 0.028 EUR, 1.2 MB of disk. "
         "The longest cell takes 8 s."),
        (Estimate(9, 3, 5e9, 7200.0, 4.0, 3600.0, None, "", "from 3 finished cells"), Cap(2.0),
         "Estimate (from 3 finished cells): 2 h on this machine, 4 device hours. The longest cell takes 60 min. "
         "3 cells of 9 are finished already."),
        (Estimate(2, 0, 5e9, 380.0, 0.21, 6.6, None, "", "rough", 372.0), Cap(),
         "Estimate (rough): 6.3 min on this machine, 0.21 device hours. This includes 6.2 min of one core to simulate "
         "missing samples for training, validation and test. The longest cell takes 6.6 s."),
        (Estimate(9, 9, 0.0, 0.0, 0.0, 0.0, 0.0, "All cells are done."), Cap(),
         "All of these cells are finished already."),
        (Estimate(9, 0, None, None, None, None, None, "Not known."), Cap(), ""),
    ],
)  # fmt: skip
def test_an_estimate_says_time_money_and_disk(found: Estimate, cap: Cap, text: str) -> None:
    assert costs.costs_text(found, cap) == text


def test_a_full_disk_is_one_sentence_and_leaves_no_cell(
    open_page: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    at = open_page("train", **NINE)
    with monkeypatch.context() as patched:
        patched.setattr("isoplan.trainers.backend.store.files.write_json", full)
        press(at, "Launch 9 cells")
    assert f"The disk of {root} is full: free some space and try again." in told(at)
    assert not Queue(root).scan()


@pytest.mark.parametrize(("widths", "noted"), [("8, 16", True), ("8, 16, 32, 64, 128, 256", False)])
def test_few_cells_are_noted_before_a_launch(open_page: Open, widths: str, noted: bool) -> None:
    at = open_page("train", cell_width=widths, cell_samples="16384")
    note = "A fit of a law over N and D needs at least 6 different cells."
    assert (note in [caption.value for caption in at.caption]) is noted
