"""The Train page without a browser: what is typed, what is said of it, what is launched, and how cells stand."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app import workspace
from app.earlier import bundled_cells
from app.views.training import costs, rows, standing
from app.views.training.lines import curves, spans
from app.views.training.table import whole_log
from app.workspace import Settings
from engine.store.database import Database, open_workspace
from tests.app.views.conftest import Open, said, told
from trainers.backend import files, sweep
from trainers.backend.estimate import Estimate, estimate
from trainers.backend.queue import Queue
from trainers.backend.record import CELLS, beat_of, events_of, log_of, result_of
from trainers.backend.sweep import Cap
from trainers.families import find_family
from trainers.grid import cells as grid_cells
from trainers.grid import typed_grid, write_grid

EXAMPLE = find_family("teacher-student", Path())
NINE = {"cell_width": "8, 16, 32", "cell_samples": "16384, 65536, 262144"}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A workspace on disk that pages see, with nobody to run its cells."""
    st.cache_data.clear()
    st.cache_resource.clear()
    with open_workspace(tmp_path / "space") as database, workspace.registered(database):
        yield database


@pytest.fixture
def root(db: Database) -> Path:
    assert db.folder is not None
    return db.folder


def flops(width: int, samples: int, dim: int = 32) -> float:
    """FLOPs of the example: 6 a weight and sample, less the gradient of the input, which nobody needs."""
    weights = dim * width + width * width + width
    return 6.0 * samples * weights - 2.0 * samples * width * dim


def words(at: AppTest) -> str:
    return "\n".join(str(m.value) for m in at.markdown)


def press(at: AppTest, label: str) -> AppTest:
    return next(b for b in at.button if b.label == label).click().run()


def test_an_empty_page_says_what_to_do_and_the_example_fills_the_form(open_page: Open) -> None:
    at = open_page("train")
    assert "No cells yet" in said(at)
    press(at, "Example")
    assert (at.text_input(key="cell_width").value, at.text_input(key="cell_samples").value) == (
        "8, 16, 32", "16384, 65536, 262144",
    )  # fmt: skip
    whole = sum(flops(w, s) for w in (8, 16, 32) for s in (16384, 65536, 262144))
    assert whole == pytest.approx(5.36e9, rel=1e-3)
    assert "3 × 3 = 9 cells, 5.36 × 10⁹ FLOPs in all" in words(at)
    assert told(at) == ""


def test_the_scans_of_amplitudes_are_a_click_each(open_page: Open) -> None:
    at = open_page("train", family="amplitudes")
    press(at, "Example")
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
    assert told(at) == ""


def test_a_grid_of_a_million_cells_is_refused_before_it_is_made(open_page: Open) -> None:
    at = open_page("train", cell_width="1..1000 x 1000", cell_seed="0..999 x 1000")
    assert "holds 20,000 at most" in told(at)
    assert "width" in told(at)


def test_a_launch_queues_each_cell_once_however_often_it_is_pressed(open_page: Open, root: Path) -> None:
    at = press(open_page("train", **NINE), "Launch 9 cells")
    assert told(at) == ""
    assert [t.value for t in at.toast] == ["Launched 9 cells."]
    cells = Queue(root).scan()
    assert sorted((r.cell["width"], r.cell["samples"]) for r in cells.values()) == sorted(
        (w, s) for w in (8, 16, 32) for s in (16384, 65536, 262144)
    )
    press(at, "Launch 9 cells")
    assert [t.value for t in at.toast] == ["Launched 9 cells. 9 cells of it were here already."]
    assert set(Queue(root).scan()) == set(cells)
    assert len(sweep.read_sweeps(root)) == 1
    (table,) = (d.value for d in at.dataframe if "State" in d.value)
    assert list(table["State"]) == ["queued"] * 9
    assert list(table.columns[:4]) == ["State", "width", "samples", "Done"]


def test_a_sweep_is_held_cancelled_retried_and_deleted_as_a_whole(open_page: Open, root: Path) -> None:
    at = press(open_page("train", **NINE), "Launch 9 cells")
    press(at, "Hold the sweep")
    assert "9 held" in bars(at)
    press(at, "Resume the sweep")
    assert "9 queued" in bars(at)
    press(at, "Cancel the sweep")
    assert "9 cancelled" in bars(at)
    press(at, "Retry 9 cells")
    assert "9 queued" in bars(at)
    assert told(at) == ""


def bars(at: AppTest) -> str:
    return "\n".join(str(p.proto.text) for p in at.get("progress"))


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
    monkeypatch.setattr("trainers.backend.start.NEEDED", ("distributed", "a_package_that_there_is_not"))
    at = open_page("train")
    assert "pip install 'isoplan[cluster]'" in said(at)
    assert not at.text_input


@pytest.mark.parametrize(
    ("status", "working", "text", "wrong"),
    [
        (None, True, "A runner is about to start.", False),
        (None, False, "Nothing runs.", False),
        ({"beat": 99, "message": "starting the workers"}, True, "The runner is starting its workers.", False),
        ({"beat": 99, "message": "at work", "cluster": "this machine, 2 workers"}, True,
         "At work on this machine, 2 workers.", False),
        ({"beat": 99, "message": "The disk of /w is full: free some of it, and the cells go on."}, True,
         "The disk of /w is full: free some of it, and the cells go on.", True),
        ({"beat": 40, "message": "at work"}, True,
         "The runner has said nothing for 60 s: another one takes over if it is gone.", True),
        ({"beat": 40, "message": "at work"}, False, "Nothing runs.", False),
    ],
)  # fmt: skip
def test_one_line_says_whether_a_runner_is_at_work(
    status: dict[str, object] | None, working: bool, text: str, wrong: bool
) -> None:
    assert standing.runner_line(status, working, 100.0) == standing.Line(text, wrong)


def test_the_table_holds_how_far_each_cell_is_and_why_one_failed(root: Path) -> None:
    made = sweep.launch(root, typed_grid(EXAMPLE, {"width": "8, 16, 32", "samples": "512"}), EXAMPLE)
    queue = Queue(root)
    running, failed, _ = made.cells
    now = datetime.now(UTC)
    number = queue.lease(running, "here")
    beat_of(queue.folder(running), number).write_text("1 here 60")
    say(queue.folder(running), number, 1, 2, 0.5)
    files.write_json(
        result_of(queue.folder(failed), queue.lease(failed, "here")),
        {"number": 1, "state": "failed", "metrics": {}, "seconds": 3.5, "why": "It diverged."},
    )
    records = queue.scan()
    found = rows.frame(queue, EXAMPLE, [records[name] for name in made.cells], now=now + timedelta(seconds=60))
    assert list(found.columns) == ["State", "width", "Done", "Step", "Loss", "Seconds", "Attempts", "Cell", "Why"]
    assert list(found["State"]) == ["running", "failed", "queued"]
    assert list(found["width"]) == [8, 16, 32]
    assert list(found["Done"]) == [50, 0, 0]
    assert found["Step"][0] == "1 of 2"
    assert found["Loss"][0] == 0.5
    assert found["Seconds"][0] == pytest.approx(60, abs=2)
    assert found["Seconds"][1] == 3.5
    assert list(found["Attempts"]) == [1, 1, 0]
    assert list(found["Why"]) == ["", "It diverged.", ""]


def test_a_cell_that_no_worker_has_begun_waits_for_a_worker(root: Path, open_page: Open) -> None:
    made = sweep.launch(root, typed_grid(EXAMPLE, {"width": "8, 16", "samples": "512"}), EXAMPLE)
    queue = Queue(root)
    begun, _ = made.cells
    for name in made.cells:
        queue.lease(name, "here")
    beat_of(queue.folder(begun), 1).write_text("1 here 3")
    at = open_page("train")
    (table,) = (d.value for d in at.dataframe if "State" in d.value)
    assert sorted(table["State"]) == ["running", "waiting for a worker"]
    waiting = table[table["State"] == "waiting for a worker"]
    assert waiting["Seconds"].isna().all()
    assert "1 running, 1 waiting for a worker" in bars(at)


def test_a_simulation_shows_its_progress(root: Path, open_page: Open) -> None:
    family = find_family("jets", root)
    fields = {"width": "4", "jets": "2500", "epochs": "1", "inputs": "21x128"}
    made = sweep.launch(root, typed_grid(family, fields), family)
    queue = Queue(root)
    (name,) = made.cells
    number = queue.lease(name, "here")
    beat_of(queue.folder(name), number).write_text("1 here 240")
    line = '{"step": 0, "at": 1.0, "simulated": 2300, "to_simulate": 25000}'
    events_of(queue.folder(name), number).write_text(f"{line}\n")
    at = open_page("train")
    assert "simulating jets: 2,300 of 25,000" in bars(at)
    (table,) = (d.value for d in at.dataframe if "State" in d.value)
    assert list(table["Step"]) == ["simulating jets: 2,300 of 25,000"]
    events_of(queue.folder(name), number).write_text('{"step": 0, "at": 1.0, "simulated": 2300}\n')
    standing.changed()
    assert "simulating jets: 2,300 ·" in bars(at.run()) + " ·"


def test_fields_belong_to_their_family(open_page: Open) -> None:
    at = open_page("train", family="teacher-student", **NINE)
    at.selectbox(key="family").set_value("jets").run()
    assert at.text_input(key="cell_width").value == ""
    assert "cell_width" not in at.query_params
    at.text_input(key="cell_width").set_value("4").run()
    at.selectbox(key="family").set_value("teacher-student").run()
    assert at.text_input(key="cell_width").value == "8, 16, 32"
    assert at.query_params["cell_width"] == "8, 16, 32"
    at.selectbox(key="family").set_value("jets").run()
    assert at.text_input(key="cell_width").value == "4"


def test_a_price_of_plan_is_none_of_this_machine(open_page: Open) -> None:
    at = open_page("plan", device="H100", hour_price="3")
    at.query_params.clear()
    at.switch_page("views/train.py").run()
    assert at.text_input(key="hour_price").value == ""


@pytest.mark.parametrize("name", ["jets", "behavior", "amplitudes"])
def test_a_bundled_family_has_an_estimate_where_no_short_cell_tells(root: Path, name: str) -> None:
    family = find_family(name, root)
    for preset in family.presets.values():
        grid = typed_grid(family, dict(preset.fields))
        found = estimate(root, family, grid_cells(grid, family), measure=lambda *_: [], earlier=bundled_cells(name))
        assert found.seconds is not None
        assert 0 < found.seconds < 30 * 86400
        assert found.basis.startswith(f"Estimated from the seconds of {len(bundled_cells(name))} cells")


def test_a_finished_curve_ends_where_the_cell_did(root: Path) -> None:
    (name,) = sweep.launch(root, typed_grid(EXAMPLE, {"width": "8", "samples": "512"}), EXAMPLE).cells
    queue = Queue(root)
    number = queue.lease(name, "here")
    say(queue.folder(name), number, 1, 2, 0.5, samples=256)
    files.write_json(
        result_of(queue.folder(name), number),
        {"number": 1, "state": "done", "metrics": {"loss": 0.25}, "steps": 2},
    )
    records = list(queue.scan().values())
    for axis, expected in (("D", [256, 512]), ("C", [flops(8, 256), flops(8, 512)]), ("step", [1, 2])):
        (found,) = curves(queue, EXAMPLE, records, axis)
        assert list(found.x) == pytest.approx(expected)
        assert list(found.y) == [0.5, 0.25]
        assert (found.C, found.ends) == (flops(8, 512), "")


def test_a_curve_goes_as_far_as_samples_are_seen(root: Path) -> None:
    family = find_family("amplitudes", root)
    fields = {"points": "100", "batch": "64", "iterations": "10", "dimension_points": "0"}
    (name,) = sweep.launch(root, typed_grid(family, fields), family).cells
    queue = Queue(root)
    number = queue.lease(name, "here")
    say(queue.folder(name), number, 5, 10, 0.5, samples=320)
    files.write_json(
        result_of(queue.folder(name), number),
        {"number": 1, "state": "done", "metrics": {"loss": 0.25}, "steps": 10},
    )
    records = list(queue.scan().values())
    C = curves(queue, family, records, "step")[0].C
    for axis, expected in (("D", [320, 640]), ("C", [C / 2, C]), ("step", [5, 10])):
        (found,) = curves(queue, family, records, axis)
        assert list(found.x) == pytest.approx(expected)
        assert spans(family, records, axis)[0] == (None if axis == "step" else expected[1])


def say(folder: Path, number: int, step: int, total: int, loss: float, **more: float) -> None:
    values = {"step": step, "total": total, "at": 1.0, "loss": loss, **more}
    with events_of(folder, number).open("a") as file:
        file.write(str(values).replace("'", '"') + "\n")


def test_five_thousand_cells_answer_within_a_second(root: Path, open_page: Open) -> None:
    grid = typed_grid(EXAMPLE, {"width": "1..4000 x 500 linear", "seed": "0..9 x 10 linear", "samples": "512"})
    made = sweep.launch(root, grid, EXAMPLE)
    for name in made.cells:
        folder = root / CELLS / name
        (folder / "lease.json").write_text('{"number": 1}')
        (folder / "result-1.json").write_text(
            '{"number": 1, "state": "done", "metrics": {"loss": 0.5}, "seconds": 1.0, "steps": 2}'
        )
    at = open_page("train")
    begun = datetime.now(UTC)
    at.run()
    taken = (datetime.now(UTC) - begun).total_seconds()
    assert told(at) == ""
    (table,) = (d.value for d in at.dataframe if "State" in d.value)
    assert (len(table), set(table["State"])) == (5000, {"done"})
    assert taken < 2.0, taken  # a second on an idle machine; this one runs other tests meanwhile


def test_a_grid_goes_to_a_file_and_comes_back_into_the_form(open_page: Open) -> None:
    at = open_page("train")
    text = 'family = "teacher-student"\nname = "from a file"\n\n[cell]\nwidth = "8..512 x 7"\nnoise = [0.1, 0.2]\n'
    at.file_uploader(key="grid_file_0").set_value(("GRID.toml", text.encode(), "application/toml")).run()
    assert told(at) == ""
    assert at.text_input(key="cell_width").value == "8..512 x 7"
    assert at.text_input(key="cell_noise").value == "0.1, 0.2"
    assert at.text_input(key="grid_name").value == "from a file"
    assert "7 × 2 = 14 cells" in words(at)
    form = {field: at.text_input(key=f"cell_{field}").value or "" for field in EXAMPLE.cell.model_fields}
    again = typed_grid(EXAMPLE, {field: typed for field, typed in form.items() if typed}, "from a file")
    assert write_grid(again) == text


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        (b"family = ", "GRID.toml cannot be read as TOML"),
        (b'family = "nobody"', "There is no family 'nobody' of cells: use teacher-student"),
        (b"\xff\xfe", "GRID.toml is no text: write the grid as TOML in UTF-8."),
        (b'family = "teacher-student"\n[cell]\nwidth = [' + b"8, " * 1500 + b"9]", "more values than the form takes"),
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
        (Estimate(9, 0, 5e9, 34.0, 0.0141, 8.0, 1.2e6, ""), Cap(None, 2.0, "EUR"),
         "About 34 s on this machine, 0.014 device hours (0.028 EUR), 1.2 MB of disk; the longest cell takes 8 s."),
        (Estimate(9, 3, 5e9, 7200.0, 4.0, 3600.0, None, ""), Cap(2.0),
         "3 of 9 cells are done already. About 2 h on this machine, 4 device hours; the longest cell takes 60 min. "
         "That is more than the 2 device hours that it may spend: it will wait there."),
        (Estimate(9, 9, 0.0, 0.0, 0.0, 0.0, 0.0, "All of its cells are done."), Cap(), ""),
        (Estimate(9, 0, None, None, None, None, None, "Not known."), Cap(), ""),
    ],
)  # fmt: skip
def test_an_estimate_says_time_money_and_disk(found: Estimate, cap: Cap, text: str) -> None:
    assert costs.text(found, cap) == text


def test_failed_cells_say_why_most_of_them_did(open_page: Open, root: Path) -> None:
    made = sweep.launch(root, typed_grid(EXAMPLE, {"width": "8, 16, 32"}), EXAMPLE)
    queue = Queue(root)
    for name, reason in zip(made.cells, ("It diverged.", "It diverged.", "No memory."), strict=True):
        number = queue.lease(name, "here")
        files.write_json(
            result_of(queue.folder(name), number),
            {"number": number, "state": "failed", "metrics": {}, "why": reason},
        )
    at = open_page("train", states="failed")
    assert told(at) == ""
    assert any("3 cells failed (2 of them): It diverged." in str(c.value) for c in at.caption)
    assert "3 failed" in bars(at)


def test_the_whole_log_holds_every_attempt(root: Path) -> None:
    (name,) = sweep.launch(root, typed_grid(EXAMPLE, {"width": "8"}), EXAMPLE).cells
    queue = Queue(root)
    for number, text in ((1, "first\n"), (2, "second\n")):
        assert queue.lease(name, "here") == number
        log_of(queue.folder(name), number).write_text(text)
    assert whole_log(queue, queue.find(name)) == b"--- attempt 1 ---\nfirst\n\n--- attempt 2 ---\nsecond\n"


def test_a_notice_says_that_a_sweep_has_ended_and_one_does_only(open_page: Open, root: Path) -> None:
    made = sweep.launch(root, typed_grid(EXAMPLE, {"width": "8"}, "a small one"), EXAMPLE)
    at = open_page("train")
    assert not at.toast
    queue = Queue(root)
    ended = {"number": 1, "state": "done", "metrics": {"loss": 0.5}}
    files.write_json(result_of(queue.folder(made.cells[0]), queue.lease(made.cells[0], "here")), ended)
    standing.changed()
    at.run()
    assert [t.value for t in at.toast] == ["a small one has ended: 1 done."]
    at.run()
    assert not at.toast


def test_a_full_disk_is_one_sentence_and_leaves_no_cell(
    open_page: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    at = open_page("train", **NINE)
    with monkeypatch.context() as patched:
        patched.setattr("trainers.backend.files.write_json", full)
        press(at, "Launch 9 cells")
    assert f"The disk of {root} is full: free some of it and try again." in told(at)
    assert not Queue(root).scan()
