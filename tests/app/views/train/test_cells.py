"""Cells (training runs) on the page Train: their table, progress, curves and logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from isoplan.app.cell_service import ingest, queue_of
from isoplan.app.views.training import standing
from isoplan.app.views.training import table as rows
from isoplan.app.views.training.lines import curves, spans
from isoplan.app.views.training.overview import rowless
from isoplan.app.views.training.table import whole_log
from isoplan.engine.store.database.cell_index import table_of
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue import sweep
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import CELLS, Order, Record, beat_of, events_of, log_of, result_of
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import typed_grid
from tests.app.views.conftest import Open, told
from tests.app.views.train.conftest import EXAMPLE, bars, flops, press, say


@pytest.mark.parametrize(
    ("status", "working", "text", "wrong"),
    [
        (None, True, "A runner is about to start.", False),
        (None, False, "Nothing runs.", False),
        ({"beat": 99, "message": "starting the workers"}, True, "The runner is starting its workers.", False),
        ({"beat": 99, "message": "at work", "cluster": "this machine, 2 workers"}, True,
         "Training on this machine, 2 workers.", False),
        ({"beat": 99, "message": "The disk of /w is full: free some space, and the cells continue."}, True,
         "The disk of /w is full: free some space, and the cells continue.", True),
        ({"beat": 40, "message": "at work"}, True,
         "The runner has sent no heartbeat for 60 s. If it has ended, a new runner replaces it.", True),
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
    assert list(found.columns) == [
        *("State", "width", "Done", "Loss", "Final loss", "Step", "Seconds", "Attempts", "Cell", "Why")
    ]
    assert list(found["State"]) == ["Training", "Failed", "Waiting"]
    assert list(found["width"]) == [8, 16, 32]
    assert [None if np.isnan(x) else x for x in found["Done"]] == [50, None, None]
    assert found["Step"][0] == "1 of 2"
    assert found["Loss"][0] == 0.5
    assert found["Seconds"][0] == pytest.approx(60, abs=2)
    assert found["Seconds"][1] == 3.5
    assert list(found["Attempts"]) == [1, 1, 0]
    assert list(found["Why"]) == ["", "It diverged.", ""]


def test_the_table_shows_the_predicted_final_loss_of_a_running_cell(root: Path, open_page: Open) -> None:
    made = sweep.launch(root, typed_grid(EXAMPLE, {"width": "4, 8, 16, 32, 64, 128", "samples": "512"}), EXAMPLE)
    queue = Queue(root)
    for i, name in enumerate(made.cells):
        number, running = queue.lease(name, "here"), i == 5
        beat_of(queue.folder(name), number).write_text("1 here 60")
        for step in range(1, 5 if running else 9):
            say(queue.folder(name), number, step, 8, (i + 1) * step**-0.5)
        if not running:
            metrics = {"loss": 0.9 * (i + 1) * 8**-0.5}
            files.write_json(
                result_of(queue.folder(name), number),
                {"number": number, "state": "done", "metrics": metrics, "seconds": 1.0, "steps": 8},
            )
    at = open_page("train")
    (table,) = (d.value for d in at.dataframe if "State" in d.value)
    assert dict(zip(table["width"], table["Final loss"], strict=True)) == {
        **dict.fromkeys((4, 8, 16, 32, 64), ""),
        128: "1.909 (1.909 to 1.909)",  # the sixth cell: 0.9 * 6 / sqrt(8) after 8 steps
    }


def test_a_cell_that_no_worker_has_begun_waits_for_a_worker(root: Path, open_page: Open) -> None:
    made = sweep.launch(root, typed_grid(EXAMPLE, {"width": "8, 16", "samples": "512"}), EXAMPLE)
    queue = Queue(root)
    begun, _ = made.cells
    for name in made.cells:
        queue.lease(name, "here")
    beat_of(queue.folder(begun), 1).write_text("1 here 3")
    at = open_page("train")
    (table,) = (d.value for d in at.dataframe if "State" in d.value)
    assert sorted(table["State"]) == ["Preparing", "Waiting"]
    waiting = table[table["State"] == "Waiting"]
    assert waiting["Seconds"].isna().all()
    assert "1 preparing, 1 waiting" in bars(at)


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
    assert list(table["Step"]) == ["Simulating jets: 2,300 of 25,000"]
    assert list(table["State"]) == ["Preparing"]
    assert table["Done"].isna().all()
    events_of(queue.folder(name), number).write_text('{"step": 0, "at": 1.0, "simulated": 2300}\n')
    standing.changed()
    assert "simulating jets: 2,300 ·" in bars(at.run()) + " ·"


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
        assert (found.shade, found.ends) == (flops(8, 512), "")


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
    C = curves(queue, family, records, "step")[0].shade
    for axis, expected in (("D", [320, 640]), ("C", [C / 2, C]), ("step", [5, 10])):
        (found,) = curves(queue, family, records, axis)
        assert list(found.x) == pytest.approx(expected)
        assert spans(family, records, axis)[0] == (None if axis == "step" else expected[1])


def test_five_thousand_cells_are_listed(root: Path, open_page: Open) -> None:
    grid = typed_grid(EXAMPLE, {"width": "1..4000 x 500 linear", "seed": "0..9 x 10 linear", "samples": "512"})
    made = sweep.launch(root, grid, EXAMPLE)
    for name in made.cells:
        folder = root / CELLS / name
        (folder / "lease.json").write_text('{"number": 1}')
        (folder / "result-1.json").write_text(
            '{"number": 1, "state": "done", "metrics": {"loss": 0.5}, "seconds": 1.0, "steps": 2}'
        )
    at = open_page("train")
    at.run()
    assert told(at) == ""
    (table,) = (d.value for d in at.dataframe if "State" in d.value)
    assert (len(table), set(table["State"])) == (5000, {"Done"})


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


@pytest.mark.parametrize(
    ("linked", "shown"), [("Training steps", "Training steps"), ("Updates", "Training steps"), ("Compute", "Compute")]
)
def test_a_link_chooses_the_axis_of_the_curves(open_page: Open, root: Path, linked: str, shown: str) -> None:
    """Links of earlier versions use the name "Updates" for training steps."""
    sweep.launch(root, typed_grid(EXAMPLE, {"width": "8", "samples": "512"}), EXAMPLE)
    at = open_page("train", against=linked)
    assert told(at) == ""
    assert at.button_group(key="against").value == shown


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


def test_fit_these_cells_includes_a_cell_that_has_just_finished(open_page: Open, root: Path, db: Database) -> None:
    made = sweep.launch(root, typed_grid(EXAMPLE, {"width": "8, 16", "samples": "512"}), EXAMPLE)
    queue, table = queue_of(root), table_of(EXAMPLE.name)
    for name in made.cells:
        N, C = (12.0, 8192.0) if name == made.cells[0] else (30.0, 16384.0)
        ended = {"number": 1, "state": "done", "metrics": {"loss": 0.5}, "sizes": {"N": N, "D": 512.0, "C": C}}
        files.write_json(result_of(queue.folder(name), queue.lease(name, "here")), ended)
        if name == made.cells[0]:
            assert ingest(db, queue)[1] == 1
    at = open_page("train")
    assert tables.get(db, table).rows == 1
    press(at, "Fit these cells")
    assert tables.get(db, table).rows == 2


def test_finished_cells_without_a_finite_loss_are_named() -> None:
    def finished(name: str, loss: float) -> Record:
        return Record(name, "jets", {}, "", Order(), 1, results={1: {"state": "done", "metrics": {"loss": loss}}})

    cells = [finished("aa", 1.0), finished("bb", np.nan), finished("cc", np.inf)]
    assert rowless(cells, "loss") == (
        "2 of 3 finished cells cannot be fitted, because the loss is not finite: bb, cc. Use a smaller learning rate."
    )
    assert rowless(cells[:1], "loss") == ""


TRAIN_LONGER = "Train longer, or with a larger learning rate."
UNTRAINED_ROW = {"number": 1, "state": "done", "sizes": {"N": 12.0, "D": 512.0, "C": 8192.0}}


@pytest.mark.parametrize(
    ("marks", "on_train", "on_fit"),
    [
        (
            (1, 1, np.nan),
            f"2 of 3 finished cells did not train and are left out of fits. {TRAIN_LONGER}",
            "No run is left: the table has 2 rows that did not train (column 'untrained'). Train longer, or with a "
            "larger learning rate. 1 finished cell has no finite loss and no row. Use a smaller learning rate.",
        ),
        (
            (0, 1, 0),
            f"1 of 3 finished cells did not train and is left out of fits. {TRAIN_LONGER}",
            "1 of 3 runs did not train and is left out of fits. Train longer, or with a larger learning rate.",
        ),
        ((0, 0, 0), "", ""),
    ],
)
def test_cells_that_did_not_train_are_counted_before_the_fit(
    open_page: Open, root: Path, db: Database, marks: tuple[float, ...], on_train: str, on_fit: str
) -> None:
    """A mark of 1 is a cell that did not train, and NaN is a cell without a finite loss."""
    made = sweep.launch(root, typed_grid(EXAMPLE, {"width": "8, 16, 32", "samples": "512"}), EXAMPLE)
    queue = queue_of(root)
    for name, mark in zip(made.cells, marks, strict=True):
        metrics = {"loss": 2.3} | ({"loss": "nan"} if np.isnan(mark) else {"untrained": mark})
        files.write_json(
            result_of(queue.folder(name), queue.lease(name, "here")), {**UNTRAINED_ROW, "metrics": metrics}
        )
    ingest(db, queue)
    at = open_page("train")
    assert told(at) == ""
    warned = "\n".join(str(one.value) for one in at.warning).replace("\\", "")
    assert on_train in warned
    assert bool(on_train) == bool(warned)
    at = open_page("fit", table=table_of(EXAMPLE.name))
    assert told(at) == ""
    warned = "\n".join(str(one.value) for one in at.warning).replace("\\", "")
    assert warned == on_fit
    assert bool([b for b in at.button if b.key == "fit_law"]) == (min(marks) == 0)
